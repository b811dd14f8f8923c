//! Lies about when something was seen: blocks from later than their record, fresh blocks of a blind
//! network, and blindness that was none (ledger-contract.md sections 5 and 9).

use serde_json::json;
use x811_ledger::audit::Cause;
use x811_protocol::evm::ChainId;
use x811_protocol::observation::{BlindCause, Observation};

use super::base::{BASE, Base, GENESIS_S, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::resealing::{first, nth, remarks, resealed, with};
use super::scene::{Parts, audit, exported, found, honest, pay, settled_and_disputed};

const DIFFERS: Cause = Cause::ReDecisionDiffers;

/// Beyond what the clocks of agents may differ by.
const LATER_S: u64 = 400;

async fn settled() -> Vec<u8> {
    exported(&settled_and_disputed().await).await
}

/// A payment that came while no fresh head was seen: by a head of 20 s ago it was deep.
async fn confirmed_blind() -> Vec<u8> {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    let unreachable = Observation::Unreachable {
        network: BASE.to_owned(),
        cause: BlindCause::WrongChain,
        silent: Vec::new(),
    };
    ledgerbox.observe(unreachable).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.advance_ms(30_000).await;
    let head = Base::head_number(ledgerbox.now());
    ledgerbox.sweep_at(head - 6).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    ledgerbox.sweep().await;
    exported(&ledgerbox).await
}

/// A second of the record at `at`, as the ledger's clock has it.
fn second_of(bytes: &[u8], at: usize) -> u64 {
    Parts::of(bytes).records[at].draft.recorded_at_ms / 1_000
}

/// A ledger on a chain of that id, with a payment whose head runs ahead.
async fn running_ahead(chain_id: u64) -> Vec<u8> {
    let ledgerbox = Ledgerbox::but(|it| it.networks[0].chain_id = ChainId::new(chain_id)).await;
    let head = Base::head_number(ledgerbox.now());
    ledgerbox.sweep_at(head + LATER_S / 2 + 1).await;
    Deal::opened(&ledgerbox, Until::Accepted).await;
    exported(&ledgerbox).await
}

#[tokio::test]
async fn lc_9_a_block_from_later_than_its_record_is_found() {
    let bytes = settled().await;
    let at = Parts::of(&bytes).find_event("confirmed");
    let time = second_of(&bytes, at) + LATER_S;
    let changes = [("/evidence/0/block/timestamp_s", json!(time))];
    let report = with(&bytes, at, &changes);
    let here = found(&report);
    let is_named = |(position, field, cause): &(u64, &str, Cause)| {
        (*position, *field, *cause) == (at as u64, "evidence[0].block", Cause::Contradicts)
    };
    let sentences: Vec<&str> = report.findings.iter().map(|f| &*f.sentence).collect();
    assert!(
        here.iter().filter(|it| is_named(it)).count() == 2,
        "{sentences:?}"
    );
}

/// Everything about the block agrees, and it is from tomorrow.
#[tokio::test]
async fn lc_9_a_seen_block_from_later_is_found_where_all_agrees() {
    let bytes = settled().await;
    let mut parts = Parts::of(&bytes);
    let (seen, confirmed) = (parts.find_event("seen"), parts.find_event("confirmed"));
    let time = json!(second_of(&bytes, confirmed) + LATER_S);
    *parts.records[seen].member("/block/timestamp_s") = time.clone();
    *parts.records[confirmed].member("/evidence/0/block/timestamp_s") = time;
    let report = audit(&resealed(parts));
    let expected = [
        (seen as u64, "block", Cause::Contradicts),
        (confirmed as u64, "evidence[0].block", Cause::Contradicts),
    ];
    assert_eq!(found(&report), expected);
}

#[tokio::test]
async fn lc_9_an_accepts_head_from_later_is_found() {
    let bytes = running_ahead(8_453).await;
    let accept = Parts::of(&bytes).find_message("x811/accept") as u64;
    let expected = [(accept, "derived.heads[0]", Cause::Contradicts)];
    assert_eq!(found(&audit(&bytes)), expected);
}

/// Whoever runs Anvil sets its time: such a log is not called broken for that.
#[tokio::test]
async fn lc_9_on_a_chain_of_ones_own_a_block_from_later_is_a_remark() {
    let bytes = running_ahead(31_337).await;
    let report = audit(&bytes);
    assert_eq!(found(&report), []);
    let said = remarks(&report);
    assert!(
        said.len() == 1 && said[0].contains("a chain of one's own"),
        "{said:?}"
    );
}

#[tokio::test]
async fn lc_9_heads_of_an_accept_that_are_doubled_are_found() {
    let bytes = settled().await;
    let mut parts = Parts::of(&bytes);
    let accepts = 0..parts.records.len();
    let at = accepts
        .rev()
        .find(|at| parts.records[*at].message_type() == "x811/accept");
    let at = at.unwrap();
    let heads = parts.records[at]
        .member("/derived/heads")
        .as_array_mut()
        .unwrap();
    heads.push(heads[0].clone());
    let report = audit(&resealed(parts));
    assert_eq!(found(&report), [(at as u64, "derived.heads", DIFFERS)]);
}

/// The rules allow it, for time concedes nothing and blindness decides nothing.
#[tokio::test]
async fn lc_5_a_payment_that_is_confirmed_by_an_old_head_is_a_remark() {
    let report = audit(&confirmed_blind().await);
    assert_eq!(found(&report), []);
    let said = remarks(&report);
    assert!(
        said.len() == 1 && said[0].starts_with("base was blind"),
        "{said:?}"
    );
}

#[tokio::test]
async fn lc_9_a_fresh_block_while_the_network_is_blind_is_found() {
    let bytes = confirmed_blind().await;
    let mut parts = Parts::of(&bytes);
    let (seen, confirmed) = (parts.find_event("seen"), parts.find_event("confirmed"));
    let time = json!(second_of(&bytes, confirmed) - 9);
    *parts.records[seen].member("/block/timestamp_s") = time.clone();
    *parts.records[confirmed].member("/evidence/0/block/timestamp_s") = time;
    let report = audit(&resealed(parts));
    let expected = [
        (seen as u64, "block", DIFFERS),
        (confirmed as u64, "evidence[0].block", DIFFERS),
    ];
    assert_eq!(found(&report), expected);
}

#[tokio::test]
async fn lc_9_sight_by_a_head_that_is_not_fresh_is_found() {
    let bytes = confirmed_blind().await;
    let at = Parts::of(&bytes).find_event("network_sighted");
    let number = (second_of(&bytes, at) - GENESIS_S) / 2 - 6;
    let head = json!(Base::block(number));
    first(&bytes, "network_sighted")
        .set("/head", head)
        .finds("head", DIFFERS);
}

/// Blindness stops the clocks: nobody is blind whose head is young.
#[tokio::test]
async fn lc_9_blindness_while_the_head_was_young_is_found() {
    let ledgerbox = Ledgerbox::open().await;
    ledgerbox.sweep().await;
    ledgerbox.advance_ms(31_000).await;
    let bytes = honest(&ledgerbox).await;
    let at = Parts::of(&bytes).find_event("network_blind");
    let number = (second_of(&bytes, at) - GENESIS_S) / 2 - 2;
    let head = json!(Base::block(number));
    first(&bytes, "network_blind")
        .set("/head", head)
        .finds("head", DIFFERS);
}

#[tokio::test]
async fn lc_9_blindness_by_a_stale_head_that_is_not_named_is_found() {
    let ledgerbox = Ledgerbox::open().await;
    ledgerbox.sweep().await;
    ledgerbox.advance_ms(31_000).await;
    let bytes = exported(&ledgerbox).await;
    first(&bytes, "network_blind")
        .set("/head", serde_json::Value::Null)
        .finds("head", DIFFERS);
}

/// A depth that later records speak against; but a reorganisation that moved nothing leaves no
/// record, so that it is said and not held against the ledger.
#[tokio::test]
async fn lc_9_a_depth_above_the_heads_that_follow_is_a_remark() {
    let bytes = settled().await;
    let at = Parts::of(&bytes).find_event("confirmed");
    let report = with(&bytes, at, &[("/evidence/0/depth", json!(250))]);
    assert_eq!(found(&report), []);
    let said = remarks(&report);
    assert!(
        said.len() == 1 && said[0].contains("or a depth is not true"),
        "{said:?}"
    );
    assert_eq!(remarks(&audit(&bytes)), Vec::<&str>::new());
}

/// On Base blocks are two seconds apart; on somebody's own chain of that id they may hurry.
#[tokio::test]
async fn lc_9_a_depth_that_no_time_was_for_is_a_remark() {
    let bytes = settled().await;
    let at = Parts::of(&bytes).find_event("confirmed");
    let report = with(&bytes, at, &[("/evidence/0/depth", json!(LATER_S))]);
    assert_eq!(found(&report), []);
    let said = remarks(&report);
    let is_named = |sentence: &&&str| sentence.contains("less than a second for each");
    assert_eq!(said.iter().filter(is_named).count(), 1, "{said:?}");
}

/// A head that went back with a reorganisation that the log records, and after a restart.
#[tokio::test]
async fn lc_5_heads_that_go_back_for_a_reason_are_no_remark() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(2_000).await;
    ledgerbox.restart().await;
    let head = Base::head_number(ledgerbox.now());
    ledgerbox.sweep_at(head - 3).await;
    Deal::opened(&ledgerbox, Until::Accepted).await;
    let bytes = exported(&ledgerbox).await;
    let report = audit(&bytes);
    assert_eq!((found(&report), remarks(&report)), (vec![], vec![]));
    assert!(nth(&Parts::of(&bytes), "reversed", 0) > 0);
}
