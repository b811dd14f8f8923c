//! A receipt and the keys of its parties that the verifier knows (ledger-contract.md section 8).

use x811_audit::KnownAgentKeys;
use x811_audit::receipt::{
    Checked, ClaimVerdict, Trusted, verify_compact_trusting, verify_trusting,
};
use x811_protocol::key::{KeyId, SecretKey};

use super::keys::rotated_before;
use super::paper::{Paper, impatient, issue, paid};
use super::party::Party;

fn key_of(party: &Party) -> KeyId {
    KeyId {
        did: party.did,
        key: party.key.public(),
    }
}

fn checked_knowing(paper: &Paper, keys: impl IntoIterator<Item = KeyId>) -> Checked {
    let known: KnownAgentKeys = keys.into_iter().collect();
    verify_trusting(
        &paper.receipt,
        Trusted {
            agent_keys: Some(&known),
            ..Trusted::default()
        },
    )
}

fn of_keys(checked: &Checked) -> (ClaimVerdict, &str) {
    let step = checked.steps.iter().find(|step| step.about == "keys");
    let step = step.unwrap();
    (step.verdict, &step.sentence)
}

#[tokio::test]
async fn lc_8_the_keys_of_a_receipt_are_attested_by_the_ledger_until_they_are_known() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let [initiator, provider] = [&deal.initiator, &deal.provider].map(key_of);
    for (known, verdict, attested) in [
        (vec![], ClaimVerdict::Asserted, 2),
        (vec![initiator], ClaimVerdict::Asserted, 1),
        (vec![provider], ClaimVerdict::Asserted, 1),
        (vec![initiator, provider], ClaimVerdict::Proven, 0),
    ] {
        let checked = checked_knowing(&paper, known);
        assert!(checked.paid.is_some());
        let (found, sentence) = of_keys(&checked);
        assert_eq!(found, verdict, "{sentence}");
        let words = sentence.matches("attested by the ledger only").count();
        assert_eq!(words, attested, "{sentence}");
        assert_eq!(sentence.contains("--agent-key"), attested > 0, "{sentence}");
    }
}

/// Of a forged receipt whose messages somebody else signed nothing else shows.
#[tokio::test]
async fn lc_8_a_receipt_that_another_key_signed_is_broken() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    for party in [&deal.initiator, &deal.provider] {
        let known = KeyId {
            did: party.did,
            key: SecretKey::from_seed([77; 32]).public(),
        };
        let checked = checked_knowing(&paper, [known]);
        assert!(checked.paid.is_none());
        let (verdict, sentence) = of_keys(&checked);
        assert_eq!(verdict, ClaimVerdict::Broken);
        let key = party.key.public().to_string();
        assert!(sentence.contains(&key), "{sentence}");
    }
}

/// The file has the rotation between ACCEPT and VERIFY, so that one key of the two is enough.
#[tokio::test]
async fn lc_8_a_rotation_in_a_receipt_connects_its_keys() {
    let mut ledgerbox = impatient().await;
    let deal = rotated_before(&mut ledgerbox, "v").await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let (did, keys) = (deal.initiator.did, &paper.receipt.envelopes);
    let [first, last] = [keys[1].key, keys[3].key];
    assert_ne!(first, last);
    for key in [first, last] {
        let checked = checked_knowing(&paper, [KeyId { did, key }, key_of(&deal.provider)]);
        let (verdict, sentence) = of_keys(&checked);
        assert_eq!(verdict, ClaimVerdict::Proven, "{sentence}");
    }
}

#[tokio::test]
async fn lc_8_a_compact_receipt_says_that_it_has_no_key_of_an_agent() {
    let (ledgerbox, deal) = paid().await;
    let (_, compact) = issue(&ledgerbox, deal.id()).await.unwrap();
    let known: KnownAgentKeys = [key_of(&deal.initiator)].into_iter().collect();
    let checked = verify_compact_trusting(
        &compact,
        Trusted {
            agent_keys: Some(&known),
            ..Trusted::default()
        },
    );
    assert_eq!(of_keys(&checked).0, ClaimVerdict::NotChecked);
}
