//! Whose log it is: what a policy from outside the file proves, and what the file alone asserts
//! (C2SP tlog-policy, design.md section 1: "I trusted nobody").

use x811_audit::{Cause, Gap, Options, Outcome, Report, Verdict, audit_export};
use x811_eventlog::note::{CosignerKey, Note, NoteKey};
use x811_eventlog::{Checkpoint, Hash, Policy};
use x811_ledger::store_audit::audit_store;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;

use super::bundles::{bundle, note, signed};
use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::scene::{exported_under, found};

const SEEN_AT_S: u64 = 1_767_225_600;

fn witness() -> SecretKey {
    SecretKey::from_seed([31; 32])
}

fn cosigner(name: &str, key: &SecretKey) -> CosignerKey {
    CosignerKey::new(name, *key.public().as_bytes()).unwrap()
}

/// The note as that witness leaves it.
fn cosigned(note: &str, name: &str, key: &SecretKey) -> String {
    let mut note = Note::parse(note).unwrap();
    let sign = |message: &[u8]| *key.sign(message).as_bytes();
    note.cosign(&cosigner(name, key), SEEN_AT_S, sign).unwrap();
    note.encode()
}

fn vkey(ledgerbox: &Ledgerbox) -> String {
    let key = *ledgerbox.checkpoint_key.public().as_bytes();
    NoteKey::new(ledgerbox.opened().origin, key)
        .unwrap()
        .to_vkey()
}

/// Logs by their keys, and nobody else.
fn logs(vkeys: &[&str]) -> String {
    let lines: String = vkeys.iter().map(|vkey| format!("log {vkey}\n")).collect();
    lines + "quorum none\n"
}

/// The log, and one of two witnesses.
fn witnessed(vkey: &str) -> String {
    let (one, two) = (
        cosigner("witness.example/1", &witness()).to_vkey(),
        cosigner("witness.example/2", &SecretKey::from_seed([32; 32])).to_vkey(),
    );
    format!(
        "log {vkey}\nwitness one {one}\nwitness two {two}\ngroup any-of any one two\nquorum any-of\n"
    )
}

fn trusting(policy: &str) -> Options {
    Options {
        trust: Some(policy.parse::<Policy>().unwrap().into()),
        ..Options::default()
    }
}

fn audit(bytes: &[u8], policy: &str) -> Report {
    audit_export(bytes, trusting(policy)).unwrap()
}

async fn small() -> (Ledgerbox, Deal) {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    (ledgerbox, deal)
}

/// Verdict and the records that are proven and asserted to be of somebody's log.
fn trust(report: &Report) -> (Verdict, u64, u64) {
    let trust = &report.trust;
    (trust.verdict, trust.records_proven, trust.records_asserted)
}

#[tokio::test]
async fn without_a_policy_whose_log_it_is_is_only_asserted() {
    let (ledgerbox, deal) = small().await;
    let size = ledgerbox.records().await.len();
    let note = signed(&ledgerbox, size).await;
    let bundle = bundle(&ledgerbox, deal.id()).await;
    for (bytes, verdict) in [
        (exported_under(&ledgerbox, None).await, Outcome::Incomplete),
        (
            exported_under(&ledgerbox, Some(&note)).await,
            Outcome::Clean,
        ),
        (bundle, Outcome::Clean),
    ] {
        let report = audit_export(&bytes[..], None).unwrap();
        assert_eq!(report.verdict, verdict);
        assert_eq!(trust(&report), (Verdict::Asserted, 0, report.records));
        assert_eq!(report.trust.given, None);
        assert_eq!(report.trust.checkpoint_vkey, Some(vkey(&ledgerbox)));
    }
}

#[tokio::test]
async fn the_right_policy_proves_what_is_under_the_checkpoint() {
    let (ledgerbox, deal) = small().await;
    let size = ledgerbox.records().await.len();
    let policy = logs(&[&vkey(&ledgerbox)]);
    let report = audit(&bundle(&ledgerbox, deal.id()).await, &policy);
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(trust(&report), (Verdict::Proven, report.records, 0));
    for behind in [0, 1, size - 1] {
        let note = signed(&ledgerbox, size - behind).await;
        let bytes = exported_under(&ledgerbox, Some(&note)).await;
        let report = audit(&bytes, &policy);
        let expected = (Verdict::Proven, (size - behind) as u64, behind as u64);
        assert_eq!((found(&report), trust(&report)), (vec![], expected));

        let options = Options {
            checkpoint: Some(note),
            ..trusting(&policy)
        };
        let stored = audit_store(&*ledgerbox.store, Some(&*ledgerbox.rows), options).await;
        let stored = stored.unwrap();
        assert_eq!((found(&stored), trust(&stored)), (vec![], expected));
        assert_eq!(stored.checkpoints, report.checkpoints);
    }
}

#[tokio::test]
async fn another_ledgers_key_is_a_finding() {
    let (ledgerbox, deal) = small().await;
    let size = ledgerbox.records().await.len();
    let note = signed(&ledgerbox, size).await;
    let stranger = *SecretKey::from_seed([77; 32]).public().as_bytes();
    let named = |name: &str| NoteKey::new(name, stranger).unwrap().to_vkey();
    let own_key = *ledgerbox.checkpoint_key.public().as_bytes();
    let last = size as u64 - 1;
    for other in [
        named("other.example"),
        NoteKey::new("other.example", own_key).unwrap().to_vkey(),
    ] {
        let policy = logs(&[&other]);
        for bytes in [
            exported_under(&ledgerbox, Some(&note)).await,
            bundle(&ledgerbox, deal.id()).await,
        ] {
            let report = audit(&bytes, &policy);
            let expected = [(last, "checkpoint", Cause::CheckpointNotTrusted)];
            assert_eq!(found(&report), expected, "{other}");
            assert_eq!(trust(&report), (Verdict::Broken, 0, report.records));
            let sentence = &report.findings[0].sentence;
            assert!(sentence.contains(&vkey(&ledgerbox)), "{sentence}");
        }
    }
}

#[tokio::test]
async fn a_quorum_of_witnesses_is_asked_for() {
    let (ledgerbox, _) = small().await;
    let size = ledgerbox.records().await.len();
    let plain = signed(&ledgerbox, size).await;
    let policy = witnessed(&vkey(&ledgerbox));
    let stranger = SecretKey::from_seed([33; 32]);
    let name = "witness.example/1";
    let forged = cosigned(&signed(&ledgerbox, size - 1).await, name, &witness());
    let forged = plain.clone() + forged.lines().last().unwrap() + "\n";
    let table = [
        ("nobody", plain.clone(), Some("0 of the policy's witnesses")),
        ("one", cosigned(&plain, name, &witness()), None),
        (
            "a stranger by its name",
            cosigned(&plain, name, &stranger),
            Some("0 of the policy's witnesses"),
        ),
        (
            "one, of another checkpoint",
            forged,
            Some("does not verify"),
        ),
    ];
    for (who, note, why) in table {
        // Whoever holds the file can add lines to its checkpoint, and write the file anew.
        let bytes = exported_under(&ledgerbox, Some(&note)).await;
        let report = audit(&bytes, &policy);
        match why {
            None => {
                assert_eq!(found(&report), [], "{who}");
                assert_eq!(trust(&report), (Verdict::Proven, size as u64, 0), "{who}");
                let [seen] = report.trust.cosigned.as_slice() else {
                    panic!("{:?}", report.trust);
                };
                assert_eq!(
                    (seen.witness.as_str(), seen.timestamp_s),
                    ("one", SEEN_AT_S)
                );
            }
            Some(why) => {
                let expected = (size as u64 - 1, "checkpoint", Cause::CheckpointNotTrusted);
                assert_eq!(found(&report), [expected], "{who}");
                let sentence = &report.findings[0].sentence;
                assert!(sentence.contains(why), "{who}: {sentence}");
            }
        }
    }
}

/// By the file alone nobody can tell a key that was replaced from one of somebody else who uses the
/// log's name: it is held for nothing, and is not called broken (ledger-contract.md section 8).
#[tokio::test]
async fn lc_8_another_key_under_the_logs_own_name_is_rotated_and_asserted() {
    let (ledgerbox, deal) = small().await;
    let size = ledgerbox.records().await.len();
    let note = signed(&ledgerbox, size).await;
    let stranger = *SecretKey::from_seed([77; 32]).public().as_bytes();
    let other = NoteKey::new(ledgerbox.opened().origin, stranger).unwrap();
    let policy = logs(&[&other.to_vkey()]);
    for bytes in [
        exported_under(&ledgerbox, Some(&note)).await,
        bundle(&ledgerbox, deal.id()).await,
    ] {
        let report = audit(&bytes, &policy);
        assert_eq!(found(&report), []);
        assert_eq!(trust(&report), (Verdict::Asserted, 0, report.records));
        let why = report.trust.rotated.unwrap();
        assert!(why.contains("x811 receipt refresh"), "{why}");
    }
}

/// A log rotates its checkpoint key: each checkpoint is by the key in force where it stands, and the
/// policy has to name that one, or nothing is proven.
#[tokio::test]
async fn rec_2_a_policy_names_the_key_in_force() {
    let (mut ledgerbox, deal) = small().await;
    let old_vkey = vkey(&ledgerbox);
    let old_size = ledgerbox.records().await.len();
    let old_note = signed(&ledgerbox, old_size).await;
    ledgerbox.rotate(LedgerRole::Checkpoint, 91);
    ledgerbox.restart().await;
    let size = ledgerbox.records().await.len();
    let (new_vkey, new_note) = (vkey(&ledgerbox), signed(&ledgerbox, size).await);
    let (old, new, both) = (
        logs(&[&old_vkey]),
        logs(&[&new_vkey]),
        logs(&[&old_vkey, &new_vkey]),
    );
    let until_old = exported_under(&ledgerbox, Some(&old_note)).await;
    let until_new = exported_under(&ledgerbox, Some(&new_note)).await;
    let bundle = bundle(&ledgerbox, deal.id()).await;
    let table = [
        (&until_old, &old, true),
        (&until_old, &new, false),
        (&until_old, &both, true),
        (&until_new, &old, false),
        (&until_new, &new, true),
        (&until_new, &both, true),
        (&bundle, &old, false),
        (&bundle, &new, true),
        (&bundle, &both, true),
    ];
    for (place, (bytes, policy, is_trusted)) in table.into_iter().enumerate() {
        let report = audit(bytes, policy);
        assert_eq!(found(&report), [], "{place}");
        let expected = match is_trusted {
            true => Verdict::Proven,
            false => Verdict::Asserted,
        };
        assert_eq!(report.trust.verdict, expected, "{place}");
        assert_eq!(report.trust.rotated.is_none(), is_trusted, "{place}");
        assert_eq!(report.trust.checkpoint_vkey.as_ref(), Some(&new_vkey));
    }
}

#[tokio::test]
async fn a_policy_without_a_checkpoint_proves_nothing() {
    let (ledgerbox, _) = small().await;
    let policy = logs(&[&vkey(&ledgerbox)]);
    let last = ledgerbox.records().await.len() as u64 - 1;
    let report = audit(&exported_under(&ledgerbox, None).await, &policy);
    let stored = audit_store(&*ledgerbox.store, Some(&*ledgerbox.rows), trusting(&policy));
    for report in [report, stored.await.unwrap()] {
        assert_eq!(found(&report), []);
        assert_eq!(report.verdict, Outcome::Incomplete);
        let gaps: Vec<(Gap, u64)> = report
            .undecided
            .iter()
            .map(|it| (it.gap, it.count))
            .collect();
        assert_eq!(gaps, [(Gap::NoCheckpoint, last + 1)]);
        assert_eq!(trust(&report), (Verdict::Asserted, 0, last + 1));
    }
}

/// The checkpoint lies elsewhere, and knows of records that the store has lost.
#[tokio::test]
async fn a_store_is_held_against_the_checkpoint_kept_elsewhere() {
    let (ledgerbox, _) = small().await;
    let size = ledgerbox.records().await.len();
    let grown = Checkpoint {
        origin: ledgerbox.opened().origin,
        size: size as u64 + 1,
        root: Hash::ZERO,
    };
    let forked = Checkpoint {
        size: 3,
        ..grown.clone()
    };
    let key = &ledgerbox.checkpoint_key;
    let differs = |field| vec![(size as u64 - 1, field, Cause::CheckpointDiffers)];
    let table = [
        (signed(&ledgerbox, size).await, vec![]),
        (note(&grown, key), differs("checkpoint.size")),
        (
            note(&forked, key),
            vec![(2, "checkpoint.root", Cause::CheckpointDiffers)],
        ),
        (
            "nothing".to_owned(),
            vec![(size as u64 - 1, "checkpoint", Cause::CheckpointInvalid)],
        ),
    ];
    for (note, expected) in table {
        let options = Options {
            checkpoint: Some(note),
            ..Options::default()
        };
        let rows = Some(&*ledgerbox.rows);
        let report = audit_store(&*ledgerbox.store, rows, options).await.unwrap();
        assert_eq!(found(&report), expected);
    }
}
