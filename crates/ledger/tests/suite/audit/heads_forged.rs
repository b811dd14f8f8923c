//! Lies about when something was seen: blocks from later than their record, fresh blocks of a blind
//! network, and blindness that was none (ledger-contract.md sections 5 and 9).

use serde_json::json;
use x811_audit::{Cause, Report};
use x811_protocol::evm::ChainId;
use x811_protocol::observation::{BlindCause, Observation, Sweep};

use super::base::{BASE, Base, GENESIS_S, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::resealing::{first, nth, remarks, resealed, with};
use super::scene::{Parts, audit, exported, found, honest, pay, settled_and_disputed};

const DIFFERS: Cause = Cause::ReDecisionDiffers;

/// The least number of seconds that no block may be from later than its record.
const LATER_S: u64 = 6;

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

/// A ledger on a chain of that id that was shown a head so many blocks, of two seconds each, ahead of its clock
/// before somebody accepted; and the head of its clock.
async fn running_ahead(chain_id: u64, blocks: u64) -> (Ledgerbox, u64) {
    let ledgerbox = Ledgerbox::but(|it| it.networks[0].chain_id = ChainId::new(chain_id)).await;
    ledgerbox.sweep().await;
    let head = Base::head_number(ledgerbox.now());
    ledgerbox.sweep_at(head + blocks).await;
    Deal::opened(&ledgerbox, Until::Accepted).await;
    (ledgerbox, head)
}

/// A payment in the block of the head that the ACCEPT names, refuted as older; both blocks are then said to be
/// so many seconds from after the ACCEPT's record.
async fn refuted_by_a_head_from(head_s: u64, block_s: u64) -> Report {
    let mut ledgerbox = impatient().await;
    ledgerbox.sweep().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let (head, payer) = (Base::head_number(ledgerbox.now()), deal.account.address);
    ledgerbox.base.mine(tx(1), head, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(40_000).await;
    let mut parts = Parts::of(&exported(&ledgerbox).await);
    let accept = parts.find_message("x811/accept");
    let refuted = parts.find_event("refuted");
    let accepted_s = parts.records[accept].draft.recorded_at_ms.div_ceil(1_000);
    let head = json!(accepted_s + head_s);
    *parts.records[accept].member("/derived/heads/0/timestamp_s") = head;
    let block = json!(accepted_s + block_s);
    *parts.records[refuted].member("/evidence/block/timestamp_s") = block;
    audit(&resealed(parts))
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
    let (ledgerbox, _) = running_ahead(8_453, 0).await;
    let bytes = exported(&ledgerbox).await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_message("x811/accept");
    let later = second_of(&bytes, at) + LATER_S;
    let named = (at as u64, "derived.heads[0]", Cause::Contradicts);
    for (time_s, expected) in [
        (later - 1, None),
        (later, Some(named)),
        (later + 2, Some(named)),
        (later + 290, Some(named)),
    ] {
        *parts.records[at].member("/derived/heads/0/timestamp_s") = json!(time_s);
        let report = audit(&resealed(parts.clone()));
        assert_eq!(found(&report).into_iter().next(), expected, "{time_s}");
    }
}

/// Whoever says that the ACCEPT's head was younger calls a good payment older than the ACCEPT.
#[tokio::test]
async fn lc_9_a_refuted_block_from_later_than_the_accepts_record_is_found() {
    for (head_s, block_s) in [(0, LATER_S), (5, LATER_S), (0, 8), (5, 30), (3, 38)] {
        let report = refuted_by_a_head_from(head_s, block_s).await;
        let is_named = |(_, field, cause): &(u64, &str, Cause)| {
            (*field, *cause) == ("evidence.block", Cause::Contradicts)
        };
        assert!(found(&report).iter().any(is_named), "{head_s} {block_s}");
    }
}

/// A ledger whose clock is behind sees nothing: no ACCEPT names what is from later, and nothing is refuted by it.
#[tokio::test]
async fn lc_5_a_head_from_later_than_the_clock_is_not_taken_in() {
    for (blocks, is_taken) in [(1, true), (2, true), (3, false), (5, false), (150, false)] {
        let (ledgerbox, head) = running_ahead(8_453, blocks).await;
        let bytes = exported(&ledgerbox).await;
        let mut parts = Parts::of(&bytes);
        let accept = parts.find_message("x811/accept");
        let named = parts.records[accept]
            .member("/derived/heads/0/number")
            .clone();
        let expected = if is_taken { head + blocks } else { head };
        assert_eq!(named, json!(expected), "{blocks}");
        assert_eq!(found(&audit(&bytes)), [], "{blocks}");
    }
}

#[tokio::test]
async fn lc_5_a_network_whose_heads_are_all_from_later_becomes_blind_and_sees_again() {
    let (ledgerbox, _) = running_ahead(8_453, 20).await;
    for _ in 0..40 {
        ledgerbox.advance_ms(1_000).await;
        ledgerbox
            .sweep_at(Base::head_number(ledgerbox.now()) + 20)
            .await;
    }
    ledgerbox.sweep().await;
    let bytes = exported(&ledgerbox).await;
    let parts = Parts::of(&bytes);
    assert!(parts.find_event("network_blind") < parts.find_event("network_sighted"));
    assert_eq!(found(&audit(&bytes)), []);
}

/// Whoever runs Anvil sets its time: such a log is not called broken for that.
#[tokio::test]
async fn lc_9_on_a_chain_of_ones_own_a_block_from_later_is_a_remark() {
    let (ledgerbox, _) = running_ahead(31_337, 201).await;
    let report = audit(&exported(&ledgerbox).await);
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

/// The heads of two networks have one order.
#[tokio::test]
async fn lc_9_heads_of_an_accept_in_another_order_are_found() {
    let ledgerbox = Ledgerbox::but(|it| {
        let mut second = it.networks[0].clone();
        second.name = format!("{BASE}-2");
        second.chain_id = ChainId::new(84_532);
        it.networks.push(second);
    })
    .await;
    ledgerbox.sweep().await;
    let Observation::Sweep(sweep) = ledgerbox.base.sweep(Base::head_number(ledgerbox.now()), [])
    else {
        panic!("a sweep of Base");
    };
    let network = format!("{BASE}-2");
    ledgerbox
        .observe(Observation::Sweep(Sweep { network, ..sweep }))
        .await;
    Deal::opened(&ledgerbox, Until::Accepted).await;
    let bytes = honest(&ledgerbox).await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_message("x811/accept");
    let heads = parts.records[at].member("/derived/heads").as_array_mut();
    let heads = heads.unwrap();
    assert_eq!(heads.len(), 2);
    heads.swap(0, 1);
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
    let report = with(&bytes, at, &[("/evidence/0/depth", json!(6))]);
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
    let report = with(&bytes, at, &[("/evidence/0/depth", json!(400))]);
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
