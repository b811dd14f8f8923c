//! What goes wrong in a cluster and with its client (eventstore.md section 1.4), one test each.

use std::time::Duration;

use x811_eventlog::{AppendError, Cause, Draft, Head, ReadError, Record};

use super::double::Cluster;
use crate::kurrent::client::Patience;
use crate::kurrent::error::KurrentError;
use crate::kurrent::probe::Address;
use crate::kurrent::stream::{KurrentReadError, Stream};

const NAME: &str = "ledgerlog-test";

/// Short enough for a test; a call takes some 50 ms.
const SHORT: Patience = Patience {
    call: Duration::from_millis(700),
    all: Duration::from_secs(6),
    look: Duration::from_secs(10),
};

fn stream_with(cluster: &Cluster, patience: Patience) -> Stream {
    let address = Address::of(cluster.url().reveal()).unwrap();
    Stream::new(address, patience, NAME.to_owned())
}

fn stream(cluster: &Cluster) -> Stream {
    stream_with(cluster, SHORT)
}

/// `count` records that continue `head`; `who` makes them differ.
fn records(head: Head, count: u64, who: &str) -> Vec<Record> {
    let mut end = head;
    let mut records = Vec::new();
    for _ in 0..count {
        let draft = Draft {
            recorded_at_ms: end.recorded_at_ms + 1,
            stream: "s".to_owned(),
            stream_seq: end.size,
            event: serde_json::json!({ "type": "t", "who": who }),
        };
        let record = Record::seal(end.size, end.hash, draft).unwrap();
        end = Head::after(&record);
        records.push(record);
    }
    records
}

fn head_after(records: &[Record]) -> Head {
    Head::after(records.last().unwrap())
}

fn leaves(records: &[Record]) -> Vec<Vec<u8>> {
    records
        .iter()
        .map(|record| record.bytes().to_vec())
        .collect()
}

/// The vendor's client goes on asking the node that is dead: 40 of 40 appends failed.
#[tokio::test]
async fn after_the_leader_was_killed_the_next_one_is_written_to() {
    let mut cluster = Cluster::start(3).await;
    let stream = stream(&cluster);
    let first = records(Head::EMPTY, 2, "a");
    stream.append(0, &first).await.unwrap();
    cluster.kill_leader().await;
    let second = records(head_after(&first), 1, "a");
    stream.append(2, &second).await.unwrap();
    assert_eq!(stream.head(0).await.unwrap(), head_after(&second));
    let all = stream.page(0, 9, 0).await.unwrap();
    assert_eq!(leaves(&all), leaves(&[first, second].concat()));
}

#[tokio::test]
async fn after_the_leader_resigned_the_next_one_is_written_to_and_read() {
    let cluster = Cluster::start(3).await;
    let stream = stream(&cluster);
    let first = records(Head::EMPTY, 1, "a");
    stream.append(0, &first).await.unwrap();
    cluster.elect();
    assert_eq!(stream.head(1).await.unwrap(), head_after(&first));
    cluster.elect();
    let second = records(head_after(&first), 1, "a");
    stream.append(1, &second).await.unwrap();
    assert_eq!(cluster.state().stored_appends, 2);
}

/// A client that once failed to connect never connects again.
#[tokio::test]
async fn a_cluster_that_is_down_at_the_start_is_found_once_it_is_up() {
    let mut cluster = Cluster::down(1).await;
    let impatient = Patience {
        all: Duration::from_millis(300),
        ..SHORT
    };
    let first = records(Head::EMPTY, 1, "a");
    let stream = stream_with(&cluster, impatient);
    let error = stream.head(0).await.unwrap_err();
    let is_unreachable = matches!(
        &error,
        KurrentReadError::Cluster(KurrentError::Unreachable(_))
    );
    assert!(is_unreachable, "{error:?}");
    // Nothing was sent, so nothing is unknown.
    let error = stream.append(0, &first).await.unwrap_err();
    assert!(matches!(error, AppendError::Backend(_)), "{error:?}");
    cluster.start_node(0).await;
    assert_eq!(stream.head(0).await.unwrap(), Head::EMPTY);
    stream.append(0, &first).await.unwrap();
}

/// Stored, and nobody said so: the same again is stored once.
#[tokio::test]
async fn an_acknowledgement_that_was_swallowed_stores_nothing_twice() {
    let cluster = Cluster::start(1).await;
    let stream = stream(&cluster);
    let first = records(Head::EMPTY, 3, "a");
    cluster.state().faults.swallowed_acks = 2;
    stream.append(0, &first).await.unwrap();
    assert_eq!(cluster.state().stored_appends, 1);
    assert_eq!(cluster.state().payloads(NAME), leaves(&first));
}

/// What stays unknown is said to be unknown, and comes out as stored later.
#[tokio::test]
async fn an_append_that_is_never_answered_is_of_unknown_outcome() {
    let cluster = Cluster::start(1).await;
    let impatient = Patience {
        all: Duration::from_millis(300),
        ..SHORT
    };
    let stream = stream_with(&cluster, impatient);
    let first = records(Head::EMPTY, 1, "a");
    cluster.state().faults.swallowed_acks = 1;
    let error = stream.append(0, &first).await.unwrap_err();
    let is_unknown = matches!(
        error,
        AppendError::OutcomeUnknown {
            expected_size: 0,
            ..
        }
    );
    assert!(is_unknown, "{error:?}");
    stream.append(0, &first).await.unwrap();
    assert_eq!(cluster.state().stored_appends, 1);
}

/// An answer that ends in order, before its first event, is not the end of the log: a proxy may have
/// ended it. Who gains: whoever would have the ledger believe that its log is shorter.
#[tokio::test]
async fn answers_that_end_early_are_asked_for_again() {
    let cluster = Cluster::start(1).await;
    let stream = stream(&cluster);
    let first = records(Head::EMPTY, 3, "a");
    stream.append(0, &first).await.unwrap();
    cluster.state().faults.ended_reads = 2;
    assert_eq!(stream.head(0).await.unwrap(), head_after(&first));
    cluster.state().faults.ended_reads = 1;
    let page = stream.page(1, 9, 0).await.unwrap();
    assert_eq!(leaves(&page), leaves(&first[1..]));
    assert!(stream.page(3, 9, 3).await.unwrap().is_empty());
    // For ever: said, and not taken for an empty log.
    cluster.state().faults.ended_reads = u32::MAX;
    stream.head(0).await.unwrap_err();
}

#[tokio::test]
async fn a_server_that_hangs_holds_nobody_for_long() {
    let cluster = Cluster::start(1).await;
    let stream = stream(&cluster);
    let first = records(Head::EMPTY, 1, "a");
    cluster.state().faults.hanging_calls = 1;
    stream.append(0, &first).await.unwrap();
    cluster.state().faults.hanging_calls = 1;
    assert_eq!(stream.head(0).await.unwrap(), head_after(&first));
}

/// Two that think they write: one does, and the other one is told how long the log is.
#[tokio::test]
async fn a_wrong_expected_revision_is_a_conflict_that_changes_nothing() {
    let cluster = Cluster::start(1).await;
    let (one, other) = (stream(&cluster), stream(&cluster));
    let (ours, theirs) = (records(Head::EMPTY, 2, "a"), records(Head::EMPTY, 1, "b"));
    one.append(0, &ours).await.unwrap();
    let error = other.append(0, &theirs).await.unwrap_err();
    let is_conflict = matches!(
        error,
        AppendError::Conflict {
            expected: 0,
            actual: 2
        }
    );
    assert!(is_conflict, "{error:?}");
    // Half of it stored, half not: no batch of ours.
    let longer = [ours.clone(), records(head_after(&ours), 1, "b")].concat();
    let error = other.append(0, &longer).await.unwrap_err();
    assert!(matches!(error, AppendError::Conflict { .. }), "{error:?}");
    assert_eq!(cluster.state().payloads(NAME), leaves(&ours));
}

/// The same event id with another payload is taken without a word and not stored: so ids are of the
/// record's own hash.
#[tokio::test]
async fn no_two_records_have_one_id() {
    let cluster = Cluster::start(1).await;
    let (one, other) = (stream(&cluster), stream(&cluster));
    one.append(0, &records(Head::EMPTY, 1, "a")).await.unwrap();
    let error = other.append(0, &records(Head::EMPTY, 1, "b")).await;
    assert!(error.is_err());
}

/// Who gains: whoever can set a limit on the stream, and have old records vanish.
#[tokio::test]
async fn a_gap_is_damage_and_not_a_shorter_log() {
    let cluster = Cluster::start(1).await;
    let stream = stream(&cluster);
    let first = records(Head::EMPTY, 4, "a");
    stream.append(0, &first).await.unwrap();
    cluster.state().forget(NAME, 1);
    for from in [0, 1] {
        let error = stream.page(from, 9, 0).await.unwrap_err();
        let KurrentReadError::Log(ReadError::Damaged(broken)) = error else {
            panic!("{error:?}");
        };
        assert_eq!(
            (broken.position, broken.cause),
            (1, Cause::Missing { last: 1 })
        );
    }
}

#[tokio::test]
async fn what_does_not_continue_the_log_is_damage() {
    let cluster = Cluster::start(1).await;
    let stream = stream(&cluster);
    let first = records(Head::EMPTY, 1, "a");
    stream.append(0, &first).await.unwrap();
    let foreign = records(head_after(&records(Head::EMPTY, 1, "b")), 1, "b");
    cluster.state().put(NAME, foreign[0].bytes().to_vec());
    let error = stream.page(0, 9, 0).await.unwrap_err();
    let KurrentReadError::Log(ReadError::Damaged(broken)) = error else {
        panic!("{error:?}");
    };
    assert!(
        matches!(broken.cause, Cause::LinkBroken { .. }),
        "{broken:?}"
    );
}

/// A stream that was deleted takes the first append again, and goes on at its old revision.
#[tokio::test]
async fn a_stream_that_was_deleted_is_no_empty_log() {
    let cluster = Cluster::start(1).await;
    let stream = stream(&cluster);
    let first = records(Head::EMPTY, 2, "a");
    stream.append(0, &first).await.unwrap();
    cluster.state().soft_delete(NAME);
    let error = stream.head(2).await.unwrap_err();
    assert!(
        matches!(
            &error,
            KurrentReadError::Cluster(KurrentError::SoftDeleted { .. })
        ),
        "{error:?}"
    );
    // Who knows of no record writes, and is told where it went.
    let error = stream.append(0, &records(Head::EMPTY, 1, "b")).await;
    assert!(
        matches!(error, Err(AppendError::OutcomeUnknown { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_stream_that_hides_records_is_refused() {
    for setting in ["$maxCount", "$maxAge", "$tb"] {
        let cluster = Cluster::start(1).await;
        let stream = stream(&cluster);
        stream.check(0).await.unwrap();
        let metadata = format!("{{\"{setting}\":5}}").into_bytes();
        cluster.state().put(&format!("$${NAME}"), metadata);
        let error = stream.check(0).await.unwrap_err();
        assert!(error.to_string().contains(setting), "{error}");
    }
}

/// The server counts positions in 63 bits, and answers a larger one with an error.
#[tokio::test]
async fn positions_beyond_what_the_server_counts_are_empty_pages() {
    let cluster = Cluster::start(1).await;
    let stream = stream(&cluster);
    stream
        .append(0, &records(Head::EMPTY, 2, "a"))
        .await
        .unwrap();
    for from in [2, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX] {
        assert!(stream.page(from, 9, 2).await.unwrap().is_empty(), "{from}");
    }
}

/// The session ends in the middle of an append, with it stored or without: the same again is stored
/// once.
#[tokio::test]
async fn a_session_that_ends_leaves_an_append_that_is_tried_again() {
    let cluster = Cluster::start(1).await;
    let stream = stream(&cluster);
    let first = records(Head::EMPTY, 2, "a");
    cluster.state().faults.ended_sessions = 2;
    stream.append(0, &first).await.unwrap();
    assert_eq!(cluster.state().stored_appends, 1);
    let second = records(head_after(&first), 1, "a");
    cluster.state().faults.broken_sessions = 2;
    stream.append(2, &second).await.unwrap();
    assert_eq!(cluster.state().stored_appends, 2);
    assert_eq!(
        cluster.state().payloads(NAME),
        leaves(&[first, second].concat())
    );
}

#[tokio::test]
async fn a_server_without_batch_appends_is_named_as_too_old() {
    let cluster = Cluster::start(1).await;
    cluster.state().faults.has_no_batch_append = true;
    let error = stream(&cluster)
        .append(0, &records(Head::EMPTY, 1, "a"))
        .await;
    assert!(error.unwrap_err().to_string().contains("21.10"));
}
