//! What reading promises: the bytes that were written, in pages, now and after reopening.

use serde_json::json;

use super::Backend;
use super::records::{append, continuing, everything, head, page};
use crate::chain::{ChainVerifier, Head};
use crate::hash::Hash;
use crate::log::EventLog;
use crate::record::{Draft, MAX_LEAF_BYTES, Record};

/// A new log has the empty head and no records.
pub async fn new_log_is_empty(backend: &impl Backend) {
    let log = backend.open().await;
    assert_eq!(head(&log).await, Head::EMPTY);
    assert_eq!(page(&log, 0, 10).await, []);
}

/// The bytes read are the bytes appended, whatever characters they hold and up to the largest
/// leaf there is.
pub async fn bytes_are_read_back_verbatim(backend: &impl Backend) {
    let log = backend.open().await;
    let texts = [
        "",
        "\u{0}\u{1f}\"\\/",
        "é ß 漢字 \u{1f980}",
        "'; DROP TABLE records; --",
        "\r\n\t",
    ];
    let mut records = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        records.push(after(records.last(), &format!("é{index}"), text));
    }
    let room = MAX_LEAF_BYTES - after(records.last(), "largest", "").bytes().len();
    records.push(after(records.last(), "largest", &"x".repeat(room)));
    log.append(0, &records)
        .await
        .expect("the batch continues the log");

    let read = everything(&log).await;
    let bytes = |records: &[Record]| -> Vec<Vec<u8>> {
        records
            .iter()
            .map(|record| record.bytes().to_vec())
            .collect()
    };
    assert_eq!(
        bytes(&read),
        bytes(&records),
        "bytes come back as they were"
    );
    assert_eq!(
        read.last().map(|record| record.bytes().len()),
        Some(MAX_LEAF_BYTES)
    );
    let mut verifier = ChainVerifier::new();
    assert_eq!(
        read.iter()
            .flat_map(|record| verifier.push(record))
            .collect::<Vec<_>>(),
        []
    );
    assert_eq!(verifier.head(), head(&log).await);
}

fn after(previous: Option<&Record>, stream: &str, text: &str) -> Record {
    let head = previous.map_or(Head::EMPTY, Head::after);
    let draft = Draft {
        recorded_at_ms: 1,
        stream: stream.to_owned(),
        stream_seq: 0,
        event: json!({ "type": "text", "text": text }),
    };
    Record::seal(head.size, head.hash, draft).expect("an event with a type makes a leaf")
}

/// A page begins where it was asked to, has no gap, and is no longer than its limit.
pub async fn pages_are_contiguous_and_limited(backend: &impl Backend) {
    let log = backend.open().await;
    let mut stored = Vec::new();
    for count in [1, 4, 20] {
        stored.extend(append(&log, count).await);
    }
    for from in 0..stored.len() {
        assert_eq!(
            page(&log, from as u64, 0).await,
            [],
            "a page of none is empty"
        );
        for limit in [1, 2, 7, 25, 1_000] {
            let page = page(&log, from as u64, limit).await;
            assert!(
                page.len() <= limit,
                "{} records for a limit of {limit}",
                page.len()
            );
            assert!(!page.is_empty(), "a page is empty only at the end");
            assert_eq!(
                page,
                stored[from..from + page.len()],
                "from {from}, limit {limit}"
            );
        }
    }
    assert_eq!(
        everything(&log).await,
        stored,
        "pages put together are the log"
    );
}

/// Reading at or past the end is an empty page, not an error.
pub async fn reading_past_the_end_is_empty(backend: &impl Backend) {
    let log = backend.open().await;
    append(&log, 3).await;
    for from in [3, 4, (1 << 53) - 1, 1 << 53, u64::MAX] {
        assert_eq!(page(&log, from, 10).await, [], "from {from}");
    }
    assert_eq!(
        page(&log, 2, usize::MAX).await.len(),
        1,
        "any limit is taken"
    );
}

/// What was appended is there after reopening, and the log goes on from it. Says nothing about a
/// backend that cannot reopen.
pub async fn survives_reopening(backend: &impl Backend) {
    let log = backend.open().await;
    let mut stored = append(&log, 5).await;
    let before = head(&log).await;
    let Some(log) = backend.reopen(log).await else {
        return;
    };
    assert_eq!(head(&log).await, before, "the head is the same");
    assert_eq!(everything(&log).await, stored, "the records are the same");
    assert_ne!(before.hash, Hash::ZERO);

    let more = continuing(before, 2, "reopened");
    log.append(before.size, &more)
        .await
        .expect("the log goes on after reopening");
    stored.extend(more);
    assert_eq!(everything(&log).await, stored);
}
