//! Records that erase bodies of sessions and agreements that may not be erased, by somebody with the database
//! and every key of the ledger (machines.md section 6).

use serde_json::{Value, json};
use x811_audit::Cause;
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::parameters::Capabilities;
use x811_protocol::stream::{Stream, Subject};

use super::bargain::{Bargain, taking};
use super::party::Party;
use super::scene::{Kept, Parts, audit, exported, found};

const DECISION: Cause = Cause::ReDecisionDiffers;

/// A log with a session that was turned down and whose bodies were erased, one that waits for an answer, one
/// whose agreement is in force, and one whose agreement was revoked.
struct Scene {
    parts: Parts,
    open: Bargain,
    active: Bargain,
    revoked: Bargain,
    operator: Party,
    /// Place of the record that erased.
    at: usize,
}

fn session(bargain: &Bargain) -> Subject {
    Subject::Session(bargain.session.unwrap())
}

fn agreement(bargain: &Bargain) -> Subject {
    Subject::Agreement(bargain.agreement.unwrap().0)
}

impl Scene {
    async fn set() -> Scene {
        let ledgerbox = taking(Capabilities::DEFAULT).await;
        let mut rejected = Bargain::new(&ledgerbox).await;
        let (mut open, mut active, mut revoked) =
            (rejected.clone(), rejected.clone(), rejected.clone());
        let (consumer, provider) = (rejected.consumer.clone(), rejected.provider.clone());
        let (none, terms) = (Value::Null, Bargain::terms(86_400, 3));
        for (from, verb, extra) in [
            (&consumer, Verb::Request, &none),
            (&provider, Verb::Response, &none),
            (&consumer, Verb::Offer, &terms),
            (&provider, Verb::Reject, &none),
        ] {
            rejected.say(&ledgerbox, from, verb, extra).await;
        }
        for bargain in [&mut active, &mut revoked] {
            bargain.agree(&ledgerbox, &terms).await;
        }
        revoked
            .say(&ledgerbox, &consumer, Verb::Revoke, &none)
            .await;
        open.say(&ledgerbox, &consumer, Verb::Request, &none).await;
        ledgerbox.erase(session(&rejected)).await.unwrap();
        let parts = Parts::of(&exported(&ledgerbox).await);
        Scene {
            at: parts.find_event("bodies_erased"),
            open,
            active,
            revoked,
            operator: ledgerbox.identity,
            parts,
        }
    }

    /// The place of that message in the stream of a subject.
    fn place(&self, subject: Subject, verb: Verb) -> usize {
        let stream = Stream::Of(subject).to_string();
        self.parts.find(|kept: &Kept| {
            let event = &kept.draft.event;
            kept.draft.stream == stream && event["envelope"]["type"] == verb.as_str()
        })
    }

    /// The log whose record erases that message instead, by an order for just that.
    fn erasing(&self, subject: Subject, verb: Verb) -> Parts {
        let message = self.place(subject, verb);
        let mut parts = self.parts.clone();
        let now_s = parts.records[self.at].draft.recorded_at_ms / 1_000;
        let order = self.operator.order_erasure(subject, now_s);
        *parts.records[self.at].member("/positions") = json!([message]);
        *parts.records[self.at].member("/order") = json!(order);
        parts.records[message].body = None;
        parts
    }

    /// What an audit says first about the bodies of that record.
    #[track_caller]
    fn sentence(&self, subject: Subject, verb: Verb) -> String {
        let report = audit(&self.erasing(subject, verb).rehashed());
        let mut here = report.findings.iter();
        let here = here.find(|finding| {
            finding.position == self.at as u64
                && finding.field == "positions"
                && finding.cause == DECISION
        });
        here.expect("the erasure is found").sentence.clone()
    }
}

#[tokio::test]
async fn mach_6_an_erasure_of_a_closed_session_is_clean_and_listed() {
    let scene = Scene::set().await;
    let report = audit(&scene.parts.clone().rehashed());
    assert_eq!(found(&report), []);
    let absent = report.absent_bodies;
    assert_eq!((absent.erased, absent.missing), (4, 0));
    assert_eq!(absent.erasures.len(), 1);
    assert_eq!(absent.erasures[0].positions.len(), 4);
}

/// Who gains: whoever would rather not be held to what was said, and has the operator for a friend.
#[tokio::test]
async fn mach_6_what_was_open_or_in_force_was_not_erased() {
    let scene = Scene::set().await;
    for (subject, verb) in [
        (session(&scene.open), Verb::Request),
        (session(&scene.active), Verb::Request),
        (session(&scene.active), Verb::Offer),
    ] {
        let sentence = scene.sentence(subject, verb);
        assert!(sentence.contains("was not closed"), "{sentence}");
        assert!(sentence.contains(&subject.public_id()), "{sentence}");
    }
}

/// Neither by an order of the operator's, nor where the agreement is over.
#[tokio::test]
async fn mach_6_what_both_signed_is_never_erased() {
    let scene = Scene::set().await;
    let sentence = scene.sentence(session(&scene.revoked), Verb::Agree);
    assert!(sentence.contains("no other body is erased"), "{sentence}");
}

/// Of the agreement that is over its revocation may be, and nothing is found.
#[tokio::test]
async fn mach_6_a_revocation_and_the_session_behind_it_may_be_erased() {
    let scene = Scene::set().await;
    for (subject, verb) in [
        (agreement(&scene.revoked), Verb::Revoke),
        (session(&scene.revoked), Verb::Offer),
    ] {
        let report = audit(&scene.erasing(subject, verb).rehashed());
        assert_eq!(found(&report), []);
    }
}

/// An order for one subject is none for another of the same id.
#[tokio::test]
async fn mach_6_an_order_is_for_the_session_that_it_names() {
    let scene = Scene::set().await;
    for other in [session(&scene.revoked), agreement(&scene.revoked)] {
        let mut parts = scene.parts.clone();
        let now_s = parts.records[scene.at].draft.recorded_at_ms / 1_000;
        let order = scene.operator.order_erasure(other, now_s);
        *parts.records[scene.at].member("/order") = json!(order);
        let report = audit(&parts.rehashed());
        let sentence = &report.findings[0].sentence;
        assert!(sentence.contains("was ordered"), "{sentence}");
    }
}
