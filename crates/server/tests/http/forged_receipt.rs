//! What a ledger that lies can write under keys of its own: every hash and every signature fits, and
//! the messages are real, but they are of another deal.

use crate::base::Base;
use crate::log::covered;
use crate::world::{Deal, World};
use serde_json::{Value, json};
use x811_eventlog::{Checkpoint, Frontier, Record};
use x811_ledger::receipt::{Leaf, Receipt, Verdict, verify};
use x811_protocol::key::SecretKey;

const FIRST_TX: &str = "0xabababababababababababababababababababababababababababababababab";
const SECOND_TX: &str = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

/// 10.25 USDC, what a [`Deal`] costs.
const TOTAL_MICRO_USDC: u64 = 10_250_000;

/// Receipts of two deals between the same two agents.
async fn two_receipts() -> [Receipt; 2] {
    let base = Base::serve().await;
    let world = base.watched().await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    base.watch_ms(&world, 2_000).await;
    let mut receipts = Vec::new();
    for tx_hash in [FIRST_TX, SECOND_TX] {
        let deal = Deal::new(&world, &initiator, &provider);
        let offer = deal.verified().await;
        base.watch_ms(&world, 2_000).await;
        world.accept(&deal.payment(&offer, tx_hash)).await;
        base.pay(tx_hash, &initiator, &provider, TOTAL_MICRO_USDC);
        base.watch_ms(&world, 60_000).await;
        receipts.push(receipt_of(&world, &deal).await);
    }
    receipts.try_into().unwrap()
}

async fn receipt_of(world: &World, deal: &Deal<'_>) -> Receipt {
    let path = format!("/api/v1/interactions/{}/receipt", deal.id());
    let answer = covered(world, &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    Receipt::from_bytes(answer.text.as_bytes()).unwrap()
}

/// The receipt as a ledger with keys of its own would write it, in a log of three records.
fn forged(mut receipt: Receipt, change: impl FnOnce(&mut Receipt, &mut Value)) -> Receipt {
    let (signer, issuer) = (SecretKey::from_seed([1; 32]), SecretKey::from_seed([2; 32]));
    let keys = &mut receipt.ledger.event["keys"];
    keys["checkpoint"] = json!(signer.public());
    keys["receipt"] = json!(issuer.public());
    let mut confirmation = receipt.confirmed.event.clone();
    change(&mut receipt, &mut confirmation);
    receipt.confirmed.event = confirmation;
    let opened = receipt.ledger.record().unwrap();
    let parameters = again(&mut receipt.parameters, &opened, "ledger");
    let stream = format!("interaction:{}", receipt.interaction);
    let confirmed = again(&mut receipt.confirmed, &parameters, &stream);
    let mut tree = Frontier::new();
    for record in [&opened, &parameters, &confirmed] {
        tree.push(record.hash());
    }
    let checkpoint = Checkpoint {
        origin: receipt.ledger.event["origin"].as_str().unwrap().to_owned(),
        size: 3,
        root: tree.root(),
    };
    let sign = |message: &[u8]| *signer.sign(message).as_bytes();
    receipt.checkpoint = checkpoint.sign(*signer.public().as_bytes(), sign).unwrap();
    receipt.hashes = Vec::new();
    receipt.sign(&issuer)
}

/// The same event right behind `before`.
fn again(leaf: &mut Leaf, before: &Record, stream: &str) -> Record {
    leaf.place.position = before.position() + 1;
    leaf.place.prev = before.hash();
    leaf.record(stream.to_owned()).unwrap()
}

/// The first receipt with the other's message at that place of `envelopes`.
fn with_others(receipts: &[Receipt; 2], at: usize, member: &str) -> Receipt {
    let [first, second] = receipts;
    let other = second.envelopes[at].clone();
    let stream = format!("interaction:{}", first.interaction);
    let hash = other.record(stream).unwrap().0.hash();
    forged(first.clone(), |receipt, confirmation| {
        receipt.envelopes[at] = other;
        *confirmation["records"].pointer_mut(member).unwrap() = json!(hash);
    })
}

#[tokio::test]
async fn promise_5_messages_of_another_deal_prove_nothing() {
    let receipts = two_receipts().await;
    let honest = forged(receipts[0].clone(), |_, _| {});
    let checked = verify(&honest, None);
    assert!(checked.paid.is_some(), "{checked:?}");
    for (at, member) in [
        (0, "/offer"),
        (1, "/accept"),
        (2, "/verify"),
        (3, "/payments/0"),
    ] {
        let checked = verify(&with_others(&receipts, at, member), None);
        let last = checked.steps.last().unwrap();
        assert_eq!(
            (last.about, last.verdict),
            ("terms", Verdict::Broken),
            "{member}"
        );
        assert_eq!(checked.paid, None);
    }
}

#[tokio::test]
async fn promise_5_a_transfer_counts_once_in_a_receipt() {
    let [first, _] = two_receipts().await;
    let twice = forged(first, |_, confirmation| {
        let half = json!((TOTAL_MICRO_USDC / 2).to_string());
        confirmation["evidence"][0]["transfers"][0]["amount"] = half;
        let claim = confirmation["claims"][0].clone();
        confirmation["claims"].as_array_mut().unwrap().push(claim);
    });
    let checked = verify(&twice, None);
    let last = checked.steps.last().unwrap();
    assert_eq!((last.about, last.verdict), ("transfers", Verdict::Broken));
    assert!(last.sentence.contains("claimed twice"), "{}", last.sentence);
}
