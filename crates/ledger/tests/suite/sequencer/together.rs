//! Signatures of many messages at once: each has the verdict that it has alone.

use super::deal::Deal;
use super::ledgerbox::Ledgerbox;
use super::party::Party;
use super::registry::{rotate, with_new_key};
use serde_json::json;
use std::sync::{Arc, Barrier, Mutex};
use tokio::task::JoinHandle;
use x811_ledger::answer::Answer;
use x811_ledger::port::NoContracts;
use x811_protocol::code::Code;
use x811_protocol::envelope::{AcceptedHeader, SealedEnvelope};
use x811_protocol::refusal::{Kind, Refusal};

/// Enough for groups, and for some that come too early or too late for one.
const MESSAGES: usize = 600;

type Sent = JoinHandle<Result<Answer, Refusal>>;

fn send_all(ledgerbox: &Ledgerbox, bytes: Vec<Vec<u8>>) -> Vec<Sent> {
    let send = |bytes| {
        let ledger = ledgerbox.ledger().clone();
        tokio::spawn(async move { ledger.submit(bytes).await })
    };
    bytes.into_iter().map(send).collect()
}

fn jsons(envelopes: &[SealedEnvelope]) -> Vec<Vec<u8>> {
    envelopes
        .iter()
        .map(|envelope| envelope.json.clone())
        .collect()
}

/// Sends all at once; their answers in the same order.
async fn flood(ledgerbox: &Ledgerbox, bytes: Vec<Vec<u8>>) -> Vec<Result<Answer, Refusal>> {
    let mut answers = Vec::new();
    for answer in send_all(ledgerbox, bytes) {
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
    for answer in flood(&ledgerbox, jsons(&greetings)).await {
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
    let sent = send_all(&ledgerbox, jsons(&greetings));
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

/// AX-29: the group was checked with a key that its sender has replaced meanwhile.
#[tokio::test]
async fn ax_029_a_flood_is_looked_at_again_when_the_keys_changed_meanwhile() {
    let ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let renewed = with_new_key(&ledgerbox, &party);
    let held = ledgerbox.store.hold_commits().await;
    // No group is checked before the rotation is durable.
    let gate = Arc::new(Barrier::new(rayon::current_num_threads() + 1));
    let closed = gate.clone();
    rayon::spawn_broadcast(move |_| {
        closed.wait();
    });
    let crowd = send_all(&ledgerbox, jsons(&greetings(&ledgerbox, &other, &party)));
    let signed_anew = send_all(&ledgerbox, jsons(&greetings(&ledgerbox, &renewed, &other)));
    let rotation = rotate(&ledgerbox, &party, &renewed);
    let rotation = send_all(&ledgerbox, jsons(&[rotation])).remove(0);
    tokio::task::yield_now().await;
    drop(held);
    rotation.await.unwrap().unwrap();
    gate.wait();
    for answer in crowd.into_iter().chain(signed_anew) {
        let answer = answer.await.unwrap();
        assert!(matches!(answer, Ok(Answer::Accepted(_))), "{answer:?}");
    }
    ledgerbox.assert_log_adds_up().await;
}

/// Sends all at once; whether the message at a place may go on is for `may` to say.
fn send_all_if(
    ledgerbox: &Ledgerbox,
    envelopes: &[SealedEnvelope],
    may: impl Fn(usize) -> Result<(), Refusal> + Clone + Send + Sync + 'static,
) -> Vec<Sent> {
    let send = |(place, envelope): (usize, &SealedEnvelope)| {
        let (ledger, may) = (ledgerbox.ledger().clone(), may.clone());
        let (bytes, id) = (envelope.json.clone(), envelope.header.id);
        let may = move |header: &AcceptedHeader| {
            assert_eq!(header.id, id);
            may(place)
        };
        tokio::spawn(async move { ledger.submit_if(bytes, may, &NoContracts).await })
    };
    envelopes.iter().enumerate().map(send).collect()
}

/// Whether a message may go on is asked once for each, and a no spends no nonce.
#[tokio::test]
async fn lc_3_in_a_flood_each_message_is_asked_about_once() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let greetings = greetings(&ledgerbox, &deal.initiator, &deal.provider);
    let may_not = |place: usize| place % 7 == 3;
    let asked = Arc::new(Mutex::new(vec![0; MESSAGES]));
    let counted = asked.clone();
    let may = move |place| {
        counted.lock().unwrap()[place] += 1;
        let refusal = || Refusal::new(Code::RateLimitExceeded, Kind::Limit, "too many");
        if may_not(place) {
            Err(refusal())
        } else {
            Ok(())
        }
    };
    let sent = send_all_if(&ledgerbox, &greetings, may);
    for (place, answer) in sent.into_iter().enumerate() {
        match answer.await.unwrap() {
            Ok(Answer::Accepted(_)) => assert!(!may_not(place), "{place}"),
            Err(refusal) if refusal.code == Code::RateLimitExceeded => {
                assert!(may_not(place), "{place}");
                assert_eq!(refusal.related, Some(greetings[place].header.id));
            }
            other => panic!("{place}: {other:?}"),
        }
    }
    assert!(ledgerbox.ledger().figures().checked_together.get() > 200);
    assert_eq!(*asked.lock().unwrap(), [1; MESSAGES]);
    for place in (0..MESSAGES).filter(|place| may_not(*place)) {
        ledgerbox.accept(&greetings[place]).await;
    }
    ledgerbox.assert_log_adds_up().await;
}

/// Whoever panics on the way of one message in a group: the others in it go alone.
#[tokio::test]
async fn ae_092_a_panic_in_a_group_costs_nobody_else_their_answer() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let greetings = greetings(&ledgerbox, &deal.initiator, &deal.provider);
    let may = |place| {
        assert_ne!(place, 450, "as it should");
        Ok(())
    };
    let sent = send_all_if(&ledgerbox, &greetings, may);
    for (place, answer) in sent.into_iter().enumerate() {
        match answer.await {
            Ok(Ok(Answer::Accepted(_))) => assert_ne!(place, 450),
            Err(error) => assert!(error.is_panic() && place == 450, "{place}"),
            other => panic!("{place}: {other:?}"),
        }
    }
    assert!(ledgerbox.ledger().figures().checked_together.get() > 0);
    ledgerbox.assert_log_adds_up().await;
}
