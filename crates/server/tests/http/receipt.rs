//! `GET /api/v1/interactions/{id}/receipt`: who gets it, what it proves, and what breaks it.

use crate::base::Base;
use crate::log::covered;
use crate::world::{Deal, Reply, World};
use x811_eventlog::Policy;
use x811_eventlog::note::NoteKey;
use x811_ledger::receipt::{Checked, Receipt, Verdict, verify};
use x811_protocol::signature::Signature;

const TX: &str = "0xabababababababababababababababababababababababababababababababab";

/// 10.25 USDC, what a [`Deal`] costs.
const TOTAL_MICRO_USDC: u64 = 10_250_000;

async fn policy(world: &World) -> Policy {
    let shown = world.get("/.well-known/x811.json").await.expect(200);
    let vkey = shown["checkpoint_vkey"].as_str().unwrap();
    Policy::of_log(NoteKey::from_vkey(vkey).unwrap())
}

/// A ledger with a deal that is paid, its receipt, and the policy to verify it by.
async fn receipt() -> (Reply, Policy) {
    let base = Base::serve().await;
    let world = base.watched().await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    base.watch_ms(&world, 2_000).await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    let path = format!("/api/v1/interactions/{}/receipt", deal.id());
    base.watch_ms(&world, 2_000).await;
    world.get(&path).await.refused(404, "X811-4001");

    world.accept(&deal.payment(&offer, TX)).await;
    base.pay(TX, &initiator, &provider, TOTAL_MICRO_USDC);
    base.watch_ms(&world, 60_000).await;
    let answer = covered(&world, &path).await;
    (answer, policy(&world).await)
}

fn verdicts(checked: &Checked) -> Vec<(&'static str, Verdict)> {
    let steps = checked.steps.iter();
    steps.map(|step| (step.about, step.verdict)).collect()
}

#[tokio::test]
async fn a_receipt_proves_offline_what_was_agreed_and_recorded() {
    let (answer, policy) = receipt().await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let receipt = Receipt::from_bytes(answer.text.as_bytes()).unwrap();
    let checked = verify(&receipt, Some(&policy));
    let expected = [
        ("checkpoint", Verdict::Proven),
        ("issuer", Verdict::Proven),
        ("record", Verdict::Proven),
        ("messages", Verdict::Proven),
        ("keys", Verdict::Asserted),
        ("terms", Verdict::Proven),
        ("network", Verdict::Asserted),
        ("wallets", Verdict::Asserted),
        ("transfers", Verdict::Asserted),
        ("sequence", Verdict::Asserted),
        ("transfer", Verdict::NotChecked),
        ("reversal", Verdict::NotChecked),
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
    assert_eq!(verdicts(&alone)[0], ("checkpoint", Verdict::NotChecked));
    assert!(alone.paid.is_some());
    let other = NoteKey::new("another.example", [9; 32]).unwrap();
    let other = verify(&receipt, Some(&Policy::of_log(other)));
    assert_eq!(verdicts(&other), [("checkpoint", Verdict::Broken)]);
}

#[tokio::test]
async fn no_byte_of_a_receipt_can_be_changed_unnoticed() {
    let (answer, policy) = receipt().await;
    let good = answer.text.into_bytes();
    assert!(good.len() < 16_384, "{} bytes", good.len());
    for at in (0..good.len()).step_by(7) {
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
