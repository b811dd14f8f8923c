//! Windows that pass (AE-98 to AE-103, AX-34, AX-35, ledger-contract.md section 1.3).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::party::Account;
use super::size::size;
use std::collections::BTreeSet;
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

/// The types of the records from the first lapse on, but for notices, and when they were recorded.
async fn from_the_first_lapse(ledgerbox: &Ledgerbox) -> Vec<(&'static str, String, u64)> {
    let events = ledgerbox.events().await.into_iter();
    let each = events.map(|(record, event)| {
        let stream = record.stream().to_owned();
        (event.type_name(), stream, record.recorded_at_ms())
    });
    each.skip_while(|(name, ..)| *name != "lapsed")
        .filter(|(name, ..)| *name != "notice_issued")
        .collect()
}

/// Everything that is due lapses before a decision about something else, in the order of deadlines, and of two that
/// end together in that of their ids.
#[tokio::test]
async fn lc_1_3_what_is_due_of_others_lapses_before_a_decision() {
    let ledgerbox = Ledgerbox::open().await;
    let deliver = |after_ms| {
        let kept = &ledgerbox;
        async move {
            kept.advance_ms(after_ms).await;
            Deal::opened(kept, Until::Delivered).await.id()
        }
    };
    let together = [deliver(0).await, deliver(0).await];
    let later = deliver(20).await;
    ledgerbox.advance_ms(29_930).await;
    let registration = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
    ledgerbox
        .submit_while_busy(&registration, 100)
        .await
        .unwrap();
    let records = from_the_first_lapse(&ledgerbox).await;
    let now = ledgerbox.now().as_ms();
    let mut streams = together.map(|id| format!("interaction:{id}"));
    streams.sort();
    let [first, second] = streams;
    let expected = [first, second, format!("interaction:{later}")];
    let lapses = expected.map(|stream| ("lapsed", stream, now));
    assert_eq!(records[..3], lapses);
    let (name, _, at) = &records[3];
    assert_eq!((*name, *at, records.len()), ("agent_registered", now, 4));
    ledgerbox.assert_log_adds_up().await;
}

/// A message that is late for its own window is told so, whatever else lapses before it.
#[tokio::test]
async fn lc_1_3_a_late_message_is_told_its_code_behind_the_lapses_of_others() {
    let ledgerbox = Ledgerbox::open().await;
    let others = [
        Deal::opened(&ledgerbox, Until::Delivered).await,
        Deal::opened(&ledgerbox, Until::Delivered).await,
    ];
    let mut deal = Deal::opened(&ledgerbox, Until::Delivered).await;
    ledgerbox.advance_ms(29_950).await;
    let verify = deal.verify(&ledgerbox);
    let answer = ledgerbox.submit_while_busy(&verify, 100).await;
    assert_eq!(answer.unwrap_err().code, Code::VerifyTimeout);
    for deal in others.iter().chain([&deal]) {
        let lapsed = lapses(&ledgerbox, deal).await;
        assert_eq!(lapsed, [(ledgerbox.now().as_ms(), Code::VerifyTimeout)]);
    }
    ledgerbox.assert_log_adds_up().await;
}

/// How many windows end at one moment: more than four commits of lapses.
const CROWD: u32 = 1_100;

/// That many interactions of one pair, whose first window ends at one moment, in order of their ids.
async fn crowded(crowd: u32) -> (Ledgerbox, Vec<Deal>) {
    let ledgerbox = Ledgerbox::but(|it| {
        it.limits.open_per_pair = u64::from(crowd);
        it.limits.open_per_initiator = u64::from(crowd);
    })
    .await;
    let first = Deal::between_new_parties(&ledgerbox).await;
    let mut deals = Vec::new();
    for _ in 0..crowd {
        let account = Account::new(0x46);
        let mut deal = Deal::between(&ledgerbox, &first.initiator, &first.provider, account);
        ledgerbox.accept(&deal.request(&ledgerbox)).await;
        deals.push(deal);
    }
    deals.sort_by_key(Deal::id);
    (ledgerbox, deals)
}

/// A backlog holds up a message for 256 lapses and no longer, and is over soon after.
#[tokio::test]
async fn lc_1_3_a_backlog_is_recorded_in_parts_and_holds_nobody_up_for_ever() {
    let crowd = size("X811_LAPSES", CROWD);
    let (ledgerbox, _) = crowded(crowd).await;
    ledgerbox.advance_ms(59_950).await;
    let registration = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
    let answer = ledgerbox.submit_while_busy(&registration, 100).await;
    assert!(matches!(answer, Ok(Answer::Accepted(_))), "{answer:?}");
    for _ in 0..crowd / 256 + 1 {
        ledgerbox.advance_ms(10).await;
    }
    let records = from_the_first_lapse(&ledgerbox).await;
    let decided = records.iter().position(|(name, ..)| *name != "lapsed");
    assert_eq!(decided, Some(256));
    let lapsed = records.iter().filter(|(name, ..)| *name == "lapsed");
    assert_eq!(lapsed.count(), crowd as usize);
    ledgerbox.assert_log_adds_up().await;
}

/// A message about a subject whose window has ended is told the code of that window, also where 256 others
/// lapse before it.
#[tokio::test]
async fn lc_1_3_a_late_message_in_a_backlog_is_told_the_code_of_its_own_window() {
    let (ledgerbox, mut deals) = crowded(300).await;
    ledgerbox.advance_ms(59_950).await;
    let mut last = deals.pop().unwrap();
    let offer = last.offer(&ledgerbox);
    let answer = ledgerbox.submit_while_busy(&offer, 100).await;
    assert_eq!(answer.unwrap_err().code, Code::RequestTimeout);
    let own = lapses(&ledgerbox, &last).await;
    assert_eq!(own, [(ledgerbox.now().as_ms(), Code::RequestTimeout)]);
    for _ in 0..2 {
        ledgerbox.advance_ms(10).await;
    }
    let records = from_the_first_lapse(&ledgerbox).await;
    let lapsed = records.iter().filter(|(name, ..)| *name == "lapsed");
    let lapsed: Vec<&String> = lapsed.map(|(_, stream, _)| stream).collect();
    let streams: BTreeSet<&&String> = lapsed.iter().collect();
    assert_eq!((streams.len(), lapsed.len()), (300, 300), "each once");
    ledgerbox.assert_log_adds_up().await;
}
