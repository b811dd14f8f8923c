//! Lies about looks, and about what became of a payment that was over (ledger-contract.md sections
//! 5 and 9).

use serde_json::{Value, json};
use x811_audit::Cause;

use super::base::{Base, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use super::resealing::{first, nth, resealed};
use super::scene::{Kept, Parts, audit, exported, found, honest, names, pay, settled_and_disputed};

const DIFFERS: Cause = Cause::ReDecisionDiffers;

/// A ledger that looks soon and confirms late, so that looks find a payment that is not deep.
async fn patient() -> Ledgerbox {
    let mut parameters = parameters();
    parameters.windows.confirmation_ms = 4_000;
    parameters.looks_ms = [2_000; 4];
    parameters.limits.pending_look_ms = 4_000;
    parameters.networks[0].confirmed_depth = 9;
    Ledgerbox::with(parameters).await
}

/// A payment that looks find before it is deep.
async fn pending() -> Vec<u8> {
    let mut ledgerbox = patient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(22_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    honest(&ledgerbox).await
}

/// A payment of which nothing is ever seen.
async fn absent() -> Vec<u8> {
    let ledgerbox = super::ledgerbox::impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    honest(&ledgerbox).await
}

/// A payment that was reversed, came back and is final.
async fn returned() -> Vec<u8> {
    let mut ledgerbox = super::ledgerbox::impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(2_000).await;
    let block = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(8_000).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    let bytes = honest(&ledgerbox).await;
    for event in ["unseen", "reversed", "returned", "final"] {
        Parts::of(&bytes).find_event(event);
    }
    bytes
}

/// The parts without the record at `at`.
fn without(parts: &Parts, at: usize) -> Parts {
    let mut parts = parts.clone();
    let dropped = parts.records.remove(at);
    for later in &mut parts.records[at..] {
        if later.draft.stream == dropped.draft.stream {
            later.draft.stream_seq -= 1;
        }
        if let Some(Value::Number(cause)) = later.draft.event.get_mut("cause") {
            let moved = cause.as_u64().unwrap() - 1;
            later.draft.event["cause"] = json!(moved);
        }
    }
    parts
}

#[tokio::test]
async fn lc_9_not_found_while_it_stands_seen_is_found() {
    first(&pending().await, "looked")
        .set(
            "/finding/0",
            json!({"tx_hash": tx(1), "status": "not_found"}),
        )
        .finds_also("finding[0]", DIFFERS);
}

#[tokio::test]
async fn lc_9_not_found_and_yet_in_a_block_is_found() {
    first(&absent().await, "looked")
        .set("/finding/0/depth", json!(1))
        .finds("finding[0]", DIFFERS);
}

#[tokio::test]
async fn lc_9_seen_by_a_look_while_it_stands_unseen_is_found() {
    let finding = json!({"tx_hash": tx(1), "status": "seen", "depth": 1});
    first(&absent().await, "looked")
        .set("/finding/0", finding)
        .finds_also("finding[0]", DIFFERS);
}

#[tokio::test]
async fn lc_9_insufficient_while_it_stands_unseen_is_found() {
    let finding = json!({"tx_hash": tx(1), "status": "insufficient", "depth": 12});
    first(&absent().await, "looked")
        .set("/finding/0", finding)
        .finds_also("finding[0]", DIFFERS);
}

#[tokio::test]
async fn lc_9_insufficient_though_not_deep_is_found() {
    first(&pending().await, "looked")
        .set("/finding/0/status", json!("insufficient"))
        .finds_also("finding[0]", DIFFERS);
}

#[tokio::test]
async fn lc_9_a_look_whose_depth_is_not_the_heads_is_found() {
    first(&pending().await, "looked")
        .set("/finding/0/depth", json!(7))
        .finds_also("finding[0]", DIFFERS);
}

#[tokio::test]
async fn lc_9_seen_without_a_depth_is_found() {
    first(&pending().await, "looked")
        .set("/finding/0/depth", Value::Null)
        .finds_also("finding[0]", DIFFERS);
}

/// With a head so high the payment is deep: it would have been confirmed.
#[tokio::test]
async fn lc_9_a_look_that_finds_enough_and_deep_and_does_not_confirm_is_found() {
    let bytes = pending().await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_event("looked");
    let number = parts.records[at].member("/head/number").as_u64().unwrap();
    let depth = parts.records[at]
        .member("/finding/0/depth")
        .as_u64()
        .unwrap();
    let head = Base::block(number + 9);
    let time = parts.records[at].member("/head/timestamp_s").clone();
    *parts.records[at].member("/head") =
        json!({"number": head.number, "hash": head.hash, "timestamp_s": time});
    *parts.records[at].member("/finding/0/depth") = json!(depth + 9);
    names(&audit(&resealed(parts)), at, "finding[0]", DIFFERS);
}

#[tokio::test]
async fn lc_9_a_head_that_is_older_than_what_is_below_it_is_found() {
    let bytes = pending().await;
    let mut parts = Parts::of(&bytes);
    let (seen, at) = (parts.find_event("seen"), parts.find_event("looked"));
    // Of the same height as the block, and another one.
    let number = parts.records[seen].member("/block/number").clone();
    *parts.records[at].member("/head/number") = number;
    *parts.records[at].member("/finding/0/depth") = json!(1);
    names(&audit(&resealed(parts)), at, "finding[0]", DIFFERS);
}

/// A head that is older than the look it answers: `evolve` refuses it.
#[tokio::test]
async fn lc_9_a_look_answered_by_a_head_from_before_it_was_due_is_found() {
    let bytes = absent().await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_event("looked");
    let due_s = parts.records[at].member("/due_at_ms").as_u64().unwrap() / 1_000;
    let report_of = |time: u64| {
        let mut parts = parts.clone();
        *parts.records[at].member("/head/timestamp_s") = json!(time);
        audit(&resealed(parts))
    };
    let expected = (at as u64, "event", Cause::StateDiffers);
    let report = report_of(due_s - 1);
    assert!(found(&report).contains(&expected), "{:?}", found(&report));
}

/// Looks of two interactions from one head stand on one block of each height.
#[tokio::test]
async fn lc_9_one_head_with_two_blocks_of_one_height_below_it_is_found() {
    let mut ledgerbox = patient().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    let account = super::party::Account::new(0x46);
    let mut second = Deal::between(&ledgerbox, &first.initiator, &first.provider, account);
    second.go(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &first, 1, TOTAL_MICRO_USDC).await;
    pay(&mut ledgerbox, &second, 2, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(10_000).await;
    let bytes = honest(&ledgerbox).await;
    let mut parts = Parts::of(&bytes);
    let (seen, one, two) = (
        nth(&parts, "seen", 1),
        nth(&parts, "looked", 0),
        nth(&parts, "looked", 1),
    );
    let head = |at: usize| parts.records[at].clone().member("/head").clone();
    assert_eq!(head(one), head(two), "one sweep answers both");
    *parts.records[seen].member("/block/hash") = json!(format!("0x{}", "ab".repeat(32)));
    names(
        &audit(&resealed(parts)),
        two,
        "finding[0]",
        Cause::Contradicts,
    );
}

/// `reversed` of what is seen, `returned` of what is not, `final` of what is gone: `evolve` refuses.
#[tokio::test]
async fn lc_9_what_became_of_a_payment_follows_what_was_seen_of_it() {
    let bytes = returned().await;
    let parts = Parts::of(&bytes);
    let (unseen, seen) = (nth(&parts, "unseen", 0), nth(&parts, "seen", 1));
    let reversed = nth(&parts, "reversed", 0);
    for (dropped, refused) in [(unseen, reversed), (seen, nth(&parts, "returned", 0))] {
        let changed = without(&parts, dropped);
        let report = audit(&resealed(changed));
        let expected = (refused as u64 - 1, "event", Cause::StateDiffers);
        assert!(found(&report).contains(&expected), "{:?}", found(&report));
    }
    let at = nth(&parts, "final", 0);
    let mut moved = parts.clone();
    let number = moved.records[at].member("/head/number").as_u64().unwrap();
    *moved.records[at].member("/head/number") = json!(number - 1);
    names(&audit(&resealed(moved)), at, "event", Cause::StateDiffers);
}

/// A finalized head at the height of the block that paid is that block.
#[tokio::test]
async fn lc_9_a_finalized_head_of_another_branch_than_the_payment_is_found() {
    let bytes = returned().await;
    let hash = json!(format!("0x{}", "ab".repeat(32)));
    first(&bytes, "final")
        .set("/head/hash", hash)
        .finds("head", Cause::NoEvidence);
}

#[tokio::test]
async fn lc_9_a_payment_that_returned_as_another_is_found() {
    let bytes = returned().await;
    let mut parts = Parts::of(&bytes);
    let at = nth(&parts, "seen", 1);
    *parts.records[at].member("/transfers/0/amount") = json!("1");
    let report = audit(&resealed(parts));
    assert_eq!(
        found(&report),
        [(at as u64, "transfers", Cause::NoEvidence)]
    );
}

/// What is over is watched for so long, and nothing is recorded of it afterwards.
#[tokio::test]
async fn lc_9_a_final_head_long_after_the_end_is_found() {
    let bytes = returned().await;
    let mut parts = Parts::of(&bytes);
    let last = parts.records.len() - 1;
    let at = nth(&parts, "final", 0);
    assert_eq!(at, last, "nothing follows it");
    parts.records[at].draft.recorded_at_ms += 86_400_000;
    let report = audit(&resealed(parts));
    let here = found(&report);
    assert!(
        here.iter().any(|(position, ..)| *position == at as u64),
        "{here:?}"
    );
}

#[tokio::test]
async fn lc_5_what_honest_ledgers_write_of_looks_and_reversals_is_clean() {
    let is_look = |kept: &Kept| kept.event_type() == "looked";
    for bytes in [pending().await, absent().await, returned().await] {
        assert_eq!(found(&audit(&bytes)), []);
    }
    let settled = exported(&settled_and_disputed().await).await;
    assert!(Parts::of(&settled).records.iter().any(is_look));
    assert_eq!(found(&audit(&settled)), []);
}
