//! Over a log in memory, while a ledger signs or does not.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use x811_eventlog::{Draft, Hash, Record};
use x811_ledger::checkpoint::CheckpointStoreError;
#[cfg(feature = "serve")]
use x811_ledger::memory::MemoryReadModel;
use x811_ledger::memory::MemoryStore;
use x811_protocol::key::SecretKey;

use super::*;

/// What is stored, look by look; the last stays.
struct Looks(Mutex<VecDeque<Option<String>>>);

impl Looks {
    fn of(notes: impl IntoIterator<Item = Option<u64>>) -> Looks {
        let notes = notes.into_iter().map(|size| size.map(note));
        Looks(Mutex::new(notes.collect()))
    }
}

impl CheckpointStore for Looks {
    async fn load(&self) -> Result<Option<String>, CheckpointStoreError> {
        let mut looks = self.0.lock().unwrap();
        if looks.len() > 1 {
            return Ok(looks.pop_front().unwrap());
        }
        Ok(looks.front().cloned().flatten())
    }

    async fn compare_and_swap(
        &self,
        _previous: Option<String>,
        _next: String,
    ) -> Result<(), CheckpointStoreError> {
        unreachable!("an export signs nothing")
    }
}

/// A signed checkpoint over so many records, whichever they are.
fn note(size: u64) -> String {
    let key = SecretKey::from_seed([2; 32]);
    let checkpoint = Checkpoint {
        origin: "ledger.example".to_owned(),
        size,
        root: Hash::ZERO,
    };
    let sign = |message: &[u8]| *key.sign(message).as_bytes();
    checkpoint.sign(*key.public().as_bytes(), sign).unwrap()
}

async fn log_of(size: u64) -> MemoryStore {
    let store = MemoryStore::new();
    let mut prev = Hash::ZERO;
    for position in 0..size {
        let draft = Draft {
            recorded_at_ms: 1,
            stream: "ledger".to_owned(),
            stream_seq: position,
            event: serde_json::json!({"type": "ledger_resumed", "gap_ms": 0}),
        };
        let record = Record::seal(position, prev, draft).unwrap();
        prev = record.hash();
        store.log().append(position, &[record]).await.unwrap();
    }
    store
}

/// How many records the checkpoint covers, how many it leaves out, and how often was waited.
async fn waits(
    records: u64,
    looks: impl IntoIterator<Item = Option<u64>>,
) -> (Option<(u64, u64)>, u32) {
    let (store, place, pauses) = (log_of(records).await, Looks::of(looks), AtomicU32::new(0));
    let pause = async || {
        pauses.fetch_add(1, Ordering::Relaxed);
    };
    let awaited = signed(&store, &place, 4, pause).await.unwrap();
    let found = awaited.map(|found| {
        let covered = Checkpoint::claimed(&found.note).unwrap();
        (covered.size, found.left_out)
    });
    (found, pauses.into_inner())
}

#[tokio::test]
async fn lc_9_an_export_waits_for_a_checkpoint_over_all_there_was() {
    let table = [
        // There already.
        (vec![Some(3)], (Some((3, 0)), 0)),
        // The log went on since it was looked at.
        (vec![Some(7)], (Some((7, 0)), 0)),
        // It comes; also the first there ever was.
        (vec![Some(1), Some(1), Some(3)], (Some((3, 0)), 2)),
        (vec![None, None, Some(4)], (Some((4, 0)), 2)),
        // None comes: the last one, and what it leaves out.
        (vec![Some(1)], (Some((1, 2)), 4)),
        // There never was one.
        (vec![None], (None, 4)),
    ];
    for (looks, expected) in table {
        assert_eq!(waits(3, looks.clone()).await, expected, "{looks:?}");
    }
}

#[tokio::test]
async fn an_empty_log_and_what_is_no_checkpoint_are_not_waited_for() {
    let pause = async || panic!("nothing to wait for");
    let (empty, some) = (log_of(0).await, log_of(1).await);
    let failure = signed(&empty, &Looks::of([None]), 4, pause).await;
    assert_eq!(failure.unwrap_err().code, "log");
    let junk = Looks(Mutex::new([Some("junk".to_owned())].into()));
    let failure = signed(&some, &junk, 4, pause).await;
    assert_eq!(failure.unwrap_err().code, "checkpoint");
}

#[cfg(feature = "serve")]
#[tokio::test]
async fn rec_2_a_bundle_waits_for_the_rows_of_a_ledger_that_signed_first() {
    let (rows, pauses) = (MemoryReadModel::new(), AtomicU32::new(0));
    let pause = async || {
        let at = u64::from(pauses.fetch_add(1, Ordering::Relaxed));
        rows.apply(at, at + 1, &[]).await.unwrap();
    };
    reflected(&rows, 3, 4, pause).await.unwrap();
    assert_eq!(pauses.load(Ordering::Relaxed), 3, "until they are there");
    reflected(&rows, 3, 4, pause).await.unwrap();
    assert_eq!(pauses.load(Ordering::Relaxed), 3, "they are there");
    reflected(&rows, 9, 4, pause).await.unwrap();
    assert_eq!(pauses.load(Ordering::Relaxed), 7, "not for ever");
}
