//! After an interaction is over: reversals, returns, what is final and what is late
//! (ledger-contract.md section 5, settlement-watcher.md rules 21 to 24).

use super::base::{Base, DEPTH, GENESIS_S, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use x811_ledger::memory::CommitFault;
use x811_ledger::port::LedgerStore;
use x811_protocol::code::Code;
use x811_protocol::event::{Event, SettlementEvent};
use x811_protocol::evm::ChainId;
use x811_protocol::parameters::FinalBy;
use x811_protocol::settlement::level::STAND_IN_BLOCKS;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// Long enough for a transaction of the next block to be confirmed.
pub(crate) const CONFIRMED_MS: u64 = DEPTH * 2_000 + 2_000;

/// A deal that was declared to be paid by transaction 1.
pub(crate) async fn declared(ledgerbox: &Ledgerbox) -> Deal {
    let deal = Deal::opened(ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&deal.payment(ledgerbox, 1)).await;
    deal
}

/// A deal that transaction 1 paid, and its block.
pub(crate) async fn paid(ledgerbox: &mut Ledgerbox) -> (Deal, u64) {
    let deal = declared(ledgerbox).await;
    let block = deal.mine(ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    (deal, block)
}

/// Types of the events since the interaction was completed or disputed.
pub(crate) async fn since(ledgerbox: &Ledgerbox, deal: &Deal, event: &str) -> Vec<&'static str> {
    let types = ledgerbox.types(deal.id()).await;
    let at = types.iter().rposition(|known| *known == event).unwrap();
    types[at + 1..].to_vec()
}

#[tokio::test]
async fn rule_24_a_transfer_that_disappears_is_reversed_and_both_are_told() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, _) = paid(&mut ledgerbox).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    let expected = ["unseen", "reversed", "notice_issued", "notice_issued"];
    assert_eq!(since(&ledgerbox, &deal, "confirmed").await, expected);
    assert_eq!(ledgerbox.state(deal.id()), "completed", "it stays");
    let mut told: Vec<_> = Vec::new();
    for (_, event) in ledgerbox.events().await {
        match event {
            Event::NoticeIssued(notice) => told.push((notice.to, notice.code)),
            Event::Settlement(SettlementEvent::Reversed(reversed)) => {
                assert_eq!(reversed.provider_seq, 1)
            }
            _ => {}
        }
    }
    told.sort_unstable();
    let mut parties = [deal.initiator.did, deal.provider.did];
    parties.sort_unstable();
    assert_eq!(told, parties.map(|did| (did, Some(Code::PaymentFailed))));
    let detail = &ledgerbox.rows.rows().subjects[&Subject::Interaction(deal.id())].detail;
    assert_eq!(detail["confirmed"]["reversed"][0], tx(1).to_string());
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn rule_24_it_is_confirmed_again_when_it_returns_also_across_restarts() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, _) = paid(&mut ledgerbox).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    ledgerbox.restart().await;
    assert_eq!(ledgerbox.watched(), [tx(1)]);
    let block = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(4_000).await;
    ledgerbox.restart().await;
    let seen = since(&ledgerbox, &deal, "notice_issued").await;
    assert_eq!(seen, ["seen"], "not deep enough yet");
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    let seen = since(&ledgerbox, &deal, "notice_issued").await;
    assert_eq!(seen, ["seen", "returned", "final"]);
    assert_eq!(ledgerbox.watched(), []);
    ledgerbox.assert_log_adds_up().await;
}

/// What was refuted alone paid together with another: it is reversed and final like any other.
#[tokio::test]
async fn rule_24_a_payment_that_was_short_and_topped_up_is_reversed_and_final() {
    for disappears in [true, false] {
        let mut ledgerbox = Ledgerbox::open().await;
        let deal = declared(&ledgerbox).await;
        deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC - 10]);
        ledgerbox.watch_ms(CONFIRMED_MS).await;
        ledgerbox.accept(&deal.payment(&ledgerbox, 2)).await;
        let block = deal.mine(&mut ledgerbox, 2, &[10]);
        ledgerbox.watch_ms(CONFIRMED_MS).await;
        let seen = since(&ledgerbox, &deal, "refuted").await;
        assert_eq!(seen.last(), Some(&"confirmed"), "{seen:?}");
        if disappears {
            ledgerbox.base.reorganise_away(tx(1));
        } else {
            ledgerbox.base.finalized = Some(block);
        }
        ledgerbox.sweep().await;
        let seen = since(&ledgerbox, &deal, "confirmed").await;
        let expected: &[&str] = if disappears {
            &["unseen", "reversed", "notice_issued", "notice_issued"]
        } else {
            &["final"]
        };
        assert_eq!(seen, expected);
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn rule_24_a_reorg_while_the_ledger_was_down_is_noticed() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, _) = paid(&mut ledgerbox).await;
    ledgerbox.crash().await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.clock.advance_ms(60_000);
    ledgerbox.start().await.unwrap();
    ledgerbox.sweep().await;
    let seen = since(&ledgerbox, &deal, "confirmed").await;
    assert_eq!(seen[..2], ["unseen", "reversed"]);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn rule_23_the_same_transaction_in_another_block_is_no_reversal() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, block) = paid(&mut ledgerbox).await;
    let payer = deal.account.address;
    ledgerbox
        .base
        .mine(tx(1), block + 2, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(since(&ledgerbox, &deal, "confirmed").await, ["seen"]);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn rule_24_a_transaction_that_does_something_else_in_its_new_block_is_reversed() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, block) = paid(&mut ledgerbox).await;
    ledgerbox.base.revert(tx(1), block + 1);
    ledgerbox.sweep().await;
    let seen = since(&ledgerbox, &deal, "confirmed").await;
    assert_eq!(seen[..2], ["unseen", "reversed"]);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn rule_24_one_sweep_reverses_every_transaction_that_it_misses() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = declared(&ledgerbox).await;
    let parts = [TOTAL_MICRO_USDC - 300_000, 200_000, 100_000];
    for (number, micro_usdc) in (1..).zip(parts) {
        if number > 1 {
            ledgerbox.accept(&deal.payment(&ledgerbox, number)).await;
        }
        deal.mine(&mut ledgerbox, number, &[micro_usdc]);
    }
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    for number in 1..=3 {
        ledgerbox.base.reorganise_away(tx(number));
    }
    ledgerbox.sweep().await;
    let mut seen = since(&ledgerbox, &deal, "confirmed").await;
    seen.sort_unstable();
    let expected = [
        ["notice_issued"; 6].as_slice(),
        &["reversed"; 3],
        &["unseen"; 3],
    ];
    assert_eq!(seen, expected.concat());
    let mut receipts = Vec::new();
    for (record, event) in ledgerbox.events().await {
        match event {
            Event::Settlement(SettlementEvent::Confirmed(confirmed)) => {
                receipts.push((confirmed.provider_seq, None, record))
            }
            Event::Settlement(SettlementEvent::Reversed(reversed)) => {
                receipts.push((reversed.provider_seq, Some(reversed.provider_prev), record));
            }
            _ => {}
        }
    }
    for (pair, number) in receipts.windows(2).zip(1..) {
        let [(_, _, before), (seq, prev, _)] = pair else {
            unreachable!("pairs")
        };
        let named = prev.map(|digest| *digest.as_bytes());
        assert_eq!((*seq, named), (number, Some(*before.hash().as_bytes())));
    }
    assert_eq!(receipts.len(), 4, "each names the one before it");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_5_what_comes_after_a_dispute_is_late_and_bound() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = declared(&ledgerbox).await;
    ledgerbox.watch_ms(440_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    let seen = since(&ledgerbox, &deal, "notice_issued").await;
    assert_eq!(seen, ["seen", "late"]);
    assert_eq!(ledgerbox.state(deal.id()), "disputed", "it stays");
    let claims = ledgerbox
        .store
        .claims(ChainId::new(8_453), &[tx(1)])
        .await
        .unwrap();
    assert_eq!(claims.len(), 1, "it pays no other");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_5_a_second_payment_is_late_and_one_somebody_waits_for_is_not() {
    let mut ledgerbox = Ledgerbox::open().await;
    let first = declared(&ledgerbox).await;
    ledgerbox.accept(&first.payment(&ledgerbox, 2)).await;
    first.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(ledgerbox.state(first.id()), "completed");
    first.mine(&mut ledgerbox, 2, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    let seen = since(&ledgerbox, &first, "confirmed").await;
    assert_eq!(seen, ["seen", "late"], "two were mined: overpaid");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_5_nothing_is_watched_for_longer_than_a_late_payment_counts() {
    let mut ledgerbox = Ledgerbox::but(|it| it.networks[0].late_ms = 120_000).await;
    let (deal, _) = paid(&mut ledgerbox).await;
    ledgerbox.watch_ms(125_000).await;
    assert_eq!(ledgerbox.watched(), [tx(1)], "no record has come since");
    let other = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.settle().await;
    assert_eq!(ledgerbox.watched(), []);
    assert_eq!(ledgerbox.ledger().world().sizes().aftermath, 0);
    assert_ne!(other.id(), deal.id());
    ledgerbox.assert_log_adds_up().await;
}

/// Final is final: nothing is watched below the finalized head, whatever an endpoint says later.
#[tokio::test]
async fn rule_24_a_reorg_below_the_finalized_head_takes_nothing_that_is_final() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, block) = paid(&mut ledgerbox).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(since(&ledgerbox, &deal, "confirmed").await, ["final"]);
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    // One that a finalized head passed without being seen there is not final, and is reversed.
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, block) = paid(&mut ledgerbox).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.base.finalized = Some(block + DEPTH);
    ledgerbox.sweep().await;
    let seen = since(&ledgerbox, &deal, "confirmed").await;
    assert_eq!(seen[..2], ["unseen", "reversed"]);
    ledgerbox.assert_log_adds_up().await;
}

/// The same while another transaction is watched, which may still be late.
#[tokio::test]
async fn rule_24_what_is_final_stays_so_while_another_transaction_is_watched() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = declared(&ledgerbox).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 2)).await;
    let block = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    ledgerbox.base.reorganise_away(tx(1));
    deal.mine(&mut ledgerbox, 2, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    let seen = since(&ledgerbox, &deal, "confirmed").await;
    assert_eq!(seen, ["final", "seen", "late"]);
    ledgerbox.assert_log_adds_up().await;
}

/// Depth makes a payment final where the parameters say so, 600 blocks above the confirmation; where they say
/// nothing, while no endpoint names a finalized head; where they say heads, never.
#[tokio::test]
async fn lc_5_depth_makes_a_payment_final_where_no_head_has_to() {
    let ways = [None, Some(FinalBy::Tag), Some(FinalBy::Depth)];
    for (final_by, finalized) in ways
        .into_iter()
        .flat_map(|way| [(way, None), (way, Some(0))])
    {
        let mut parameters = parameters();
        parameters.networks[0].final_by = final_by;
        parameters.networks[0].chain_id = ChainId::new(31_337);
        let mut ledgerbox = Ledgerbox::with(parameters).await;
        let (deal, block) = paid(&mut ledgerbox).await;
        ledgerbox.base.finalized = finalized;
        let last = block + DEPTH + STAND_IN_BLOCKS - 1;
        let left = last - Base::head_number(ledgerbox.now());
        ledgerbox.advance_ms((left - 1) * 2_000).await;
        ledgerbox.sweep().await;
        assert!(since(&ledgerbox, &deal, "confirmed").await.is_empty());
        ledgerbox.advance_ms(2_000).await;
        ledgerbox.sweep().await;
        let is_final = match final_by {
            None => finalized.is_none(),
            Some(FinalBy::Tag) => false,
            Some(FinalBy::Depth) => true,
        };
        let events = since(&ledgerbox, &deal, "confirmed").await;
        assert_eq!(
            events == ["final"],
            is_final,
            "{final_by:?} {finalized:?}: {events:?}"
        );
        assert_eq!(ledgerbox.watched().is_empty(), is_final);
        ledgerbox.assert_log_adds_up().await;
    }
}

/// The process dies around the commit that confirms: whether it was stored or not, one confirmation
/// is in the log, and one claim.
#[tokio::test]
async fn lc_1_a_restart_between_confirmation_and_append_confirms_once() {
    for fault in [
        CommitFault::Backend,
        CommitFault::UnknownNothingStored,
        CommitFault::UnknownAllStored,
        CommitFault::StoredNeverTold,
    ] {
        let mut ledgerbox = Ledgerbox::open().await;
        let deal = declared(&ledgerbox).await;
        let block = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
        let deep_s = GENESIS_S + (block + DEPTH - 1) * 2;
        let deep = TimestampMs::new(deep_s * 1_000);
        ledgerbox.watch_ms(deep.since(ledgerbox.now()) - 1).await;
        assert_eq!(ledgerbox.state(deal.id()), "verified");
        ledgerbox.advance_ms(1).await;
        ledgerbox.fail_next_commit(fault);
        let sweep = ledgerbox.base.sweep(block + DEPTH - 1, vec![tx(1)]);
        let ledger = ledgerbox.ledger().clone();
        let observed = tokio::spawn(async move { ledger.observe(sweep).await });
        ledgerbox.settle().await;
        ledgerbox.restart().await;
        observed.abort();
        for _ in 0..3 {
            ledgerbox.sweep().await;
        }
        let types = ledgerbox.types(deal.id()).await;
        let confirmed = types.iter().filter(|known| **known == "confirmed");
        assert_eq!(confirmed.count(), 1, "{fault:?}: {types:?}");
        let claimed = [tx(1)];
        let claims = ledgerbox.store.claims(ChainId::new(8_453), &claimed);
        assert_eq!(claims.await.unwrap().len(), 1, "{fault:?}");
        ledgerbox.assert_log_adds_up().await;
    }
}
