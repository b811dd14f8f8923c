//! Nobody fails because the ledger was down (ledger-contract.md section 1.4).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use x811_ledger::memory::CommitFault;
use x811_protocol::code::Code;
use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::interaction::State;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

const GAP_MS: u64 = 600_000;

/// The process dies just after a tick and comes back after [`GAP_MS`].
async fn be_down(ledgerbox: &mut Ledgerbox) {
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.down_ms(GAP_MS).await;
}

fn deadline(ledgerbox: &Ledgerbox, deal: &Deal) -> Option<TimestampMs> {
    let world = ledgerbox.ledger().world();
    world.interaction(deal.id()).unwrap().state.deadline()
}

#[tokio::test]
async fn lc_1_4_the_first_record_of_a_run_says_how_long_it_was_away() {
    let mut ledgerbox = Ledgerbox::open().await;
    let size = ledgerbox.records().await.len();
    be_down(&mut ledgerbox).await;
    let (record, event) = &ledgerbox.events().await[size];
    let Event::Ledger(LedgerEvent::Resumed(resumed)) = event else {
        panic!("{event:?}");
    };
    assert_eq!(resumed.gap_ms, GAP_MS);
    assert_eq!(record.stream(), "ledger");
    assert_eq!(record.recorded_at_ms(), ledgerbox.now().as_ms());
}

#[tokio::test]
async fn lc_1_4_the_gap_counts_from_the_last_tick() {
    for (alive_ms, gap_ms) in [(0, 5_999), (999, 6_998), (1_000, 5_999), (61_500, 5_999)] {
        let mut ledgerbox = Ledgerbox::open().await;
        ledgerbox.advance_ms(alive_ms).await;
        ledgerbox.down_ms(5_999).await;
        let (_, event) = ledgerbox.events().await.pop().unwrap();
        let Event::Ledger(LedgerEvent::Resumed(resumed)) = event else {
            panic!("{event:?}");
        };
        assert_eq!(resumed.gap_ms, gap_ms, "alive for {alive_ms} ms");
    }
}

#[tokio::test]
async fn lc_1_4_every_ledger_window_moves_by_the_gap() {
    for until in Until::ALL {
        let mut ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, until).await;
        let before = deadline(&ledgerbox, &deal).unwrap();
        if until == Until::Offered {
            continue;
        }
        be_down(&mut ledgerbox).await;
        let after = deadline(&ledgerbox, &deal).unwrap();
        assert_eq!(after, before.saturating_add_ms(GAP_MS), "{until:?}");
        assert_eq!(
            ledgerbox.rows.rows().subjects[&Subject::Interaction(deal.id())].deadline_at_ms,
            Some(after)
        );
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn lc_1_4_what_a_party_signed_does_not_move() {
    let mut ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let offer = deal.offer_for(&ledgerbox, 300);
    ledgerbox.accept(&offer).await;
    let signed_end = ledgerbox.now().saturating_add_ms(300_000);
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.down_ms(100_000).await;
    assert_eq!(deadline(&ledgerbox, &deal), Some(signed_end));
    be_down(&mut ledgerbox).await;
    let code = ledgerbox.code(&deal.accept(&ledgerbox)).await;
    assert_eq!(code, Code::OfferExpired);
    assert_eq!(ledgerbox.state(deal.id()), "expired");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_4_a_confirmation_window_moves_with_downtime() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    let before = deadline(&ledgerbox, &deal).unwrap();
    be_down(&mut ledgerbox).await;
    let after = deadline(&ledgerbox, &deal).unwrap();
    assert_eq!(after, before.saturating_add_ms(GAP_MS));
    let world = ledgerbox.ledger().world();
    let live = world.interaction(deal.id()).unwrap();
    assert!(matches!(live.state, State::Verified { .. }));
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_4_lapses_after_a_restart_are_spread_over_commits() {
    let mut ledgerbox = Ledgerbox::crowded().await;
    Deal::offered_briefly(&ledgerbox, 300).await;
    be_down(&mut ledgerbox).await;
    ledgerbox.store.pass_next_commit();
    ledgerbox.fail_next_commit(CommitFault::Backend);
    ledgerbox.advance_ms(1).await;
    assert_eq!(lapsed(&ledgerbox).await, 256, "in one commit");
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.advance_ms(1_000).await;
    assert_eq!(lapsed(&ledgerbox).await, 300);
    assert_eq!(ledgerbox.ledger().world().sizes().interactions, 0);
    ledgerbox.assert_log_adds_up().await;
}

async fn lapsed(ledgerbox: &Ledgerbox) -> usize {
    let events = ledgerbox.events().await.into_iter();
    events
        .filter(|(_, event)| matches!(event, Event::Lapsed(_)))
        .count()
}

#[tokio::test]
async fn lc_2_other_parameters_are_recorded_once() {
    let mut ledgerbox = Ledgerbox::open().await;
    let old = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.crash().await;
    ledgerbox.parameters.windows.offer_ms = 10_000;
    ledgerbox.start().await.unwrap();
    ledgerbox.restart().await;
    let events = ledgerbox.events().await.into_iter();
    let set =
        events.filter(|(_, event)| matches!(event, Event::Ledger(LedgerEvent::ParametersSet(_))));
    assert_eq!(set.count(), 2, "at first and on change");
    let new = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(10_001).await;
    assert_eq!(ledgerbox.state(new.id()), "expired");
    assert_eq!(ledgerbox.state(old.id()), "pending", "it keeps its own");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_2_the_keys_of_another_ledger_do_not_start_it() {
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.crash().await;
    let size = ledgerbox.records().await.len();
    let other = ledgerbox.party();
    let own = std::mem::replace(&mut ledgerbox.identity, other);
    let refused = ledgerbox.start().await.unwrap_err();
    assert!(refused.to_string().contains("belongs to"), "{refused}");
    assert_eq!(ledgerbox.records().await.len(), size);
    ledgerbox.identity = own;
    ledgerbox.start().await.unwrap();
}

#[tokio::test]
async fn lc_1_4_time_in_which_nothing_can_be_written_is_downtime() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let before = deadline(&ledgerbox, &deal).unwrap();
    let offer = deal.offer(&ledgerbox);
    ledgerbox.fail_next_commit(CommitFault::Backend);
    assert_eq!(ledgerbox.code(&offer).await, Code::InternalError);
    // The disk stays full for longer than the window: every try to write again fails too.
    for _ in 0..90 {
        ledgerbox.fail_next_commit(CommitFault::Backend);
        ledgerbox.advance_ms(1_000).await;
    }
    ledgerbox.store.pass_all_commits();
    ledgerbox.advance_ms(1_000).await;
    let after = deadline(&ledgerbox, &deal).unwrap();
    assert_eq!(
        after.since(before),
        91_000,
        "the window has moved by the outage"
    );
    let late = deal.offer(&ledgerbox);
    ledgerbox.accept(&late).await;
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_4_an_outage_that_ends_with_the_process_is_downtime_from_its_beginning() {
    let mut ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let before = deadline(&ledgerbox, &deal).unwrap();
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.fail_next_commit(CommitFault::Backend);
    let offer = deal.offer(&ledgerbox);
    assert_eq!(ledgerbox.code(&offer).await, Code::InternalError);
    for _ in 0..90 {
        ledgerbox.fail_next_commit(CommitFault::Backend);
        ledgerbox.advance_ms(1_000).await;
    }
    ledgerbox.store.pass_all_commits();
    ledgerbox.restart().await;
    let after = deadline(&ledgerbox, &deal).unwrap();
    assert_eq!(after.since(before), 90_000);
    ledgerbox.accept(&deal.offer(&ledgerbox)).await;
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_4_a_commit_that_fails_late_was_an_outage_all_the_while() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let before = deadline(&ledgerbox, &deal).unwrap();
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    ledgerbox.fail_next_commit(CommitFault::Backend);
    let offer = deal.offer(&ledgerbox);
    let answer = ledgerbox.submit_later(&offer).await;
    ledgerbox.advance_ms(90_000).await;
    drop(held);
    let refusal = answer.await.unwrap().unwrap_err();
    assert_eq!(refusal.code, Code::InternalError);
    ledgerbox.advance_ms(1_000).await;
    let after = deadline(&ledgerbox, &deal).unwrap();
    assert_eq!(after.since(before), 91_000);
    ledgerbox.accept(&deal.offer(&ledgerbox)).await;
    ledgerbox.assert_log_adds_up().await;
}
