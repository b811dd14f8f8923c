//! Lies about payments by whoever has the ledger's keys and writes every hash anew: one transaction
//! tells one story, and evidence is somebody's (ledger-contract.md sections 5 and 9).

use serde_json::{Value, json};
use x811_audit::{Cause, Gap, Outcome, Report};

use super::base::{PAYEE, TREASURY, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::impatient;
use super::party::Account;
use super::resealing::{first, nth, remarks, resealed, with};
use super::scene::{Parts, audit, exported, found, honest, names, settled_and_disputed};

const OTHER_HASH: &str = "0x0101010101010101010101010101010101010101010101010101010101010101";

/// An interaction that is paid with two transactions, one of them refuted alone before.
async fn topped_up() -> Vec<u8> {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC - 10]);
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(5_000).await;
    deal.mine(&mut ledgerbox, 2, &[10]);
    ledgerbox.accept(&deal.payment(&ledgerbox, 2)).await;
    ledgerbox.watch_ms(6_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    honest(&ledgerbox).await
}

/// Two interactions of which one transaction pays both, by a transfer each.
async fn shared() -> Vec<u8> {
    let mut ledgerbox = impatient().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    let account = Account::new(0x46);
    let mut second = Deal::between(&ledgerbox, &first.initiator, &first.provider, account);
    second.go(&ledgerbox, Until::Verified).await;
    first.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC; 2]);
    for deal in [&first, &second] {
        ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    }
    ledgerbox.watch_ms(8_000).await;
    for deal in [&first, &second] {
        assert_eq!(ledgerbox.state(deal.id()), "completed");
    }
    honest(&ledgerbox).await
}

async fn settled() -> Vec<u8> {
    exported(&settled_and_disputed().await).await
}

#[tokio::test]
async fn lc_9_evidence_that_no_endpoint_gave_is_found() {
    first(&settled().await, "confirmed")
        .set("/evidence/0/endpoints", json!([]))
        .finds("evidence[0].endpoints", Cause::NoEvidence);
}

#[tokio::test]
async fn lc_9_a_refutation_that_no_endpoint_gave_is_found() {
    first(&settled().await, "refuted")
        .set("/evidence/endpoints", json!([]))
        .finds("evidence.endpoints", Cause::NoEvidence);
}

#[tokio::test]
async fn lc_9_a_late_payment_that_no_endpoint_gave_is_found() {
    first(&settled().await, "late")
        .set("/evidence/0/endpoints", json!([]))
        .finds("evidence[0].endpoints", Cause::NoEvidence);
}

#[tokio::test]
async fn lc_9_an_endpoint_that_speaks_twice_is_found() {
    first(&settled().await, "confirmed")
        .set("/evidence/0/endpoints", json!(["one", "one"]))
        .finds("evidence[0].endpoints", Cause::NoEvidence);
}

#[tokio::test]
async fn lc_9_a_block_hash_with_two_numbers_is_found() {
    let bytes = settled().await;
    let at = Parts::of(&bytes).find_event("confirmed");
    let number = Parts::of(&bytes).records[at]
        .member("/evidence/0/block/number")
        .as_u64();
    first(&bytes, "confirmed")
        .set("/evidence/0/block/number", json!(number.unwrap() + 29_625))
        .finds_also("evidence[0].block", Cause::Contradicts);
}

#[tokio::test]
async fn lc_9_a_block_hash_with_two_times_is_found() {
    let bytes = settled().await;
    let at = Parts::of(&bytes).find_event("seen");
    let member = "/block/timestamp_s";
    let time = Parts::of(&bytes).records[at].member(member).as_u64();
    let report = with(&bytes, at, &[(member, json!(time.unwrap() - 1))]);
    let confirmed = Parts::of(&bytes).find_event("confirmed") as u64;
    let here = found(&report);
    let expected = (confirmed, "evidence[0].block", Cause::Contradicts);
    assert!(here.contains(&expected), "{here:?}");
}

/// The head of an ACCEPT and the block of another interaction's payment are of one network.
#[tokio::test]
async fn lc_9_an_accepts_head_that_another_record_numbers_otherwise_is_found() {
    let bytes = settled().await;
    let parts = Parts::of(&bytes);
    let mut accepts = (0..parts.records.len()).rev();
    let accept = accepts
        .find(|at| parts.records[*at].message_type() == "x811/accept")
        .unwrap();
    let confirmed = nth(&parts, "confirmed", 0);
    let hash = parts.records[confirmed]
        .clone()
        .member("/evidence/0/block/hash")
        .clone();
    let report = with(&bytes, accept, &[("/derived/heads/0/hash", hash)]);
    let expected = [(accept as u64, "derived.heads[0]", Cause::Contradicts)];
    assert_eq!(found(&report), expected);
}

#[tokio::test]
async fn lc_9_a_looks_head_that_another_record_dates_otherwise_is_found() {
    let bytes = settled().await;
    let parts = Parts::of(&bytes);
    let (first, second) = (nth(&parts, "looked", 0), nth(&parts, "looked", 1));
    let hash = parts.records[first].clone().member("/head/hash").clone();
    names(
        &with(&bytes, second, &[("/head/hash", hash)]),
        second,
        "head",
        Cause::Contradicts,
    );
}

#[tokio::test]
async fn lc_9_a_transfer_whose_amount_another_interaction_knows_otherwise_is_found() {
    let bytes = shared().await;
    let mut parts = Parts::of(&bytes);
    let (seen, two) = (nth(&parts, "seen", 1), nth(&parts, "confirmed", 1));
    // All of the second interaction's own words agree.
    *parts.records[seen].member("/transfers/0/amount") = json!("7");
    *parts.records[two].member("/evidence/0/transfers/0/amount") = json!("7");
    let report = audit(&resealed(parts));
    let expected = [(two as u64, "evidence[0].transfers[0]", Cause::Contradicts)];
    assert_eq!(found(&report), expected);
}

#[tokio::test]
async fn lc_9_a_transfer_whose_recipient_another_interaction_knows_otherwise_is_found() {
    let bytes = shared().await;
    let mut parts = Parts::of(&bytes);
    let (seen, two) = (nth(&parts, "seen", 1), nth(&parts, "confirmed", 1));
    *parts.records[seen].member("/transfers/0/to") = json!(TREASURY);
    *parts.records[two].member("/evidence/0/transfers/0/to") = json!(TREASURY);
    names(
        &audit(&resealed(parts)),
        two,
        "evidence[0].transfers[0]",
        Cause::Contradicts,
    );
}

#[tokio::test]
async fn lc_9_a_count_of_transfers_that_another_interaction_knows_otherwise_is_found() {
    let bytes = shared().await;
    let two = nth(&Parts::of(&bytes), "confirmed", 1);
    let report = with(&bytes, two, &[("/evidence/0/transfer_count", json!(3))]);
    let expected = [(two as u64, "evidence[0].transfer_count", Cause::Contradicts)];
    assert_eq!(found(&report), expected);
}

/// `seen` and a record of several endpoints differ: an endpoint or the ledger lied.
#[track_caller]
fn assert_contested(report: &Report) {
    assert_ne!(report.verdict, Outcome::Clean, "{report:#?}");
    let mut gaps = report.undecided.iter().map(|undecided| undecided.gap);
    assert!(gaps.any(|gap| gap == Gap::ContestedSightings));
}

/// The same when the changes are made to the first `refuted`, where other things are found too.
async fn is_contested(changes: &[(&str, Value)]) {
    let bytes = settled().await;
    let at = Parts::of(&bytes).find_event("refuted");
    assert_contested(&with(&bytes, at, changes));
}

/// What was seen first is what is confirmed.
#[tokio::test]
async fn lc_9_a_transfer_that_only_the_confirmation_shows_is_contested() {
    let bytes = settled().await;
    let at = Parts::of(&bytes).find_event("seen");
    let report = with(&bytes, at, &[("/transfers", json!([]))]);
    assert_eq!(
        (report.verdict, found(&report)),
        (Outcome::Incomplete, vec![])
    );
    assert_contested(&report);
}

#[tokio::test]
async fn lc_9_other_payee_while_a_fitting_transfer_was_seen_is_contested() {
    let changes = [
        ("/evidence/transfers", json!([])),
        ("/cause", json!("other_payee")),
        ("/code", json!("X811-5002")),
    ];
    is_contested(&changes).await;
}

#[tokio::test]
async fn lc_9_reverted_though_seen_with_transfers_is_contested() {
    let changes = [
        ("/evidence/transfers", json!([])),
        ("/evidence/transfer_count", json!(0)),
        ("/cause", json!("reverted")),
        ("/code", json!("X811-5003")),
    ];
    is_contested(&changes).await;
}

#[tokio::test]
async fn lc_9_wrong_token_though_seen_with_transfers_is_contested() {
    let changes = [
        ("/evidence/transfers", json!([])),
        ("/evidence/transfer_count", json!(0)),
        ("/cause", json!("wrong_token")),
        ("/code", json!("X811-5003")),
    ];
    is_contested(&changes).await;
}

#[tokio::test]
async fn lc_9_depths_of_one_decision_that_are_not_from_one_head_are_found() {
    let bytes = topped_up().await;
    first(&bytes, "confirmed")
        .set("/evidence/1/depth", json!(9))
        .finds("evidence[1].depth", Cause::NoEvidence);
}

#[tokio::test]
async fn lc_9_evidence_out_of_order_is_found() {
    let bytes = topped_up().await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_event("confirmed");
    let evidence = parts.records[at]
        .member("/evidence")
        .as_array_mut()
        .unwrap();
    evidence.swap(0, 1);
    names(
        &audit(&resealed(parts)),
        at,
        "evidence",
        Cause::ReDecisionDiffers,
    );
}

#[tokio::test]
async fn lc_9_evidence_of_what_is_not_claimed_is_found() {
    let bytes = topped_up().await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_event("confirmed");
    let evidence = parts.records[at]
        .member("/evidence")
        .as_array_mut()
        .unwrap();
    let twice = evidence[0].clone();
    evidence.push(twice);
    names(
        &audit(&resealed(parts)),
        at,
        "evidence",
        Cause::ReDecisionDiffers,
    );
}

#[tokio::test]
async fn lc_9_two_blocks_of_one_height_under_one_decision_are_found() {
    let bytes = topped_up().await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_event("confirmed");
    // The first was refuted before: where it is now no record of its own says.
    let evidence = parts.records[at].member("/evidence").clone();
    let other = &evidence[1];
    let block = json!({
        "number": other["block"]["number"],
        "hash": OTHER_HASH,
        "timestamp_s": other["block"]["timestamp_s"],
    });
    *parts.records[at].member("/evidence/0/block") = block;
    *parts.records[at].member("/evidence/0/depth") = other["depth"].clone();
    let report = audit(&resealed(parts));
    let expected = [(at as u64, "evidence[1].block", Cause::NoEvidence)];
    assert_eq!(found(&report), expected);
}

#[tokio::test]
async fn lc_9_a_lower_block_that_is_less_sure_than_a_higher_one_is_found() {
    let bytes = topped_up().await;
    first(&bytes, "confirmed")
        .set("/evidence/1/level", json!("final"))
        .finds("evidence[1].block", Cause::NoEvidence);
}

/// Half of it short, then the other half, and that is too little as well?
#[tokio::test]
async fn lc_9_short_before_everything_declared_is_deep_is_found() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC - 10]);
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(5_000).await;
    let bytes = honest(&ledgerbox).await;
    let mut parts = Parts::of(&bytes);
    // A second transaction is declared with the first, and was not seen yet.
    let refuted = parts.find_event("refuted");
    let depth = parts.records[refuted]
        .member("/evidence/depth")
        .as_u64()
        .unwrap();
    let seen = parts.find_event("seen");
    let payment = parts.find_message("x811/payment");
    parts.records[payment].member("/facts")["fee_tx_hash"] = json!(tx(2));
    let report = audit(&resealed(parts));
    assert!(seen < refuted && depth >= 2);
    names(&report, refuted, "cause", Cause::ReDecisionDiffers);
}

/// Two transactions that are enough together, and both are refuted as too short.
#[tokio::test]
async fn lc_9_short_while_what_was_seen_is_enough_is_found() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    deal.mine(&mut ledgerbox, 1, &[10]);
    deal.mine(&mut ledgerbox, 2, &[20]);
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 2)).await;
    ledgerbox.watch_ms(6_000).await;
    let bytes = honest(&ledgerbox).await;
    let mut parts = Parts::of(&bytes);
    // What is quoted of the second would cover all of it.
    let (seen, one, two) = (
        nth(&parts, "seen", 1),
        nth(&parts, "refuted", 0),
        nth(&parts, "refuted", 1),
    );
    let enough = json!((TOTAL_MICRO_USDC - 5).to_string());
    *parts.records[seen].member("/transfers/0/amount") = enough.clone();
    *parts.records[two].member("/evidence/transfers/0/amount") = enough;
    let report = audit(&resealed(parts));
    let expected = [(one as u64, "cause", Cause::ReDecisionDiffers)];
    assert_eq!(found(&report), expected);
    // The second rests on one that was refuted before: no record would show that it moved.
    let said = remarks(&report);
    assert!(said[0].starts_with("refuted as too short"), "{said:?}");
}

#[tokio::test]
async fn lc_5_honest_evidence_of_shared_and_topped_up_payments_is_clean() {
    for bytes in [shared().await, topped_up().await] {
        let report = audit(&bytes);
        assert_eq!((found(&report), remarks(&report)), (vec![], vec![]));
    }
    let to = Parts::of(&shared().await).records.iter().find_map(|kept| {
        let to = kept.draft.event.pointer("/evidence/0/transfers/0/to");
        to.map(Value::to_string)
    });
    assert_eq!(to, Some(format!("\"{PAYEE}\"")));
}
