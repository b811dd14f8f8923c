//! The last signed checkpoint: when it is signed, and which logs it keeps from starting
//! (ledger-contract.md section 1.5).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use x811_eventlog::{Checkpoint, CheckpointError, Hash, root_of};
use x811_ledger::checkpoint::{
    CheckpointSigner, CheckpointStopped, CheckpointStore, CheckpointStoreError, Checkpoints,
    MAX_UNSTORED_MS, MemoryCheckpointStore, Misfit, Unstored,
};
use x811_ledger::sequencer::OpenError;
use x811_protocol::key::SecretKey;

const ORIGIN: &str = "ledger.example/x811";

fn signer() -> CheckpointSigner {
    CheckpointSigner::new(ORIGIN, SecretKey::from_seed([81; 32]))
}

type Signing = JoinHandle<Result<(), CheckpointStopped>>;

/// Follows the ledger from whatever `store` holds.
async fn follow(ledgerbox: &Ledgerbox, store: &Arc<MemoryCheckpointStore>) -> Signing {
    let clock = ledgerbox.clock.clone();
    let stored = store.load().await.unwrap();
    let checkpoints = Checkpoints::new(store.clone(), clock, signer(), stored);
    tokio::spawn(checkpoints.run(ledgerbox.ledger().follow()))
}

fn stored(store: &MemoryCheckpointStore) -> Checkpoint {
    signer().open(&store.stored().unwrap()).unwrap()
}

async fn root_at(ledgerbox: &Ledgerbox, size: u64) -> Hash {
    let records = ledgerbox.records().await;
    let leaves: Vec<Hash> = records.iter().map(x811_eventlog::Record::hash).collect();
    root_of(&leaves[..usize::try_from(size).unwrap()])
}

#[tokio::test]
async fn lc_1_5_checkpoints_follow_the_log_at_most_once_a_second() {
    let ledgerbox = Ledgerbox::open().await;
    let store = Arc::new(MemoryCheckpointStore::new());
    let _signing = follow(&ledgerbox, &store).await;
    ledgerbox.settle().await;
    let first = stored(&store);
    assert_eq!(first.origin, ORIGIN);
    assert_eq!(first.size, ledgerbox.ledger().world().head().size);
    assert_eq!(first.root, root_at(&ledgerbox, first.size).await);

    let deal = Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox.settle().await;
    assert_eq!(stored(&store), first, "the second is not over");
    ledgerbox.advance_ms(999).await;
    assert_eq!(stored(&store), first, "the second is not over");
    ledgerbox.advance_ms(1).await;
    let second = stored(&store);
    assert_eq!(second.size, ledgerbox.ledger().world().head().size);
    assert_eq!(second.root, root_at(&ledgerbox, second.size).await);
    assert_eq!(ledgerbox.state(deal.id()), "offered");
}

#[tokio::test]
async fn lc_1_5_the_size_and_the_moment_of_the_last_checkpoint_are_known() {
    let ledgerbox = Ledgerbox::open().await;
    let store = Arc::new(MemoryCheckpointStore::new());
    let checkpoints = Checkpoints::new(store, ledgerbox.clock.clone(), signer(), None);
    let signed = checkpoints.signed();
    assert_eq!(*signed.borrow(), None, "nothing is stored yet");
    let _signing = tokio::spawn(checkpoints.run(ledgerbox.ledger().follow()));
    ledgerbox.settle().await;
    let first = signed.borrow().clone().unwrap();
    assert_eq!(
        first.checkpoint.size,
        ledgerbox.ledger().world().head().size
    );
    let _deal = Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox.advance_ms(1_000).await;
    let second = signed.borrow().clone().unwrap();
    assert_eq!(
        second.checkpoint.size,
        ledgerbox.ledger().world().head().size
    );
    assert_eq!(second.monotonic_ms, first.monotonic_ms + 1_000);
    ledgerbox.advance_ms(60_000).await;
    let size = ledgerbox.ledger().world().head().size;
    let last = signed.borrow().clone().unwrap();
    assert!(last.checkpoint.size >= size - 1, "of the lapse");
}

#[tokio::test]
async fn lc_1_5_the_end_of_the_ledger_is_signed_without_waiting() {
    let mut ledgerbox = Ledgerbox::open().await;
    let store = Arc::new(MemoryCheckpointStore::new());
    let signing = follow(&ledgerbox, &store).await;
    ledgerbox.settle().await;
    let _deal = Deal::opened(&ledgerbox, Until::Offered).await;
    let size = ledgerbox.ledger().world().head().size;
    ledgerbox.stop().await.unwrap();
    signing.await.unwrap().unwrap();
    assert_eq!(stored(&store).size, size);
}

#[tokio::test]
async fn two_that_sign_for_one_log_are_noticed() {
    let ledgerbox = Ledgerbox::open().await;
    let store = Arc::new(MemoryCheckpointStore::new());
    let signing = follow(&ledgerbox, &store).await;
    ledgerbox.settle().await;
    store.replace(Some("of another process".to_owned()));
    let _deal = Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox.advance_ms(1_000).await;
    let stopped = signing.await.unwrap().unwrap_err();
    assert!(stopped.to_string().contains("another process"), "{stopped}");
    assert_eq!(store.stored().as_deref(), Some("of another process"));
}

/// A store in which a fault can be set.
#[derive(Default)]
struct FaultyStore {
    inner: MemoryCheckpointStore,
    fault: Mutex<Option<StoreFault>>,
}

#[derive(Clone, Copy)]
enum StoreFault {
    Fails,
    NeverAnswers,
}

impl FaultyStore {
    fn set(&self, fault: Option<StoreFault>) {
        *self.fault.lock().unwrap() = fault;
    }
}

impl CheckpointStore for FaultyStore {
    async fn load(&self) -> Result<Option<String>, CheckpointStoreError> {
        self.inner.load().await
    }

    async fn compare_and_swap(
        &self,
        previous: Option<String>,
        next: String,
    ) -> Result<(), CheckpointStoreError> {
        let fault = *self.fault.lock().unwrap();
        match fault {
            None => self.inner.compare_and_swap(previous, next).await,
            Some(StoreFault::Fails) => {
                let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
                Err(CheckpointStoreError::Backend(Box::new(full)))
            }
            Some(StoreFault::NeverAnswers) => std::future::pending().await,
        }
    }
}

/// A ledger whose first checkpoint is stored, and whose next one meets `fault`.
async fn with_fault(
    fault: StoreFault,
) -> (
    Ledgerbox,
    Arc<FaultyStore>,
    watch::Receiver<Option<Unstored>>,
) {
    let ledgerbox = Ledgerbox::open().await;
    let store = Arc::new(FaultyStore::default());
    let checkpoints = Checkpoints::new(store.clone(), ledgerbox.clock.clone(), signer(), None);
    let unstored = checkpoints.unstored();
    drop(tokio::spawn(checkpoints.run(ledgerbox.ledger().follow())));
    ledgerbox.settle().await;
    assert_eq!(*unstored.borrow(), None, "the first one is stored");
    store.set(Some(fault));
    let _deal = Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox.advance_ms(1_000).await;
    (ledgerbox, store, unstored)
}

fn seen(unstored: &watch::Receiver<Option<Unstored>>) -> Unstored {
    unstored.borrow().unwrap()
}

#[tokio::test]
async fn lc_1_5_a_checkpoint_that_cannot_be_stored_is_known_at_once_and_overdue_after_ten_seconds()
{
    let (ledgerbox, store, unstored) = with_fault(StoreFault::Fails).await;
    assert!(seen(&unstored).needs_attention(), "{unstored:?}");
    for _ in 0..MAX_UNSTORED_MS / 1_000 {
        assert!(!seen(&unstored).is_overdue(), "{unstored:?}");
        ledgerbox.advance_ms(1_000).await;
    }
    assert!(seen(&unstored).is_overdue(), "{unstored:?}");
    store.set(None);
    ledgerbox.advance_ms(1_000).await;
    assert_eq!(*unstored.borrow(), None);
    let stored = signer().open(&store.inner.stored().unwrap()).unwrap();
    assert_eq!(stored.size, ledgerbox.ledger().world().head().size);
}

#[tokio::test]
async fn lc_1_5_a_store_that_never_answers_is_noticed() {
    let (ledgerbox, _store, unstored) = with_fault(StoreFault::NeverAnswers).await;
    assert!(!seen(&unstored).needs_attention(), "it may still answer");
    for _ in 0..3 {
        ledgerbox.advance_ms(1_000).await;
    }
    assert!(seen(&unstored).needs_attention(), "{unstored:?}");
    for _ in 3..MAX_UNSTORED_MS / 1_000 {
        ledgerbox.advance_ms(1_000).await;
    }
    assert!(seen(&unstored).is_overdue(), "{unstored:?}");
}

#[tokio::test]
async fn lc_1_5_a_process_that_was_suspended_is_not_overdue() {
    let (ledgerbox, _store, unstored) = with_fault(StoreFault::Fails).await;
    ledgerbox.advance_ms(60_000).await;
    assert!(!seen(&unstored).is_overdue(), "{unstored:?}");
}

/// The directory of the checkpoint is removed, or its disk is taken away, and put back.
#[tokio::test]
async fn reliability_a_checkpoint_that_was_removed_is_waited_for_and_never_begun_anew() {
    let ledgerbox = Ledgerbox::open().await;
    let store = Arc::new(MemoryCheckpointStore::new());
    let checkpoints = Checkpoints::new(store.clone(), ledgerbox.clock.clone(), signer(), None);
    let unstored = checkpoints.unstored();
    let signing = tokio::spawn(checkpoints.run(ledgerbox.ledger().follow()));
    ledgerbox.settle().await;
    let last = store.stored();
    store.replace(None);
    let _deal = Deal::opened(&ledgerbox, Until::Offered).await;
    for _ in 0..3 {
        ledgerbox.advance_ms(1_000).await;
        assert!(seen(&unstored).has_failed, "{unstored:?}");
        assert_eq!(store.stored(), None);
    }
    store.replace(last);
    ledgerbox.advance_ms(1_000).await;
    assert_eq!(*unstored.borrow(), None);
    assert_eq!(stored(&store).size, ledgerbox.ledger().world().head().size);
    assert!(!signing.is_finished());
}

/// A checkpoint of a ledger that has gone on since the copy was made.
async fn signed_later() -> Checkpoint {
    let ledgerbox = Ledgerbox::open().await;
    let store = Arc::new(MemoryCheckpointStore::new());
    let _deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let _signing = follow(&ledgerbox, &store).await;
    ledgerbox.settle().await;
    stored(&store)
}

#[tokio::test]
async fn incident_a_restored_backup_does_not_start_trustasia() {
    let signed = signed_later().await;
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.crash().await;
    let log_size = ledgerbox.records().await.len() as u64;
    ledgerbox.signed = Some(signed.clone());
    let refused = ledgerbox.start().await.unwrap_err();
    let OpenError::Checkpoint(Misfit::Behind { log, signed: size }) = &refused else {
        panic!("{refused}");
    };
    assert_eq!((*log, *size), (log_size, signed.size));
    let said = refused.to_string();
    assert!(said.contains("Restore a copy"), "{said}");
    assert_eq!(
        ledgerbox.records().await.len() as u64,
        log_size,
        "untouched"
    );
}

#[tokio::test]
async fn incident_a_forked_log_does_not_start_venafi() {
    for starts in [false, true] {
        let mut ledgerbox = Ledgerbox::open().await;
        let _deal = Deal::opened(&ledgerbox, Until::Delivered).await;
        let size = ledgerbox.records().await.len() as u64 - 2;
        let right = root_at(&ledgerbox, size).await;
        ledgerbox.crash().await;
        let root = if starts { right } else { Hash::ZERO };
        let origin = ORIGIN.to_owned();
        ledgerbox.signed = Some(Checkpoint { origin, size, root });
        match ledgerbox.start().await {
            Ok(()) => assert!(starts),
            Err(OpenError::Checkpoint(Misfit::Forked { size: forked })) => {
                assert!(!starts && forked == size);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn incident_a_checkpoint_by_another_key_or_of_another_log_rekor_2069() {
    let signed = signed_later().await;
    let store = Arc::new(MemoryCheckpointStore::new());
    let ledgerbox = Ledgerbox::open().await;
    let _signing = follow(&ledgerbox, &store).await;
    ledgerbox.settle().await;
    let note = store.stored().unwrap();
    let other_key = CheckpointSigner::new(ORIGIN, SecretKey::from_seed([82; 32]));
    assert!(matches!(
        other_key.open(&note),
        Err(CheckpointError::Note(_))
    ));
    let other_log = CheckpointSigner::new("x", SecretKey::from_seed([81; 32]));
    assert!(matches!(
        other_log.open(&note),
        Err(CheckpointError::Note(_))
    ));
    let longer = note.replacen("\n2\n", &format!("\n{}\n", signed.size), 1);
    assert!(longer != note && signer().open(&longer).is_err());
}
