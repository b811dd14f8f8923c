//! One writer, and what happens when there are two or none (ledger-contract.md section 2).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use x811_ledger::memory::CommitFault;
use x811_ledger::sequencer::Stopped;
use x811_protocol::code::Code;
use x811_protocol::refusal::Refusal;

/// X811-9002 under the status that tells a client to send the same message again.
#[track_caller]
fn assert_is_for_later(refusal: &Refusal) {
    assert_eq!(
        (refusal.code, refusal.http_status()),
        (Code::InternalError, 503),
        "{refusal}"
    );
}

#[tokio::test]
async fn lc_2_a_conflict_ends_the_sequencer_and_nobody_is_told_of_success() {
    for fault in [CommitFault::Conflict, CommitFault::Fenced] {
        let mut ledgerbox = Ledgerbox::open().await;
        let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
        let size = ledgerbox.records().await.len();
        ledgerbox.fail_next_commit(fault);
        for _ in 0..2 {
            let offer = deal.offer(&ledgerbox);
            assert_is_for_later(&ledgerbox.refuse(&offer).await);
        }
        let stopped = ledgerbox.ended().await;
        assert!(matches!(stopped, Stopped::Fenced(_)), "{stopped:?}");
        assert!(
            stopped.to_string().contains("one process only"),
            "{stopped}"
        );
        assert_eq!(ledgerbox.records().await.len(), size);
    }
}

#[tokio::test]
async fn lc_2_a_second_writer_is_fenced_out_and_never_interleaved() {
    let mut first = Ledgerbox::open().await;
    let mut deal = Deal::opened(&first, Until::Pending).await;
    let mut second = Ledgerbox::open().await;
    second.crash().await;
    second.store = first.store.clone();
    second.rows = std::sync::Arc::default();
    second.identity = first.identity.clone();
    second.start().await.unwrap();
    let offer = deal.offer(&first);
    assert_eq!(first.code(&offer).await, Code::InternalError);
    let stopped = first.ended().await;
    assert!(matches!(stopped, Stopped::Fenced(_)), "{stopped:?}");
    second.accept(&offer).await;
    second.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_a_failing_disk_is_shown_and_got_over() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let offer = deal.offer(&ledgerbox);
    for _ in 0..3 {
        ledgerbox.fail_next_commit(CommitFault::Backend);
        assert_is_for_later(&ledgerbox.refuse(&offer).await);
        assert!(ledgerbox.ledger().readiness().last_commit_failed);
    }
    ledgerbox.accept(&offer).await;
    assert!(!ledgerbox.ledger().readiness().last_commit_failed);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_an_unknown_outcome_with_somebody_elses_records_is_the_end() {
    let mut ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let offer = deal.offer(&ledgerbox);
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let answer = ledgerbox.submit_later(&offer).await;
    let mut other = Ledgerbox::open().await;
    other.crash().await;
    ledgerbox.fail_next_commit(CommitFault::UnknownNothingStored);
    // Between the two, another process writes.
    let records = ledgerbox.records().await;
    let head = x811_eventlog::Head::after(records.last().unwrap());
    let draft = x811_eventlog::Draft {
        recorded_at_ms: head.recorded_at_ms,
        stream: "ledger".to_owned(),
        stream_seq: 2,
        event: serde_json::json!({"type": "ledger_resumed", "gap_ms": 0}),
    };
    let record = x811_eventlog::Record::seal(head.size, head.hash, draft).unwrap();
    x811_eventlog::EventLog::append(
        x811_ledger::port::LedgerStore::log(&*store),
        head.size,
        &[record],
    )
    .await
    .unwrap();
    drop(held);
    assert!(answer.await.unwrap().is_err());
    let stopped = ledgerbox.ended().await;
    assert!(matches!(stopped, Stopped::Fenced(_)), "{stopped:?}");
}
