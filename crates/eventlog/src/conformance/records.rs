//! Records to append, and the calls that must succeed for a promise to be looked at.

use serde_json::json;

use crate::chain::Head;
use crate::log::EventLog;
use crate::record::{Draft, Record};

/// `count` records that continue `head`, told apart from others by `mark`.
pub(super) fn continuing(head: Head, count: u64, mark: &str) -> Vec<Record> {
    sealed(
        head,
        count,
        |position| json!({ "type": "marked", "mark": mark, "n": position }),
    )
}

/// Records that continue `head`, whose leaves have `bytes` bytes together, a little under or over
/// [`MAX_BATCH_BYTES`](crate::log::MAX_BATCH_BYTES).
pub(super) fn filling(head: Head, bytes: usize) -> Vec<Record> {
    let mut records = padded(head, 15, 62_000);
    let end = records.last().map_or(head, Head::after);
    let taken: usize = records.iter().map(|record| record.bytes().len()).sum();
    let unpadded: usize = padded(end, 1, 0)
        .iter()
        .map(|record| record.bytes().len())
        .sum();
    records.extend(padded(end, 1, bytes - taken - unpadded));
    records
}

fn padded(head: Head, count: u64, pad_bytes: usize) -> Vec<Record> {
    sealed(
        head,
        count,
        |_| json!({ "type": "padded", "pad": "x".repeat(pad_bytes) }),
    )
}

fn sealed(head: Head, count: u64, event: impl Fn(u64) -> serde_json::Value) -> Vec<Record> {
    let mut prev = head.hash;
    (head.size..head.size + count)
        .map(|position| {
            let draft = Draft {
                recorded_at_ms: head.recorded_at_ms + 1,
                stream: "conformance".to_owned(),
                stream_seq: position,
                event: event(position),
            };
            let record = Record::seal(position, prev, draft)
                .expect("a small event with a type makes a leaf");
            prev = record.hash();
            record
        })
        .collect()
}

/// Appends `count` records that continue the log, and gives them.
pub(super) async fn append(log: &impl EventLog, count: u64) -> Vec<Record> {
    let head = head(log).await;
    let records = continuing(head, count, "appended");
    log.append(head.size, &records)
        .await
        .expect("a batch that continues the log is appended");
    records
}

pub(super) async fn head(log: &impl EventLog) -> Head {
    log.head().await.expect("a healthy log tells its head")
}

pub(super) async fn page(log: &impl EventLog, from: u64, limit: usize) -> Vec<Record> {
    log.read(from, limit)
        .await
        .expect("a healthy log is readable")
}

/// Everything the log holds, page by page.
pub(super) async fn everything(log: &impl EventLog) -> Vec<Record> {
    let mut records = Vec::new();
    loop {
        let page = page(log, records.len() as u64, 1_000).await;
        if page.is_empty() {
            return records;
        }
        records.extend(page);
    }
}
