//! `GET /ready`: whether messages are taken, and how well each network is seen.
//!
//! A blind network does not make the ledger unready: everything but settlement goes on, and
//! settlement waits without harm (ledger-contract.md section 5). Not even one that was blind for
//! longer than the operator wants to be left alone: taking the ledger out of service would stop what
//! still works and bring the network no nearer. It is told under `attention` instead, and by
//! `/metrics`.

use crate::app::App;
use crate::disk::free_bytes;
use crate::metrics::head_age_ms;
use crate::role::Role;
use crate::start::blindness::BlindnessBound;
use crate::start::log_check::LogCheck;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use std::borrow::Cow;
use std::sync::Arc;
use x811_ledger::checkpoint::Unstored;
use x811_ledger::clock::Clock;
use x811_ledger::doctor::Finding;
use x811_ledger::sequencer;
use x811_protocol::answer::{self, EndpointSight, NetworkSight, Readiness};
use x811_protocol::digest::Digest;
use x811_protocol::parameters::Network;
use x811_protocol::time::TimestampMs;
use x811_store::{Backend, StoreFault};
use x811_watcher::{EndpointHealth, EndpointState, HeadTag, NetworkHealth};
use x811_world::{Sight, World};

/// 200, or 503 with the reasons.
#[utoipa::path(
    get,
    path = "/ready",
    operation_id = "ready",
    tag = "operations",
    responses(
        (status = 200, description = "Messages are taken", body = Readiness),
        (status = 503, description = "They are not, and why", body = Readiness),
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
) -> (StatusCode, Json<Readiness>) {
    let (world, why, now) = (app.ledger.world(), unready(&app), app.ledger.now());
    let head = world.head();
    let status = match why.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    let watching = app.watching.borrow().clone();
    let log_check = app.log_check.borrow().clone();
    let clock = match app.ledger.readiness().clock_settled {
        true => "settled",
        false => "unsettled",
    };
    let mut networks = sights(&world, &app.parameters.networks, now);
    for network in &mut networks {
        if network.sight == "blind" {
            network.blind_ms = Some(app.blindness.blind_ms(&world, &network.name, now));
        }
    }
    let watched = networks.iter_mut().find(|n| n.name == watching.network);
    if let Some(watched) = watched {
        watched.endpoints = endpoints(&watching, now);
        watched.agreed = Some(watching.is_agreed);
        watched.silent = Some(watching.silent().into_iter().map(str::to_owned).collect());
    }
    let standing = app.role.standing();
    let checkpoint = app.checkpoint();
    let readiness = Readiness {
        ready: why.is_empty(),
        why: why.into_iter().map(Cow::into_owned).collect(),
        attention: all_attention(&app, &world, &watching, &log_check),
        role: Some(app.role.word().to_owned()),
        published_age_ms: standing.and_then(|it| it.age_ms(app.clock.monotonic_ms())),
        store: app.others.borrow().shown(),
        size: Some(head.size),
        head_hash: Some(Digest::from_bytes(*head.hash.as_bytes())),
        clock: Some(clock.to_owned()),
        rows_lag: Some(app.ledger.rows_lag()),
        log_check: Some(answer::LogCheck {
            state: log_check.word().to_owned(),
            checked: log_check.checked,
            of: log_check.of,
        }),
        checkpoint_size: checkpoint.map(|(size, _)| size),
        checkpoint_age_ms: checkpoint.map(|(_, age_ms)| age_ms),
        free_bytes: free_bytes(&app.data_dir),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        networks,
    };
    (status, Json(readiness))
}

/// All that the operator has to look after, though messages are taken.
fn all_attention<C: Clock>(
    app: &App<C>,
    world: &World,
    watching: &NetworkHealth,
    log_check: &LogCheck,
) -> Vec<String> {
    let mut attention = attention(&app.blindness, world, app.ledger.now());
    attention.extend(damage(log_check, app.store_fault().as_ref()));
    attention.extend(disagreement(watching));
    attention.extend(slow_clock(
        watching,
        &app.parameters.networks,
        app.ledger.now(),
    ));
    attention.extend(app.unstored().map(no_checkpoint));
    attention.extend(app.others.borrow().attention());
    if *app.ledger.rows_failing().borrow() {
        let sentence = "the rows for readers cannot be written, so reads show what was: look at the \
                        ledger's log, and at the room on the disk of its data directory";
        attention.push(sentence.to_owned());
    }
    attention
}

/// Why no messages are taken; empty when they are.
pub(crate) fn unready<C: Clock>(app: &App<C>) -> Vec<Cow<'static, str>> {
    let commit_failed = commit_failed(app.ledger.store());
    let mut why = faults(&app.ledger.readiness(), app.store_fault(), commit_failed);
    let is_unsure = match &app.role {
        Role::Alone => false,
        Role::Writer(lease) => !lease.is_sure(),
        Role::Standby(standing) => !standing.is_fresh(app.clock.monotonic_ms()),
    };
    if is_unsure {
        why.push(UNSURE.into());
    }
    if let Role::Writer(lease) = &app.role
        && !lease.is_confirmed()
    {
        why.push(UNCONFIRMED.into());
    }
    if app.is_checkpoint_overdue() {
        why.push(CHECKPOINT_OVERDUE.into());
    }
    let (queued, room) = app.ledger.queue();
    if queued >= room {
        why.push("the queue is full: the ledger has more to do than it can".into());
    }
    why
}

/// Reason for being unready while the clock is not believed.
const CLOCK_JUMPED: &str =
    "the machine's clock has jumped; messages are taken again once it is settled";

/// Reason for being unready while the rows for readers do not follow.
const ROWS_STUCK: &str =
    "the rows for readers are too far behind: look at the ledger's log for why";

/// Reason for being unready while a process does not know the newest head.
const UNSURE: &str =
    "it could not be made sure in the last 3 s who writes, and how far: see to the database";

/// Reason for being unready while standbys of the database do not confirm.
const UNCONFIRMED: &str = "the database's standbys confirmed nothing in the last 3 s, or it does not wait \
    for them: no message is acknowledged; see to them, and to synchronous_standby_names";

/// Reason for being unready while no checkpoint can be stored.
pub(crate) const CHECKPOINT_OVERDUE: &str = "no checkpoint could be stored for 10 s: no message is taken \
    until one is; see to the checkpoint's directory";

/// What to do while records wait for a checkpoint: without one, their loss would go unnoticed.
fn no_checkpoint(unstored: Unstored) -> String {
    let waited_s = unstored.waited_ms / 1_000;
    format!(
        "no checkpoint could be stored for {waited_s} s, so the loss of records since then could go \
         unnoticed; after 10 s no messages are taken. See the ledger's log for the reason, and check that \
         the checkpoint's directory exists, is mounted and writable, and has room"
    )
}

/// What the operator has to look after, though messages are taken.
fn attention(bound: &BlindnessBound, world: &World, now: TimestampMs) -> Vec<String> {
    let passed = bound.passed(world, now).into_iter();
    passed
        .map(|network| {
            let blind_s = bound.blind_ms(world, network, now) / 1_000;
            format!(
                "network {network} has been out of sight for {blind_s} s: payments on it wait; mend \
                 its RPC endpoints, or give it others"
            )
        })
        .collect()
}

/// Attention for endpoints that do not name a `safe` or `finalized` head, with its consequence.
fn unnamed(watching: &NetworkHealth, tag: HeadTag) -> Option<String> {
    let without = watching
        .endpoints
        .iter()
        .filter(|it| it.unnamed.contains(&tag));
    let labels: Vec<&str> = without.map(|endpoint| endpoint.label.as_str()).collect();
    let waits = match tag {
        HeadTag::Latest | HeadTag::Finalized => "payments are not called final",
        HeadTag::Safe => "totals above safe_above_usdc are not confirmed",
    };
    let (network, labels, tag) = (&watching.network, labels.join(", "), tag.as_str());
    (!labels.is_empty()).then(|| {
        format!(
            "RPC endpoints of network {network} name no `{tag}` head: {labels}. Where too few name one, {waits}: \
             exchange them for endpoints that do"
        )
    })
}

/// What the operator has to do while too few endpoints carry one head, or contradict each other about
/// a payment.
fn disagreement(watching: &NetworkHealth) -> Vec<String> {
    let mut attention = Vec::new();
    let (network, silent) = (&watching.network, watching.silent().join(", "));
    let is_asked = |endpoint: &EndpointHealth| endpoint.state != EndpointState::Unknown;
    if !watching.is_agreed && watching.endpoints.iter().any(is_asked) {
        let who = match silent.is_empty() {
            true => "all answer, and carry different blocks".to_owned(),
            false => format!("silent: {silent}"),
        };
        attention.push(format!(
            "too few RPC endpoints of network {network} agree on a head ({who}): payments on it wait; \
             mend them, or exchange one in the configuration and send SIGHUP"
        ));
    } else if !silent.is_empty() {
        attention.push(format!(
            "RPC endpoints of network {network} give no usable answer: {silent}"
        ));
    }
    attention.extend(
        [HeadTag::Safe, HeadTag::Finalized]
            .into_iter()
            .filter_map(|tag| unnamed(watching, tag)),
    );
    if !watching.contested.is_empty() {
        attention.push(format!(
            "{} payments on network {network} are contested: one RPC endpoint has them at the agreed \
             head, another has not; one of the two is wrong",
            watching.contested.len()
        ));
    }
    attention
}

/// That endpoints name heads from later than this machine's clock, which the ledger does not take in.
fn slow_clock(watching: &NetworkHealth, networks: &[Network], now: TimestampMs) -> Option<String> {
    let network = networks.iter().find(|it| it.name == watching.network)?;
    let heads = watching.endpoints.iter().filter_map(|it| it.head);
    let ahead = heads.filter(|head| head.is_ahead(network.chain_id, now));
    let ahead_ms = ahead.map(|head| head.time().since(now)).max()?;
    Some(format!(
        "the head of network {} is {} s younger than this machine's clock: set the clock, or exchange the \
         RPC endpoint that names it; payments wait",
        network.name,
        ahead_ms.div_ceil(1_000)
    ))
}

/// The damage that the check of the log has found. Records that a suspended store hides are not damaged:
/// then the store is repaired first, as `why` says.
fn damage(check: &LogCheck, fault: Option<&StoreFault>) -> Option<String> {
    let Finding { part, sentence } = check.found.as_ref()?;
    fault.is_none().then(|| {
        format!(
            "what is stored is damaged ({part}: {sentence}): stop the ledger, run x811 doctor, restore a \
             backup"
        )
    })
}

/// Faults of the ledger, and the state of a store that must not be written to. Such a store is why commits
/// fail, so `commit_failed` is left out beside it.
fn faults(
    readiness: &sequencer::Readiness,
    fault: Option<StoreFault>,
    commit_failed: &'static str,
) -> Vec<Cow<'static, str>> {
    let mut why = Vec::new();
    match fault {
        Some(StoreFault::Suspended(sentence) | StoreFault::Lost(sentence)) => {
            why.push(sentence.into());
        }
        None if readiness.last_commit_failed => why.push(commit_failed.into()),
        None => {}
    }
    if !readiness.clock_settled {
        why.push(CLOCK_JUMPED.into());
    }
    if readiness.rows_stuck {
        why.push(ROWS_STUCK.into());
    }
    why
}

/// Reason for being unready after a commit that failed, with the places where the cause may be.
fn commit_failed(store: &Backend) -> &'static str {
    if matches!(store, Backend::Sqlite(_)) {
        "the last commit failed: look at the ledger's log, and at the room on the disk of its data \
         directory"
    } else if matches!(store, Backend::Postgres(..)) {
        "the last commit failed: look at the ledger's log, at the database, and at the room on its disk"
    } else {
        "the last commit failed: look at the ledger's log, at the cluster that has the log, and at the \
         database beside it"
    }
}

fn sights(world: &World, networks: &[Network], now: TimestampMs) -> Vec<NetworkSight> {
    let sights = networks.iter().map(|network| {
        let sight = world.sight(&network.name);
        sight_of(network, sight, now)
    });
    sights.collect()
}

/// The RPC endpoints that a network is watched through.
fn endpoints(health: &NetworkHealth, now: TimestampMs) -> Vec<EndpointSight> {
    let shown = health.endpoints.iter().map(|endpoint| EndpointSight {
        label: endpoint.label.clone(),
        state: endpoint.state.as_str().to_owned(),
        leads: endpoint.leads,
        head_number: endpoint.head.map(|head| head.number),
        head_age_ms: head_age_ms(endpoint, now),
        failures: endpoint.failures,
        disagreements: endpoint.disagreements,
        last_error: endpoint.last_error.clone(),
    });
    shown.collect()
}

fn sight_of(network: &Network, sight: Option<&Sight>, now: TimestampMs) -> NetworkSight {
    let (word, head_age_ms) = sight_word(network, sight, now);
    let head = sight.and_then(|sight| sight.head.as_ref());
    NetworkSight {
        name: network.name.clone(),
        sight: word.to_owned(),
        head_number: head.map(|head| head.number),
        head_age_ms,
        blind_ms: None,
        endpoints: Vec::new(),
        agreed: None,
        silent: None,
    }
}

/// How well a network is seen, and the age of its last head.
pub(crate) fn sight_word(
    network: &Network,
    sight: Option<&Sight>,
    now: TimestampMs,
) -> (&'static str, Option<u64>) {
    let head = sight.and_then(|sight| sight.head.as_ref());
    let head_age_ms = head.map(|head| now.since(head.time()));
    let word = match (sight.and_then(|sight| sight.blind_since), head_age_ms) {
        (Some(_), _) => "blind",
        (None, None) => "unknown",
        (None, Some(age_ms)) if age_ms < network.fresh_ms => "fresh",
        (None, Some(_)) => "stale",
    };
    (word, head_age_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NetworkConfig, RpcUrl, ServerConfig};
    use std::collections::BTreeSet;
    use x811_protocol::evm::{BlockHash, EvmAddress};
    use x811_protocol::observation::{Block, NetworkHead};

    const COMMIT_FAILED: &str = "the last commit failed";

    #[test]
    fn readiness_names_every_fault() {
        for (clock_settled, last_commit_failed, rows_stuck, faulty) in [
            (true, false, false, 0),
            (false, false, false, 1),
            (true, true, false, 1),
            (true, false, true, 1),
            (false, true, true, 3),
        ] {
            let readiness = sequencer::Readiness {
                clock_settled,
                last_commit_failed,
                rows_stuck,
            };
            assert_eq!(faults(&readiness, None, COMMIT_FAILED).len(), faulty);
        }
    }

    #[test]
    fn a_store_that_must_not_be_written_to_says_so_instead_of_the_commit_that_failed() {
        let sentence = "the stream has $maxCount in its metadata: remove it";
        for last_commit_failed in [false, true] {
            let readiness = sequencer::Readiness {
                clock_settled: true,
                last_commit_failed,
                rows_stuck: false,
            };
            for fault in [StoreFault::Suspended, StoreFault::Lost] {
                let fault = Some(fault(sentence.to_owned()));
                assert_eq!(faults(&readiness, fault, COMMIT_FAILED), [sentence]);
            }
        }
    }

    #[tokio::test]
    async fn a_failed_commit_names_the_disk_that_the_store_has() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().join("data");
        let store = Backend::open(&data_dir, None).await.unwrap();
        let sentence = commit_failed(&store);
        assert!(sentence.contains("data directory"), "{sentence}");
        store.close().await;
    }

    #[test]
    fn rest_6_no_backup_is_restored_while_the_store_hides_records() {
        let check = LogCheck {
            found: Some(Finding {
                part: "log",
                sentence: "record 0 is missing".to_owned(),
            }),
            ..LogCheck::default()
        };
        let sentence = damage(&check, None).unwrap();
        assert!(sentence.contains("restore a backup"), "{sentence}");
        let fault = StoreFault::Suspended("the stream was deleted".to_owned());
        assert_eq!(damage(&check, Some(&fault)), None);
        assert_eq!(damage(&LogCheck::default(), None), None);
    }

    #[test]
    fn lc_5_a_head_from_later_than_the_clock_is_told() {
        let url = || RpcUrl::new("http://127.0.0.1:1");
        let now = TimestampMs::new(100_400);
        for (network, timestamp_s, told) in [
            (NetworkConfig::base(url()), 100, None),
            (NetworkConfig::base(url()), 105, None),
            (NetworkConfig::base(url()), 106, Some("is 6 s younger")),
            (NetworkConfig::base(url()), 400, Some("is 300 s younger")),
            (
                NetworkConfig::local(url(), EvmAddress::from_bytes([7; 20])),
                400,
                None,
            ),
        ] {
            let networks = ServerConfig::new("data", network).parameters().networks;
            let head = Block {
                hash: BlockHash::from_bytes([1; 32]),
                number: 7,
                timestamp_s,
            };
            let watching = NetworkHealth {
                network: networks[0].name.clone(),
                endpoints: vec![EndpointHealth {
                    label: "rpc".to_owned(),
                    state: EndpointState::Good,
                    leads: true,
                    head: Some(head),
                    last_error: None,
                    calls: 1,
                    failures: 0,
                    disagreements: 0,
                    unnamed: BTreeSet::new(),
                }],
                ..NetworkHealth::default()
            };
            let sentence = slow_clock(&watching, &networks, now);
            assert_eq!(sentence.is_some(), told.is_some(), "{timestamp_s}");
            if let (Some(sentence), Some(told)) = (sentence, told) {
                assert!(sentence.contains(told), "{sentence}");
            }
        }
    }

    #[test]
    fn sight_is_judged_by_the_age_of_the_head() {
        let base = NetworkConfig::base(RpcUrl::new("http://127.0.0.1:1"));
        let parameters = ServerConfig::new("data", base).parameters();
        let network = &parameters.networks[0];
        let at = |head_s: Option<u64>, blind: bool| Sight {
            next_seq: 0,
            blind_since: blind.then_some(TimestampMs::new(1)),
            head: head_s.map(|timestamp_s| NetworkHead {
                network: network.name.clone(),
                number: 7,
                hash: BlockHash::from_bytes([1; 32]),
                timestamp_s,
            }),
            recorded: None,
            silent: Vec::new(),
        };
        let now = TimestampMs::new(100_000);
        for (sight, word, age_ms) in [
            (Some(at(Some(95), false)), "fresh", Some(5_000)),
            (Some(at(Some(90), false)), "stale", Some(10_000)),
            (Some(at(Some(10), true)), "blind", Some(90_000)),
            (Some(at(None, true)), "blind", None),
            (Some(at(None, false)), "unknown", None),
            (None, "unknown", None),
        ] {
            let shown = sight_of(network, sight.as_ref(), now);
            assert_eq!(shown.sight, word);
            assert_eq!(shown.head_age_ms, age_ms);
        }
    }
}
