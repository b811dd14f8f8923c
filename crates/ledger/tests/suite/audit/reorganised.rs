//! What a reorganisation may change, and a lie too: which block stands at a height, and what a
//! transaction moves. No verdict rests on it; the report names it (decision 0182).

use serde_json::{Value, json};
use x811_audit::Cause;

use super::base::{Base, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::party::Account;
use super::resealing::{nth, remarks, resealed};
use super::scene::{Parts, audit, exported, found, pay};

const ONE_BLOCK: &str = "a height has one block";
const THE_SAME: &str = "a transaction moves the same in whichever block";

/// Two verified interactions of the same two.
async fn two_verified(ledgerbox: &Ledgerbox) -> [Deal; 2] {
    let first = Deal::opened(ledgerbox, Until::Verified).await;
    let account = Account::new(0x46);
    let mut second = Deal::between(ledgerbox, &first.initiator, &first.provider, account);
    second.go(ledgerbox, Until::Verified).await;
    [first, second]
}

async fn sweep_after_ms(ledgerbox: &Ledgerbox, ms: u64) {
    ledgerbox.advance_ms(ms).await;
    ledgerbox.sweep().await;
}

/// Whatever the log says of the block that this transaction is in, by that name.
fn blocks_of(parts: &mut Parts, number: u16) -> Vec<&mut Value> {
    let tx_hash = json!(tx(number));
    let blocks = parts.records.iter_mut().filter_map(|kept| {
        let event = &mut kept.draft.event;
        let pointer = match event["type"].as_str().unwrap() {
            "seen" if event["tx_hash"] == tx_hash => "/block",
            "confirmed" if event["evidence"][0]["tx_hash"] == tx_hash => "/evidence/0/block",
            _ => return None,
        };
        event.pointer_mut(pointer)
    });
    blocks.collect()
}

/// The log with another hash for the block of the second transaction.
fn with_another_hash(bytes: &[u8]) -> Vec<u8> {
    let mut parts = Parts::of(bytes);
    let blocks = blocks_of(&mut parts, 2);
    assert!(blocks.len() >= 2, "seen and confirmed");
    for block in blocks {
        block["hash"] = json!(format!("0x{}", "ab".repeat(32)));
    }
    resealed(parts)
}

/// A payment that never was, in a block that never was, at the height of one that other parties were
/// paid in: the operator gains, who holds the ledger's keys.
#[tokio::test]
async fn lc_5_two_hashes_at_one_height_are_a_remark() {
    let mut ledgerbox = impatient().await;
    let [first, second] = two_verified(&ledgerbox).await;
    for (deal, number) in [(&first, 1), (&second, 2)] {
        pay(&mut ledgerbox, deal, number, TOTAL_MICRO_USDC).await;
    }
    ledgerbox.watch_ms(8_000).await;
    for deal in [&first, &second] {
        assert_eq!(ledgerbox.state(deal.id()), "completed");
    }
    let bytes = exported(&ledgerbox).await;
    let mut parts = Parts::of(&bytes);
    assert_eq!(
        blocks_of(&mut parts.clone(), 1)[0],
        blocks_of(&mut parts, 2)[0]
    );
    let honest = audit(&bytes);
    assert_eq!((found(&honest), remarks(&honest)), (vec![], vec![]));
    let forged = audit(&with_another_hash(&bytes));
    assert_eq!(found(&forged), []);
    let said = remarks(&forged);
    assert!(!said.is_empty(), "nothing is said");
    assert!(
        said.iter().all(|one| one.starts_with(ONE_BLOCK)),
        "{said:?}"
    );
}

/// A height has another block once a reorganisation is recorded.
#[tokio::test]
async fn lc_5_two_hashes_at_one_height_are_none_after_a_reorganisation() {
    let mut ledgerbox = impatient().await;
    let [first, second] = two_verified(&ledgerbox).await;
    pay(&mut ledgerbox, &first, 1, TOTAL_MICRO_USDC).await;
    sweep_after_ms(&ledgerbox, 2_000).await;
    let (block, amounts) = (Base::head_number(ledgerbox.now()), [TOTAL_MICRO_USDC]);
    first.mine(&mut ledgerbox, 1, &amounts);
    sweep_after_ms(&ledgerbox, 2_000).await;
    let payer = second.account.address;
    ledgerbox.base.mine(tx(2), block, payer, &amounts);
    ledgerbox.accept(&second.payment(&ledgerbox, 2)).await;
    ledgerbox.watch_ms(8_000).await;
    let bytes = exported(&ledgerbox).await;
    let mut parts = Parts::of(&bytes);
    let of_first = blocks_of(&mut parts, 1).into_iter();
    let heights: Vec<Value> = of_first.map(|block| block["number"].clone()).collect();
    assert_eq!(heights, [json!(block), json!(block + 1), json!(block + 1)]);
    assert_eq!(blocks_of(&mut parts, 2)[0]["number"], json!(block));
    for bytes in [bytes.clone(), with_another_hash(&bytes)] {
        let report = audit(&bytes);
        assert_eq!((found(&report), remarks(&report)), (vec![], vec![]));
    }
}

/// The payer showed too little, and a reorganisation is said to have made it enough.
#[tokio::test]
async fn lc_5_a_transaction_that_moves_something_else_in_another_block_is_a_remark() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    sweep_after_ms(&ledgerbox, 2_000).await;
    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let bytes = exported(&ledgerbox).await;
    let honest = audit(&bytes);
    assert_eq!((found(&honest), remarks(&honest)), (vec![], vec![]));
    let mut parts = Parts::of(&bytes);
    let seen = parts.find_event("seen");
    *parts.records[seen].member("/transfers/0/amount") = json!("7");
    let forged = audit(&resealed(parts));
    assert_eq!(found(&forged), []);
    let said = remarks(&forged);
    assert!(said.len() == 1 && said[0].starts_with(THE_SAME), "{said:?}");
}

/// Interactions of the same two that one transaction pays, each by a transfer of its own, all of them final.
async fn paid_by_one_transaction(count: usize) -> Vec<u8> {
    let mut ledgerbox = impatient().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    let mut deals = vec![first];
    while deals.len() < count {
        let account = Account::new(0x46);
        let mut deal = Deal::between(&ledgerbox, &deals[0].initiator, &deals[0].provider, account);
        deal.go(&ledgerbox, Until::Verified).await;
        deals.push(deal);
    }
    let block = deals[0].mine(&mut ledgerbox, 1, &vec![TOTAL_MICRO_USDC; count]);
    for deal in &deals {
        ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    }
    ledgerbox.watch_ms(8_000).await;
    ledgerbox.base.finalized = Some(block + 1);
    ledgerbox.sweep().await;
    exported(&ledgerbox).await
}

/// Where the records say that the transaction lies for one of the interactions that it paid.
fn blocks_of_payment(parts: &mut Parts, payment: usize) -> Vec<&mut Value> {
    let confirmed = nth(parts, "confirmed", payment);
    let stream = parts.records[confirmed].draft.stream.clone();
    let of_it = parts
        .records
        .iter_mut()
        .filter(|kept| kept.draft.stream == stream);
    let blocks = of_it.filter_map(|kept| {
        let pointer = match kept.draft.event["type"].as_str().unwrap() {
            "seen" => "/block",
            "confirmed" => "/evidence/0/block",
            _ => return None,
        };
        kept.draft.event.pointer_mut(pointer)
    });
    blocks.collect()
}

/// Two were paid by one transfer: for the other one the transaction is said to lie elsewhere, where it has that
/// transfer as well.
#[tokio::test]
async fn lc_5_one_transaction_that_is_final_in_two_blocks_is_found() {
    for (count, moved, blocks_up) in [
        (2, 0, 0),
        (2, 1, 0),
        (2, 0, 1),
        (2, 1, 1),
        (3, 1, 0),
        (3, 2, 1),
    ] {
        let bytes = paid_by_one_transaction(count).await;
        let honest = audit(&bytes);
        assert_eq!((found(&honest), remarks(&honest)), (vec![], vec![]));
        let mut parts = Parts::of(&bytes);
        for block in blocks_of_payment(&mut parts, moved) {
            let number = block["number"].as_u64().unwrap() + blocks_up;
            *block = match blocks_up {
                0 => {
                    block["hash"] = json!(format!("0x{}", "ab".repeat(32)));
                    block.clone()
                }
                _ => json!(Base::block(number)),
            };
        }
        let forged = audit(&resealed(parts));
        let is_named = |(_, field, cause): &(u64, &str, Cause)| {
            (*field, *cause) == ("event", Cause::Contradicts)
        };
        assert!(
            found(&forged).iter().any(is_named),
            "{count} {moved} {blocks_up}"
        );
    }
}

/// The one was final before a reorganisation took the transaction elsewhere, where the other saw it.
#[tokio::test]
async fn lc_5_one_transaction_that_moved_between_two_ends_is_no_finding() {
    let mut ledgerbox = impatient().await;
    let [first, second] = two_verified(&ledgerbox).await;
    for deal in [first, second] {
        ledgerbox.base.reorganise_away(tx(1));
        let block = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC; 2]);
        ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
        ledgerbox.watch_ms(4_000).await;
        ledgerbox.base.finalized = Some(block);
        ledgerbox.sweep().await;
    }
    let bytes = exported(&ledgerbox).await;
    let mut parts = Parts::of(&bytes);
    nth(&parts, "final", 1);
    let [first, second] = [0, 1].map(|payment| blocks_of_payment(&mut parts, payment)[0].clone());
    assert_ne!(first, second);
    assert_eq!(found(&audit(&bytes)), []);
}
