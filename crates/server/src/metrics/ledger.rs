//! The ledger's own figures.

use super::family::{Families, Labels, float};
use crate::app::App;
use crate::connections::ConnectionFigures;
use crate::disk::{free_bytes, wal_bytes};
use crate::routes::sight_word;
use crate::start::log_check::LogCheck;
use std::collections::BTreeMap;
use x811_ledger::clock::Clock;
use x811_ledger::figures::Figures;
use x811_protocol::time::TimestampMs;
use x811_world::World;

/// Milliseconds in the seconds that metrics are in.
const MS_PER_S: f64 = 1_000.0;

/// Every word that a network's sight may have.
const SIGHTS: [&str; 4] = ["fresh", "stale", "blind", "unknown"];

pub(super) fn note<C: Clock>(families: &mut Families, app: &App<C>) {
    let (ledger, world) = (&app.ledger, app.ledger.world());
    families.gauges(
        "x811_build_info",
        "The version that runs",
        vec![(vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0)],
    );
    let is_ready = crate::routes::unready(app).is_empty();
    families.gauge(
        "x811_ready",
        "1 when messages are taken, else 0",
        f64::from(u8::from(is_ready)),
    );
    families.gauge(
        "x811_store_suspended",
        "1 while the store must not be written to, so that no message is taken: call the operator",
        f64::from(u8::from(app.store_fault().is_some())),
    );
    families.gauge(
        "x811_log_records",
        "Records in the log",
        float(world.head().size),
    );
    families.gauge(
        "x811_rows_lag_records",
        "Durable records that the rows for readers do not reflect yet",
        float(ledger.rows_lag()),
    );
    connections(families, &app.connections);
    families.counter(
        "x811_requests_unattributed",
        "Requests from this machine without X-Forwarded-For, though clients use a public name",
        float(app.limiter.unattributed()),
    );
    families.gauge(
        "x811_feed_streams",
        "Streams of feeds that are open",
        float(app.limiter.open_streams()),
    );
    log_check(families, &app.log_check.borrow());
    checkpoint(families, app);
    if let Some(free_bytes) = free_bytes(&app.data_dir) {
        families.gauge(
            "x811_data_free_bytes",
            "Bytes that may still be written on the disk of the data directory",
            float(free_bytes),
        );
    }
    let wal_bytes = wal_bytes(&app.data_dir).into_iter();
    families.gauges(
        "x811_data_wal_bytes",
        "Bytes of the write-ahead log of each SQLite database in the data directory",
        wal_bytes
            .map(|(database, bytes)| (label("database", database), float(bytes)))
            .collect(),
    );
    let (queued, room) = ledger.queue();
    families.gauge(
        "x811_queue_items",
        "Items that wait for the sequencer",
        float(queued as u64),
    );
    families.gauge(
        "x811_queue_capacity",
        "Items that may wait for the sequencer",
        float(room as u64),
    );
    work(families, ledger.figures());
    held(families, &world);
    networks(families, app, &world, ledger.now());
}

/// Connections of the public address.
fn connections(families: &mut Families, of: &ConnectionFigures) {
    families.gauge(
        "x811_connections",
        "Connections that are open",
        float(of.open() as u64),
    );
    families.gauge(
        "x811_connections_limit",
        "Connections that may be open",
        float(of.most() as u64),
    );
    families.counter(
        "x811_connections_waited",
        "Connections that had to wait for a place, as all were taken and at work",
        float(of.waited()),
    );
    families.counter(
        "x811_connections_turned_away",
        "Connections that were closed at once: their address has its share, or others that wait",
        float(of.turned_away()),
    );
    families.counter(
        "x811_connections_gave_way",
        "Connections closed for others while they waited for their peer",
        float(of.gave_way()),
    );
}

fn work(families: &mut Families, figures: &Figures) {
    let outcome = |outcome: &str, code: &str| -> Labels {
        vec![("outcome", outcome.to_owned()), ("code", code.to_owned())]
    };
    let mut messages = vec![
        (outcome("accepted", ""), float(figures.accepted())),
        (outcome("repeated", ""), float(figures.repeated())),
    ];
    let refused = figures.refused();
    messages.extend(refused.map(|(code, count)| (outcome("refused", code.as_str()), float(count))));
    families.counters("x811_messages", "Messages, by their answer", messages);
    families.counter(
        "x811_signatures_checked_together",
        "Signatures of messages that were checked with others, as they are while many arrive",
        float(figures.checked_together.get()),
    );
    families.counter(
        "x811_records_written",
        "Records written since the start",
        float(figures.records.get()),
    );
    families.counter(
        "x811_lapses",
        "Deadlines that passed",
        float(figures.lapses.get()),
    );
    let settlement = figures.settlement();
    families.counters(
        "x811_settlement_events",
        "Records of settlement since the start, by kind; a reversed one calls the operator",
        settlement
            .map(|(kind, count)| (label("kind", kind), float(count)))
            .collect(),
    );
    families.counter(
        "x811_commit_failures",
        "Group commits that failed",
        float(figures.failed_commits.get()),
    );
    families.histogram(
        "x811_commit_duration_seconds",
        "How long group commits took",
        &figures.commit_ms,
        MS_PER_S,
    );
    families.histogram(
        "x811_commit_records",
        "Records a group commit wrote",
        &figures.commit_records,
        1.0,
    );
    families.histogram(
        "x811_turn_wait_seconds",
        "How long messages waited for their turn",
        &figures.turn_wait_ms,
        MS_PER_S,
    );
}

fn log_check(families: &mut Families, check: &LogCheck) {
    families.gauge(
        "x811_log_check_records",
        "Records that the check after the start has read",
        float(check.checked),
    );
    families.gauge(
        "x811_log_damaged",
        "1 when the check after the start found damage, else 0",
        f64::from(u8::from(check.found.is_some())),
    );
}

fn checkpoint<C: Clock>(families: &mut Families, app: &App<C>) {
    if let Some((size, age_ms)) = app.checkpoint() {
        families.gauge(
            "x811_checkpoint_records",
            "Records that the last signed checkpoint covers",
            float(size),
        );
        families.gauge(
            "x811_checkpoint_age_seconds",
            "Since the last checkpoint was signed; grows while nothing is recorded",
            float(age_ms) / MS_PER_S,
        );
    }
    let unstored = app.unstored().unwrap_or_default();
    families.gauge(
        "x811_checkpoint_unstored_seconds",
        "For how long no checkpoint could be stored though records wait for one; 0 while all is well",
        float(unstored.waited_ms) / MS_PER_S,
    );
    families.gauge(
        "x811_checkpoint_failing",
        "1 while records wait for a checkpoint that cannot be stored: call the operator",
        f64::from(u8::from(app.unstored().is_some())),
    );
}

fn held(families: &mut Families, world: &World) {
    let sizes = world.sizes();
    let held = [
        ("agents", sizes.agents),
        ("interactions", sizes.interactions),
        ("aftermath", sizes.aftermath),
        ("watched_transactions", sizes.watched),
        ("notices_owed", sizes.notices_owed),
        ("nonces", sizes.nonces),
        ("envelope_ids", sizes.envelope_ids),
    ];
    let samples = held.map(|(kind, count)| (label("kind", kind), float(count as u64)));
    families.gauges(
        "x811_held",
        "What is held in memory, by kind",
        samples.to_vec(),
    );
    let mut by_state: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, live) in world.interactions() {
        *by_state.entry(live.state.name().as_str()).or_default() += 1;
    }
    let samples = by_state
        .into_iter()
        .map(|(state, count)| (label("state", state), float(count)));
    families.gauges(
        "x811_interactions",
        "Live interactions, by state",
        samples.collect(),
    );
}

fn networks<C: Clock>(families: &mut Families, app: &App<C>, world: &World, now: TimestampMs) {
    let (mut sights, mut numbers, mut ages) = (Vec::new(), Vec::new(), Vec::new());
    let (mut blind, mut pages) = (Vec::new(), Vec::new());
    for network in &app.parameters.networks {
        let sight = world.sight(&network.name);
        let (word, head_age_ms) = sight_word(network, sight, now);
        for possible in SIGHTS {
            let labels = vec![
                ("network", network.name.clone()),
                ("sight", possible.to_owned()),
            ];
            sights.push((labels, f64::from(u8::from(possible == word))));
        }
        let here = || label("network", &network.name);
        let blind_ms = app.blindness.blind_ms(world, &network.name, now);
        let is_passed = app.blindness.is_passed(world, &network.name, now);
        blind.push((here(), float(blind_ms) / MS_PER_S));
        pages.push((here(), f64::from(u8::from(is_passed))));
        let head = sight.and_then(|sight| sight.head.as_ref());
        if let (Some(head), Some(age_ms)) = (head, head_age_ms) {
            numbers.push((label("network", &network.name), float(head.number)));
            let age_s = float(age_ms) / MS_PER_S;
            ages.push((label("network", &network.name), age_s));
        }
    }
    families.gauges(
        "x811_network_sight",
        "1 for how a network is seen, 0 for how it is not",
        sights,
    );
    families.gauges(
        "x811_network_blind_seconds",
        "For how long nothing has been seen of a network, 0 while it is seen",
        blind,
    );
    families.gauges(
        "x811_network_blind_page",
        "1 when a network has been blind for longer than it may: call the operator",
        pages,
    );
    families.gauges(
        "x811_network_head_number",
        "Number of the last head that was seen",
        numbers,
    );
    families.gauges(
        "x811_network_head_age_seconds",
        "Age of the last head that was seen",
        ages,
    );
}

fn label(name: &'static str, value: &str) -> Labels {
    vec![(name, value.to_owned())]
}
