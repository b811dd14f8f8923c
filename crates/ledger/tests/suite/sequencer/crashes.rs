//! What a crash, or a commit of unknown outcome, leaves behind: the table of ledger-contract.md
//! section 1.

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use serde_json::json;
use std::sync::Arc;
use x811_ledger::answer::Answer;
use x811_ledger::memory::{CommitFault, MemoryReadModel};
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_world::row::DeliveryRow;

/// A message that is due now, once for every step of an interaction's life.
async fn every_step() -> Vec<(Ledgerbox, Deal, SealedEnvelope)> {
    let mut steps = Vec::new();
    for until in Until::ALL {
        let ledgerbox = Ledgerbox::open().await;
        let mut deal = Deal::opened(&ledgerbox, until).await;
        let due = match until {
            Until::Pending => deal.offer(&ledgerbox),
            Until::Offered => deal.accept(&ledgerbox),
            Until::Accepted => deal.result(&ledgerbox),
            Until::Delivered => deal.verify(&ledgerbox),
            Until::Verified => deal.payment(&ledgerbox, 1),
        };
        steps.push((ledgerbox, deal, due));
    }
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    let request = deal.request(&ledgerbox);
    steps.push((ledgerbox, deal, request));
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let registration = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
    steps.push((ledgerbox, deal, registration));
    steps
}

#[tokio::test]
async fn lc_1_crash_before_commit_leaves_nothing_and_the_same_envelope_is_accepted() {
    for (mut ledgerbox, _deal, envelope) in every_step().await {
        let size = ledgerbox.records().await.len();
        let store = ledgerbox.store.clone();
        let held = store.hold_commits().await;
        let answer = ledgerbox.submit_later(&envelope).await;
        ledgerbox.crash().await;
        drop(held);
        let unanswered = answer.await.unwrap().unwrap_err();
        assert_eq!(unanswered.code, Code::InternalError);
        assert_eq!(ledgerbox.records().await.len(), size, "nothing happened");
        ledgerbox.start().await.unwrap();
        ledgerbox.accept(&envelope).await;
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn lc_1_crash_after_commit_answers_a_repeat_with_the_first_outcome() {
    for (mut ledgerbox, _deal, envelope) in every_step().await {
        let size = ledgerbox.records().await.len();
        ledgerbox.fail_next_commit(CommitFault::StoredNeverTold);
        let answer = ledgerbox.submit_later(&envelope).await;
        ledgerbox.crash().await;
        assert!(answer.await.unwrap().is_err(), "no answer");
        let record = ledgerbox.records().await.pop().unwrap();
        assert_eq!(record.position(), size as u64, "it was recorded");
        ledgerbox.start().await.unwrap();
        let repeat = ledgerbox.refuse(&envelope).await;
        assert_eq!(repeat.code, Code::NonceReplay);
        let first = &repeat.details.unwrap()["first"];
        assert_eq!(first["position"], json!(size));
        assert_eq!(first["record_hash"], json!(record.hash().to_string()));
        assert_eq!(first["envelope_id"], json!(envelope.header.id));
        ledgerbox.assert_log_adds_up().await;
    }
}

/// The rows deliver, and they are behind the log when the process dies.
#[tokio::test]
async fn ae_001_a_crash_between_acceptance_and_delivery_loses_no_message() {
    for (mut ledgerbox, _deal, envelope) in every_step().await {
        ledgerbox.fail_next_commit(CommitFault::StoredNeverTold);
        let answer = ledgerbox.submit_later(&envelope).await;
        ledgerbox.crash().await;
        assert!(answer.await.unwrap().is_err(), "no answer");
        let kind = envelope.header.message_type.to_string();
        let of_it = |row: &DeliveryRow| row.envelope_id == envelope.header.id;
        let count = |ledgerbox: &Ledgerbox| {
            let rows = ledgerbox.rows.rows();
            rows.deliveries.values().filter(|row| of_it(row)).count()
        };
        assert_eq!(count(&ledgerbox), 0, "{kind}: not delivered yet");
        ledgerbox.start().await.unwrap();
        // A registration is for the ledger itself.
        let expected = usize::from(envelope.header.to != ledgerbox.identity.did);
        assert_eq!(count(&ledgerbox), expected, "{kind}");
        ledgerbox.restart().await;
        assert_eq!(count(&ledgerbox), expected, "{kind}");
    }
}

#[tokio::test]
async fn lc_1_an_unknown_outcome_that_holds_is_answered_from_the_log() {
    for (ledgerbox, _deal, envelope) in every_step().await {
        ledgerbox.fail_next_commit(CommitFault::UnknownAllStored);
        let accepted = ledgerbox.accept(&envelope).await;
        let record = ledgerbox.records().await.pop().unwrap();
        assert_eq!(accepted.position, record.position());
        assert_eq!(accepted.record_hash.as_bytes(), record.hash().as_bytes());
        assert_eq!(ledgerbox.code(&envelope).await, Code::NonceReplay);
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn lc_1_an_unknown_outcome_that_does_not_hold_changes_nothing() {
    for fault in [CommitFault::UnknownNothingStored, CommitFault::Backend] {
        for (ledgerbox, _deal, envelope) in every_step().await {
            let size = ledgerbox.records().await.len();
            ledgerbox.fail_next_commit(fault);
            assert_eq!(ledgerbox.code(&envelope).await, Code::InternalError);
            assert_eq!(ledgerbox.records().await.len(), size);
            ledgerbox.assert_log_adds_up().await;
            ledgerbox.accept(&envelope).await;
            ledgerbox.assert_log_adds_up().await;
        }
    }
}

#[tokio::test]
async fn lc_1_a_restart_gives_the_same_world() {
    for until in Until::ALL {
        let mut ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, until).await;
        if until == Until::Verified {
            ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
        }
        ledgerbox.settle().await;
        let before = ledgerbox.ledger().world();
        ledgerbox.restart().await;
        let after = ledgerbox.ledger().world();
        assert_eq!(
            before.interaction(deal.id()),
            after.interaction(deal.id()),
            "{until:?}"
        );
        assert_eq!(before.sizes(), after.sizes());
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn lc_2_rows_that_lag_behind_are_caught_up_at_start() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox.crash().await;
    ledgerbox.rows = Arc::new(MemoryReadModel::new());
    ledgerbox.start().await.unwrap();
    assert_eq!(ledgerbox.state(deal.id()), "offered");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_a_sender_that_left_is_recorded_all_the_same() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let offer = deal.offer(&ledgerbox);
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let answer = ledgerbox.submit_later(&offer).await;
    answer.abort();
    drop(held);
    ledgerbox.settle().await;
    assert_eq!(ledgerbox.state(deal.id()), "offered");
    assert_eq!(ledgerbox.code(&offer).await, Code::NonceReplay);
}

#[tokio::test]
async fn lc_1_the_end_of_all_handles_is_the_end_of_the_sequencer() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.stop().await.unwrap();
    ledgerbox.start().await.unwrap();
    let world = ledgerbox.ledger().world();
    assert!(world.interaction(deal.id()).is_some());
    let answer: Result<Answer, _> = ledgerbox.ledger().submit(b"{}".to_vec()).await;
    assert!(answer.is_err());
}
