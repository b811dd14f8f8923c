//! What a receipt says of itself: who issued it, as of when it speaks, where to ask.

use x811_audit::receipt::{ClaimVerdict, CompactReceipt, verify, verify_compact};
use x811_eventlog::Policy;
use x811_eventlog::note::NoteKey;
use x811_protocol::key::SecretKey;

use super::paper::{Paper, paid};

#[tokio::test]
async fn lc_8_a_compact_receipt_is_issued_by_whom_its_keys_statement_names() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    // Somebody without any key of the ledger wraps its record as his own.
    let stranger = SecretKey::from_seed([9; 32]);
    let statement = &paper.compact.statement;
    let stolen = CompactReceipt::sign(
        deal.id(),
        deal.provider.did,
        statement.leaf.clone(),
        statement.receipt.clone(),
        &paper.compact.keys().unwrap(),
        &stranger,
    );
    assert_eq!(verify_compact(&stolen, Some(&paper.policy)).paid, None);
    let proven = verify_compact(&paper.compact, Some(&paper.policy));
    assert!(proven.trusted);
    assert_eq!(proven.paid.unwrap().ledger, None, "whose log it is");
    let mut without = paper.compact.clone();
    without.statement.keys = None;
    let signed = paper.receipt_key.sign(&without.statement.signed_bytes());
    without.statement.signature = *signed.as_bytes();
    for trust in [None, Some(&paper.policy)] {
        let checked = verify_compact(&without, trust);
        assert_eq!(checked.paid, None);
        let broken = checked.steps.last().unwrap();
        let why = (broken.about, broken.sentence.as_str());
        assert_eq!(why, ("issuer", "it has no keys statement"));
    }
}

#[tokio::test]
async fn lc_9_a_receipt_says_as_of_which_record_and_time_it_speaks() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let size = ledgerbox.records().await.len();
    let place = paper.receipt.confirmed.place;
    let whole = paper.holds(&paper.receipt).paid.unwrap();
    let at = whole.confirmed_at_ms.to_rfc3339();
    let position = place.position;
    assert_eq!(
        whole.as_of(),
        format!("record {position} under the checkpoint over {size} records, {at}")
    );
    let compact = verify_compact(&paper.compact, Some(&paper.policy));
    assert_eq!(
        compact.paid.unwrap().as_of(),
        format!("record {position}, {at}")
    );
}

/// The holder of the receipt key sends whoever holds the receipt to another place.
#[tokio::test]
async fn lc_8_a_receipt_sends_nobody_elsewhere_to_ask() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let mut bad = paper.receipt.clone();
    bad.ask = "/api/v1/interactions/other/settlement".to_owned();
    let checked = paper.verify(&bad.sign(&paper.receipt_key));
    let last = checked.steps.last().unwrap();
    assert_eq!(
        (last.about, last.verdict),
        ("reversal", ClaimVerdict::Broken)
    );
    assert_eq!(checked.paid, None);
}

/// Whoever gives the key of another ledger reads which one the paper is under.
#[tokio::test]
async fn lc_9_the_key_of_another_ledger_names_the_one_in_the_file() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let own = paper.policy.logs()[0].to_vkey();
    let key = SecretKey::from_seed([9; 32]).public();
    let other = NoteKey::new("other.example/x811", *key.as_bytes()).unwrap();
    let other = Policy::of_log(other);
    for checked in [
        verify(&paper.receipt, Some(&other)),
        verify_compact(&paper.compact, Some(&other)),
    ] {
        assert_eq!(checked.paid, None);
        let last = checked.steps.last().unwrap();
        assert_eq!(
            (last.about, last.verdict),
            ("checkpoint", ClaimVerdict::Broken)
        );
        assert!(last.sentence.contains(&own), "{}", last.sentence);
    }
}
