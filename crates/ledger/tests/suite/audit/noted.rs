//! A checkpoint that the auditor noted elsewhere (ledger-contract.md sections 8 and 9): what shows that
//! a log was cut off, or written anew by whoever has the ledger's keys.

use x811_audit::{Cause, Covered, Options, Report, Unchecked, audit_export};
use x811_eventlog::{Checkpoint, Hash};
use x811_ledger::store_audit::audit_store;
use x811_protocol::key::SecretKey;

use super::bundles::{bundle, note, signed};
use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::scene::{Parts, exported, exported_until, found, settled_and_disputed};

fn noting(note: &str) -> Options {
    Options {
        noted_checkpoint: Some(note.to_owned()),
        ..Options::default()
    }
}

fn audit(bytes: &[u8], note: &str) -> Report {
    audit_export(bytes, noting(note)).unwrap()
}

async fn small() -> (Ledgerbox, Deal) {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    (ledgerbox, deal)
}

#[tokio::test]
async fn lc_9_a_noted_checkpoint_of_any_size_holds_on_an_honest_log() {
    let (ledgerbox, _) = small().await;
    let bytes = exported(&ledgerbox).await;
    let records = ledgerbox.records().await.len();
    for size in 1..=records {
        let note = signed(&ledgerbox, size).await;
        let report = audit(&bytes, &note);
        assert_eq!(found(&report), [], "{size}");
        let held = report.noted_checkpoint.map(|held| held.size);
        assert_eq!(held, Some(size as u64));
        let stored = audit_store(&*ledgerbox.store, Some(&*ledgerbox.rows), noting(&note));
        assert_eq!(
            stored.await.unwrap().noted_checkpoint,
            report.noted_checkpoint
        );
    }
}

/// He who has the ledger's keys writes the log anew, and signs all of it.
#[tokio::test]
async fn lc_9_a_log_written_anew_and_signed_anew_does_not_hold_a_noted_checkpoint() {
    let ledgerbox = settled_and_disputed().await;
    let size = ledgerbox.records().await.len();
    let noted = signed(&ledgerbox, size - 3).await;
    let mut parts = Parts::of(&exported(&ledgerbox).await);
    let at = parts.find_message("x811/request");
    parts.records.truncate(at);
    let shorter = parts.clone().rehashed();
    assert_eq!(found(&audit_export(&shorter[..], None).unwrap()), []);
    let report = audit(&shorter, &noted);
    let last = at as u64 - 1;
    let expected = [(last, "noted_checkpoint.size", Cause::CheckpointDiffers)];
    assert_eq!(found(&report), expected);
    assert_eq!(report.noted_checkpoint, None);
    assert!(report.findings[0].sentence.contains("cut off"));

    // Another history of the same length up to there, under the ledger's own key.
    let checkpoint = Checkpoint {
        origin: ledgerbox.opened().origin,
        size: at as u64,
        root: Hash::from_bytes([7; 32]),
    };
    let forked = note(&checkpoint, &ledgerbox.checkpoint_key);
    let report = audit(&shorter, &forked);
    let expected = [(last, "noted_checkpoint.root", Cause::CheckpointDiffers)];
    assert_eq!(found(&report), expected);
}

#[tokio::test]
async fn a_noted_checkpoint_of_nobody_or_of_another_log_is_named() {
    let (ledgerbox, _) = small().await;
    let bytes = exported(&ledgerbox).await;
    let size = ledgerbox.records().await.len() as u64;
    let records = ledgerbox.records().await;
    let own = Checkpoint {
        origin: ledgerbox.opened().origin,
        size: 2,
        root: x811_eventlog::root_of(&[records[0].hash(), records[1].hash()]),
    };
    let stranger = SecretKey::from_seed([77; 32]);
    let elsewhere = |size| Checkpoint {
        origin: "other.example".to_owned(),
        size,
        ..own.clone()
    };
    let table = [
        (note(&own, &stranger), 1, "not one that the ledger"),
        (
            note(&elsewhere(2), &ledgerbox.checkpoint_key),
            1,
            "not one that the ledger",
        ),
        (
            note(&elsewhere(9_999), &ledgerbox.checkpoint_key),
            size - 1,
            "of the log other.example",
        ),
        ("no note".to_owned(), size - 1, ""),
    ];
    for (note, position, sentence) in table {
        let report = audit(&bytes, &note);
        let expected = [(position, "noted_checkpoint", Cause::CheckpointInvalid)];
        assert_eq!(found(&report), expected, "{note}");
        assert!(report.findings[0].sentence.contains(sentence), "{report:?}");
    }
}

#[tokio::test]
async fn of_a_bundle_a_noted_checkpoint_is_not_checked() {
    let (ledgerbox, deal) = small().await;
    let noted = signed(&ledgerbox, 2).await;
    let report = audit(&bundle(&ledgerbox, deal.id()).await, &noted);
    assert!(report.is_clean());
    assert_eq!(report.noted_checkpoint, None);
    let extract = report.extract.unwrap();
    assert_eq!(extract.not_checked[&Unchecked::NotedCheckpoint], 1);
}

/// What nobody signed is not in the file, however much there is of it.
#[tokio::test]
async fn lc_9_an_export_ends_with_the_last_record_under_its_checkpoint() {
    let (ledgerbox, _) = small().await;
    let records = ledgerbox.records().await;
    for size in [1, 2, records.len() - 1, records.len()] {
        let note = signed(&ledgerbox, size).await;
        let bytes = exported_until(&ledgerbox, &note).await;
        let report = audit_export(&bytes[..], None).unwrap();
        assert_eq!(found(&report), [], "{size}");
        assert_eq!(report.records, size as u64);
        assert_eq!(report.head, records[size - 1].hash());
        let expected = Covered {
            size: size as u64,
            root: report.root,
        };
        assert_eq!(report.checkpoints, [expected]);
        let text = String::from_utf8(bytes).unwrap();
        let before_trailer = text.lines().rev().nth(1).unwrap();
        assert!(before_trailer.starts_with("c "), "{before_trailer}");
    }
}
