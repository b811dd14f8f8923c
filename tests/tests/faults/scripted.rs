//! One short life of a ledger, the same each time: start, two registrations, messages, stop.

use crate::client::{Acknowledged, Agent, Told, ledger_did, post};
use crate::ledger::{Ended, Place};

/// Messages after the registrations.
const MESSAGES: usize = 6;

/// How such a life went.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) acknowledged: Acknowledged,
    /// Codes of the messages that were refused.
    pub(crate) refusals: Vec<String>,
    /// Messages that nobody answered.
    pub(crate) unanswered: usize,
    /// Whether it came as far as listening.
    pub(crate) has_started: bool,
    pub(crate) ended: Ended,
}

/// Lives it. What is not answered or refused is left; the next message follows.
pub(crate) async fn live(place: &Place) -> Life {
    let mut acknowledged = Acknowledged::default();
    let mut refusals = Vec::new();
    let mut unanswered = 0;
    let ledger = match place.try_start() {
        Ok(ledger) => ledger,
        Err(ended) => {
            return Life {
                acknowledged,
                refusals,
                unanswered,
                has_started: false,
                ended,
            };
        }
    };
    if let Some(did) = ledger_did(&ledger.url).await {
        let (mut anna, bob) = (Agent::new("anna"), Agent::new("bob"));
        let mut due = vec![anna.registration(did), bob.registration(did)];
        due.extend((0..MESSAGES).map(|_| anna.message(bob.identity.did, 100)));
        for envelope in due {
            match post(&ledger.url, &envelope).await {
                Told::Accepted(answer) => acknowledged.note(&answer),
                Told::Refused(_, body) => {
                    refusals.push(body["code"].as_str().unwrap_or_default().to_owned());
                }
                Told::Nothing => unanswered += 1,
            }
        }
    }
    Life {
        acknowledged,
        refusals,
        unanswered,
        has_started: true,
        ended: ledger.stop(),
    }
}

/// What must hold after any life: a start without faults works, everything acknowledged is there,
/// and the audit is clean.
pub(crate) async fn assert_whole(place: &Place, life: &Life, fault: &str) {
    let ledger = place.try_start();
    let ledger =
        ledger.unwrap_or_else(|ended| panic!("after {fault}: {ended:?}; before: {life:?}"));
    life.acknowledged.assert_found(&ledger.url, || true).await;
    let ended = ledger.stop();
    assert!(ended.status.success(), "after {fault}: {ended:?}");
    let audit = place.audit(life.acknowledged.head());
    assert_eq!(
        audit.code,
        Some(0),
        "after {fault}: {audit:?}; before: {life:?}"
    );
}
