//! A stream with its records and bodies in one question is what it is in two.

use std::collections::HashMap;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use x811_eventlog::{Draft, Head, InclusionProof, Node, Record, Subtree};
use x811_ledger::port::{Body, Commit, Erased, LedgerStore as _, ReadModel};
use x811_world::row::{RowChange, StreamRow};

use super::sample::{body, stranger};
use crate::{ReadRows, SqliteStore};

const STREAMS: [&str; 3] = ["ledger", "interaction/a", "interaction/b"];

/// Records of all streams in turn, then one that erases the body at position 4.
fn records(count: u64) -> Vec<Record> {
    let mut head = Head::EMPTY;
    let mut records = Vec::new();
    for position in 0..=count {
        let is_last = position == count;
        let stream = STREAMS[(position % 3) as usize].to_owned();
        let event = match is_last {
            true => json!({ "type": "bodies_erased", "positions": [4] }),
            false => json!({ "type": "t" }),
        };
        let draft = Draft {
            recorded_at_ms: position,
            stream: if is_last {
                STREAMS[0].to_owned()
            } else {
                stream
            },
            stream_seq: position / 3,
            event,
        };
        let record = Record::seal(position, head.hash, draft).unwrap();
        head = Head::after(&record);
        records.push(record);
    }
    records
}

async fn filled(directory: &Path, rows_in: &Path, count: u64) -> (SqliteStore, ReadRows) {
    let rows = ReadRows::open(rows_in).await.unwrap();
    let store = SqliteStore::open(directory).await.unwrap();
    let records = records(count);
    let rows_of = |record: &Record| {
        let (position, hash) = (record.position(), record.hash());
        let place = RowChange::StreamRecord(StreamRow {
            stream: record.stream().to_owned(),
            stream_seq: record.stream_seq(),
            position,
        });
        [place, RowChange::Leaf { position, hash }]
    };
    let changes: Vec<_> = records.iter().flat_map(rows_of).collect();
    let commit = Commit {
        bodies: [1, 4, 5, 7]
            .map(|at| body(at, format!("{{{at}}}").as_bytes()))
            .to_vec(),
        erased: vec![Erased {
            position: 4,
            record: count,
        }],
        records,
        ..Commit::default()
    };
    store.commit(commit).await.unwrap();
    rows.apply(0, count + 1, &changes).await.unwrap();
    (store, rows)
}

type Answer = (Vec<Record>, HashMap<u64, Body>);

async fn in_two(
    store: &SqliteStore,
    rows: &ReadRows,
    stream: &str,
    others: &[u64],
    limit: usize,
) -> Answer {
    let positions = rows.stream_positions(stream, 0, limit).await.unwrap();
    let positions = [&*positions, others].concat();
    store.records_with_bodies(&positions).await.unwrap()
}

#[tokio::test]
async fn one_question_finds_what_two_do_beside_the_ledger_and_without_it() {
    let (directory, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (place, rows_in) in [
        (&directory, &directory),
        (&elsewhere, &TempDir::new().unwrap()),
    ] {
        let (store, rows) = filled(place.path(), rows_in.path(), 12).await;
        for stream in [
            "interaction/a",
            "interaction/b",
            "ledger",
            "interaction/none",
            "",
        ] {
            for (others, limit) in [
                (&[][..], 9),
                (&[0, 3], 9),
                (&[3, 0, 99, u64::MAX], 2),
                (&[], 0),
            ] {
                // Those of the stream itself stand in its place.
                let others = if stream == "ledger" { &[] } else { others };
                let due = in_two(&store, &rows, stream, others, limit).await;
                let found = rows.stream_with_bodies(&store, stream, others, limit).await;
                assert_eq!(found.unwrap(), due, "{stream}, {others:?}, {limit}");
            }
        }
        let found = rows
            .stream_with_bodies(&store, "interaction/a", &[0], 9)
            .await;
        let (records, bodies) = found.unwrap();
        let positions: Vec<u64> = records.iter().map(Record::position).collect();
        assert_eq!(positions, [1, 4, 7, 10, 0]);
        assert_eq!(bodies.len(), 2, "position 4 was erased, 10 and 0 have none");
        rows.close().await;
        store.close().await;
    }
}

/// The tiles come with the stream: to compare its records with the tree, and to prove one, asks nothing
/// more.
#[tokio::test]
async fn a_proof_of_the_last_record_needs_no_question_of_its_own() {
    let directory = TempDir::new().unwrap();
    let (store, rows) = filled(directory.path(), directory.path(), 300).await;
    let found = rows
        .stream_with_bodies(&store, "interaction/a", &[], 1_000)
        .await;
    let last = found.unwrap().0.last().map(Record::position).unwrap();
    let beside = InclusionProof::subtrees(last, 301).unwrap();
    let nodes = beside.iter().flat_map(Subtree::nodes);
    // The rest of the tree is not in that tile.
    let nodes = nodes.filter(|node| node.level() < 8);
    let leaves = [1, 4, 255, 256, 298].map(Node::leaf);
    let nodes: Vec<_> = nodes.chain(leaves).collect();
    assert!(nodes.len() > 8, "{nodes:?}");
    let due = rows.nodes(&nodes).await.unwrap();
    assert_eq!(due.len(), nodes.len());

    let rows_again = ReadRows::open_read_only(directory.path()).await.unwrap();
    let found = rows_again
        .stream_with_bodies(&store, "interaction/a", &[], 1_000)
        .await;
    assert_eq!(found.unwrap().0.last().map(Record::position), Some(last));
    let mut stranger = stranger(&directory.path().join("read.db")).await;
    let gone = sqlx::query("DELETE FROM tiles")
        .execute(&mut stranger)
        .await;
    assert_eq!(gone.unwrap().rows_affected(), 3);
    assert_eq!(rows_again.nodes(&nodes).await.unwrap(), due);
}
