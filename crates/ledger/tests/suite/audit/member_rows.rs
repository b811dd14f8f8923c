//! The index from members to subjects, changed by hand: whoever takes an entry out hides a subject from
//! the agent that may read it, and whoever adds one shows it to a stranger.

use serde_json::json;
use uuid::Uuid;
use x811_audit::{Cause, Finding};
use x811_ledger::memory::Rows;
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::parameters::{Contracts, Rounds};
use x811_world::row::MemberRow;

use super::bundles::audited;
use super::council::{self, Council};
use super::ledgerbox::Ledgerbox;
use super::talks::{Talks, talking};

/// A change of the index by hand.
type Change = fn(&mut Rows, MemberRow);

const FIELD: &str = "read_model.subject_members";

fn remove(rows: &mut Rows, entry: MemberRow) {
    assert!(rows.subject_members.remove(&entry));
}

fn add_for_a_stranger(rows: &mut Rows, mut entry: MemberRow) {
    entry.member = rows.agents.values().last().unwrap().did;
    assert!(rows.subject_members.insert(entry));
}

fn give_to_a_stranger(rows: &mut Rows, entry: MemberRow) {
    remove(rows, entry.clone());
    add_for_a_stranger(rows, entry);
}

fn add_unknown_subject(rows: &mut Rows, mut entry: MemberRow) {
    entry.id = Uuid::from_u128(entry.id.as_u128() >> 16);
    assert!(rows.subject_members.insert(entry));
}

fn add_unknown_machine(rows: &mut Rows, mut entry: MemberRow) {
    entry.kind = "zeppelin".to_owned();
    assert!(rows.subject_members.insert(entry));
}

fn move_to_another_machine(rows: &mut Rows, entry: MemberRow) {
    remove(rows, entry.clone());
    add_unknown_machine(rows, entry);
}

async fn findings(ledgerbox: &Ledgerbox) -> Vec<Finding> {
    audited(ledgerbox).await.findings
}

/// Every change of every entry is named, as many times as entries differ.
async fn every_change_is_named(ledgerbox: &Ledgerbox, entries: usize) {
    let table: [(Change, usize); 6] = [
        (remove, 1),
        (add_for_a_stranger, 1),
        (give_to_a_stranger, 2),
        (add_unknown_subject, 1),
        (add_unknown_machine, 1),
        (move_to_another_machine, 2),
    ];
    assert_eq!(findings(ledgerbox).await, []);
    let honest = ledgerbox.rows.rows();
    assert_eq!(honest.subject_members.len(), entries);
    for entry in &honest.subject_members {
        for (number, (change, differences)) in table.into_iter().enumerate() {
            let mut rows = honest.clone();
            change(&mut rows, entry.clone());
            ledgerbox.rows.set_rows(rows);
            let findings = findings(ledgerbox).await;
            assert_eq!(findings.len(), differences, "{number}: {findings:#?}");
            for finding in findings {
                assert_eq!(finding.field, FIELD, "{number}");
                assert_eq!(finding.cause, Cause::ReadModelDiffers);
            }
        }
    }
    ledgerbox.rows.set_rows(honest);
    assert_eq!(findings(ledgerbox).await, []);
}

/// A ledger with an open negotiation, whose rows are up to date.
pub(super) async fn with_an_offer() -> Ledgerbox {
    let ledgerbox = talking(Contracts::DEFAULT).await;
    let mut talks = Talks::new(&ledgerbox).await;
    let payer = talks.payer.clone();
    talks
        .say(&ledgerbox, &payer, NegotiationVerb::Offer, "3.00")
        .await;
    ledgerbox.settle().await;
    ledgerbox
}

#[tokio::test]
async fn a_changed_index_of_negotiations_is_named() {
    let ledgerbox = with_an_offer().await;
    every_change_is_named(&ledgerbox, 2).await;
}

#[tokio::test]
async fn a_changed_index_of_rounds_is_named() {
    let ledgerbox = council::running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    council.all_ready(&ledgerbox, &json!({})).await;
    ledgerbox.provider().await;
    ledgerbox.settle().await;
    let members = ledgerbox.rows.rows().subject_members.len();
    assert!(members >= 3, "{members}");
    every_change_is_named(&ledgerbox, members).await;
}

/// Rows that lag behind the log do not have the entries of its end.
#[tokio::test]
async fn an_index_that_lags_is_not_blamed() {
    let ledgerbox = with_an_offer().await;
    let mut rows = ledgerbox.rows.rows();
    rows.applied_size -= 1;
    rows.subject_members.clear();
    rows.subjects.clear();
    ledgerbox.rows.set_rows(rows);
    let findings = findings(&ledgerbox).await;
    let of_index = findings.iter().filter(|it| it.field == FIELD);
    assert_eq!(of_index.count(), 0);
}
