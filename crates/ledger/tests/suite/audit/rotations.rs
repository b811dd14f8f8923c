//! Rotations of the ledger's own keys that nobody with the old key made (record.md section 2).

use serde_json::{Value, json};
use x811_audit::{Cause, Report};
use x811_ledger::export::{BundleError, SubjectBundle};
use x811_protocol::event::{Event, LedgerEvent, LedgerKeyRotated, LedgerRole};
use x811_protocol::key::SecretKey;
use x811_protocol::stream::Subject;

use super::bundles::{all_clean, bundle, keys, signed};
use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::scene::{Parts, audit, exported, exported_under, found};

/// A log with a rotated envelope key and notices by the old and the new one.
async fn rotated() -> (Ledgerbox, Parts) {
    let mut ledgerbox = Ledgerbox::open().await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(60_001).await;
    ledgerbox.rotate(LedgerRole::Envelope, 91);
    ledgerbox.restart().await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(60_001).await;
    let parts = Parts::of(&exported(&ledgerbox).await);
    (ledgerbox, parts)
}

fn stranger() -> SecretKey {
    SecretKey::from_seed([77; 32])
}

/// Causes and fields at one record.
fn found_at(report: &Report, position: usize) -> Vec<(&str, Cause)> {
    let here = report.findings.iter();
    here.filter(|finding| finding.position == position as u64)
        .map(|finding| (finding.field.as_str(), finding.cause))
        .collect()
}

#[tokio::test]
async fn rec_2_a_rotation_is_clean_and_so_is_what_both_keys_signed() {
    let (_, parts) = rotated().await;
    let report = audit(&parts.rehashed());
    assert_eq!(found(&report), []);
    assert_eq!(report.signatures_valid, report.envelopes);
}

#[tokio::test]
async fn rec_2_a_changed_rotation_is_found() {
    let (_, parts) = rotated().await;
    let at = parts.find_event("ledger_key_rotated");
    let (proof, refused) = (
        ("proof", Cause::ProofInvalid),
        ("event", Cause::StateDiffers),
    );
    let other_proof = json!(stranger().sign(b"x811 ledger key v1"));
    let table: [(&str, Value); 4] = [
        ("/proof", other_proof),
        ("/new_key", json!(stranger().public())),
        ("/old_key", json!(stranger().public())),
        ("/role", json!("receipt")),
    ];
    for (member, to) in table {
        let mut changed = parts.clone();
        *changed.records[at].member(member) = to;
        let report = audit(&changed.rehashed());
        assert_eq!(found_at(&report, at), [proof, refused], "{member}");
    }
}

/// Somebody with the database hands the ledger's name to a key of theirs, which they can prove only
/// by that key itself.
#[tokio::test]
async fn rec_2_a_key_that_hands_itself_over_is_found() {
    let (ledgerbox, parts) = rotated().await;
    let at = parts.find_event("ledger_key_rotated");
    let ledger = ledgerbox.identity.did;
    let mut forged = parts.clone();
    let own = SecretKey::from_seed([78; 32]).public();
    let rotation = LedgerKeyRotated::sign(ledger, LedgerRole::Envelope, &stranger(), own);
    let event = serde_json::to_value(Event::Ledger(LedgerEvent::KeyRotated(rotation))).unwrap();
    forged.records[at].draft.event = event;
    let report = audit(&forged.rehashed());
    assert_eq!(found_at(&report, at), [("event", Cause::StateDiffers)]);
    let sentence = &report.findings[0].sentence;
    assert!(sentence.contains("not the key in force"), "{sentence}");
}

/// Without the record the new key is nobody's.
#[tokio::test]
async fn rec_2_a_rotation_that_was_left_out_is_found() {
    let (_, mut parts) = rotated().await;
    let at = parts.find_event("ledger_key_rotated");
    parts.records[at].draft.event = json!({ "type": "ledger_resumed", "gap_ms": 0 });
    let report = audit(&parts.rehashed());
    let causes: Vec<Cause> = report.findings.iter().map(|one| one.cause).collect();
    assert_eq!(causes, [Cause::KeyNotTheSenders; 2], "{:?}", found(&report));
}

/// What a bundle's checkpoint and ends are signed with is what was in force where it ends.
#[tokio::test]
async fn rec_2_a_bundle_is_held_against_the_keys_of_its_time() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let before = bundle(&ledgerbox, deal.id()).await;
    assert_eq!(found(&audit(&before)), []);
    let old = ledgerbox.checkpoint_key.clone();
    ledgerbox.rotate(LedgerRole::Checkpoint, 91);
    ledgerbox.rotate(LedgerRole::Receipt, 92);
    ledgerbox.restart().await;
    all_clean(&ledgerbox).await;
    let size = ledgerbox.records().await.len();
    let note = signed(&ledgerbox, size).await;
    let whole = exported_under(&ledgerbox, Some(&note)).await;
    assert_eq!(audit(&whole).checkpoints.len(), 1);

    let good = bundle(&ledgerbox, deal.id()).await;
    let new_checkpoint_key = std::mem::replace(&mut ledgerbox.checkpoint_key, old.clone());
    let by_old = signed(&ledgerbox, size).await;
    let good = String::from_utf8(good).unwrap();
    let line = |note: &str| format!("c {}\n", Value::from(note));
    let report = audit(good.replace(&line(&note), &line(&by_old)).as_bytes());
    let (last, cause) = (size as u64 - 1, Cause::CheckpointInvalid);
    assert_eq!(found(&report), [(last, "checkpoint", cause)]);
    let report = audit(&exported_under(&ledgerbox, Some(&by_old)).await);
    assert_eq!(found(&report), [(last, "checkpoint", cause)]);

    // Ends by a key that is in force no more are not made.
    ledgerbox.checkpoint_key = new_checkpoint_key;
    let (store, rows) = (&*ledgerbox.store, &*ledgerbox.rows);
    let note = signed(&ledgerbox, size).await;
    let statement = keys(&ledgerbox, &note);
    let mut bundle = SubjectBundle::open(
        store,
        rows,
        Subject::Interaction(deal.id()),
        note,
        statement,
    )
    .await
    .unwrap();
    let ended = loop {
        match bundle.next_piece(store, rows, &old).await {
            Ok(Some(_)) => {}
            ended => break ended,
        }
    };
    assert!(
        matches!(ended, Err(BundleError::OtherKey { .. })),
        "{ended:?}"
    );
}
