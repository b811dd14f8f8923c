//! Signatures of many messages at once: each has the verdict that it has alone.

use crate::deal::Deal;
use crate::ledgerbox::Ledgerbox;
use crate::party::Party;
use serde_json::json;
use x811_ledger::answer::Answer;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::refusal::Refusal;

/// Enough for groups, and for some that come too early or too late for one.
const MESSAGES: usize = 600;

/// Sends all at once; their answers in the same order.
async fn flood(ledgerbox: &Ledgerbox, bytes: Vec<Vec<u8>>) -> Vec<Result<Answer, Refusal>> {
    let sent = bytes.into_iter().map(|bytes| {
        let ledger = ledgerbox.ledger().clone();
        tokio::spawn(async move { ledger.submit(bytes).await })
    });
    let mut answers = Vec::new();
    for answer in sent.collect::<Vec<_>>() {
        answers.push(answer.await.unwrap());
    }
    answers
}

fn greetings(ledgerbox: &Ledgerbox, from: &Party, to: &Party) -> Vec<SealedEnvelope> {
    let greet = |number| {
        let payload = json!({ "number": number });
        ledgerbox.seal(from, "x811.ext/greeting", to, payload)
    };
    (0..MESSAGES).map(greet).collect()
}

/// The same envelope with one bit of its signature changed.
fn spoilt(envelope: &SealedEnvelope) -> Vec<u8> {
    let good = envelope.signature.to_string();
    let mut bytes = *envelope.signature.as_bytes();
    bytes[40] ^= 1;
    let bad = x811_protocol::signature::Signature::from_bytes(bytes).to_string();
    let text = String::from_utf8(envelope.json.clone()).unwrap();
    assert!(text.contains(&good));
    text.replace(&good, &bad).into_bytes()
}

#[tokio::test]
async fn ae_092_signatures_of_a_flood_are_checked_together() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let greetings = greetings(&ledgerbox, &deal.initiator, &deal.provider);
    assert_eq!(ledgerbox.ledger().figures().checked_together.get(), 0);
    let bytes = greetings.iter().map(|envelope| envelope.json.clone());
    for answer in flood(&ledgerbox, bytes.collect()).await {
        assert!(matches!(answer, Ok(Answer::Accepted(_))), "{answer:?}");
    }
    let together = ledgerbox.ledger().figures().checked_together.get();
    assert!(together > 200, "{together}");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn ae_095_bad_signatures_in_a_flood_are_refused_and_no_others() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let is_bad = |place: usize| place % 97 == 41;
    let greetings = greetings(&ledgerbox, &deal.initiator, &deal.provider);
    let bytes = greetings.iter().enumerate().map(|(place, envelope)| {
        if is_bad(place) {
            spoilt(envelope)
        } else {
            envelope.json.clone()
        }
    });
    let answers = flood(&ledgerbox, bytes.collect()).await;
    for (place, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(Answer::Accepted(_)) => assert!(!is_bad(place), "{place}"),
            Err(refusal) if refusal.code == Code::SignatureInvalid => {
                assert!(is_bad(place), "{place}");
                assert_eq!(refusal.related, Some(greetings[place].header.id));
            }
            other => panic!("{place}: {other:?}"),
        }
    }
    // None of those spent its nonce.
    for place in (0..MESSAGES).filter(|place| is_bad(*place)) {
        ledgerbox.accept(&greetings[place]).await;
    }
    ledgerbox.assert_log_adds_up().await;
}

/// Whoever goes away leaves the others of the group their answers.
#[tokio::test]
async fn ae_092_a_sender_that_is_gone_holds_up_nobody() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let greetings = greetings(&ledgerbox, &deal.initiator, &deal.provider);
    let sent = greetings.iter().map(|envelope| {
        let (ledger, bytes) = (ledgerbox.ledger().clone(), envelope.json.clone());
        tokio::spawn(async move { ledger.submit(bytes).await })
    });
    let sent: Vec<_> = sent.collect();
    tokio::task::yield_now().await;
    for gone in sent.iter().step_by(3) {
        gone.abort();
    }
    for (place, answer) in sent.into_iter().enumerate() {
        match answer.await {
            Ok(answer) => assert!(matches!(answer, Ok(Answer::Accepted(_))), "{answer:?}"),
            Err(error) => assert!(error.is_cancelled() && place % 3 == 0, "{place}"),
        }
    }
    ledgerbox.assert_log_adds_up().await;
}
