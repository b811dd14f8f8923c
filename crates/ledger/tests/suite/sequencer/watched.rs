//! What the ledger says is still watched of an interaction that is over is what it does watch
//! (ledger-contract.md section 5).

use super::aftermath::{CONFIRMED_MS, declared, paid};
use super::base::{BASE, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use x811_protocol::observation::{BlindCause, Observation};
use x811_protocol::settlement_view::{Due, NextStep, SettlementClock, SettlementView};
use x811_protocol::time::TimestampMs;
use x811_world::settlement_view::{SettlementSources, settlement_view};

/// For so long is watched what was declared.
const WATCHED_MS: u64 = 120_000;

/// A ledger that watches for [`WATCHED_MS`].
async fn forgetful() -> Ledgerbox {
    Ledgerbox::but(|it| it.networks[0].late_ms = WATCHED_MS).await
}

async fn view(ledgerbox: &Ledgerbox, deal: &Deal) -> SettlementView {
    let stream = format!("interaction:{}", deal.id());
    let mut records = ledgerbox.events().await;
    records.retain(|(record, _)| record.stream() == stream);
    let around = SettlementSources {
        world: &ledgerbox.ledger().world(),
        now: ledgerbox.now(),
        blind_cause: Some(BlindCause::Unreachable),
        blind_page_after_ms: 3_600_000,
        silent: &[],
        contested: &std::collections::BTreeSet::new(),
    };
    settlement_view(deal.id(), &records, around)
}

/// When the record of that type was written.
async fn recorded_at(ledgerbox: &Ledgerbox, event: &str) -> TimestampMs {
    let events = ledgerbox.events().await.into_iter();
    let mut records = events.filter(|(_, known)| known.type_name() == event);
    TimestampMs::new(records.next_back().unwrap().0.recorded_at_ms())
}

#[tokio::test]
async fn lc_5_a_paid_interaction_says_how_long_it_is_watched() {
    let mut ledgerbox = forgetful().await;
    let (deal, _) = paid(&mut ledgerbox).await;
    let at_ms = recorded_at(&ledgerbox, "confirmed")
        .await
        .saturating_add_ms(WATCHED_MS);
    let shown = view(&ledgerbox, &deal).await;
    assert_eq!(shown.live.due, Some(Due::Watch { at_ms }));
    assert_eq!(shown.live.clock, SettlementClock::Running);
    assert_eq!(shown.next.what, NextStep::Final);

    ledgerbox.watch_ms(at_ms.since(ledgerbox.now())).await;
    let shown = view(&ledgerbox, &deal).await;
    assert_eq!(
        shown.live.due,
        Some(Due::Watch { at_ms }),
        "the last moment"
    );
    ledgerbox.advance_ms(1).await;
    let ended = view(&ledgerbox, &deal).await;
    // Whether a record has come since, which lets go of it, or not.
    Deal::opened(&ledgerbox, Until::Pending).await;
    let let_go = view(&ledgerbox, &deal).await;
    for shown in [ended, let_go] {
        assert_eq!((shown.live.due, shown.next.what), (None, NextStep::Nothing));
        assert_eq!(shown.live.clock, SettlementClock::Idle);
    }
}

#[tokio::test]
async fn lc_5_a_dispute_says_until_when_a_transfer_is_recorded_and_does() {
    let mut ledgerbox = forgetful().await;
    let deal = declared(&ledgerbox).await;
    ledgerbox.watch_ms(440_000).await;
    let shown = view(&ledgerbox, &deal).await;
    assert_eq!(shown.next.what, NextStep::Late);
    let at_ms = shown.next.at_ms.unwrap();
    assert!(shown.sentence.contains(&at_ms.to_rfc3339()), "{shown:?}");
    ledgerbox.watch_ms(at_ms.since(ledgerbox.now()) + 1).await;
    assert_eq!(view(&ledgerbox, &deal).await.next.what, NextStep::Nothing);
    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    let types = ledgerbox.types(deal.id()).await;
    assert!(!types.contains(&"late"), "{types:?}");
}

#[tokio::test]
async fn lc_5_blindness_after_the_end_is_told_and_takes_no_time_from_it() {
    let mut ledgerbox = forgetful().await;
    let (deal, _) = paid(&mut ledgerbox).await;
    let until = |shown: &SettlementView| shown.live.due.unwrap().at_ms();
    let before = until(&view(&ledgerbox, &deal).await);
    ledgerbox.observe(unreachable()).await;
    ledgerbox.advance_ms(31_000).await;
    // Much longer than it is watched.
    ledgerbox.advance_ms(10 * WATCHED_MS).await;
    let blind = view(&ledgerbox, &deal).await;
    let SettlementClock::Stopped {
        since_ms, cause, ..
    } = blind.live.clock
    else {
        panic!("{blind:?}");
    };
    assert_eq!(cause, Some(BlindCause::Unreachable));
    let left_ms = until(&blind).since(blind.live.as_of_ms);
    assert_eq!(left_ms, before.since(since_ms), "what was left then");
    assert_eq!((blind.next.what, blind.next.at_ms), (NextStep::Final, None));
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    let sighted = view(&ledgerbox, &deal).await;
    assert_eq!(sighted.live.clock, SettlementClock::Running);
    assert_eq!(until(&sighted).since(sighted.live.as_of_ms), left_ms);
    assert_eq!(sighted.next.what, NextStep::Return, "it is still watched");
}

fn unreachable() -> Observation {
    Observation::Unreachable {
        network: BASE.to_owned(),
        cause: BlindCause::Unreachable,
        silent: Vec::new(),
    }
}
