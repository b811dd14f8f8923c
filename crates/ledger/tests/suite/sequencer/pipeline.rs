//! The next batch is decided while one is being written: what it sees of it, and what becomes of it
//! when the one before fails.

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use serde_json::json;
use x811_ledger::answer::Answer;
use x811_ledger::memory::CommitFault;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;

/// More than are gathered before they are decided together.
const MANY: usize = 150;

fn mail(ledgerbox: &Ledgerbox, deal: &Deal) -> SealedEnvelope {
    let (from, to) = (&deal.provider, &deal.initiator);
    ledgerbox.seal(from, "x811.ext/a", to, json!({}))
}

#[tokio::test]
async fn xx_1_a_failed_batch_takes_what_was_decided_on_top_of_it_along() {
    for fault in [CommitFault::Backend, CommitFault::UnknownNothingStored] {
        let ledgerbox = Ledgerbox::open().await;
        let deal = Deal::between_new_parties(&ledgerbox).await;
        let size = ledgerbox.records().await.len();
        let store = ledgerbox.store.clone();
        let held = store.hold_commits().await;
        ledgerbox.fail_next_commit(fault);
        let envelopes: Vec<_> = (0..MANY).map(|_| mail(&ledgerbox, &deal)).collect();
        let mut answers = Vec::new();
        for envelope in &envelopes {
            answers.push(ledgerbox.submit_later(envelope).await);
        }
        drop(held);
        let mut failed = Vec::new();
        for (envelope, answer) in envelopes.iter().zip(answers) {
            match answer.await.unwrap() {
                Ok(Answer::Accepted(_)) => {}
                Ok(repeated) => panic!("{repeated:?}"),
                Err(refusal) => {
                    assert_eq!(refusal.code, Code::InternalError);
                    failed.push(envelope);
                }
            }
        }
        assert!(failed.len() > 64, "both batches failed: {}", failed.len());
        let accepted = MANY - failed.len();
        assert_eq!(ledgerbox.records().await.len() - size, accepted);
        for envelope in failed {
            ledgerbox.accept(envelope).await;
        }
        assert_eq!(ledgerbox.records().await.len() - size, MANY);
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn lc_3_what_is_being_written_is_known_to_what_is_decided_on_top() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let request = deal.request(&ledgerbox);
    let same = Deal::request_payload(&request.header.id.to_string());
    let same = ledgerbox.seal(&deal.initiator, "x811/request", &deal.provider, same);
    let first = ledgerbox.submit_later(&request).await;
    let again = ledgerbox.submit_later(&same).await;
    let replayed = ledgerbox.submit_later(&request).await;
    let offer = ledgerbox.submit_later(&deal.offer(&ledgerbox)).await;
    // Enough to have them decided before the first is written.
    let mut filling = Vec::new();
    for _ in 0..MANY {
        filling.push(ledgerbox.submit_later(&mail(&ledgerbox, &deal)).await);
    }
    drop(held);
    let Ok(Answer::Accepted(accepted)) = first.await.unwrap() else {
        panic!("the first REQUEST is recorded");
    };
    assert_eq!(again.await.unwrap(), Ok(Answer::Repeated(accepted)));
    assert_eq!(replayed.await.unwrap().unwrap_err().code, Code::NonceReplay);
    assert!(matches!(offer.await.unwrap(), Ok(Answer::Accepted(_))));
    for answer in filling {
        assert!(matches!(answer.await.unwrap(), Ok(Answer::Accepted(_))));
    }
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_2_a_slow_commit_makes_nobody_miss_their_turn() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let plug = mail(&ledgerbox, &deal);
    let plug = ledgerbox.submit_later(&plug).await;
    let offer = deal.offer(&ledgerbox);
    let offer = ledgerbox.submit_later(&offer).await;
    ledgerbox.advance_ms(100).await;
    // Longer than anybody waits for a turn, and than the window that the OFFER is in time for.
    ledgerbox.advance_ms(90_000).await;
    drop(held);
    assert!(matches!(plug.await.unwrap(), Ok(Answer::Accepted(_))));
    assert!(matches!(offer.await.unwrap(), Ok(Answer::Accepted(_))));
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn xx_10_refusals_do_not_pile_up_behind_a_slow_commit() {
    const REFUSED: usize = 2_500;
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let plug = ledgerbox.submit_later(&mail(&ledgerbox, &deal)).await;
    let nobody = ledgerbox.party();
    let mut answers = Vec::new();
    for _ in 0..REFUSED {
        let lost = ledgerbox.seal(&deal.provider, "x811.ext/a", &nobody, json!({}));
        answers.push(ledgerbox.submit_later(&lost).await);
    }
    let commits = store.commits();
    drop(held);
    for answer in answers {
        let refusal = answer.await.unwrap().unwrap_err();
        assert_eq!(refusal.code, Code::AgentNotFound);
    }
    assert!(matches!(plug.await.unwrap(), Ok(Answer::Accepted(_))));
    let behind = store.commits() - commits - 1;
    assert!(behind >= 2, "{REFUSED} refusals in {behind} commits");
}
