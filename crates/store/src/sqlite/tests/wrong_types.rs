//! A column that holds another type than its own is damage, and is named so: no read panics.

use std::path::Path;

use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use x811_eventlog::{AppendError, EventLog as _, Hash, Head, Node, ReadError};
use x811_ledger::port::{Commit, LedgerStore as _, NonceOutcome, ReadModel as _, SpentNonce};
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;
use x811_world::row::{DeliveryRow, RowChange, StreamRow};

use super::sample::{
    self, BASE_SEPOLIA, body, claim, did, digest, envelope_id, interaction_row, stranger,
};
use crate::{ReadRows, SqliteStore, StoreError};

/// Records of the ledger: enough for some tags to be filed.
const RECORDS: u64 = 40;

/// Table, column and a value of another type; then a read that must call it damage.
const LEDGER: [(&str, &str, &str, &str); 20] = [
    ("records", "leaf", "'text'", "log"),
    ("records", "leaf", "7", "records"),
    ("records", "leaf", "7", "head"),
    ("records", "leaf", "NULL", "head"),
    ("bodies", "digest", "'text'", "bodies"),
    ("bodies", "digest", "1.5", "records_with_bodies"),
    ("bodies", "bytes", "'héé'", "bodies"),
    ("erased", "record", "'text'", "erased"),
    ("idempotency", "position", "x'00ff'", "idempotency"),
    ("new_idempotency", "tag", "7", "open"),
    ("filing", "next", "7", "open"),
    ("filing", "round_from", "'text'", "open"),
    ("filing", "filed_to", "1.5", "open"),
    ("envelope_ids", "position", "'text'", "envelope_positions"),
    ("claims", "position", "x'00ff'", "claims"),
    ("claims", "ordinal", "position + 0.5", "claims"),
    ("nonce_journal", "tag", "7", "spent_nonces"),
    ("nonce_journal", "refused_code", "x'00ff'", "spent_nonces"),
    ("tree", "size", "'text'", "frontier"),
    ("tick", "at_ms", "1.5", "last_tick"),
];

const ROWS: [(&str, &str, &str, &str); 14] = [
    ("applied", "size", "'text'", "applied_size"),
    ("subjects", "members", "7", "subject"),
    ("subjects", "state", "x'ff00'", "subjects"),
    ("subjects", "deadline_at_ms", "1.5", "subject"),
    ("subjects", "last_position", "NULL", "subjects"),
    ("subjects", "detail", "x'ff00'", "subject"),
    ("subjects", "sum", "NULL", "subject"),
    ("deliveries", "envelope_id", "'text'", "deliveries"),
    ("stream_records", "position", "'text'", "stretches"),
    ("stream_records", "position", "x'ff00'", "stream_positions"),
    ("stream_records", "stream", "x'ff00'", "stretches"),
    ("tiles", "hashes", "'text'", "hash_tile"),
    ("tiles", "hashes", "7", "nodes"),
    ("tiles", "tile", "9223372036854775807", "apply"),
];

#[tokio::test]
async fn design_8_no_type_in_a_column_of_the_ledger_makes_a_read_panic() {
    for (table, column, value, read) in LEDGER {
        let directory = ledger().await;
        spoil(&directory.path().join("ledger.db"), table, column, value).await;
        let found = match SqliteStore::keeping(directory.path(), 1).await {
            Ok(store) => damage_of_ledger(&store).await,
            Err(error) => {
                assert!(error.is_damage(), "{table}.{column} = {value}: {error:?}");
                vec!["open"]
            }
        };
        is_found(&found, read, &format!("{table}.{column} = {value}"));
    }
}

#[tokio::test]
async fn design_8_no_type_in_a_column_of_the_rows_makes_a_read_panic() {
    for (table, column, value, read) in ROWS {
        let directory = rows().await;
        spoil(&directory.path().join("read.db"), table, column, value).await;
        let rows = ReadRows::open(directory.path()).await.unwrap();
        let found = damage_of_rows(&rows).await;
        is_found(&found, read, &format!("{table}.{column} = {value}"));
    }
}

/// A ledger with a row in every table.
async fn ledger() -> TempDir {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::keeping(directory.path(), 1).await.unwrap();
    let mut head = Head::EMPTY;
    for position in 0..RECORDS {
        let refused = NonceOutcome::Refused(Code::SignatureInvalid);
        let commit = Commit {
            bodies: vec![body(position, b"{}")],
            nonces: vec![SpentNonce {
                tag: digest(position),
                at_ms: TimestampMs::new(position),
                outcome: refused,
            }],
            envelope_ids: vec![(envelope_id(position), position)],
            idempotency: vec![(digest(position), position)],
            claims: vec![(claim(7, position), position)],
            ..sample::commit(head, 1)
        };
        head = store.commit(commit).await.unwrap();
    }
    store.tick(TimestampMs::new(9)).await.unwrap();
    assert_eq!(damage_of_ledger(&store).await, [""; 0]);
    store.close().await;
    let file = directory.path().join("ledger.db");
    run(
        &file,
        &[
            "DROP TRIGGER erased_as_recorded",
            "INSERT INTO erased (position, record) VALUES (0, 1)",
        ],
    )
    .await;
    directory
}

/// Rows of every table.
async fn rows() -> TempDir {
    let directory = TempDir::new().unwrap();
    let rows = ReadRows::open(directory.path()).await.unwrap();
    let interaction = interaction_row();
    let delivery = DeliveryRow {
        recipient: did(1),
        position: 0,
        envelope_id: envelope_id(1),
    };
    let record = StreamRow {
        stream: "s".to_owned(),
        stream_seq: 0,
        position: 0,
    };
    let changes = [
        interaction.into(),
        RowChange::Delivery(delivery),
        RowChange::StreamRecord(record),
        leaf(0),
    ];
    rows.apply(0, 1, &changes).await.unwrap();
    rows.close().await;
    directory
}

fn leaf(position: u64) -> RowChange {
    let hash = Hash::of_leaf(b"leaf");
    RowChange::Leaf { position, hash }
}

/// Writes `value` into a column of every row, as a damaged page may have it.
pub(super) async fn spoil(file: &Path, table: &str, column: &str, value: &str) {
    let mut statements: Vec<String> = Vec::new();
    let mut connection = stranger(file).await;
    let triggers: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    drop(connection);
    statements.extend(triggers.iter().map(|name| format!("DROP TRIGGER {name}")));
    statements.push("PRAGMA writable_schema = ON".to_owned());
    statements.push(format!(
        "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ') STRICT, ', ') '), \
         ') STRICT', ')'), ' NOT NULL', '') WHERE name = '{table}'"
    ));
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    run(file, &statements).await;
    let update = format!("UPDATE {table} SET {column} = {value}");
    run(file, &["PRAGMA ignore_check_constraints = ON", &update]).await;
}

/// On a connection of its own, which knows the tables as they are by now.
pub(super) async fn run(file: &Path, statements: &[&str]) {
    let mut connection = stranger(file).await;
    for statement in statements {
        sqlx::query(AssertSqlSafe((*statement).to_owned()))
            .execute(&mut connection)
            .await
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

fn is_found(found: &[&str], read: &str, what: &str) {
    assert!(found.contains(&read), "{what}: {read} is not in {found:?}");
}

/// The reads of a ledger that call something damage; all others give an answer.
async fn damage_of_ledger(store: &SqliteStore) -> Vec<&'static str> {
    let log = store.log();
    let all: Vec<u64> = (0..RECORDS).collect();
    let tags: Vec<Digest> = all.iter().copied().map(digest).collect();
    let ids: Vec<EnvelopeId> = all.iter().copied().map(envelope_id).collect();
    let transaction = [claim(7, 0).tx_hash];
    damage(vec![
        ("log", log.read(0, 9).await.map(drop)),
        ("head", log.head().await.map(drop)),
        ("records", store.records(&all).await.map(drop)),
        (
            "records_with_bodies",
            store.records_with_bodies(&all).await.map(drop),
        ),
        ("frontier", store.frontier().await.map(drop)),
        ("bodies", store.bodies(&all).await.map(drop)),
        ("body_part", store.body_part(0, 0, 9).await.map(drop)),
        ("erased", store.erased(&all).await.map(drop)),
        ("idempotency", store.idempotency(&tags).await.map(drop)),
        (
            "envelope_positions",
            store.envelope_positions(&ids).await.map(drop),
        ),
        (
            "claims",
            store.claims(BASE_SEPOLIA, &transaction).await.map(drop),
        ),
        ("index_counts", store.index_counts(9).await.map(drop)),
        (
            "spent_nonces",
            store.spent_nonces(TimestampMs::new(0)).await.map(drop),
        ),
        ("last_tick", store.last_tick().await.map(drop)),
    ])
}

/// The same of rows; the last of them writes.
async fn damage_of_rows(rows: &ReadRows) -> Vec<&'static str> {
    let id = interaction_row().subject;
    let node = [Node::leaf(0)];
    let mut found = damage(vec![
        ("applied_size", rows.applied_size().await.map(drop)),
        ("subject", rows.subject(id).await.map(drop)),
        (
            "subjects",
            rows.subjects("interaction", None, None, 9).await.map(drop),
        ),
        ("deliveries", rows.deliveries(did(1), 0, 9).await.map(drop)),
        ("stretches", rows.stretches(None, 9).await.map(drop)),
        ("hash_tile", rows.hash_tile(0, 0).await.map(drop)),
        ("nodes", rows.nodes(&node).await.map(drop)),
        (
            "stream_positions",
            rows.stream_positions("s", 0, 9).await.map(drop),
        ),
    ]);
    if let Err(AppendError::Backend(source)) = rows.apply(1, 2, &[leaf(1)]).await {
        let source = source.downcast_ref::<StoreError>().unwrap();
        assert!(source.is_damage_of_rows(), "{source:?}");
        found.push("apply");
    }
    found
}

fn damage(reads: Vec<(&'static str, Result<(), ReadError>)>) -> Vec<&'static str> {
    let failed = reads
        .into_iter()
        .filter_map(|(read, result)| Some((read, result.err()?)));
    let damaged = failed.map(|(read, error)| {
        let is_damage = match &error {
            ReadError::Damaged(_) => true,
            ReadError::Backend(source) => {
                let source = source.downcast_ref::<StoreError>();
                source.is_some_and(StoreError::is_damage)
            }
        };
        assert!(is_damage, "{read}: {error:?}");
        read
    });
    damaged.collect()
}
