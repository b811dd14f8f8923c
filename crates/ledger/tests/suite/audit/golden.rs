//! The good bundles and receipts of `tests/vectors`: what a ledger with fixed keys, times and chance writes.
//! They stay as they are, byte for byte, for whoever reads this format in years to come.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use x811_ledger::export::{self, UpTo};
use x811_protocol::event::LedgerRole;
use x811_protocol::json::Limits;

use super::base::{Base, TREASURY, tx};
use super::bundles::{bundle, signed};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::every_event::{again, rotation};
use super::ledgerbox::{Ledgerbox, impatient};
use super::papers::receipts_in_both_forms;
use super::party::Party;
use super::scene::{exported_under, pay};
use super::{golden_contract, golden_session};

/// Of the total, by the terms of every deal.
const FEE_MICRO_USDC: u64 = 25_000;

/// Files by their names.
pub(crate) type Golden = Vec<(String, Vec<u8>)>;

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// True if the golden file `name` has these bytes. Under `X811_VECTORS=write` it gets them; what is written goes
/// into the folder `golden` of `X811_FREEZE` as well, where that is set.
pub(crate) fn is_golden(name: &str, bytes: &[u8]) -> bool {
    let write = |folder: PathBuf| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    if let Some(frozen) = variable("X811_FREEZE") {
        write(PathBuf::from(frozen).join("golden"));
    }
    if variable("X811_VECTORS").is_some_and(|value| value == "write") {
        write(folder());
    }
    fs::read(folder().join(name)).is_ok_and(|known| known == bytes)
}

/// A log of one paid interaction, with a checkpoint under way.
async fn whole_log() -> (&'static str, Vec<u8>) {
    let mut ledgerbox = impatient().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let signed = signed(&ledgerbox, ledgerbox.records().await.len()).await;
    deal = again(&ledgerbox, &deal);
    ledgerbox.accept(&deal.request(&ledgerbox)).await;
    let mut second = Vec::new();
    let written = export::write(&*ledgerbox.store, UpTo::Head(Some(&signed)), &mut second);
    written.await.unwrap();
    ("log", second)
}

pub(crate) async fn settled(
    ledgerbox: &mut Ledgerbox,
    deal: &Deal,
    number: u16,
    paid: u64,
    state: &str,
) {
    pay(ledgerbox, deal, number, paid).await;
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(deal.id()), state);
}

/// Of a short log: an interaction that was rejected, and one that is open.
async fn rejected_and_open() -> [(&'static str, Vec<u8>); 2] {
    let ledgerbox = impatient().await;
    let mut rejected = Deal::opened(&ledgerbox, Until::Pending).await;
    let mut open = again(&ledgerbox, &rejected);
    ledgerbox.accept(&open.request(&ledgerbox)).await;
    ledgerbox.accept(&rejected.offer(&ledgerbox)).await;
    ledgerbox.accept(&rejected.reject(&ledgerbox)).await;
    [
        ("rejected", bundle(&ledgerbox, rejected.id()).await),
        ("open", bundle(&ledgerbox, open.id()).await),
    ]
}

/// A bundle of each way in which an interaction ends that was paid, all of one log.
async fn interactions() -> BTreeMap<&'static str, Vec<u8>> {
    let mut ledgerbox = impatient().await;
    let erased = Deal::opened(&ledgerbox, Until::Verified).await;
    settled(&mut ledgerbox, &erased, 1, TOTAL_MICRO_USDC, "completed").await;

    let mut completed = again(&ledgerbox, &erased);
    completed.go(&ledgerbox, Until::Verified).await;
    settled(&mut ledgerbox, &completed, 2, TOTAL_MICRO_USDC, "completed").await;
    let mut disputed = again(&ledgerbox, &erased);
    disputed.go(&ledgerbox, Until::Verified).await;
    settled(
        &mut ledgerbox,
        &disputed,
        3,
        TOTAL_MICRO_USDC - 1,
        "disputed",
    )
    .await;
    let mut rotated = again(&ledgerbox, &erased);
    rotated.go(&ledgerbox, Until::Accepted).await;
    let renewed = Party {
        did: rotated.provider.did,
        key: ledgerbox.party().key,
    };
    let rotation = rotation(&ledgerbox, &rotated.provider, &renewed);
    ledgerbox.accept(&rotation).await;
    rotated.provider = renewed;
    ledgerbox.accept(&rotated.result(&ledgerbox)).await;
    ledgerbox.accept(&rotated.verify(&ledgerbox)).await;
    settled(&mut ledgerbox, &rotated, 4, TOTAL_MICRO_USDC, "completed").await;

    ledgerbox.base.finalized = Some(Base::head_number(ledgerbox.now()));
    ledgerbox.sweep().await;
    ledgerbox.erase_by(erased.id(), None).await.unwrap();
    ledgerbox.settle().await;
    let deals = [
        ("erased-bodies", erased),
        ("completed", completed),
        ("disputed", disputed),
        ("rotated-key", rotated),
    ];
    let mut bundles = BTreeMap::new();
    for (name, deal) in deals {
        bundles.insert(name, bundle(&ledgerbox, deal.id()).await);
    }
    bundles
}

/// What the ledger replaced all its keys by, and the bundle and the receipt of what was paid then.
async fn replaced_keys() -> Golden {
    let mut ledgerbox = impatient().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    settled(&mut ledgerbox, &first, 1, TOTAL_MICRO_USDC, "completed").await;
    for (role, seed) in LedgerRole::ALL.into_iter().zip(91..) {
        ledgerbox.rotate(role, seed);
    }
    ledgerbox.restart().await;
    let mut second = again(&ledgerbox, &first);
    second.go(&ledgerbox, Until::Verified).await;
    settled(&mut ledgerbox, &second, 2, TOTAL_MICRO_USDC, "completed").await;
    let size = ledgerbox.records().await.len();
    let note = signed(&ledgerbox, size).await;
    let whole = exported_under(&ledgerbox, Some(&note)).await;
    let mut files = receipts_of(&ledgerbox, &second, "replaced-keys").await;
    let bundle = bundle(&ledgerbox, second.id()).await;
    files.push(("bundle/replaced-keys.x811".to_owned(), bundle));
    files.push(("bundle/log-replaced-keys.x811".to_owned(), whole));
    files
}

/// Receipts of an ordinary payment, of the same provider's next, and of one whose price and fee came
/// by a transaction and a PAYMENT each.
async fn receipts() -> Golden {
    let mut ledgerbox = impatient().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    settled(&mut ledgerbox, &first, 1, TOTAL_MICRO_USDC, "completed").await;
    let mut files = receipts_of(&ledgerbox, &first, "paid").await;
    let mut second = again(&ledgerbox, &first);
    second.go(&ledgerbox, Until::Verified).await;
    settled(&mut ledgerbox, &second, 2, TOTAL_MICRO_USDC, "completed").await;
    files.extend(receipts_of(&ledgerbox, &second, "second").await);

    let mut apart = again(&ledgerbox, &first);
    apart.go(&ledgerbox, Until::Verified).await;
    let (block, payer) = (
        Base::head_number(ledgerbox.now()) + 1,
        apart.account.address,
    );
    let (price, fee) = (TOTAL_MICRO_USDC - FEE_MICRO_USDC, FEE_MICRO_USDC);
    ledgerbox.base.mine(tx(3), block, payer, &[price]);
    ledgerbox
        .base
        .mine_to(TREASURY, tx(4), block, payer, &[fee]);
    for number in [3, 4] {
        ledgerbox.accept(&apart.payment(&ledgerbox, number)).await;
    }
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(apart.id()), "completed");
    files.extend(receipts_of(&ledgerbox, &apart, "price-and-fee").await);
    files
}

/// Receipts of an interaction whose initiator changed its key before the VERIFY, and of one whose
/// VERIFY is nested as deep as an envelope may be.
async fn unusual_receipts() -> Golden {
    let mut ledgerbox = impatient().await;
    let mut two_keys = Deal::opened(&ledgerbox, Until::Delivered).await;
    let renewed = Party {
        did: two_keys.initiator.did,
        key: ledgerbox.party().key,
    };
    let rotation = rotation(&ledgerbox, &two_keys.initiator, &renewed);
    ledgerbox.accept(&rotation).await;
    two_keys.initiator = renewed;
    ledgerbox.accept(&two_keys.verify(&ledgerbox)).await;
    settled(&mut ledgerbox, &two_keys, 1, TOTAL_MICRO_USDC, "completed").await;
    let mut files = receipts_of(&ledgerbox, &two_keys, "two-keys").await;

    let mut nested = again(&ledgerbox, &two_keys);
    nested.go(&ledgerbox, Until::Delivered).await;
    let plain = nested.verify(&ledgerbox);
    let mut message: Value = serde_json::from_slice(&plain.json).unwrap();
    // The message and its payload are two levels.
    let levels = 2..Limits::DEFAULT_DEPTH;
    message["payload"]["note"] = levels.fold(json!(1), |inner, _| json!([inner]));
    let (payload, ledger) = (message["payload"].take(), &ledgerbox);
    let deep = ledger.seal(&nested.initiator, "x811/verify", &nested.provider, payload);
    ledgerbox.accept(&deep).await;
    settled(&mut ledgerbox, &nested, 2, TOTAL_MICRO_USDC, "completed").await;
    files.extend(receipts_of(&ledgerbox, &nested, "nested").await);
    files
}

/// The receipt of a paid interaction, in both forms.
pub(crate) async fn receipts_of(ledgerbox: &Ledgerbox, deal: &Deal, name: &str) -> Golden {
    let (whole, compact) = receipts_in_both_forms(ledgerbox, deal.id()).await;
    vec![
        (format!("receipt/{name}.json"), whole.unwrap().to_bytes()),
        (format!("receipt/{name}.cose"), compact.unwrap().to_bytes()),
    ]
}

/// `X811_VECTORS=write cargo nextest run -p x811-ledger --test suite golden` writes them anew.
#[tokio::test]
async fn golden_bundles_and_receipts_are_what_is_written() {
    let mut files = interactions().await;
    files.extend(rejected_and_open().await);
    files.extend([whole_log().await]);
    let bundles = files.into_iter();
    let bundles = bundles.map(|(name, bytes)| (format!("bundle/{name}.x811"), bytes));
    let unusual = unusual_receipts().await.into_iter();
    let receipts = receipts().await.into_iter().chain(unusual);
    let others = replaced_keys().await.into_iter();
    let others = others.chain(golden_contract::files().await);
    let others = others.chain(golden_session::files().await);
    let mut changed = Vec::new();
    for (name, bytes) in bundles.chain(receipts).chain(others) {
        if !is_golden(&name, &bytes) {
            changed.push(name);
        }
    }
    assert!(
        changed.is_empty(),
        "what is written has changed: {changed:?}"
    );
}
