//! A row of the read model that is not as it was written is a finding of the audit, which names the
//! table and the row; it is no failure to read.

use std::path::Path;

use tempfile::TempDir;
use x811_audit::{Cause, Outcome};
use x811_ledger::memory::MemoryStore;
use x811_ledger::port::{DamagedRow, ReadModel as _};
use x811_ledger::store_audit::audit_store;
use x811_protocol::id::ContractId;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_protocol::trust::TrustCounters;
use x811_world::agent::Status;
use x811_world::row::{AgentRow, RowChange, SubjectRow, TrustRow};

use super::sample::{did, envelope_id, interaction_row};
use super::wrong_types::{run, spoil};
use crate::ReadRows;

/// Of a ledger without a record, so that only the damage is to be found before anything is compared.
async fn rows() -> TempDir {
    let directory = TempDir::new().unwrap();
    let rows = ReadRows::open(directory.path()).await.unwrap();
    let interaction = interaction_row();
    let subject = SubjectRow {
        subject: Subject::Contract(ContractId::from(envelope_id(1))),
        state: "offered".to_owned(),
        members: vec![did(1)],
        deadline_at_ms: None,
        opened_at_ms: TimestampMs::new(1),
        updated_at_ms: TimestampMs::new(2),
        last_position: 3,
        detail: "{}".to_owned(),
    };
    let agent = AgentRow {
        registered_position: 4,
        did: did(1),
        status: Status::Active,
        expires_at_ms: None,
        trust: TrustCounters::NONE,
    };
    let trust = TrustRow {
        did: did(1),
        position: 4,
        trust: TrustCounters::NONE,
    };
    let changes = [
        interaction.into(),
        RowChange::Subject(Box::new(subject)),
        RowChange::Agent(agent),
        RowChange::Trust(trust),
    ];
    rows.apply(0, 0, &changes).await.unwrap();
    rows.close().await;
    directory
}

/// What the audit finds of a table, as the sentences of its findings.
async fn found(directory: &Path, table: &str) -> Vec<String> {
    let rows = ReadRows::open(directory).await.unwrap();
    let report = audit_store(&MemoryStore::new(), Some(&rows), None)
        .await
        .unwrap();
    assert_eq!(report.verdict, Outcome::Broken);
    let field = format!("read_model.{table}");
    let found = report.findings.into_iter().filter(|it| it.field == field);
    found
        .map(|finding| {
            assert_eq!(finding.cause, Cause::ReadModelDiffers);
            finding.sentence
        })
        .collect()
}

/// The only finding of that table names the table and this row.
async fn is_named(directory: &Path, table: &str, row: &str, what: &str) {
    let sentences = found(directory, table).await;
    let [sentence] = &sentences[..] else {
        panic!("{table}: {sentences:?}");
    };
    for text in [table, row, what] {
        assert!(sentence.contains(text), "{table}: {text}: {sentence}");
    }
}

const NOT_AS_WRITTEN: &str = "a row that is not as it was written";

#[tokio::test]
async fn a_row_whose_sum_does_not_fit_is_a_finding() {
    let id = envelope_id(1).uuid().simple().to_string();
    let (interaction, contract) = (format!("interaction {id}"), format!("contract {id}"));
    let other_sum = "x'00112233445566778899aabbccddeeff'";
    let table = [
        ("subjects", "interaction", "sum", other_sum, &interaction),
        (
            "subjects",
            "interaction",
            "state",
            "'completed'",
            &interaction,
        ),
        (
            "subjects",
            "interaction",
            "detail",
            "'{\"a\":1}'",
            &interaction,
        ),
        ("subjects", "contract", "sum", other_sum, &contract),
        ("subjects", "contract", "members", "x''", &contract),
        ("agents", "", "s", "9", &"the row 4".to_owned()),
        ("agents", "", "sum", other_sum, &"the row 4".to_owned()),
    ];
    for (name, kind, column, value, row) in table {
        let directory = rows().await;
        let of_kind = match kind {
            "" => String::new(),
            kind => format!(" WHERE kind = '{kind}'"),
        };
        let update = format!("UPDATE {name} SET {column} = {value}{of_kind}");
        run(&directory.path().join("read.db"), &[&update]).await;
        is_named(directory.path(), name, row, NOT_AS_WRITTEN).await;
    }
}

#[tokio::test]
async fn a_value_of_another_type_is_a_finding() {
    let table = [
        ("subject_members", "member", "'text'", "text"),
        ("subject_members", "member", "x'00ff'", "00ff"),
        ("subjects", "last_position", "NULL", ""),
        ("agents", "status", "x'ff00'", "the row 4"),
    ];
    for (name, column, value, row) in table {
        let directory = rows().await;
        spoil(&directory.path().join("read.db"), name, column, value).await;
        is_named(directory.path(), name, row, "holds").await;
    }
}

#[tokio::test]
async fn rows_that_do_not_say_how_far_they_are_are_a_finding() {
    for statement in ["DELETE FROM applied", "UPDATE applied SET size = -1"] {
        let directory = rows().await;
        run(&directory.path().join("read.db"), &[statement]).await;
        let rows = ReadRows::open(directory.path()).await.unwrap();
        let report = audit_store(&MemoryStore::new(), Some(&rows), None)
            .await
            .unwrap();
        assert_eq!(report.verdict, Outcome::Broken, "{statement}");
        let field = &report.findings[0].field;
        assert!(
            field.starts_with("read_model.applied"),
            "{statement}: {field}"
        );
    }
}

#[tokio::test]
async fn a_damaged_row_of_trust_is_named() {
    let directory = rows().await;
    let update = "UPDATE trust SET s = 9";
    run(&directory.path().join("read.db"), &[update]).await;
    let rows = ReadRows::open(directory.path()).await.unwrap();
    let error = rows.trust(did(1), 9).await.unwrap_err();
    let damaged = DamagedRow::reported_by(&error).unwrap();
    assert_eq!(damaged.table, "trust");
    assert_eq!(damaged.row, format!("{} 4", did(1)));
    assert_eq!(damaged.what, NOT_AS_WRITTEN);
}
