//! From PAYMENT to the end, with a scripted Base (design.md section 7, ledger-contract.md
//! section 5).

use super::base::{Base, DEPTH, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use super::party::Account;
use x811_ledger::port::LedgerStore;
use x811_protocol::code::Code;
use x811_protocol::event::{Event, RefutedCause, SettlementEvent};
use x811_protocol::evm::ChainId;

/// Long enough for a transaction of the next block to be confirmed.
const CONFIRMED_MS: u64 = DEPTH * 2_000 + 2_000;

/// A new deal between the same parties, verified and not paid.
async fn further(ledgerbox: &Ledgerbox, deal: &Deal) -> Deal {
    let account = Account::new(0x46);
    let mut further = Deal::between(ledgerbox, &deal.initiator, &deal.provider, account);
    further.go(ledgerbox, Until::Verified).await;
    further
}

/// Events of one type in one interaction.
async fn of_type<T>(
    ledgerbox: &Ledgerbox,
    deal: &Deal,
    pick: impl Fn(Event) -> Option<T>,
) -> Vec<(u64, T)> {
    let stream = format!("interaction:{}", deal.id());
    let events = ledgerbox.events().await.into_iter();
    events
        .filter(|(record, _)| record.stream() == stream)
        .filter_map(|(record, event)| Some((record.recorded_at_ms(), pick(event)?)))
        .collect()
}

async fn refuted(ledgerbox: &Ledgerbox, deal: &Deal) -> Vec<RefutedCause> {
    let events = of_type(ledgerbox, deal, |event| match event {
        Event::Settlement(SettlementEvent::Refuted(refuted)) => Some(refuted.cause),
        _ => None,
    });
    events.await.into_iter().map(|(_, cause)| cause).collect()
}

async fn told(ledgerbox: &Ledgerbox, deal: &Deal) -> Vec<Code> {
    let events = of_type(ledgerbox, deal, |event| match event {
        Event::NoticeIssued(notice) => notice.code,
        _ => None,
    });
    events.await.into_iter().map(|(_, code)| code).collect()
}

#[tokio::test]
async fn ae_104_an_unpaid_payment_is_looked_for_four_times_and_disputed() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    let t0 = ledgerbox.now().as_ms();
    ledgerbox.watch_ms(30_000).await;
    ledgerbox.advance_ms(1).await;
    assert_eq!(ledgerbox.state(deal.id()), "verified", "state unchanged");
    assert_eq!(
        told(&ledgerbox, &deal).await,
        [Code::PaymentConfirmationTimeout; 2]
    );
    ledgerbox.watch_ms(400_000).await;
    let looks = of_type(&ledgerbox, &deal, |event| match event {
        Event::Settlement(SettlementEvent::Looked(looked)) => {
            Some((looked.look, looked.due_at_ms.as_ms()))
        }
        _ => None,
    })
    .await;
    assert_eq!(looks.len(), 4);
    let mut due = t0 + 30_001 + 5_000;
    for ((at, look), (number, wait_ms)) in
        looks
            .iter()
            .zip([(1, 15_000), (2, 60_000), (3, 300_000), (4, 0)])
    {
        assert_eq!(*look, (number, due));
        assert!(*at >= due && *at < due + 4_000, "look {number} at {at}");
        due = at + wait_ms;
    }
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    assert_eq!(
        told(&ledgerbox, &deal).await,
        [Code::PaymentConfirmationTimeout; 4]
    );
    assert_eq!(ledgerbox.ledger().world().sizes().interactions, 0);
    assert_eq!(ledgerbox.watched(), [tx(1)], "it may still come late");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn ae_104_a_confirmation_between_looks_still_completes() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(60_000).await;
    ledgerbox.restart().await;
    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn ax_018_a_transfer_settles_one_interaction_across_restarts() {
    let mut ledgerbox = Ledgerbox::open().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&first.payment(&ledgerbox, 1)).await;
    let second = further(&ledgerbox, &first).await;
    first.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(ledgerbox.state(first.id()), "completed");
    ledgerbox.restart().await;
    ledgerbox.accept(&second.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(2_000).await;
    assert_eq!(
        refuted(&ledgerbox, &second).await,
        [RefutedCause::UsedAlready]
    );
    assert_eq!(told(&ledgerbox, &second).await, [Code::PaymentFailed; 2]);
    assert_eq!(ledgerbox.state(second.id()), "verified");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn ax_018_transfers_of_one_transaction_settle_one_interaction_each() {
    let mut ledgerbox = Ledgerbox::open().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&first.payment(&ledgerbox, 1)).await;
    let second = further(&ledgerbox, &first).await;
    ledgerbox.accept(&second.payment(&ledgerbox, 1)).await;
    let third = further(&ledgerbox, &first).await;
    first.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC; 2]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    ledgerbox.restart().await;
    ledgerbox.accept(&third.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(2_000).await;
    let states = [&first, &second, &third].map(|deal| ledgerbox.state(deal.id()));
    assert_eq!(states, ["completed", "completed", "verified"]);
    let claims = ledgerbox.store.claims(ChainId::new(8_453), &[tx(1)]).await;
    let mut ordinals: Vec<u64> = claims.unwrap().iter().map(|(c, _)| c.ordinal).collect();
    ordinals.sort_unstable();
    assert_eq!(ordinals, [0, 1]);
    let world = ledgerbox.ledger().world();
    assert_eq!(world.agent(first.provider.did).unwrap().receipts, 2);
}

#[tokio::test]
async fn lc_5_rivals_in_one_sweep_are_served_in_order_of_payment() {
    for second_pays_first in [false, true] {
        let mut ledgerbox = Ledgerbox::open().await;
        let first = Deal::opened(&ledgerbox, Until::Verified).await;
        ledgerbox.sweep().await;
        let second = further(&ledgerbox, &first).await;
        let (winner, loser) = if second_pays_first {
            (&second, &first)
        } else {
            (&first, &second)
        };
        ledgerbox.accept(&winner.payment(&ledgerbox, 1)).await;
        ledgerbox.accept(&loser.payment(&ledgerbox, 1)).await;
        first.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
        ledgerbox.advance_ms(CONFIRMED_MS).await;
        ledgerbox.sweep().await;
        assert_eq!(ledgerbox.state(winner.id()), "completed");
        assert_eq!(ledgerbox.state(loser.id()), "verified");
        assert_eq!(
            refuted(&ledgerbox, loser).await,
            [RefutedCause::UsedAlready]
        );
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn lc_5_four_refutations_dispute_with_the_code_of_the_last() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    for number in 1..=4 {
        ledgerbox.accept(&deal.payment(&ledgerbox, number)).await;
    }
    let block = Base::head_number(ledgerbox.now()) + 1;
    for number in 1..=3 {
        ledgerbox.base.revert(tx(number), block);
    }
    deal.mine(&mut ledgerbox, 4, &[TOTAL_MICRO_USDC - 1]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    let expected = [
        [Code::PaymentFailed; 2],
        [Code::PaymentFailed; 2],
        [Code::PaymentFailed; 2],
        [Code::InsufficientBalance; 2],
    ];
    assert_eq!(told(&ledgerbox, &deal).await, expected.concat());
    assert_eq!(ledgerbox.ledger().world().sizes().interactions, 0);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_2_a_sweep_that_fills_a_batch_goes_on_in_the_next() {
    let mut ledgerbox = Ledgerbox::open().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    let mut deals = vec![first];
    for _ in 0..90 {
        let next = further(&ledgerbox, &deals[0]).await;
        deals.push(next);
    }
    for (deal, number) in deals.iter().zip(1..) {
        ledgerbox.accept(&deal.payment(&ledgerbox, number)).await;
        deal.mine(&mut ledgerbox, number, &[TOTAL_MICRO_USDC; 60]);
    }
    ledgerbox.advance_ms(CONFIRMED_MS).await;
    let commits = ledgerbox.store.commits();
    ledgerbox.sweep().await;
    for deal in &deals {
        assert_eq!(ledgerbox.state(deal.id()), "completed");
    }
    assert_ne!(ledgerbox.store.commits(), commits + 1);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn ax_018_claims_hold_when_a_network_leaves_the_parameters() {
    let mut ledgerbox = Ledgerbox::open().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&first.payment(&ledgerbox, 1)).await;
    let second = further(&ledgerbox, &first).await;
    first.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    ledgerbox.accept(&second.payment(&ledgerbox, 1)).await;
    ledgerbox.crash().await;
    let with_it = ledgerbox.parameters.clone();
    "base-sepolia".clone_into(&mut ledgerbox.parameters.networks[0].name);
    ledgerbox.parameters.networks[0].chain_id = ChainId::new(84_532);
    ledgerbox.start().await.unwrap();
    let head = Base::head_number(ledgerbox.now());
    ledgerbox.observe(ledgerbox.base.sweep(head, [tx(1)])).await;
    assert_eq!(
        refuted(&ledgerbox, &second).await,
        [RefutedCause::UsedAlready]
    );
    ledgerbox.crash().await;
    ledgerbox.parameters = with_it;
    ledgerbox.start().await.unwrap();
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn ae_007_nothing_due_is_confirmed_without_a_look() {
    let ledgerbox = Ledgerbox::but(|it| it.networks[0].treasury = None).await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    ledgerbox.accept(&deal.request(&ledgerbox)).await;
    let free = deal.free_offer(&ledgerbox);
    ledgerbox.accept(&free).await;
    for step in [Deal::accept, Deal::result, Deal::verify] {
        let envelope = step(&mut deal, &ledgerbox);
        ledgerbox.accept(&envelope).await;
    }
    ledgerbox
        .accept(&deal.payment_of(&ledgerbox, &tx(1), "0"))
        .await;
    ledgerbox.advance_ms(1).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    ledgerbox.assert_log_adds_up().await;
}
