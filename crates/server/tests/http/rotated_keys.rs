//! Receipts and bundles of a ledger whose keys were replaced since it began (record.md section 2).

use crate::base::Base;
use crate::log::covered;
use crate::receipt::policy;
use crate::world::{Deal, World};
use serde_json::{Value, json};
use x811_audit::audit_export;
use x811_audit::receipt::{ClaimVerdict, CompactReceipt, Receipt, verify, verify_compact};
use x811_protocol::event::{Event, LedgerEvent, LedgerKeyRotated, LedgerRole};
use x811_protocol::id::InteractionId;
use x811_protocol::key::SecretKey;
use x811_server::entropy::SystemEntropy;
use x811_server::keys::{Identity, prepare_rotation};

const TX: &str = "0xabababababababababababababababababababababababababababababababab";

/// 10.25 USDC, what a [`Deal`] costs.
const TOTAL_MICRO_USDC: u64 = 10_250_000;

/// A ledger with a deal that is paid.
pub(crate) async fn paid() -> (World, InteractionId) {
    let (base, world, [initiator, provider]) = Base::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    base.watch_ms(&world, 2_000).await;
    world.accept(&deal.payment(&offer, TX)).await;
    base.pay(TX, &initiator, &provider, TOTAL_MICRO_USDC);
    base.watch_ms(&world, 60_000).await;
    let id = deal.id().into();
    (world, id)
}

/// The same ledger with other keys in these roles.
pub(crate) async fn rotated(world: World, roles: &[LedgerRole]) -> World {
    let meanwhile = async |data_dir: &std::path::Path| {
        let entropy = SystemEntropy::open().unwrap();
        for role in roles {
            prepare_rotation(data_dir, *role, &entropy).unwrap();
        }
    };
    world.restart_with(1_000, meanwhile, |_| {}).await
}

pub(crate) async fn receipt(world: &World, id: InteractionId) -> Receipt {
    let path = format!("/api/v1/interactions/{id}/receipt");
    let answer = covered(world, &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    Receipt::from_bytes(answer.text.as_bytes()).unwrap()
}

/// What breaks the receipt: the last step.
fn breaks(receipt: &Receipt) -> (&'static str, String) {
    let checked = verify(receipt, None);
    assert_eq!(checked.paid, None);
    let last = checked.steps.last().unwrap();
    assert_eq!(last.verdict, ClaimVerdict::Broken, "{}", last.sentence);
    (last.about, last.sentence.clone())
}

#[tokio::test]
async fn rec_2_receipts_hold_by_the_keys_in_force_and_old_ones_by_their_own() {
    let (world, id) = paid().await;
    let first = receipt(&world, id).await;
    let first_policy = policy(&world).await;
    assert_eq!(first.rotations, []);
    let world = rotated(world, &[LedgerRole::Receipt]).await;
    let world = rotated(world, &LedgerRole::ALL).await;
    let last_policy = policy(&world).await;
    let last = receipt(&world, id).await;
    assert_eq!(last.rotations.len(), 4);
    for (receipt, policy) in [(&first, &first_policy), (&last, &last_policy)] {
        for trust in [None, Some(policy)] {
            let checked = verify(receipt, trust);
            assert!(checked.paid.is_some(), "{:?}", checked.steps.last());
        }
        let read = Receipt::from_bytes(&receipt.to_bytes()).unwrap();
        assert_eq!(read, *receipt);
    }
    for (receipt, policy) in [(&first, &last_policy), (&last, &first_policy)] {
        let checked = verify(receipt, Some(policy));
        let step = &checked.steps[0];
        assert_eq!(
            (step.about, step.verdict),
            ("checkpoint", ClaimVerdict::Asserted)
        );
        assert!(
            !checked.trusted && checked.paid.is_some(),
            "another key of the ledger"
        );
    }

    let bundle = format!("/api/v1/interactions/{id}/bundle");
    let bundle = covered(&world, &bundle).await;
    assert_eq!(bundle.status, 200, "{}", bundle.text);
    let report = audit_export(bundle.text.as_bytes(), None).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[tokio::test]
async fn rec_2_a_receipt_by_a_key_that_nobody_handed_over_to_is_broken() {
    let (world, id) = paid().await;
    let world = rotated(world, &LedgerRole::ALL).await;
    let good = receipt(&world, id).await;
    let identity = Identity::load(world.dir.path()).unwrap().unwrap();
    // Whoever has the keys in force signs the change.
    let changed = |change: &dyn Fn(&mut Receipt)| {
        let mut receipt = good.clone();
        change(&mut receipt);
        breaks(&receipt.sign(&identity.receipt_key))
    };
    let (about, said) = changed(&|receipt| receipt.rotations.clear());
    assert_eq!(about, "checkpoint", "{said}");
    let (_, said) = changed(&|receipt| receipt.rotations.swap(0, 1));
    assert!(said.contains("not in order"), "{said}");
    let (about, said) = changed(&|receipt| {
        receipt.rotations.remove(0);
    });
    assert_eq!(about, "record", "{said}");
    let stranger = SecretKey::from_seed([9; 32]);
    let table: [(&str, Value, &str); 4] = [
        ("proof", json!(stranger.sign(b"x811")), "its proof"),
        ("new_key", json!(stranger.public()), "its proof"),
        ("old_key", json!(stranger.public()), "not the key in force"),
        ("type", json!("ledger_resumed"), "unknown field"),
    ];
    for (member, to, words) in table {
        let (about, said) = changed(&|receipt| receipt.rotations[1].event[member] = to.clone());
        assert_eq!(about, "issuer", "{member}: {said}");
        assert!(said.contains(words), "{member}: {said}");
    }
    // A rotation that the log does not have, by a key that really is in force.
    let mut forged = good.clone();
    let rotation = LedgerKeyRotated::sign(
        world.ledger(),
        LedgerRole::Receipt,
        &identity.receipt_key,
        stranger.public(),
    );
    let mut leaf = good.rotations[2].clone();
    leaf.place.position += 1;
    leaf.event = serde_json::to_value(Event::Ledger(LedgerEvent::KeyRotated(rotation))).unwrap();
    forged.rotations.push(leaf);
    let (about, said) = breaks(&forged.sign(&stranger));
    assert_eq!(about, "record", "{said}");
}

/// Whoever kept a receipt still holds one after every key of the ledger has changed, in both forms,
/// and gets another that holds by the keys of today.
#[tokio::test]
async fn incident_receipts_unverifiable_after_key_change_ccf_3343() {
    let (world, id) = paid().await;
    let mut kept = Vec::new();
    let mut world = world;
    for _ in 0..3 {
        kept.push((
            receipt(&world, id).await,
            compact(&world, id).await,
            policy(&world).await,
        ));
        world = rotated(world, &LedgerRole::ALL).await;
    }
    let mut paid = Vec::new();
    for (whole, compact, trust) in &kept {
        let [whole, compact] = [
            verify(whole, Some(trust)),
            verify_compact(compact, Some(trust)),
        ];
        assert_eq!((whole.trusted, compact.trusted), (true, true));
        paid.extend([whole, compact].map(|checked| {
            let paid = checked.paid.unwrap();
            (paid.record_hash, paid.amount())
        }));
    }
    assert_eq!(paid.len(), 6);
    paid.dedup();
    assert_eq!(paid.len(), 1, "they prove the same payment");
}

async fn compact(world: &World, id: InteractionId) -> CompactReceipt {
    let path = format!("/api/v1/interactions/{id}/receipt?format=cose");
    let answer = covered(world, &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    CompactReceipt::from_bytes(&answer.bytes).unwrap()
}
