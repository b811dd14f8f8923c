//! Incidents of other ledgers that belong to the sequencer alone; `tests/INCIDENTS.md` lists all.

use super::deal::{Deal, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use super::party::Account;
use x811_ledger::memory::CommitFault;
use x811_ledger::port::LedgerStore as _;
use x811_ledger::sequencer::Stopped;
use x811_protocol::code::Code;

/// The write fails, and so does reading back what became of it. Then nobody knows, so nobody is
/// told of success and nothing goes on; once the log can be read it is the only truth.
#[tokio::test]
async fn incident_write_fails_and_the_reload_fails_too_raio() {
    let mut ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let size = ledgerbox.records().await.len();
    let store = ledgerbox.store.clone();
    ledgerbox.fail_next_commit(CommitFault::UnknownNothingStored);
    store.log().set_unreadable(true);
    let offer = deal.offer(&ledgerbox);
    assert_eq!(ledgerbox.code(&offer).await, Code::InternalError);
    let stopped = ledgerbox.ended().await;
    assert!(matches!(stopped, Stopped::Unreadable(_)), "{stopped:?}");
    assert!(stopped.to_string().contains("Mend it"), "{stopped}");
    for _ in 0..2 {
        let refused = ledgerbox.start().await.unwrap_err();
        assert!(refused.to_string().contains("unreadable"), "{refused}");
    }

    store.log().set_unreadable(false);
    ledgerbox.start().await.unwrap();
    let records = ledgerbox.records().await;
    let added = records[size..]
        .iter()
        .map(|record| record.event()["type"].clone());
    assert_eq!(added.collect::<Vec<_>>(), ["ledger_resumed"]);
    ledgerbox.accept(&offer).await;
    ledgerbox.assert_log_adds_up().await;
}

/// More interactions are open, and more messages were on their way, than the limits that the next
/// life is started with: it starts, all that is open goes on, and only what is new has to wait.
#[tokio::test]
async fn incident_more_pending_than_the_limit_at_crash_immudb_1_11_1() {
    const OPEN: usize = 12;
    let mut ledgerbox = Ledgerbox::crowded().await;
    let first = Deal::between_new_parties(&ledgerbox).await;
    let again = |ledgerbox: &Ledgerbox| {
        Deal::between(
            ledgerbox,
            &first.initiator,
            &first.provider,
            Account::new(0x46),
        )
    };
    let mut open = Vec::new();
    for number in 0..OPEN {
        let mut deal = again(&ledgerbox);
        let until = Until::ALL[number % Until::ALL.len()];
        deal.go(&ledgerbox, until).await;
        open.push((deal, until));
    }
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let mut unanswered = Vec::new();
    for _ in 0..OPEN {
        let request = again(&ledgerbox).request(&ledgerbox);
        unanswered.push(ledgerbox.submit_later(&request).await);
    }
    ledgerbox.crash().await;
    drop(held);
    for answer in unanswered {
        assert!(answer.await.unwrap().is_err(), "no answer");
    }

    ledgerbox.parameters = parameters();
    ledgerbox.parameters.limits.open_per_initiator = 3;
    ledgerbox.parameters.limits.open_per_pair = 2;
    ledgerbox.start().await.unwrap();
    let sizes = ledgerbox.ledger().world().sizes();
    assert_eq!(sizes.interactions, OPEN);
    for (deal, until) in &mut open {
        let due = match until {
            Until::Pending => deal.offer(&ledgerbox),
            Until::Offered => deal.reject(&ledgerbox),
            Until::Accepted => deal.result(&ledgerbox),
            Until::Delivered => deal.verify(&ledgerbox),
            Until::Verified => deal.payment(&ledgerbox, 1),
        };
        ledgerbox.accept(&due).await;
        let late = again(&ledgerbox).request(&ledgerbox);
        assert_eq!(ledgerbox.code(&late).await, Code::RateLimitExceeded);
    }
    ledgerbox.assert_log_adds_up().await;
    // All of them end; then there is room again.
    for _ in 0..60 {
        ledgerbox.watch_ms(10_000).await;
    }
    assert_eq!(ledgerbox.ledger().world().sizes().interactions, 0);
    ledgerbox
        .accept(&again(&ledgerbox).request(&ledgerbox))
        .await;
    ledgerbox.assert_log_adds_up().await;
}
