//! Windows that pass (AE-98 to AE-103, AX-34, AX-35, ledger-contract.md section 1.3).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use x811_ledger::answer::Answer;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::event::Event;

/// Where it stands, how long it may, the code when it does not, and where that leads.
const WINDOWS: [(Until, u64, Code, &str); 5] = [
    (Until::Pending, 60_000, Code::RequestTimeout, "expired"),
    (Until::Offered, 300_000, Code::OfferExpired, "expired"),
    (Until::Accepted, 3_600_000, Code::ResultTimeout, "expired"),
    (Until::Delivered, 30_000, Code::VerifyTimeout, "failed"),
    (Until::Verified, 60_000, Code::PaymentTimeout, "disputed"),
];

fn due(deal: &mut Deal, ledgerbox: &Ledgerbox, until: Until) -> SealedEnvelope {
    match until {
        Until::Pending => deal.offer(ledgerbox),
        Until::Offered => deal.accept(ledgerbox),
        Until::Accepted => deal.result(ledgerbox),
        Until::Delivered => deal.verify(ledgerbox),
        Until::Verified => deal.payment(ledgerbox, 1),
    }
}

async fn lapses(ledgerbox: &Ledgerbox, deal: &Deal) -> Vec<(u64, Code)> {
    let stream = format!("interaction:{}", deal.id());
    let events = ledgerbox.events().await.into_iter();
    events
        .filter(|(record, _)| record.stream() == stream)
        .filter_map(|(record, event)| match event {
            Event::Lapsed(lapsed) => Some((record.recorded_at_ms(), lapsed.code)),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn ax_034_a_message_at_exactly_the_limit_is_in_time() {
    for (until, window_ms, _, _) in WINDOWS {
        let ledgerbox = Ledgerbox::open().await;
        let mut deal = Deal::opened(&ledgerbox, until).await;
        ledgerbox.advance_ms(window_ms).await;
        let envelope = due(&mut deal, &ledgerbox, until);
        ledgerbox.accept(&envelope).await;
        assert_eq!(lapses(&ledgerbox, &deal).await, [], "{until:?}");
    }
}

#[tokio::test]
async fn lc_1_3_the_message_that_finds_a_lapse_is_told_its_code() {
    for (until, window_ms, code, state) in WINDOWS {
        let ledgerbox = Ledgerbox::open().await;
        let mut deal = Deal::opened(&ledgerbox, until).await;
        ledgerbox.advance_ms(window_ms - 99).await;
        let finder = due(&mut deal, &ledgerbox, until);
        let answer = ledgerbox.submit_while_busy(&finder, 100).await;
        assert_eq!(answer.unwrap_err().code, code, "{until:?}");
        let lapsed = lapses(&ledgerbox, &deal).await;
        assert_eq!(lapsed, [(ledgerbox.now().as_ms(), code)]);
        let later = due(&mut deal, &ledgerbox, until);
        let code = ledgerbox.code(&later).await;
        assert_eq!(code, Code::InvalidStateTransition, "{until:?}");
        assert_eq!(ledgerbox.code(&finder).await, Code::NonceReplay);
        ledgerbox.settle().await;
        assert_eq!(ledgerbox.state(deal.id()), state);
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn ax_035_a_message_just_in_time_wins_against_the_sweep() {
    for (until, window_ms, _, _) in WINDOWS {
        let ledgerbox = Ledgerbox::open().await;
        let mut deal = Deal::opened(&ledgerbox, until).await;
        ledgerbox.advance_ms(window_ms - 100).await;
        let envelope = due(&mut deal, &ledgerbox, until);
        let answer = ledgerbox.submit_while_busy(&envelope, 100).await;
        assert!(matches!(answer, Ok(Answer::Accepted(_))), "{answer:?}");
        assert_eq!(lapses(&ledgerbox, &deal).await, [], "{until:?}");
    }
}

#[tokio::test]
async fn ax_035_silence_lapses_by_itself_right_after_the_limit() {
    for (until, window_ms, code, state) in WINDOWS {
        let ledgerbox = Ledgerbox::open().await;
        let mut deal = Deal::opened(&ledgerbox, until).await;
        ledgerbox.advance_ms(window_ms).await;
        assert_eq!(lapses(&ledgerbox, &deal).await, [], "{until:?}");
        ledgerbox.advance_ms(1).await;
        let lapsed = lapses(&ledgerbox, &deal).await;
        assert_eq!(lapsed, [(ledgerbox.now().as_ms(), code)]);
        assert_eq!(ledgerbox.state(deal.id()), state);
        let late = due(&mut deal, &ledgerbox, until);
        let code = ledgerbox.code(&late).await;
        assert_eq!(code, Code::InvalidStateTransition, "{until:?}");
        ledgerbox.assert_log_adds_up().await;
        let left = ledgerbox.ledger().world().sizes();
        assert_eq!((left.interactions, left.notices_owed), (0, 0));
    }
}

#[tokio::test]
async fn ax_035_other_business_does_not_delay_a_lapse() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Delivered).await;
    let mut other = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(29_950).await;
    let offer = other.offer(&ledgerbox);
    ledgerbox.submit_while_busy(&offer, 100).await.unwrap();
    let lapsed = lapses(&ledgerbox, &deal).await;
    assert_eq!(lapsed, [(ledgerbox.now().as_ms(), Code::VerifyTimeout)]);
}

#[tokio::test]
async fn ax_005_an_offer_ends_when_its_signed_expiry_does() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let offer = deal.offer_for(&ledgerbox, 10);
    let accepted = ledgerbox.accept(&offer).await;
    let end = ledgerbox.now().saturating_add_ms(10_000);
    assert_eq!(accepted.deadline_at_ms, Some(end));
    ledgerbox.advance_ms(10_001).await;
    assert_eq!(ledgerbox.state(deal.id()), "expired");
}

#[tokio::test]
async fn lc_1_3_a_lapse_waits_for_a_disk_that_fails() {
    use x811_ledger::memory::CommitFault;
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.fail_next_commit(CommitFault::Backend);
    ledgerbox.advance_ms(60_001).await;
    assert_eq!(lapses(&ledgerbox, &deal).await, []);
    ledgerbox.advance_ms(1_000).await;
    let lapsed = lapses(&ledgerbox, &deal).await;
    assert_eq!(lapsed, [(ledgerbox.now().as_ms(), Code::RequestTimeout)]);
    ledgerbox.assert_log_adds_up().await;
}
