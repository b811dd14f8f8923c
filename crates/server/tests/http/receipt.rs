//! `GET /api/v1/interactions/{id}/receipt`: who gets it, what it proves, and what breaks it.

use crate::base::Base;
use crate::log::covered;
use crate::world::{Deal, Reply, World};
use x811_audit::receipt::{
    Checked, ClaimVerdict, CompactReceipt, Receipt, tlog_proof, verify, verify_compact,
};
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Hash, Policy};
use x811_protocol::signature::Signature;

const TX: &str = "0xabababababababababababababababababababababababababababababababab";

/// 10.25 USDC, what a [`Deal`] costs.
const TOTAL_MICRO_USDC: u64 = 10_250_000;

pub(crate) async fn policy(world: &World) -> Policy {
    let shown = world.get("/.well-known/x811.json").await.expect(200);
    let vkey = shown["checkpoint_vkey"].as_str().unwrap();
    Policy::of_log(NoteKey::from_vkey(vkey).unwrap())
}

/// A ledger with a deal that is paid, its receipt in both forms, and the policy to verify them by.
async fn receipts() -> (Reply, Reply, Policy) {
    receipts_of(true).await
}

/// The same, where the OFFER says whom to pay or leaves that to the ledger.
async fn receipts_of(names_payee: bool) -> (Reply, Reply, Policy) {
    let (base, world, [initiator, provider]) = Base::peopled().await;
    let mut deal = Deal::new(&world, &initiator, &provider);
    deal.names_payee = names_payee;
    let offer = deal.verified().await;
    let path = format!("/api/v1/interactions/{}/receipt", deal.id());
    base.watch_ms(&world, 2_000).await;
    world.get(&path).await.refused(404, "X811-4001");

    world.accept(&deal.payment(&offer, TX)).await;
    base.pay(TX, &initiator, &provider, TOTAL_MICRO_USDC);
    base.watch_ms(&world, 60_000).await;
    let answer = covered(&world, &path).await;
    let compact = covered(&world, &format!("{path}?format=cose")).await;
    for wrong in ["?format=pdf", "?form=cose"] {
        let path = format!("{path}{wrong}");
        world.get(&path).await.refused(400, "X811-4001");
    }
    (answer, compact, policy(&world).await)
}

fn verdicts(checked: &Checked) -> Vec<(&'static str, ClaimVerdict)> {
    let steps = checked.steps.iter();
    steps.map(|step| (step.about, step.verdict)).collect()
}

#[tokio::test]
async fn a_receipt_proves_offline_what_was_agreed_and_recorded() {
    let (answer, _, policy) = receipts().await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let receipt = Receipt::from_bytes(answer.text.as_bytes()).unwrap();
    let checked = verify(&receipt, Some(&policy));
    let expected = [
        ("checkpoint", ClaimVerdict::Proven),
        ("issuer", ClaimVerdict::Proven),
        ("record", ClaimVerdict::Proven),
        ("standing", ClaimVerdict::Proven),
        ("keys", ClaimVerdict::Asserted),
        ("messages", ClaimVerdict::Proven),
        ("terms", ClaimVerdict::Proven),
        ("payee", ClaimVerdict::Proven),
        ("network", ClaimVerdict::Asserted),
        ("wallets", ClaimVerdict::Asserted),
        ("transfers", ClaimVerdict::Asserted),
        ("elsewhere", ClaimVerdict::NotChecked),
        ("sequence", ClaimVerdict::Asserted),
        ("transfer", ClaimVerdict::NotChecked),
        ("reversal", ClaimVerdict::NotChecked),
    ];
    assert_eq!(verdicts(&checked), expected, "{checked:?}");
    let paid = checked.paid.unwrap();
    assert_eq!(paid.amount().as_micro_usdc(), TOTAL_MICRO_USDC);
    assert_eq!(paid.transfers[0].tx_hash.to_string(), TX);
    assert_eq!(
        paid.terms.unwrap().total_cost.as_micro_usdc(),
        TOTAL_MICRO_USDC
    );
    assert_eq!(paid.provider_seq, 0);
    // Without a key nobody knows whose word it is.
    let alone = verify(&receipt, None);
    assert!((checked.trusted, alone.trusted) == (true, false));
    assert_eq!(
        verdicts(&alone)[0],
        ("checkpoint", ClaimVerdict::NotChecked)
    );
    let proven = verdicts(&alone).into_iter();
    let proven = proven.filter(|(_, verdict)| *verdict == ClaimVerdict::Proven);
    let by_keys_that_nobody_vouches_for = [("messages", ClaimVerdict::Proven)];
    assert_eq!(proven.collect::<Vec<_>>(), by_keys_that_nobody_vouches_for);
    let other = NoteKey::new("another.example", [9; 32]).unwrap();
    let other = verify(&receipt, Some(&Policy::of_log(other)));
    assert_eq!(verdicts(&other), [("checkpoint", ClaimVerdict::Broken)]);
}

/// Whom to pay is the ledger's word where the provider did not sign it.
#[tokio::test]
async fn ae_056_a_payee_that_no_offer_names_is_asserted() {
    for (names_payee, expected) in [
        (true, ClaimVerdict::Proven),
        (false, ClaimVerdict::Asserted),
    ] {
        let (answer, _, policy) = receipts_of(names_payee).await;
        let receipt = Receipt::from_bytes(&answer.bytes).unwrap();
        let checked = verify(&receipt, Some(&policy));
        assert!(
            verdicts(&checked).contains(&("payee", expected)),
            "{checked:?}"
        );
        let terms = checked.paid.unwrap().terms.unwrap();
        assert_eq!(terms.payee_is_signed, names_payee);
    }
}

#[tokio::test]
async fn no_byte_of_a_receipt_can_be_changed_unnoticed() {
    let (answer, _, policy) = receipts().await;
    let good = answer.bytes;
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let Ok(receipt) = Receipt::from_bytes(&bad) else {
            continue;
        };
        let checked = verify(&receipt, Some(&policy));
        assert_eq!(checked.paid, None, "byte {at}");
    }
    let receipt = Receipt::from_bytes(&good).unwrap();
    let mut unsigned = receipt.clone();
    unsigned.signature = Signature::from_bytes([0; 64]);
    let mut fewer = receipt.clone();
    fewer.envelopes.pop();
    let mut swapped = receipt.clone();
    swapped.envelopes.swap(0, 1);
    for bad in [unsigned, fewer, swapped] {
        assert_eq!(verify(&bad, Some(&policy)).paid, None);
    }
}

/// The README's interaction, in a log as long as a million records would make its proof.
#[tokio::test]
async fn a_receipt_is_small() {
    let (answer, compact, _) = receipts().await;
    assert!(answer.bytes.len() <= 8_400, "{}", answer.bytes.len());
    assert!(compact.bytes.len() <= 2_500, "{}", compact.bytes.len());
    let mut whole = Receipt::from_bytes(&answer.bytes).unwrap();
    whole.hashes = vec![Hash::ZERO; 20];
    assert!(
        whole.to_bytes().len() <= 9_400,
        "{}",
        whole.to_bytes().len()
    );
}

#[tokio::test]
async fn rfc_9942_a_compact_receipt_proves_the_confirmation_alone() {
    let (answer, compact, policy) = receipts().await;
    assert_eq!(compact.status, 200, "{}", compact.text);
    let content_type = &compact.headers["content-type"];
    assert_eq!(content_type, "application/cose; cose-type=\"cose-sign1\"");
    let receipt = CompactReceipt::from_bytes(&compact.bytes).unwrap();
    let checked = verify_compact(&receipt, Some(&policy));
    let expected = [
        ("checkpoint", ClaimVerdict::Proven),
        ("issuer", ClaimVerdict::Proven),
        ("record", ClaimVerdict::Proven),
        ("messages", ClaimVerdict::NotChecked),
        ("transfers", ClaimVerdict::Asserted),
        ("elsewhere", ClaimVerdict::NotChecked),
        ("sequence", ClaimVerdict::Asserted),
        ("transfer", ClaimVerdict::NotChecked),
        ("reversal", ClaimVerdict::NotChecked),
    ];
    assert_eq!(verdicts(&checked), expected, "{checked:?}");
    let paid = checked.paid.unwrap();
    let whole = Receipt::from_bytes(&answer.bytes).unwrap();
    let whole_paid = verify(&whole, Some(&policy)).paid.unwrap();
    assert_eq!(paid.interaction, whole_paid.interaction);
    // Who issued it stands in no record that it has; its keys statement says whose key signed.
    assert_eq!((paid.ledger, checked.trusted), (None, true));
    assert_eq!(paid.record_hash, whole_paid.record_hash);
    assert_eq!((paid.amount(), paid.terms), (whole_paid.amount(), None));

    // Both forms have one proof of one record.
    let proof = tlog_proof(&whole).unwrap();
    assert_eq!(proof.extra.as_deref(), Some(&*receipt.statement.leaf));
    assert_eq!(proof.index, receipt.statement.receipt.proof.position);

    let alone = verify_compact(&receipt, None);
    assert_eq!(
        verdicts(&alone)[0],
        ("checkpoint", ClaimVerdict::NotChecked)
    );
    let mut steps = alone.steps.iter().map(|step| step.verdict);
    assert!(
        steps.all(|verdict| verdict != ClaimVerdict::Proven),
        "{alone:?}"
    );
    assert!(!alone.trusted);
    let other = Policy::of_log(NoteKey::new("another.example", [9; 32]).unwrap());
    let other = verify_compact(&receipt, Some(&other));
    assert_eq!(verdicts(&other), [("checkpoint", ClaimVerdict::Broken)]);
    let witnessed = format!(
        "log {}\nwitness w witness.example.com/w1+e8498172+BD1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM\nquorum w\n",
        policy.logs()[0].to_vkey()
    );
    let witnessed = verify_compact(&receipt, Some(&witnessed.parse().unwrap()));
    let last = witnessed.steps.last().unwrap();
    assert!(last.sentence.contains("witnesses"), "{last:?}");
}

#[tokio::test]
async fn no_byte_of_a_compact_receipt_changes_what_it_says() {
    let (_, compact, policy) = receipts().await;
    let good = compact.bytes;
    let receipt = CompactReceipt::from_bytes(&good).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let Ok(mut read) = CompactReceipt::from_bytes(&bad) else {
            continue;
        };
        if verify_compact(&read, Some(&policy)).paid.is_some() {
            // No signature covers the size of the tree, and several have a way of the same turns.
            read.statement.receipt.proof.size = receipt.statement.receipt.proof.size;
            assert_eq!(read, receipt, "byte {at}");
        }
    }
    let mut moved = receipt.clone();
    moved.statement.receipt.proof.position -= 1;
    let mut renamed = receipt.clone();
    renamed.statement.subject = receipt.statement.issuer["did:x811:".len()..].to_owned();
    for bad in [moved, renamed] {
        assert_eq!(verify_compact(&bad, Some(&policy)).paid, None);
    }
}
