//! Lapses that the ledger holds back for somebody, while it goes on with others (ledger-contract.md
//! section 1.3); and ledgers that could not help being late.

use x811_ledger::audit::{Cause, Report};
use x811_ledger::memory::CommitFault;
use x811_protocol::id::InteractionId;

use super::deal::{Deal, Until};
use super::forger::{Forger, of_interaction};
use super::ledgerbox::Ledgerbox;
use super::scene::{audit, exported, found};

/// Others do something every so often.
async fn others_go_on(ledgerbox: &Ledgerbox, times: u64, every_ms: u64) {
    for _ in 0..times {
        ledgerbox.advance_ms(every_ms).await;
        ledgerbox.provider().await;
    }
}

/// The log whose record of that type comes after `later` more records; its place then.
fn held_back(
    forger: &Forger,
    id: InteractionId,
    event: &str,
    later: Option<usize>,
) -> (Forger, usize) {
    let mut forger = forger.clone();
    let stream = of_interaction(id);
    let from = forger.place(&stream, event);
    // What follows from it was not said either.
    let records = &mut forger.parts.records;
    let mut held = records.remove(from);
    let mut at = 0;
    records.retain(|kept| {
        at += 1;
        at <= from || kept.draft.stream != stream
    });
    let to = later.map_or(records.len(), |later| from + later);
    held.draft.recorded_at_ms = records[to - 1].draft.recorded_at_ms;
    records.insert(to, held);
    (forger, to)
}

fn late(at: usize) -> [(u64, &'static str, Cause); 1] {
    [(at as u64, "recorded_at_ms", Cause::ReDecisionDiffers)]
}

/// The window of an OFFER stays open for an hour, in which others are served.
#[tokio::test]
async fn lc_1_3_a_lapse_that_was_held_back_is_found() {
    let table = [
        Until::Pending,
        Until::Offered,
        Until::Delivered,
        Until::Verified,
    ];
    for until in table {
        let ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, until).await;
        others_go_on(&ledgerbox, 60, 60_000).await;
        let honest = Forger::at(&ledgerbox).await;
        let (forged, at) = held_back(&honest, deal.id(), "lapsed", None);
        let sentence = forged.is_found(&late(at));
        assert!(sentence.contains("held back"), "{until:?}: {sentence}");
    }
}

#[tokio::test]
async fn lc_1_3_a_free_deals_end_that_was_held_back_is_found() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    ledgerbox.accept(&deal.request(&ledgerbox)).await;
    ledgerbox.accept(&deal.free_offer(&ledgerbox)).await;
    ledgerbox.accept(&deal.accept(&ledgerbox)).await;
    ledgerbox.accept(&deal.result(&ledgerbox)).await;
    ledgerbox.accept(&deal.verify(&ledgerbox)).await;
    let payment = deal.payment_of(&ledgerbox, &super::base::tx(1), "0");
    ledgerbox.accept(&payment).await;
    others_go_on(&ledgerbox, 20, 30_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let honest = Forger::at(&ledgerbox).await;
    let (forged, at) = held_back(&honest, deal.id(), "confirmed", None);
    let report = forged.report();
    assert!(
        found(&report).contains(&late(at)[0]),
        "{:?}",
        found(&report)
    );
}

/// A minute is more than any batch takes, and less says nothing.
#[tokio::test]
async fn lc_1_3_a_lapse_within_a_minute_is_no_finding() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    others_go_on(&ledgerbox, 180, 1_000).await;
    let honest = Forger::at(&ledgerbox).await;
    // The window ends 60 s from the REQUEST; a record is made every second.
    let (in_time, _) = held_back(&honest, deal.id(), "lapsed", Some(55));
    assert_eq!(found(&in_time.report()), []);
    let (forged, at) = held_back(&honest, deal.id(), "lapsed", Some(65));
    forged.is_found(&late(at));
}

/// Nobody says that the ledger was there: it may have been down, or had nothing to do.
#[tokio::test]
async fn lc_1_3_silence_proves_nothing() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(60_001).await;
    ledgerbox.advance_ms(3_600_000).await;
    ledgerbox.provider().await;
    let honest = Forger::at(&ledgerbox).await;
    let (late, _) = held_back(&honest, deal.id(), "lapsed", None);
    assert_eq!(found(&late.report()), []);
}

fn expired(report: &Report) -> Option<u64> {
    report.interactions.get("expired").copied()
}

/// What parties signed lapses after a downtime, however long that was.
#[tokio::test]
async fn lc_1_4_downtime_is_no_delay() {
    let mut ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    ledgerbox.accept(&deal.request(&ledgerbox)).await;
    ledgerbox.accept(&deal.offer_for(&ledgerbox, 10)).await;
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.down_ms(3_600_000).await;
    others_go_on(&ledgerbox, 3, 1_000).await;
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!((expired(&report), found(&report)), (Some(1), vec![]));
}

/// More lapse after a restart than one batch holds, and commits fail in between.
#[tokio::test]
async fn lc_1_4_a_backlog_is_no_delay() {
    let mut ledgerbox = Ledgerbox::crowded().await;
    Deal::offered_briefly(&ledgerbox, 300).await;
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.down_ms(600_000).await;
    ledgerbox.store.pass_next_commit();
    ledgerbox.fail_next_commit(CommitFault::Backend);
    others_go_on(&ledgerbox, 5, 40_000).await;
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!((expired(&report), found(&report)), (Some(300), vec![]));
}

/// Messages are decided while a slow disk writes the batch before; then everything lapses.
#[tokio::test]
async fn lc_1_3_a_slow_commit_is_no_delay() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(59_000).await;
    let held = ledgerbox.store.clone();
    let held = held.hold_commits().await;
    let mut waiting = Vec::new();
    for _ in 0..20 {
        let (party, kept) = (ledgerbox.party(), &ledgerbox);
        let registration = kept.registration(&party, &[], &[]);
        waiting.push(ledgerbox.submit_later(&registration).await);
        // It is decided at once, and time goes on.
        ledgerbox.advance_ms(100).await;
        ledgerbox.advance_ms(900).await;
    }
    drop(held);
    ledgerbox.advance_ms(1_000).await;
    for answer in waiting {
        answer.await.unwrap().unwrap();
    }
    assert_eq!(ledgerbox.state(deal.id()), "expired");
    let honest = Forger::at(&ledgerbox).await;
    let lapsed = honest.place(&of_interaction(deal.id()), "lapsed");
    let before = &honest.parts.records[lapsed - 15].draft;
    let lapsed = &honest.parts.records[lapsed].draft;
    assert!(lapsed.recorded_at_ms - before.recorded_at_ms > 10_000);
}
