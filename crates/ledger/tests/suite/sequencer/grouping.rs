//! Many messages, few commits (design.md sections 4 and 9).

use super::deal::Deal;
use super::ledgerbox::Ledgerbox;
use std::collections::BTreeSet;
use x811_ledger::answer::Answer;
use x811_ledger::memory::CommitFault;
use x811_protocol::code::Code;

#[tokio::test]
async fn lc_1_1_messages_that_wait_together_are_committed_together() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let envelopes: Vec<_> = (0..200)
        .map(|number| {
            let payload = serde_json::json!({ "number": number });
            ledgerbox.seal(
                &deal.initiator,
                "x811.ext/greeting",
                &deal.provider,
                payload,
            )
        })
        .collect();
    let before = ledgerbox.store.commits();
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let mut answers = Vec::new();
    for envelope in &envelopes {
        let (ledger, bytes) = (ledgerbox.ledger().clone(), envelope.json.clone());
        answers.push(tokio::spawn(async move { ledger.submit(bytes).await }));
    }
    ledgerbox.settle().await;
    drop(held);
    let mut positions = BTreeSet::new();
    for (answer, envelope) in answers.into_iter().zip(&envelopes) {
        let Ok(Answer::Accepted(accepted)) = answer.await.unwrap() else {
            panic!("every message is answered");
        };
        assert_eq!(accepted.envelope_id, envelope.header.id);
        positions.insert(accepted.position);
    }
    assert_eq!(positions.len(), 200);
    assert!(ledgerbox.store.commits() - before < 20);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_1_a_failed_group_fails_whole_and_is_accepted_whole() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let greet = || {
        let payload = serde_json::json!({});
        ledgerbox.seal(
            &deal.initiator,
            "x811.ext/greeting",
            &deal.provider,
            payload,
        )
    };
    let envelopes = [greet(), greet(), greet()];
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let plug = ledgerbox.submit_later(&greet()).await;
    let mut answers = Vec::new();
    for envelope in &envelopes {
        answers.push(ledgerbox.submit_later(envelope).await);
    }
    store.pass_next_commit();
    ledgerbox.fail_next_commit(CommitFault::Backend);
    let size = ledgerbox.records().await.len();
    drop(held);
    plug.await.unwrap().unwrap();
    for answer in answers {
        let refusal = answer.await.unwrap().unwrap_err();
        assert_eq!(refusal.code, Code::InternalError);
    }
    assert_eq!(ledgerbox.records().await.len(), size + 1, "only the plug");
    for envelope in &envelopes {
        ledgerbox.accept(envelope).await;
    }
    ledgerbox.assert_log_adds_up().await;
}
