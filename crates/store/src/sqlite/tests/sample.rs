//! Things to store.

use serde_json::{Value, json};
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use uuid::Uuid;
use x811_eventlog::{Draft, Head, Record};
use x811_ledger::port::{Body, Commit};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::row::SubjectRow;

pub(super) const BASE_SEPOLIA: ChainId = ChainId::new(84_532);

/// `count` small records that continue `head`.
pub(crate) fn records(head: Head, count: u64) -> Vec<Record> {
    let mut end = head;
    (0..count)
        .map(|_| {
            let draft = Draft {
                recorded_at_ms: end.recorded_at_ms + 1,
                stream: "s".to_owned(),
                stream_seq: end.size,
                event: json!({ "type": "t" }),
            };
            let record = Record::seal(end.size, end.hash, draft).unwrap();
            end = Head::after(&record);
            record
        })
        .collect()
}

/// A commit of `count` records that continue `head`, with a frontier and nothing else.
pub(crate) fn commit(head: Head, count: u64) -> Commit {
    Commit {
        expected_size: head.size,
        records: records(head, count),
        frontier: format!("frontier of {}", head.size + count).into_bytes(),
        ..Commit::default()
    }
}

pub(crate) fn body(position: u64, bytes: &[u8]) -> Body {
    Body {
        position,
        digest: Digest::of(bytes),
        bytes: Arc::from(bytes),
    }
}

pub(super) fn digest(n: u64) -> Digest {
    Digest::of(&n.to_be_bytes())
}

/// In order of `n`, as UUIDv7 are in order of time.
pub(super) fn envelope_id(n: u64) -> EnvelopeId {
    EnvelopeId::from_parts(1_767_225_600_000 + n, &[7; 10])
}

pub(super) fn did(n: u8) -> Did {
    Did::from_uuid(Uuid::from_bytes([
        n, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0,
    ]))
    .unwrap()
}

pub(super) fn claim(transaction: u8, ordinal: u64) -> Claim {
    Claim {
        chain_id: BASE_SEPOLIA,
        tx_hash: TxHash::from_bytes([transaction; 32]),
        ordinal,
    }
}

/// Somebody with a shell on the file.
pub(super) async fn stranger(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(file);
    options.connect().await.unwrap()
}

/// Where a caller that loses patience leaves its work.
#[derive(Clone, Copy)]
pub(super) enum Left {
    /// SQLite's thread has the question.
    Asked,
    /// SQLite's thread has answered, and nobody looked.
    Answered,
}

/// Polls `work` so many times, each once it was woken, and gives it up; whether it was done.
pub(super) async fn give_up(work: impl Future<Output: Sized>, polls: usize, left: Left) -> bool {
    let mut work = Box::pin(work);
    let mut polled = 0;
    poll_fn(|context| {
        if polled == polls {
            return Poll::Ready(false);
        }
        polled += 1;
        match (work.as_mut().poll(context), left) {
            (Poll::Ready(_), _) => Poll::Ready(true),
            (Poll::Pending, Left::Asked) if polled == polls => Poll::Ready(false),
            (Poll::Pending, _) => Poll::Pending,
        }
    })
    .await
}

/// A row of the read model for an interaction.
pub(super) fn interaction_row() -> SubjectRow {
    SubjectRow {
        subject: Subject::Interaction(InteractionId::from(envelope_id(1))),
        state: "pending".to_owned(),
        members: vec![did(1), did(2)],
        deadline_at_ms: None,
        opened_at_ms: TimestampMs::new(1),
        updated_at_ms: TimestampMs::new(2),
        last_position: 3,
        detail: Value::Null,
    }
}
