//! Two files of one log: what they cannot both say is found, and told from what anybody could have
//! written (ledger-contract.md section 8).

use x811_audit::{AgainstError, Comparison, Contradicts, PaperKind, audit_export, compare};
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, Hash, root_of};
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;

use super::bundles::{bundle, note, signed};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::scene::{Parts, exported_under, exported_until, found, pay};

fn against(one: &[u8], other: &[u8]) -> Comparison {
    let forth = compare(("a", one), ("b", other)).unwrap();
    let back = compare(("b", other), ("a", one)).unwrap();
    assert_eq!(forth.agrees(), back.agrees(), "{forth:?} {back:?}");
    assert_eq!(forth.records, back.records);
    assert_eq!(forth.was_compared(), back.was_compared());
    let evidence = |of: &Comparison| of.contradictions.iter().any(|it| it.is_evidence);
    assert_eq!(evidence(&forth), evidence(&back));
    forth
}

fn whats(comparison: &Comparison) -> Vec<(Contradicts, u64, bool)> {
    let list = comparison.contradictions.iter();
    list.map(|it| (it.what, it.at, it.is_evidence)).collect()
}

/// A paid interaction and a later one.
async fn two_deals() -> (Ledgerbox, Deal, Deal) {
    let mut ledgerbox = impatient().await;
    let paid = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &paid, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    let other = Deal::opened(&ledgerbox, Until::Offered).await;
    (ledgerbox, paid, other)
}

async fn until(ledgerbox: &Ledgerbox, size: usize) -> Vec<u8> {
    exported_until(ledgerbox, &signed(ledgerbox, size).await).await
}

/// The log as its operator wrote it anew for somebody else: from one record on it is another, with
/// every hash and every signature made with the ledger's own keys.
async fn forked(ledgerbox: &Ledgerbox, at: usize) -> Vec<u8> {
    let whole = exported_under(ledgerbox, None).await;
    let mut parts = Parts::of(&whole);
    parts.records.truncate(at + 1);
    parts.records[at].draft.recorded_at_ms += 1;
    parts.rehashed()
}

/// The export without its checkpoints.
fn unsigned(export: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(export.to_vec()).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("c "));
    lines
        .flat_map(|line| [line, "\n"])
        .collect::<String>()
        .into_bytes()
}

fn hashes(export: &[u8]) -> Vec<Hash> {
    let lines = export.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| line.strip_prefix(b"r "))
        .map(Hash::of_leaf)
        .collect()
}

/// The export with that checkpoint before its trailer.
fn with_note(export: &[u8], note: &str) -> Vec<u8> {
    let text = String::from_utf8(export.to_vec()).unwrap();
    let (lines, trailer) = text.trim_end().rsplit_once('\n').unwrap();
    let note = serde_json::to_string(note).unwrap();
    format!("{lines}\nc {note}\n{trailer}\n").into_bytes()
}

#[tokio::test]
async fn lc_9_files_of_an_honest_log_agree_whatever_they_are_and_whenever_made() {
    let (ledgerbox, paid, other) = two_deals().await;
    let size = ledgerbox.records().await.len();
    let papers = [
        until(&ledgerbox, size).await,
        until(&ledgerbox, size - 3).await,
        exported_under(&ledgerbox, Some(&signed(&ledgerbox, 5).await)).await,
        bundle(&ledgerbox, paid.id()).await,
        bundle(&ledgerbox, other.id()).await,
    ];
    for (index, one) in papers.iter().enumerate() {
        for other in &papers[index..] {
            let comparison = against(one, other);
            assert!(comparison.agrees(), "{comparison:?}");
            assert!(comparison.was_compared() && comparison.records > 0);
        }
    }
    for covered in [1, 5, size - 3, size] {
        let note = signed(&ledgerbox, covered).await;
        let comparison = against(&papers[0], note.as_bytes());
        assert!(comparison.agrees());
        assert_eq!((comparison.records, comparison.checkpoints), (0, 1));
        let kinds = (comparison.one.kind, comparison.other.kind);
        assert_eq!(kinds, (PaperKind::Log, PaperKind::Checkpoint));
        let same = against(note.as_bytes(), note.as_bytes());
        assert!(same.agrees() && same.was_compared());
    }
    // A log that is too short for it, and two of other sizes: nothing to say.
    let (short, long) = (until(&ledgerbox, 4).await, signed(&ledgerbox, 9).await);
    let comparison = against(&short, long.as_bytes());
    assert!(comparison.agrees() && !comparison.was_compared());
    assert_eq!(comparison.checkpoints_beyond, 1);
    let note = signed(&ledgerbox, 4).await;
    assert!(!against(note.as_bytes(), long.as_bytes()).was_compared());
}

#[tokio::test]
async fn lc_9_two_logs_that_the_ledger_told_two_people_are_evidence() {
    let (ledgerbox, paid, _) = two_deals().await;
    let size = ledgerbox.records().await.len();
    let (honest, at) = (until(&ledgerbox, size).await, size - 2);
    let fork = forked(&ledgerbox, at).await;
    assert_eq!(found(&audit_export(&honest[..], None).unwrap()), []);
    let comparison = against(&honest, &fork);
    let found = whats(&comparison);
    assert!(
        found.contains(&(Contradicts::Record, at as u64, true)),
        "{found:?}"
    );
    assert!(
        found.contains(&(Contradicts::Root, at as u64 + 1, true)),
        "{found:?}"
    );
    let own = *ledgerbox.checkpoint_key.public().as_bytes();
    let vkey = NoteKey::new(ledgerbox.opened().origin, own).unwrap();
    for it in &comparison.contradictions {
        let signers = (it.one_signed_by.as_deref(), it.other_signed_by.as_deref());
        let vkey = vkey.to_vkey();
        assert_eq!(signers, (Some(&*vkey), Some(&*vkey)));
        assert!(it.sentence.contains("prove it"), "{}", it.sentence);
    }

    // The note alone, against the log; and two notes of one size.
    let forked_note = Checkpoint {
        origin: ledgerbox.opened().origin,
        size: at as u64 + 1,
        root: root_of(&hashes(&fork)),
    };
    let forked_note = note(&forked_note, &ledgerbox.checkpoint_key);
    let expected = [(Contradicts::Root, at as u64 + 1, true)];
    assert_eq!(whats(&against(&honest, forked_note.as_bytes())), expected);
    let same_size = until(&ledgerbox, at + 1).await;
    assert_eq!(
        whats(&against(&same_size, forked_note.as_bytes())),
        expected
    );

    // A bundle from before, against a log in which its records are others.
    let early = forked(&ledgerbox, 3).await;
    let bundle = bundle(&ledgerbox, paid.id()).await;
    let comparison = against(&bundle, &early);
    let found = whats(&comparison);
    assert!(found.contains(&(Contradicts::Record, 3, true)), "{found:?}");
}

/// A record that stands nowhere under a checkpoint is nobody's: anybody can write it.
#[tokio::test]
async fn lc_9_what_nobody_signed_contradicts_and_is_no_evidence() {
    let (ledgerbox, ..) = two_deals().await;
    let size = ledgerbox.records().await.len();
    let honest = until(&ledgerbox, size).await;
    let mut parts = Parts::of(&exported_under(&ledgerbox, None).await);
    parts.records[size - 1].draft.recorded_at_ms += 1;
    let forged = unsigned(&parts.rehashed());
    let expected = [
        (Contradicts::Record, size as u64 - 1, false),
        (Contradicts::Root, size as u64, false),
    ];
    let comparison = against(&honest, &forged);
    assert_eq!(whats(&comparison), expected);
    let it = &comparison.contradictions[0];
    assert!(it.one_signed_by.is_some() && it.other_signed_by.is_none());
    assert!(it.sentence.contains("anybody may"), "{}", it.sentence);

    // Nor is what a stranger signed in the ledger's name.
    let leaves = hashes(&forged);
    let checkpoint = Checkpoint {
        origin: ledgerbox.opened().origin,
        size: leaves.len() as u64,
        root: root_of(&leaves),
    };
    let stranger = SecretKey::from_seed([77; 32]);
    let forged = with_note(&forged, &note(&checkpoint, &stranger));
    let found = whats(&against(&honest, &forged));
    assert!(
        found.iter().all(|(.., is_evidence)| !is_evidence),
        "{found:?}"
    );
    assert!(!found.is_empty());
}

/// One place in a stream is at two positions.
#[tokio::test]
async fn lc_9_a_stream_that_goes_on_at_two_positions_is_found() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let before = bundle(&ledgerbox, deal.id()).await;
    // Told to somebody else: a record of others came in between.
    let mut parts = Parts::of(&exported_under(&ledgerbox, None).await);
    let at = parts.find_message("x811/request");
    let mut between = parts.records[at].clone();
    between.draft.stream = "ledger".to_owned();
    between.draft.stream_seq = 2;
    between.draft.event = serde_json::json!({"type": "ledger_resumed", "gap_ms": 0});
    between.body = None;
    parts.records.insert(at, between);
    let later = parts.rehashed();
    let comparison = against(&before, &later);
    let places = whats(&comparison);
    let is_place = |(what, ..): &&(Contradicts, u64, bool)| *what == Contradicts::Place;
    assert_eq!(places.iter().filter(is_place).count(), 1, "{places:?}");
}

#[tokio::test]
async fn a_ledgers_key_that_was_replaced_is_still_a_signature() {
    let mut ledgerbox = Ledgerbox::open().await;
    Deal::opened(&ledgerbox, Until::Offered).await;
    let size = ledgerbox.records().await.len();
    let old = signed(&ledgerbox, size).await;
    let other = Checkpoint {
        root: Hash::from_bytes([9; 32]),
        ..Checkpoint::claimed(&old).unwrap()
    };
    let by_old = note(&other, &ledgerbox.checkpoint_key);
    ledgerbox.rotate(LedgerRole::Checkpoint, 42);
    ledgerbox.restart().await;
    Deal::opened(&ledgerbox, Until::Offered).await;
    let now = ledgerbox.records().await.len();
    let log = until(&ledgerbox, now).await;
    assert!(against(&log, old.as_bytes()).agrees());
    let by_new = note(&other, &ledgerbox.checkpoint_key);
    let expected = |is_evidence| [(Contradicts::Root, size as u64, is_evidence)];
    let found = whats(&against(&log, by_new.as_bytes()));
    assert_eq!(found, expected(false), "that key did not sign there");
    let found = whats(&against(&log, by_old.as_bytes()));
    assert_eq!(found, expected(true), "by the key of then");
}

#[tokio::test]
async fn files_of_two_logs_and_files_of_none_are_refused() {
    let (ledgerbox, ..) = two_deals().await;
    let log = until(&ledgerbox, 4).await;
    let elsewhere = Checkpoint {
        origin: "other.example".to_owned(),
        size: 4,
        root: Hash::ZERO,
    };
    let elsewhere = note(&elsewhere, &ledgerbox.checkpoint_key);
    let refused = |one: &[u8], other: &[u8]| {
        let error = compare(("a", one), ("b", other)).unwrap_err();
        (
            matches!(error, AgainstError::OtherLogs { .. }),
            error.to_string(),
        )
    };
    let (is_other, sentence) = refused(&log, elsewhere.as_bytes());
    assert!(is_other && sentence.contains("other.example"), "{sentence}");
    let table: [(&[u8], &str); 6] = [
        (b"", "neither"),
        (b"\x1f\x8b\x08\0\0", "gunzip"),
        (b"{\"a\":1}\n", "no receipt"),
        (b"{\"a\":1}\n{}\n", "neither"),
        (b"\xd2\x84", "compact receipt"),
        (&[b'x'; 70_000], "neither"),
    ];
    for (file, why) in table {
        for (one, other) in [(file, &log[..]), (&log[..], file)] {
            let (is_other, sentence) = refused(one, other);
            assert!(!is_other && sentence.contains(why), "{sentence}");
        }
    }
}
