//! What time must have caused is missed where it was left out, by whoever has every key and wrote
//! all hashes anew; and no honest log is accused (ledger-contract.md sections 1.3, 1.4 and 5).

use x811_audit::{Gap, Outcome, Report};
use x811_ledger::memory::CommitFault;
use x811_protocol::observation::{BlindCause, Observation};

use super::base::{BASE, Base};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use super::scene::{Parts, audit, exported, found, pay};

/// Longer than any window.
const ONE_DAY_MS: u64 = 86_400_000;

/// Another deal begins: the ledger is up.
async fn goes_on(ledgerbox: &Ledgerbox) {
    Deal::opened(ledgerbox, Until::Pending).await;
}

/// The log without what `deal` went on to from its first record of that type, every hash anew.
async fn without(ledgerbox: &Ledgerbox, deal: &Deal, event_type: &str) -> Vec<u8> {
    let mut parts = Parts::of(&exported(ledgerbox).await);
    let stream = format!("interaction:{}", deal.id());
    let of_it = |kept: &super::scene::Kept| kept.draft.stream == stream;
    let from = parts.find(|kept| of_it(kept) && kept.event_type() == event_type);
    let mut at = 0;
    parts.records.retain(|kept| {
        at += 1;
        at <= from || !of_it(kept)
    });
    parts.rehashed()
}

fn missing(report: &Report) -> String {
    // The record that shows it was decided before the lapse that is missing.
    assert_eq!(report.verdict, Outcome::Broken);
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    let [undecided] = &report.undecided[..] else {
        panic!("{:?}", report.undecided);
    };
    assert_eq!((undecided.gap, undecided.count), (Gap::OverdueLapses, 1));
    undecided.sentence.clone()
}

/// Whoever holds the ledger's keys denies a payment.
#[tokio::test]
async fn a_confirmation_that_was_left_out_is_missed_by_the_end_of_its_window() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(29_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    goes_on(&ledgerbox).await;
    let in_time = audit(&without(&ledgerbox, &deal, "confirmed").await);
    assert_eq!(found(&in_time), [], "the window is still open");
    ledgerbox.watch_ms(6_001).await;
    goes_on(&ledgerbox).await;
    assert_eq!(found(&audit(&exported(&ledgerbox).await)), []);
    let report = audit(&without(&ledgerbox, &deal, "confirmed").await);
    let sentence = missing(&report);
    for part in [
        &deal.id().to_string(),
        "the window for the confirmation",
        "its lapse (X811-5030)",
    ] {
        assert!(sentence.contains(part), "no `{part}` in {sentence}");
    }
}

#[tokio::test]
async fn a_lapse_that_was_left_out_is_missed() {
    let table = [
        (Until::Pending, "the window for an OFFER"),
        (Until::Offered, "the window for an ACCEPT"),
        (Until::Accepted, "the window for a RESULT"),
        (Until::Delivered, "the window for a VERIFY"),
        (Until::Verified, "the window for a PAYMENT"),
    ];
    for (until, window) in table {
        let ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, until).await;
        ledgerbox.advance_ms(ONE_DAY_MS).await;
        goes_on(&ledgerbox).await;
        assert_eq!(found(&audit(&exported(&ledgerbox).await)), []);
        let sentence = missing(&audit(&without(&ledgerbox, &deal, "lapsed").await));
        assert!(sentence.contains(window), "no `{window}` in {sentence}");
    }
}

#[tokio::test]
async fn nothing_is_missed_that_no_later_record_shows_to_be_due() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(ONE_DAY_MS).await;
    let report = audit(&without(&ledgerbox, &deal, "lapsed").await);
    assert_eq!(found(&report), [], "the log may have ended there");
}

/// Downtime, the batch a ledger starts with, and what parties signed, which no downtime moves.
#[tokio::test]
async fn lc_1_4_nobody_is_accused_of_having_been_down() {
    for until in Until::ALL {
        let mut ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, until).await;
        if until == Until::Verified {
            ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
        }
        ledgerbox.advance_ms(1_000).await;
        ledgerbox.down_ms(3_600_000).await;
        let begun = audit(&exported(&ledgerbox).await);
        assert_eq!(found(&begun), [], "{until:?}: nothing but the start");
        goes_on(&ledgerbox).await;
        assert_eq!(found(&audit(&exported(&ledgerbox).await)), [], "{until:?}");
    }
}

#[tokio::test]
async fn lc_5_nobody_is_accused_of_having_been_blind() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox
        .observe(Observation::Unreachable {
            network: BASE.to_owned(),
            cause: BlindCause::WrongChain,
            silent: Vec::new(),
        })
        .await;
    ledgerbox.advance_ms(600_000).await;
    goes_on(&ledgerbox).await;
    assert_eq!(found(&audit(&exported(&ledgerbox).await)), []);
}

/// More lapse after a restart than a batch holds, and the log is copied in between.
#[tokio::test]
async fn lc_1_4_nobody_is_accused_of_a_backlog() {
    let mut ledgerbox = Ledgerbox::crowded().await;
    Deal::offered_briefly(&ledgerbox, 300).await;
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.down_ms(600_000).await;
    ledgerbox.store.pass_next_commit();
    ledgerbox.fail_next_commit(CommitFault::Backend);
    ledgerbox.advance_ms(1).await;
    let lapsed = |report: &Report| report.interactions.get("expired").copied();
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!((lapsed(&report), found(&report)), (Some(256), vec![]));
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.advance_ms(1_000).await;
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!((lapsed(&report), found(&report)), (Some(300), vec![]));
}

/// Heads are seen and not recorded, so nobody can tell a look that was left out from one that no
/// fresh head answered: it is not decided.
#[tokio::test]
async fn lc_9_a_look_that_no_fresh_head_answers_is_undecided_and_no_finding() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(31_000).await;
    assert!(ledgerbox.types(deal.id()).await.contains(&"lapsed"));
    // Neither fresh nor blind: the endpoint is 20 s behind.
    for _ in 0..130 {
        ledgerbox.advance_ms(1_000).await;
        let head = Base::head_number(ledgerbox.now()) - 10;
        ledgerbox.sweep_at(head).await;
    }
    assert!(!ledgerbox.types(deal.id()).await.contains(&"looked"));
    goes_on(&ledgerbox).await;
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!(found(&report), []);
    assert_eq!(report.verdict, Outcome::Incomplete);
    let gaps: Vec<(Gap, u64)> = report
        .undecided
        .iter()
        .map(|it| (it.gap, it.count))
        .collect();
    assert_eq!(gaps, [(Gap::OverdueLooks, 1)]);
}
