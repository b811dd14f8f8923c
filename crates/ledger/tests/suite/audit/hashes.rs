//! The hashes alone: what they show is found, and what they do not show is said not to be checked
//! (record.md section 1).

use x811_audit::export::Scope;
use x811_audit::{Cause, HashReport, Options, Verdict, audit_export, hash_export};
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Hash, Policy};
use x811_ledger::store_audit::hash_store;
use x811_protocol::event::LedgerRole;
use x811_protocol::stream::Subject;

use super::bundles::{bundle, signed};
use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::scene::{Parts, exported, exported_under, settled_and_disputed};

fn hashes(bytes: &[u8]) -> HashReport {
    hash_export(bytes, None).unwrap()
}

fn causes(report: &HashReport) -> Vec<Cause> {
    report.findings.iter().map(|found| found.cause).collect()
}

#[tokio::test]
async fn a_log_has_the_head_and_the_root_that_the_whole_audit_finds() {
    let ledgerbox = settled_and_disputed().await;
    let size = ledgerbox.records().await.len();
    let note = signed(&ledgerbox, size - 1).await;
    let bytes = exported_under(&ledgerbox, Some(&note)).await;
    let whole = audit_export(&bytes[..], None).unwrap();
    let options = Options {
        checkpoint: Some(note),
        ..Options::default()
    };
    let stored = hash_store(&*ledgerbox.store, options).await.unwrap();
    let from_file = hashes(&bytes);
    assert_eq!(from_file, stored);
    assert!(from_file.hashes_hold, "{:?}", from_file.findings);
    assert_eq!((from_file.head, from_file.root), (whole.head, whole.root));
    assert_eq!(from_file.records_hold, whole.records);
    assert_eq!(from_file.checkpoints, whole.checkpoints);
    assert_eq!(from_file.trust, whole.trust);
    assert_eq!(from_file.ledger, whole.ledger);
    for part in ["signatures", "messages", "decisions", "transfers"] {
        assert!(from_file.not_checked.contains(&part), "{part}");
    }
}

#[tokio::test]
async fn a_bundle_is_under_its_checkpoint() {
    let ledgerbox = settled_and_disputed().await;
    for id in super::bundles::interactions(&ledgerbox).await {
        let bytes = bundle(&ledgerbox, id).await;
        let report = hashes(&bytes);
        let whole = audit_export(&bytes[..], None).unwrap();
        assert!(report.hashes_hold, "{:?}", report.findings);
        assert!(report.is_bundle);
        assert_eq!(report.scope, Some(Scope::Of(Subject::Interaction(id))));
        assert_eq!((report.records, report.root), (whole.records, whole.root));
        assert_eq!(report.checkpoints, whole.checkpoints);
    }
}

/// One byte of any record, in a log and in a bundle.
#[tokio::test]
async fn promise_4_a_changed_byte_of_any_record_is_found() {
    let ledgerbox = settled_and_disputed().await;
    let id = super::bundles::interactions(&ledgerbox).await[0];
    for good in [exported(&ledgerbox).await, bundle(&ledgerbox, id).await] {
        let text = String::from_utf8(good.clone()).unwrap();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if line.starts_with("r ") {
                let mut changed = good.clone();
                // In the middle of the leaf.
                changed[start + line.len() / 2] ^= 1;
                let report = hashes(&changed);
                assert!(!report.hashes_hold, "{line}");
                assert!(report.records_hold < report.records || !report.findings.is_empty());
            }
            start += line.len();
        }
    }
}

#[tokio::test]
async fn promise_4_what_is_dropped_added_or_moved_is_found() {
    let ledgerbox = settled_and_disputed().await;
    let parts = Parts::of(&exported(&ledgerbox).await);
    let last = parts.records.len() - 1;
    let mut table: Vec<(&str, Parts, &[Cause])> = Vec::new();
    let mut dropped = parts.clone();
    dropped.records.remove(4);
    table.push(("dropped", dropped, &[Cause::Missing]));
    let mut cut = parts.clone();
    cut.records.remove(last);
    table.push(("cut", cut, &[Cause::TrailerDiffers]));
    let mut twice = parts.clone();
    twice.records.insert(4, parts.records[4].clone());
    table.push(("twice", twice, &[Cause::Duplicated]));
    let mut swapped = parts.clone();
    swapped.records.swap(4, 5);
    table.push(("swapped", swapped, &[Cause::Missing]));
    for (what, parts, expected) in table {
        let report = hashes(&parts.joined());
        assert_eq!(causes(&report), expected, "{what}");
    }
    // Whoever writes every hash anew is found by a head that was noted before.
    let noted = hashes(&parts.joined()).head;
    let mut anew = parts.clone();
    anew.records.remove(last);
    let bytes = anew.rehashed();
    assert!(hashes(&bytes).hashes_hold);
    let report = hash_export(&bytes[..], Some(noted)).unwrap();
    assert_eq!(causes(&report), [Cause::HeadDiffers]);
    let report = hash_export(&parts.joined()[..], Some(noted)).unwrap();
    assert_eq!(report.expected_head_position, Some(last as u64));
    let report = hash_export(&bytes[..], Some(Hash::ZERO)).unwrap();
    assert!(!report.hashes_hold);
}

/// A body, a signature and a decision: nothing of it is looked at, and the report says so.
#[tokio::test]
async fn what_hashes_do_not_show_is_not_found() {
    let ledgerbox = settled_and_disputed().await;
    let mut parts = Parts::of(&exported(&ledgerbox).await);
    let offer = parts.find_message("x811/offer");
    parts.records[offer].body = Some(b"{}".to_vec());
    *parts.records[offer].member("/derived/payee") = "0x01".into();
    let bytes = parts.rehashed();
    assert!(!audit_export(&bytes[..], None).unwrap().is_clean());
    let report = hashes(&bytes);
    assert!(report.hashes_hold, "{:?}", report.findings);
    assert!(report.not_checked.contains(&"messages"));
}

/// The key in force is found among the records, and a policy is asked as ever.
#[tokio::test]
async fn rec_2_a_checkpoint_is_by_the_key_in_force() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.rotate(LedgerRole::Checkpoint, 91);
    ledgerbox.rotate(LedgerRole::Envelope, 92);
    ledgerbox.restart().await;
    let size = ledgerbox.records().await.len();
    let note = signed(&ledgerbox, size).await;
    let key = *ledgerbox.checkpoint_key.public().as_bytes();
    let key = NoteKey::new(ledgerbox.opened().origin, key).unwrap();
    let policy = format!("log {}\nquorum none\n", key.to_vkey());
    for bytes in [
        exported_under(&ledgerbox, Some(&note)).await,
        bundle(&ledgerbox, deal.id()).await,
    ] {
        let options = Options {
            trust: Some(policy.parse::<Policy>().unwrap().into()),
            ..Options::default()
        };
        let report = hash_export(&bytes[..], options).unwrap();
        assert!(report.hashes_hold, "{:?}", report.findings);
        assert_eq!(report.trust.verdict, Verdict::Proven);
        assert_eq!(report.trust.checkpoint_vkey, Some(key.to_vkey()));
        let stranger = x811_protocol::key::SecretKey::from_seed([93; 32]);
        let stranger = NoteKey::new("other.example", *stranger.public().as_bytes()).unwrap();
        let options = Options {
            trust: Some(stranger.into()),
            ..Options::default()
        };
        let report = hash_export(&bytes[..], options).unwrap();
        assert_eq!(causes(&report), [Cause::CheckpointNotTrusted]);
    }
    // The old key signs no more.
    ledgerbox.rotate(LedgerRole::Checkpoint, 94);
    let by_next = signed(&ledgerbox, size).await;
    let bytes = exported_under(&ledgerbox, Some(&by_next)).await;
    assert_eq!(causes(&hashes(&bytes)), [Cause::CheckpointInvalid]);
}

/// A store whose tree or checkpoint is not of its records.
#[tokio::test]
async fn a_store_is_held_against_its_tree_and_the_checkpoint_kept_elsewhere() {
    let ledgerbox = settled_and_disputed().await;
    let size = ledgerbox.records().await.len();
    let options = |checkpoint| Options {
        checkpoint: Some(checkpoint),
        ..Options::default()
    };
    let good = signed(&ledgerbox, size - 3).await;
    let report = hash_store(&*ledgerbox.store, options(good)).await.unwrap();
    assert_eq!(causes(&report), []);
    assert_eq!(report.checkpoints.len(), 1);
    let grown = x811_eventlog::Checkpoint {
        origin: ledgerbox.opened().origin,
        size: size as u64 + 1,
        root: Hash::ZERO,
    };
    for (size, cause) in [
        (size as u64 + 1, Cause::CheckpointDiffers),
        (3, Cause::CheckpointDiffers),
    ] {
        let forked = x811_eventlog::Checkpoint {
            size,
            ..grown.clone()
        };
        let note = super::bundles::note(&forked, &ledgerbox.checkpoint_key);
        let report = hash_store(&*ledgerbox.store, options(note)).await.unwrap();
        assert_eq!(causes(&report), [cause]);
    }
}
