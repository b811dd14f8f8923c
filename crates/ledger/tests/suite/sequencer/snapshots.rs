//! A start from a snapshot is a start from the log, only sooner; a wrong one is found and ignored.

use super::deal::Deal;
use super::ledgerbox::Ledgerbox;
use super::party::{Party, SeededEntropy};
use super::picture::{Picture, replay};
use super::watches::assert_watches;
use std::sync::Arc;
use x811_ledger::memory::MemoryReadModel;
use x811_ledger::port::LedgerStore;
use x811_ledger::snapshot::{self, Rejection, SCHEMA, SaveFault, Snapshot, SnapshotStore};
use x811_protocol::code::Code;
use x811_protocol::event::{LedgerOpened, LedgerRole};
use x811_protocol::time::TimestampMs;
use x811_world::World;

fn decode(bytes: &[u8], opened: &LedgerOpened) -> Result<Snapshot, Rejection> {
    snapshot::decode(bytes, opened, opened.keys.envelope)
}

/// Goes through the log once with a world that is written and read at every record, and once more
/// from some of the snapshots to the end.
pub(crate) async fn assert_every_cut_holds(ledgerbox: &Ledgerbox) {
    let events = ledgerbox.events().await;
    let (key, opened) = (&ledgerbox.identity.key, ledgerbox.opened());
    let (mut straight, mut hopping) = (World::empty(), World::empty());
    let mut starts = Vec::new();
    for (record, event) in &events {
        straight.apply(record, event).unwrap();
        hopping.apply(record, event).unwrap();
        let now = TimestampMs::new(record.recorded_at_ms());
        let bytes = snapshot::encode(&hopping, now, key).unwrap();
        let read = decode(&bytes, &opened).unwrap();
        assert_eq!(snapshot::check(&straight, &read), []);
        assert_shared_parameters(&read.world);
        assert_watches(&read.world, &events);
        hopping = read.world;
        if record.position() % 11 == 0 {
            starts.push(hopping.clone());
        }
    }
    let (expected, _) = replay(&events).await;
    let now = TimestampMs::new(expected.head().recorded_at_ms);
    let expected = Picture::of(&expected, &events, now);
    for mut world in starts {
        let size = usize::try_from(world.head().size).unwrap();
        for (record, event) in &events[size..] {
            world.apply(record, event).unwrap();
        }
        Picture::of(&world, &events, now).assert_equals(&expected);
    }
}

/// Interactions under the parameters in force hold the same copy of them.
fn assert_shared_parameters(world: &World) {
    let Some((_, in_force)) = world.parameters() else {
        return;
    };
    for (_, live) in world.interactions() {
        let held = &live.state.opening().parameters;
        assert!(held != in_force || Arc::ptr_eq(held, in_force));
    }
}

impl Ledgerbox {
    pub(crate) fn snapshot_now(&self) -> Vec<u8> {
        let world = self.ledger().world();
        snapshot::encode(&world, self.ledger().now(), &self.identity.key).unwrap()
    }

    fn size(&self) -> u64 {
        self.ledger().world().head().size
    }
}

/// A ledger with a history, that takes no snapshots by itself.
async fn with_history() -> (Ledgerbox, Deal) {
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.snapshot_every_records = u64::MAX;
    ledgerbox.restart().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    let request = deal.request(&ledgerbox);
    ledgerbox.accept(&request).await;
    (ledgerbox, deal)
}

#[tokio::test]
async fn lc_1_a_start_uses_the_snapshot_and_replays_the_tail() {
    let (mut ledgerbox, mut deal) = with_history().await;
    // Refused, so that the snapshot knows of a nonce that the log says nothing about.
    let refused = deal.result(&ledgerbox);
    let code = ledgerbox.code(&refused).await;
    assert_ne!(code, Code::NonceReplay);
    ledgerbox.snapshots.clear();
    ledgerbox
        .snapshots
        .plant(ledgerbox.size(), ledgerbox.snapshot_now());
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    ledgerbox.crash().await;
    ledgerbox
        .store
        .purge_nonces(TimestampMs::MAX)
        .await
        .unwrap();
    ledgerbox.start().await.unwrap();
    assert_eq!(ledgerbox.code(&refused).await, Code::NonceReplay);
    ledgerbox.assert_log_adds_up().await;
    let accept = deal.accept(&ledgerbox);
    ledgerbox.accept(&accept).await;
}

/// The start that replaces the envelope key uses what the old one signed.
#[tokio::test]
async fn rec_2_a_rotation_needs_no_whole_replay() {
    let (mut ledgerbox, mut deal) = with_history().await;
    let refused = deal.result(&ledgerbox);
    ledgerbox.code(&refused).await;
    ledgerbox.stop().await.unwrap();
    ledgerbox.rotate(LedgerRole::Envelope, 91);
    let forgotten = ledgerbox.store.purge_nonces(TimestampMs::MAX);
    forgotten.await.unwrap();
    ledgerbox.start().await.unwrap();
    assert_eq!(ledgerbox.code(&refused).await, Code::NonceReplay);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn a_stop_in_order_leaves_a_snapshot_of_everything() {
    let (mut ledgerbox, _) = with_history().await;
    let size = ledgerbox.size();
    ledgerbox.stop().await.unwrap();
    assert_eq!(ledgerbox.snapshots.sizes().unwrap()[0], size);
    ledgerbox.start().await.unwrap();
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn saves_that_fail_or_tear_harm_nobody() {
    for fault in [SaveFault::Refused, SaveFault::Torn(0), SaveFault::Torn(700)] {
        let (mut ledgerbox, _) = with_history().await;
        ledgerbox.snapshots.clear();
        ledgerbox.snapshots.fail_saves(Some(fault));
        ledgerbox.stop().await.unwrap();
        ledgerbox.start().await.unwrap();
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn rows_that_were_lost_are_rebuilt_although_there_is_a_snapshot() {
    let (mut ledgerbox, _) = with_history().await;
    ledgerbox.stop().await.unwrap();
    ledgerbox.rows = Arc::new(MemoryReadModel::new());
    ledgerbox.start().await.unwrap();
    ledgerbox.assert_log_adds_up().await;
}

/// Whether a start with `bytes` as the only snapshot, of `size` records, uses it. Either way the
/// start succeeds and its world is right.
async fn is_used(ledgerbox: &mut Ledgerbox, size: u64, bytes: Vec<u8>) -> bool {
    ledgerbox.crash().await;
    ledgerbox.snapshots.clear();
    ledgerbox.snapshots.plant(size, bytes);
    ledgerbox
        .store
        .purge_nonces(TimestampMs::MAX)
        .await
        .unwrap();
    ledgerbox.start().await.unwrap();
    ledgerbox.assert_log_adds_up().await;
    // The nonce of a refused message is known to the snapshot alone.
    ledgerbox.ledger().world().sizes().nonces > ledgerbox.ledger().world().sizes().envelope_ids
}

#[tokio::test]
async fn wrong_snapshots_are_found_and_ignored() {
    let (mut ledgerbox, mut deal) = with_history().await;
    let refused = deal.result(&ledgerbox);
    ledgerbox.code(&refused).await;
    let (size, good) = (ledgerbox.size(), ledgerbox.snapshot_now());
    let world = ledgerbox.ledger().world();
    let now = ledgerbox.ledger().now();
    let stranger = Party::new(&SeededEntropy::new(99), now);
    let planted = snapshot::encode(&world, now, &stranger.key).unwrap();
    let (other, _) = with_history().await;
    let mut elsewhere = Ledgerbox::open().await;
    elsewhere.identity = Party::new(&SeededEntropy::new(98), now);
    let older = older_schema(&good);
    assert!(is_used(&mut ledgerbox, size, good.clone()).await, "control");
    for (bytes, why) in [
        (planted, "signed by a stranger"),
        (older, "of an older program"),
        (other.snapshot_now(), "of another history of the same name"),
        (good[..good.len() - 1].to_vec(), "cut off"),
        (good[..40].to_vec(), "cut off in the header"),
        (
            [good.as_slice(), b"\n"].concat(),
            "with something behind it",
        ),
        (Vec::new(), "empty"),
    ] {
        assert!(!is_used(&mut ledgerbox, size, bytes).await, "{why}");
    }
    // Its name says less than it is of: what is signed counts.
    assert!(is_used(&mut ledgerbox, 3, good).await);
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|part| part == from);
    let at = at.expect("it is in the header");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

/// As the program wrote it whose state had the form before this one.
fn older_schema(bytes: &[u8]) -> Vec<u8> {
    let now = format!("\"schema\":{SCHEMA}");
    // As long as it was: the length of the header stands before it.
    let width = now.len() - "\"schema\":".len();
    let before = format!("\"schema\":{:>width$}", SCHEMA - 1);
    replaced(bytes, now.as_bytes(), before.as_bytes())
}

#[tokio::test]
async fn an_older_schema_is_named() {
    let (ledgerbox, _) = with_history().await;
    let older = older_schema(&ledgerbox.snapshot_now());
    let rejection = decode(&older, &ledgerbox.opened()).unwrap_err();
    let Rejection::Version { format, schema } = rejection else {
        panic!("{rejection}");
    };
    assert_eq!((format, schema), (snapshot::FORMAT, SCHEMA - 1));
}

#[tokio::test]
async fn any_changed_byte_is_found() {
    let (ledgerbox, _) = with_history().await;
    let (good, opened) = (ledgerbox.snapshot_now(), ledgerbox.opened());
    assert!(decode(&good, &opened).is_ok());
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(decode(&bytes, &opened).is_err(), "byte {at}");
    }
    for length in 0..good.len() {
        assert!(decode(&good[..length], &opened).is_err());
    }
}

#[tokio::test]
async fn another_ledgers_snapshot_is_named() {
    let (ledgerbox, _) = with_history().await;
    let (good, mut opened) = (ledgerbox.snapshot_now(), ledgerbox.opened());
    opened.did = Party::new(&SeededEntropy::new(97), ledgerbox.now()).did;
    let rejection = decode(&good, &opened).unwrap_err();
    assert!(matches!(rejection, Rejection::OtherLedger(did) if did == ledgerbox.identity.did));
}

#[tokio::test]
async fn lc_2_a_snapshot_ahead_of_the_log_is_ignored() {
    let (mut ledgerbox, mut deal) = with_history().await;
    let short = ledgerbox.store.records().await.unwrap();
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    let (size, bytes) = (ledgerbox.size(), ledgerbox.snapshot_now());
    let longer = ledgerbox.store.clone();
    ledgerbox.crash().await;
    // The log was restored from an older copy, and so were the rows.
    ledgerbox.store = Arc::new(x811_ledger::memory::MemoryStore::new());
    ledgerbox.rows = Arc::new(MemoryReadModel::new());
    let mut frontier = x811_eventlog::Frontier::new();
    short.iter().for_each(|record| frontier.push(record.hash()));
    let commit = x811_ledger::port::Commit {
        records: short.clone(),
        frontier: frontier.to_bytes(),
        ..x811_ledger::port::Commit::default()
    };
    ledgerbox.store.commit(commit).await.unwrap();
    ledgerbox.snapshots.clear();
    ledgerbox.snapshots.plant(size, bytes);
    ledgerbox.start().await.unwrap();
    ledgerbox.assert_log_adds_up().await;
    assert!(longer.records().await.unwrap().len() > short.len());
}

#[tokio::test]
async fn a_snapshot_beyond_the_last_checkpoint_is_ignored() {
    let (mut ledgerbox, mut deal) = with_history().await;
    let refused = deal.result(&ledgerbox);
    ledgerbox.code(&refused).await;
    let (size, good) = (ledgerbox.size(), ledgerbox.snapshot_now());
    ledgerbox.snapshot_max_size = Some(size - 1);
    assert!(!is_used(&mut ledgerbox, size, good.clone()).await);
    ledgerbox.snapshot_max_size = Some(size);
    assert!(is_used(&mut ledgerbox, size, good).await);
}

#[tokio::test]
async fn check_names_what_differs() {
    let (ledgerbox, mut deal) = with_history().await;
    let before = ledgerbox.ledger().world();
    let old = decode(&ledgerbox.snapshot_now(), &ledgerbox.opened()).unwrap();
    assert_eq!(snapshot::check(&before, &old), []);
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    let differences = snapshot::check(&ledgerbox.ledger().world(), &old);
    let members: Vec<&str> = differences.iter().map(|one| one.member).collect();
    let expected = [
        "head",
        "frontier",
        "agents",
        "interactions",
        "nonces",
        "envelope_ids",
    ];
    assert_eq!(members, expected, "{differences:?}");
}
