//! Lapses that the ledger holds back for somebody, while it goes on with others (ledger-contract.md
//! section 1.3); and ledgers that could not help being late.

use x811_audit::{Cause, Report};
use x811_ledger::memory::CommitFault;
use x811_protocol::id::InteractionId;

use super::deal::{Deal, Until};
use super::forger::{Forger, of_interaction};
use super::ledgerbox::Ledgerbox;
use super::scene::{Kept, audit, exported, found};

/// Others do something every so often.
async fn others_go_on(ledgerbox: &Ledgerbox, times: u64, every_ms: u64) {
    for _ in 0..times {
        ledgerbox.advance_ms(every_ms).await;
        ledgerbox.provider().await;
    }
}

/// The log whose record of that type comes right before the `later`th record after it, at its time, or last;
/// where it was.
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
    let then = records.get(to).or(records.last()).unwrap();
    held.draft.recorded_at_ms = then.draft.recorded_at_ms;
    records.insert(to, held);
    (forger, from)
}

/// What is found where the first decision stands that it was held back for.
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
    others_go_on(&ledgerbox, 3, 1_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let honest = Forger::at(&ledgerbox).await;
    let (forged, at) = held_back(&honest, deal.id(), "confirmed", None);
    forged.is_found(&late(at));
}

/// However little later it is: a window of 60 s lapses at its end, where something is decided every second.
#[tokio::test]
async fn lc_1_3_one_decision_that_a_lapse_was_held_back_for_is_a_finding() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    others_go_on(&ledgerbox, 70, 1_000).await;
    let honest = Forger::at(&ledgerbox).await;
    let (in_time, _) = held_back(&honest, deal.id(), "lapsed", Some(0));
    assert_eq!(found(&in_time.report()), []);
    let (forged, at) = held_back(&honest, deal.id(), "lapsed", Some(1));
    forged.is_found(&late(at));
}

/// Where nothing was decided meanwhile, nothing can have turned on it.
#[tokio::test]
async fn lc_1_3_silence_proves_nothing() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(60_001).await;
    ledgerbox.advance_ms(3_600_000).await;
    ledgerbox.provider().await;
    let honest = Forger::at(&ledgerbox).await;
    assert_eq!(honest.report().late_lapses, []);
    let (late, at) = held_back(&honest, deal.id(), "lapsed", Some(0));
    let report = late.report();
    assert_eq!(found(&report), []);
    let [listed] = report.late_lapses.try_into().unwrap();
    let recorded_at_ms = late.parts.records[at].draft.recorded_at_ms;
    let late_by_ms = recorded_at_ms - listed.deadline_at_ms.as_ms();
    assert_eq!(listed.late_by_ms, late_by_ms);
    assert!(late_by_ms >= 3_600_000, "{late_by_ms}");
    assert_eq!((listed.position, listed.resumed_at), (at as u64, None));
    assert_eq!(
        (listed.kind, listed.id),
        ("interaction", deal.id().to_string())
    );
}

/// Of two that are due, the one whose window ended first lapses first.
#[tokio::test]
async fn lc_1_3_lapses_in_another_order_than_their_windows_ended_are_found() {
    let ledgerbox = Ledgerbox::open().await;
    let first = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(10).await;
    let second = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(60_001).await;
    let mut forged = Forger::at(&ledgerbox).await;
    let [from, to] =
        [&first, &second].map(|deal| forged.place(&of_interaction(deal.id()), "lapsed"));
    assert_eq!(to, from + 1);
    forged.parts.records.swap(from, to);
    // Notices name their causes by position.
    forged.parts.records.truncate(to + 1);
    forged.is_found(&late(from));
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
    // It is listed all the same, with the record that says why.
    let [listed] = &report.late_lapses[..] else {
        panic!("{:#?}", report.late_lapses)
    };
    assert!(listed.late_by_ms > 3_590_000, "{listed:?}");
    assert!(listed.resumed_at.is_some(), "{listed:?}");
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

/// More lapse at one moment than may hold up a decision: it follows after so many, and the audit says so. With one
/// lapse less before it, it is found.
#[tokio::test]
async fn lc_1_3_only_a_whole_backlog_excuses_a_decision() {
    let ledgerbox = Ledgerbox::crowded().await;
    Deal::offered_briefly(&ledgerbox, 300).await;
    let registration = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
    ledgerbox.advance_ms(9_950).await;
    ledgerbox
        .submit_while_busy(&registration, 100)
        .await
        .unwrap();
    others_go_on(&ledgerbox, 3, 1_000).await;
    let honest = Forger::at(&ledgerbox).await;
    let report = honest.report();
    assert_eq!((expired(&report), found(&report)), (Some(300), vec![]));
    let first = first_lapse(&honest);
    let records = &honest.parts.records[first..];
    let decided = first + records.iter().position(|it| !is_lapse(it)).unwrap();
    assert_eq!((decided - first, report.remarks.len()), (256, 1));
    assert_eq!(report.remarks[0].position, decided as u64);
    let mut forged = honest.clone();
    forged.parts.records.swap(decided - 1, decided);
    forged.parts.records.truncate(decided + 1);
    forged.is_found(&late(decided - 1));
}

fn is_lapse(kept: &Kept) -> bool {
    kept.event_type() == "lapsed"
}

fn first_lapse(forger: &Forger) -> usize {
    forger.parts.records.iter().position(is_lapse).unwrap()
}
