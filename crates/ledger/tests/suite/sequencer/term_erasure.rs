//! Bodies of sessions and agreements that an operator has erased (machines.md section 6).

use super::bargain::{Bargain, taking};
use super::bundles::{audited, bundle_of};
use super::ledgerbox::Ledgerbox;
use serde_json::Value;
use x811_audit::audit_export;
use x811_ledger::port::LedgerStore as _;
use x811_ledger::sequencer::ErasureAnswer;
use x811_protocol::code::Code;
use x811_protocol::event::Event;
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::id::SessionId;
use x811_protocol::parameters::Capabilities;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::stream::{Stream, Subject};

/// Bodies stay, and the refusal says why.
#[track_caller]
pub(crate) fn assert_refused(erased: Result<ErasureAnswer, Refusal>, why: &str) {
    let refusal = erased.unwrap_err();
    assert_eq!(refusal.code, Code::InvalidStateTransition, "{refusal}");
    assert!(refusal.message.contains(why), "{}", refusal.message);
}

/// Positions of the messages of a stream, without those that both sign of an agreement, and of those.
async fn messages(ledgerbox: &Ledgerbox, subject: Subject) -> (Vec<u64>, Vec<u64>) {
    let (mut erasable, mut signed) = (Vec::new(), Vec::new());
    for (record, event) in ledgerbox.events().await {
        let Event::EnvelopeAccepted(accepted) = event else {
            continue;
        };
        if record.stream() != Stream::Of(subject).to_string() {
            continue;
        }
        let is_signed = accepted.envelope.message_type.as_str() == Verb::Agree.as_str();
        let into = if is_signed {
            &mut signed
        } else {
            &mut erasable
        };
        into.push(record.position());
    }
    (erasable, signed)
}

/// The log is clean and says how many bodies are erased; so do bundles.
async fn says_so(ledgerbox: &mut Ledgerbox, subjects: &[Subject], erased: u64) {
    ledgerbox.settle().await;
    let report = audited(ledgerbox).await;
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(report.signatures_valid, report.envelopes);
    let absent = report.absent_bodies;
    assert_eq!((absent.erased, absent.missing), (erased, 0));
    for subject in subjects {
        let bundle = bundle_of(ledgerbox, *subject).await;
        let alone = audit_export(&bundle[..], None).unwrap();
        assert_eq!(alone.findings, []);
        assert!(alone.absent_bodies.erased > 0, "{subject:?}");
        assert_eq!(alone.absent_bodies.missing, 0);
    }
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
}

/// Terms are negotiated and turned down.
async fn rejected(ledgerbox: &Ledgerbox) -> Bargain {
    let mut bargain = Bargain::new(ledgerbox).await;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    let (none, terms) = (Value::Null, Bargain::terms(86_400, 3));
    for (from, verb, extra) in [
        (&consumer, Verb::Request, &none),
        (&provider, Verb::Response, &none),
        (&consumer, Verb::Offer, &terms),
        (&provider, Verb::Counter, &terms),
        (&consumer, Verb::Reject, &none),
    ] {
        bargain.say(ledgerbox, from, verb, extra).await;
    }
    bargain
}

#[tokio::test]
async fn mach_6_every_message_of_a_session_without_an_agreement_is_erased() {
    let mut ledgerbox = taking(Capabilities::DEFAULT).await;
    let bargain = rejected(&ledgerbox).await;
    let session = Subject::Session(bargain.session.unwrap());
    let (due, signed) = messages(&ledgerbox, session).await;
    assert_eq!((due.len(), signed.len()), (5, 0));
    let before = audited(&ledgerbox).await;
    let done = ledgerbox.erase(session).await.unwrap();
    assert_eq!((&done.erased, done.kept.len()), (&due, 0));
    assert_eq!(done.session_id, bargain.session);
    assert_eq!((done.interaction_id, done.negotiation_id), (None, None));
    ledgerbox.settle().await;
    assert!(ledgerbox.store.bodies(&due).await.unwrap().is_empty());
    let after = audited(&ledgerbox).await;
    assert_eq!(after.facts.asserted, before.facts.asserted + 5);
    assert_eq!(after.facts.proven, before.facts.proven - 5);
    says_so(&mut ledgerbox, &[session], 5).await;
    let why = format!("erased before: the record at position {}", done.position);
    assert_refused(ledgerbox.erase(session).await, &why);
}

/// While anybody may still answer, or rest on what was agreed, the wording is what they go by.
#[tokio::test]
async fn mach_6_a_session_that_is_open_or_whose_agreement_is_in_force_keeps_its_messages() {
    let ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    let consumer = bargain.consumer.clone();
    let mut open = bargain.clone();
    open.say(&ledgerbox, &consumer, Verb::Request, &Value::Null)
        .await;
    let asked = Subject::Session(open.session.unwrap());
    assert_refused(ledgerbox.erase(asked).await, "session is requested");
    // Nobody answers: once both are told, it is closed.
    ledgerbox.advance_ms(30_001).await;
    let done = ledgerbox.erase(asked).await.unwrap();
    assert_eq!(done.erased, messages(&ledgerbox, asked).await.0);

    bargain.agree(&ledgerbox, &Bargain::terms(86_400, 3)).await;
    let made = Subject::Session(bargain.session.unwrap());
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    for subject in [made, agreement] {
        assert_refused(ledgerbox.erase(subject).await, "agreement is active");
    }
    assert!(audited(&ledgerbox).await.is_clean());
}

/// Both parties signed the terms: that stays, and so does its JWS, for whoever has to show them.
#[tokio::test]
async fn mach_6_what_both_signed_of_an_agreement_stays_for_ever() {
    let mut ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    bargain.agree(&ledgerbox, &Bargain::terms(86_400, 3)).await;
    let first = Subject::Session(bargain.session.unwrap());
    bargain.agree(&ledgerbox, &Bargain::terms(86_400, 4)).await;
    let second = Subject::Session(bargain.session.unwrap());
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    let provider = bargain.provider.clone();
    bargain
        .say(&ledgerbox, &provider, Verb::Revoke, &Value::Null)
        .await;
    let mut erased = 0;
    for (subject, count) in [(first, 4), (second, 4), (agreement, 1)] {
        let (due, signed) = messages(&ledgerbox, subject).await;
        let done = ledgerbox.erase(subject).await.unwrap();
        assert_eq!((&done.erased, done.kept.len()), (&due, 0));
        assert_eq!(due.len(), count);
        ledgerbox.settle().await;
        assert!(ledgerbox.store.bodies(&due).await.unwrap().is_empty());
        let stays = ledgerbox.store.bodies(&signed).await.unwrap();
        assert_eq!(stays.len(), signed.len());
        erased += count as u64;
    }
    says_so(&mut ledgerbox, &[first, second, agreement], erased).await;
}

/// An agreement that nobody revoked has no message of its own.
#[tokio::test]
async fn mach_6_of_an_agreement_that_ended_by_itself_there_is_nothing_to_erase() {
    let ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    bargain.agree(&ledgerbox, &Bargain::terms(60, 3)).await;
    ledgerbox.advance_ms(60_001).await;
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    assert_refused(ledgerbox.erase(agreement).await, "no message of it");

    let nobodys: SessionId = "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap();
    for subject in [
        Subject::Session(nobodys),
        Subject::Agreement(nobodys.into()),
    ] {
        let refusal = ledgerbox.erase(subject).await.unwrap_err();
        assert_eq!((refusal.kind, refusal.http_status()), (Kind::NotFound, 404));
    }
}
