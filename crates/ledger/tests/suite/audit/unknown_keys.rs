//! Keys of the ledger that were replaced under decision rules that this version does not know: what they sign
//! cannot be verified, and is not called broken (ledger-contract.md section 9).

use serde_json::{Value, json};
use x811_audit::{Cause, Gap, Outcome, Report};
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::scene::{Parts, audit, exported, found, signed_by};

/// A log in which that key was replaced, without its checkpoint, and where.
async fn rotated(role: LedgerRole) -> (Ledgerbox, Parts, usize) {
    let mut ledgerbox = Ledgerbox::open().await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.rotate(role, 91);
    ledgerbox.restart().await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    let parts = Parts::of(&exported(&ledgerbox).await);
    let at = parts.find_event("ledger_key_rotated");
    (ledgerbox, parts, at)
}

/// Puts this event into the stream of the ledger, as record `at`.
fn insert(parts: &mut Parts, at: usize, event: Value) {
    let before = parts.records[..at].iter();
    let stream_seq = before.filter(|kept| kept.draft.stream == "ledger").count() as u64;
    let mut inserted = parts.records[0].clone();
    inserted.draft.event = event;
    inserted.draft.stream_seq = stream_seq;
    inserted.draft.recorded_at_ms = parts.records[at - 1].draft.recorded_at_ms;
    parts.records.insert(at, inserted);
    for later in &mut parts.records[at + 1..] {
        later.draft.stream_seq += u64::from(later.draft.stream == "ledger");
    }
}

/// Rules that this version does not know: in a form that it cannot read, and in one that it can.
fn unknown_rules() -> [Value; 2] {
    [
        json!({"type": "rules_changed", "rules_version": 99}),
        json!({"type": "rules_changed", "rules_version": 99, "reader": 99}),
    ]
}

/// The audit of the log under a checkpoint by that key.
fn audit_under(parts: Parts, key: &SecretKey) -> Report {
    let origin = parts.header.opened.origin.clone();
    audit(&signed_by(&origin, key, &parts.rehashed_unsigned()))
}

fn assert_incomplete(report: &Report) {
    assert_eq!(found(report), []);
    assert_eq!(report.verdict, Outcome::Incomplete);
    let mut gaps = report.undecided.iter();
    assert!(
        gaps.any(|it| it.gap == Gap::UnknownRules),
        "{:?}",
        report.undecided
    );
}

#[tokio::test]
async fn lc_9_a_checkpoint_by_a_key_that_unknown_rules_hide_is_not_broken() {
    for rules in unknown_rules() {
        let (ledgerbox, mut parts, at) = rotated(LedgerRole::Checkpoint).await;
        insert(&mut parts, at, rules);
        let report = audit_under(parts, &ledgerbox.checkpoint_key);
        assert_incomplete(&report);
        assert_eq!(
            report.as_of, None,
            "nobody whose key is known stands for it"
        );
    }
}

#[tokio::test]
async fn lc_9_a_rotation_in_a_form_of_later_rules_hides_the_key_too() {
    let (ledgerbox, mut parts, at) = rotated(LedgerRole::Checkpoint).await;
    parts.records[at].draft.event = json!({"type": "ledger_keys_rotated_at_last", "keys": []});
    let [_, rules] = unknown_rules();
    insert(&mut parts, at, rules);
    assert_incomplete(&audit_under(parts, &ledgerbox.checkpoint_key));
}

#[tokio::test]
async fn lc_9_a_key_that_was_replaced_before_unknown_rules_is_known() {
    let (ledgerbox, mut parts, at) = rotated(LedgerRole::Checkpoint).await;
    let [_, rules] = unknown_rules();
    insert(&mut parts, at + 1, rules);
    let report = audit_under(parts, &ledgerbox.checkpoint_key);
    assert_incomplete(&report);
    assert!(report.as_of.is_some(), "its checkpoint is verified");
}

#[tokio::test]
async fn lc_9_an_envelope_key_that_unknown_rules_hide_leaves_the_checkpoint_key_known() {
    let (ledgerbox, mut parts, at) = rotated(LedgerRole::Envelope).await;
    let [_, rules] = unknown_rules();
    insert(&mut parts, at, rules);
    let report = audit_under(parts, &ledgerbox.checkpoint_key);
    assert_incomplete(&report);
    assert!(report.as_of.is_some(), "its checkpoint is verified");
}

/// Without a rotation no rules hide a key: whoever signs by another one is found.
#[tokio::test]
async fn lc_9_a_stranger_is_found_where_unknown_rules_hide_no_key() {
    let stranger = SecretKey::from_seed([77; 32]);
    for later in [1, 0] {
        let (_, mut parts, at) = rotated(LedgerRole::Checkpoint).await;
        if later == 0 {
            parts.records.truncate(at);
        }
        let [_, rules] = unknown_rules();
        insert(&mut parts, at + later, rules);
        let report = audit_under(parts, &stranger);
        let causes: Vec<Cause> = report.findings.iter().map(|it| it.cause).collect();
        assert_eq!(causes, [Cause::CheckpointInvalid]);
    }
}
