//! Nobody is disputed because the ledger was blind (design.md section 7, ledger-contract.md
//! section 5).

use super::base::{BASE, Base, DEPTH, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use x811_protocol::event::{Event, NetworkBlind, NetworkEvent};
use x811_protocol::observation::{BlindCause, Observation};
use x811_protocol::stream::Subject;

fn unreachable() -> Observation {
    Observation::Unreachable {
        network: BASE.to_owned(),
        cause: BlindCause::Unreachable,
        silent: Vec::new(),
    }
}

/// `network_blind` and `network_sighted` so far: causes, and how long it was.
async fn sight(ledgerbox: &Ledgerbox) -> Vec<Result<u64, BlindCause>> {
    let events = ledgerbox.events().await.into_iter();
    events
        .filter_map(|(record, event)| {
            let on_network = record.stream() == "network:base";
            let change = match event {
                Event::Network(NetworkEvent::Blind(NetworkBlind { cause, .. })) => Err(cause),
                Event::Network(NetworkEvent::Sighted(sighted)) => Ok(sighted.blind_ms),
                _ => return None,
            };
            assert!(on_network);
            Some(change)
        })
        .collect()
}

/// A PAYMENT is recorded while Base is well seen.
async fn paying() -> (Ledgerbox, Deal) {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    (ledgerbox, deal)
}

#[tokio::test]
async fn lc_5_a_ledger_may_start_blind_and_says_so_once() {
    let mut ledgerbox = Ledgerbox::open().await;
    for _ in 0..3 {
        ledgerbox.observe(unreachable()).await;
        ledgerbox.advance_ms(10_000).await;
    }
    assert_eq!(sight(&ledgerbox).await, [Err(BlindCause::Unreachable)]);
    ledgerbox.restart().await;
    ledgerbox.observe(unreachable()).await;
    assert_eq!(sight(&ledgerbox).await, [Err(BlindCause::Unreachable)]);
    ledgerbox.sweep().await;
    ledgerbox.sweep().await;
    let expected = [Err(BlindCause::Unreachable), Ok(30_000)];
    assert_eq!(sight(&ledgerbox).await, expected);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_5_a_stale_head_is_blindness_after_the_limit_and_not_before() {
    for (unreachable_too, cause) in [
        (false, BlindCause::StaleHead),
        (true, BlindCause::StaleHead),
    ] {
        let ledgerbox = Ledgerbox::open().await;
        ledgerbox.sweep().await;
        ledgerbox.advance_ms(30_000).await;
        if unreachable_too {
            ledgerbox.observe(unreachable()).await;
        }
        assert_eq!(sight(&ledgerbox).await, [], "exactly at the limit");
        ledgerbox.advance_ms(1).await;
        assert_eq!(sight(&ledgerbox).await, [Err(cause)]);
        ledgerbox.advance_ms(60_000).await;
        assert_eq!(sight(&ledgerbox).await, [Err(cause)], "once");
    }
}

#[tokio::test]
async fn lc_5_an_old_head_does_not_end_blindness() {
    let ledgerbox = Ledgerbox::open().await;
    ledgerbox.observe(unreachable()).await;
    ledgerbox.advance_ms(60_000).await;
    let head = Base::head_number(ledgerbox.now());
    ledgerbox.sweep_at(head - 5).await;
    assert_eq!(sight(&ledgerbox).await.len(), 1, "10 s old is not fresh");
    ledgerbox.sweep_at(head - 4).await;
    assert_eq!(sight(&ledgerbox).await.last(), Some(&Ok(60_000)));
}

#[tokio::test]
async fn lc_5_the_confirmation_window_stands_still_while_blind() {
    let (ledgerbox, deal) = paying().await;
    ledgerbox.watch_ms(10_000).await;
    // The last head is seen now; 30 s later it is too old.
    ledgerbox
        .observe(Observation::Unreachable {
            network: BASE.to_owned(),
            cause: BlindCause::WrongChain,
            silent: Vec::new(),
        })
        .await;
    ledgerbox.advance_ms(600_000).await;
    assert!(!ledgerbox.types(deal.id()).await.contains(&"lapsed"));
    ledgerbox.sweep().await;
    ledgerbox.watch_ms(20_000).await;
    assert!(!ledgerbox.types(deal.id()).await.contains(&"lapsed"));
    ledgerbox.advance_ms(1).await;
    assert!(ledgerbox.types(deal.id()).await.contains(&"lapsed"));
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_5_a_settlement_that_begins_blind_begins_paused() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.observe(unreachable()).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.advance_ms(90_000).await;
    assert_eq!(ledgerbox.types(deal.id()).await.len(), 6, "no lapse");
    let row = ledgerbox.rows.rows().subjects[&Subject::Interaction(deal.id())].clone();
    let stopped = &row.detail["settlement"]["clock_stopped_since_ms"];
    assert!(stopped.is_u64(), "it is shown: {stopped}");
    let block = Base::head_number(ledgerbox.now());
    let payer = deal.account.address;
    ledgerbox
        .base
        .mine(tx(1), block, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(DEPTH * 2_000 + 1_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_5_nobody_is_disputed_while_blind() {
    let (mut ledgerbox, deal) = paying().await;
    ledgerbox.watch_ms(31_000).await;
    assert!(ledgerbox.types(deal.id()).await.contains(&"lapsed"));
    for _ in 0..40 {
        ledgerbox.advance_ms(30_000).await;
        ledgerbox.observe(unreachable()).await;
    }
    ledgerbox.down_ms(3_600_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "verified");
    let looks = ledgerbox.types(deal.id()).await;
    assert!(!looks.contains(&"looked"), "{looks:?}");
    ledgerbox.assert_log_adds_up().await;
    ledgerbox.sweep().await;
    let Some(Ok(blind_ms)) = sight(&ledgerbox).await.last().cloned() else {
        panic!("it is sighted");
    };
    assert!(blind_ms < 1_300_000, "net of downtime: {blind_ms}");
    ledgerbox.watch_ms(420_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_5_blindness_does_not_move_the_payment_window() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.observe(unreachable()).await;
    ledgerbox.advance_ms(60_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "verified");
    ledgerbox.advance_ms(1).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
}

#[tokio::test]
async fn lc_5_observations_of_unknown_networks_change_nothing() {
    let ledgerbox = Ledgerbox::open().await;
    let size = ledgerbox.records().await.len();
    ledgerbox
        .observe(Observation::Unreachable {
            network: "moon".to_owned(),
            cause: BlindCause::Unreachable,
            silent: Vec::new(),
        })
        .await;
    let Observation::Sweep(mut sweep) = ledgerbox.base.sweep(1, []) else {
        unreachable!();
    };
    sweep.network = "moon".to_owned();
    ledgerbox.observe(Observation::Sweep(sweep)).await;
    assert_eq!(ledgerbox.records().await.len(), size);
}
