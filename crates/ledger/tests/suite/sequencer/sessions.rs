//! Sessions about capabilities and the agreements they come to (capability.md).

use super::bargain::{Bargain, taking};
use super::bundles::{audited, bundle_of};
use super::descriptors::{ADVERTISE, descriptor};
use super::ledgerbox::Ledgerbox;
use serde_json::{Value, json};
use x811_audit::audit_export;
use x811_protocol::code::Code;
use x811_protocol::event::{CloseReason, Effect, Event};
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::parameters::Capabilities;
use x811_protocol::stream::{Stream, Subject};

const NONE: &Value = &Value::Null;

async fn opened() -> (Ledgerbox, Bargain) {
    let ledgerbox = taking(Capabilities::DEFAULT).await;
    let bargain = Bargain::new(&ledgerbox).await;
    (ledgerbox, bargain)
}

/// Types of the events in that subject's stream.
pub(crate) async fn types(ledgerbox: &Ledgerbox, subject: Subject) -> Vec<&'static str> {
    let name = Stream::Of(subject).to_string();
    let events = ledgerbox.events().await;
    let of_it = events.iter().filter(|(record, _)| record.stream() == name);
    of_it.map(|(_, event)| event.type_name()).collect()
}

/// The same without notices, which are signed beside the sequencer and come when they come.
pub(crate) async fn types_but_notices(
    ledgerbox: &Ledgerbox,
    subject: Subject,
) -> Vec<&'static str> {
    let mut types = types(ledgerbox, subject).await;
    types.retain(|name| *name != "notice_issued");
    types
}

/// How each session closed, in order.
async fn closings(ledgerbox: &Ledgerbox) -> Vec<CloseReason> {
    let events = ledgerbox.events().await;
    let closed = events.iter().filter_map(|(_, event)| {
        let Event::Effect(Effect::SessionClosed(closed)) = event else {
            return None;
        };
        Some(closed.reason)
    });
    closed.collect()
}

/// It adds up, audits clean, and goes on the same after a restart.
async fn holds(ledgerbox: &mut Ledgerbox) {
    ledgerbox.assert_log_adds_up().await;
    let report = audited(ledgerbox).await;
    assert_eq!(report.findings, []);
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn cc_076_to_cc_085_from_a_request_to_an_agreement() {
    let (mut ledgerbox, mut bargain) = opened().await;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    let table = [
        (&consumer, Verb::Request, NONE.clone(), "requested"),
        (&provider, Verb::Response, NONE.clone(), "open"),
        (&consumer, Verb::Offer, Bargain::terms(60, 3), "offered"),
        (&provider, Verb::Counter, Bargain::terms(90, 2), "countered"),
        (&consumer, Verb::Accept, NONE.clone(), "agreeing"),
        (&provider, Verb::Agree, NONE.clone(), "agreeing"),
        (&consumer, Verb::Agree, NONE.clone(), "closed"),
    ];
    for (from, verb, extra, state) in table {
        let accepted = bargain.say(&ledgerbox, from, verb, &extra).await;
        assert_eq!(accepted.state, Some(state), "{verb}");
        let subject = accepted.subject.unwrap();
        assert_eq!(subject.kind, "session");
        assert_eq!(Some(subject.id), bargain.session.map(|id| id.to_string()));
    }
    let session = Subject::Session(bargain.session.unwrap());
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    assert_eq!(types(&ledgerbox, agreement).await, ["agreed"]);
    let of_session = types(&ledgerbox, session).await;
    assert_eq!(of_session.last(), Some(&"session_closed"));
    assert_eq!(of_session.len(), 8);
    assert_eq!(closings(&ledgerbox).await, [CloseReason::Agreed]);
    let rows = ledgerbox.rows.rows().subjects.clone();
    assert_eq!(rows[&session].state, "closed");
    assert_eq!(rows[&session].detail["reason"], "agreed");
    assert_eq!(rows[&agreement].state, "active");
    assert_eq!(rows[&agreement].detail["revision"], 1);
    assert_eq!(rows[&agreement].detail["limits"]["max_requests"], 2);
    holds(&mut ledgerbox).await;
    assert_eq!(rows.len(), 3, "descriptor, session, agreement");
}

/// CX-38: whatever ends a session, one record says how, and nothing is taken after it.
#[tokio::test]
async fn cx_38_every_session_ends_with_exactly_one_close() {
    let (mut ledgerbox, bargain) = opened().await;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    let request = Verb::Request;
    // Declined.
    let mut declined = bargain.clone();
    declined.say(&ledgerbox, &consumer, request, NONE).await;
    let mut unwilling = declined.payload(&ledgerbox, &provider, Verb::Response, NONE);
    unwilling["willing"] = json!(false);
    let unwilling = declined.seal(&ledgerbox, &provider, Verb::Response, unwilling);
    assert_eq!(ledgerbox.accept(&unwilling).await.state, Some("closed"));
    // Rejected.
    let mut rejected = bargain.clone();
    rejected.say(&ledgerbox, &consumer, request, NONE).await;
    rejected
        .say(&ledgerbox, &provider, Verb::Response, NONE)
        .await;
    let terms = Bargain::terms(60, 1);
    rejected
        .say(&ledgerbox, &consumer, Verb::Offer, &terms)
        .await;
    rejected
        .say(&ledgerbox, &provider, Verb::Reject, NONE)
        .await;
    // Abandoned, by either.
    for party in [&consumer, &provider] {
        let mut left = bargain.clone();
        left.say(&ledgerbox, &consumer, request, NONE).await;
        left.say(&ledgerbox, party, Verb::Close, NONE).await;
        let again = left.message(&ledgerbox, party, Verb::Close, NONE);
        assert_eq!(ledgerbox.code(&again).await, Code::Closed);
    }
    // Time.
    let mut silent = bargain.clone();
    silent.say(&ledgerbox, &consumer, request, NONE).await;
    ledgerbox.advance_ms(30_001).await;
    let late = silent.message(&ledgerbox, &provider, Verb::Response, NONE);
    assert_eq!(ledgerbox.code(&late).await, Code::Closed);
    use CloseReason::{Abandoned, Declined, Rejected, Timeout};
    let ended = closings(&ledgerbox).await;
    assert_eq!(ended, [Declined, Rejected, Abandoned, Abandoned, Timeout]);
    holds(&mut ledgerbox).await;
    assert!(ledgerbox.ledger().world().next_deadline().is_none());
}

/// CX-33: what is unavailable is declined by the ledger, at once.
#[tokio::test]
async fn cx_33_an_unavailable_capability_is_declined_at_once() {
    let (mut ledgerbox, mut bargain) = opened().await;
    let mut advert = descriptor(&bargain.provider, 2);
    advert["capabilities"][1]["availability"] = json!("unavailable");
    let advert = ledgerbox.seal(&bargain.provider, ADVERTISE, &ledgerbox.identity, advert);
    ledgerbox.accept(&advert).await;
    let consumer = bargain.consumer.clone();
    let accepted = bargain
        .say(&ledgerbox, &consumer, Verb::Request, NONE)
        .await;
    assert_eq!(
        (accepted.state, accepted.deadline_at_ms),
        (Some("closed"), None)
    );
    assert_eq!(closings(&ledgerbox).await, [CloseReason::Declined]);
    holds(&mut ledgerbox).await;
}

/// CX-36, CC-73: the version is settled before anything is offered, and none is a refusal.
#[tokio::test]
async fn cc_073_a_request_without_a_common_version_or_type_is_refused() {
    let (ledgerbox, bargain) = opened().await;
    let consumer = &bargain.consumer;
    let with = |change: &dyn Fn(&mut Value)| {
        let mut payload = bargain.payload(&ledgerbox, consumer, Verb::Request, NONE);
        change(&mut payload);
        bargain.seal(&ledgerbox, consumer, Verb::Request, payload)
    };
    let strange = with(&|payload| payload["protocol"]["min"] = json!("2.1.1"));
    assert_eq!(ledgerbox.code(&strange).await, Code::VersionMismatch);
    let other = with(&|payload| payload["type"] = json!("tool.api"));
    assert_eq!(ledgerbox.code(&other).await, Code::NotEligible);
    let own = with(&|payload| payload["type"] = json!("nonsense"));
    assert_eq!(ledgerbox.code(&own).await, Code::Schema);
    // CX-43: the schema asks for one of two languages.
    for strange in [json!({"to": "fr"}), json!({}), json!({"to": ["de"]})] {
        let unfit = with(&|payload| payload["parameters"] = strange.clone());
        assert_eq!(ledgerbox.code(&unfit).await, Code::Schema, "{strange}");
    }
    let half = with(&|payload| payload["revision"] = json!(1));
    assert_eq!(ledgerbox.code(&half).await, Code::Schema);
    let nobody = ledgerbox.seal(
        consumer,
        Verb::Request.as_str(),
        &bargain.stranger,
        bargain.payload(&ledgerbox, consumer, Verb::Request, NONE),
    );
    assert_eq!(ledgerbox.code(&nobody).await, Code::NotEligible);
    ledgerbox.assert_log_adds_up().await;
}

/// CX-39: five counters of both sides together; a sixth is refused and the session stays.
#[tokio::test]
async fn cx_39_a_sixth_counter_is_refused_and_the_session_stays() {
    let (mut ledgerbox, mut bargain) = opened().await;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    bargain
        .say(&ledgerbox, &consumer, Verb::Request, NONE)
        .await;
    bargain
        .say(&ledgerbox, &provider, Verb::Response, NONE)
        .await;
    let terms = Bargain::terms(60, 1);
    bargain
        .say(&ledgerbox, &consumer, Verb::Offer, &terms)
        .await;
    for turn in 0..5 {
        let from = [&provider, &consumer][turn % 2];
        let again = bargain.message(
            &ledgerbox,
            [&consumer, &provider][turn % 2],
            Verb::Counter,
            &terms,
        );
        assert_eq!(ledgerbox.code(&again).await, Code::NotYourTurn);
        let terms = Bargain::terms(61 + turn as u64, 1);
        bargain.say(&ledgerbox, from, Verb::Counter, &terms).await;
    }
    let sixth = bargain.message(&ledgerbox, &consumer, Verb::Counter, &terms);
    assert_eq!(ledgerbox.code(&sixth).await, Code::LimitReached);
    bargain.say(&ledgerbox, &consumer, Verb::Accept, NONE).await;
    holds(&mut ledgerbox).await;
}

/// CX-40: both sign the one object that both derive, each by the key of the envelope.
#[tokio::test]
async fn cx_40_no_other_object_or_key_makes_an_agreement() {
    let (mut ledgerbox, mut bargain) = opened().await;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    let terms = Bargain::terms(60, 1);
    bargain.accept(&ledgerbox, &consumer, &terms).await;
    let good = bargain.object(&ledgerbox);
    let code = async |object: &Value, by: &super::party::Party| {
        let payload = Bargain::signature(by, object);
        let envelope = bargain.seal(&ledgerbox, &consumer, Verb::Agree, payload);
        ledgerbox.code(&envelope).await
    };
    for (member, value, due) in [
        ("revision", json!(2), Code::TermsMismatch),
        ("consumer", json!(provider.did), Code::TermsMismatch),
        ("provider", json!(consumer.did), Code::TermsMismatch),
        ("type", json!("compute.inference"), Code::TermsMismatch),
        ("version", json!("2.0.0"), Code::TermsMismatch),
        ("parameters", json!({"to": "en"}), Code::TermsMismatch),
        ("terms", Bargain::terms(61, 1), Code::TermsMismatch),
        ("ledger", json!(consumer.did), Code::Schema),
        ("more", json!(1), Code::Schema),
    ] {
        let mut object = good.clone();
        object[member] = value;
        assert_eq!(code(&object, &consumer).await, due, "{member}");
    }
    assert_eq!(
        code(&good, &provider).await,
        Code::JwsInvalid,
        "another key"
    );
    let mut swapped = Bargain::signature(&consumer, &good);
    swapped["agreement"]["terms"]["duration_s"] = json!(6000);
    let swapped = bargain.seal(&ledgerbox, &consumer, Verb::Agree, swapped);
    assert_eq!(ledgerbox.code(&swapped).await, Code::JwsInvalid);
    bargain.say(&ledgerbox, &consumer, Verb::Agree, NONE).await;
    let twice = bargain.message(&ledgerbox, &consumer, Verb::Agree, NONE);
    assert_eq!(ledgerbox.code(&twice).await, Code::Duplicate);
    let stranger = bargain.stranger.clone();
    let strange = bargain.message(&ledgerbox, &stranger, Verb::Agree, NONE);
    assert_eq!(ledgerbox.code(&strange).await, Code::Closed);
    bargain.say(&ledgerbox, &provider, Verb::Agree, NONE).await;
    assert_eq!(closings(&ledgerbox).await, [CloseReason::Agreed]);
    holds(&mut ledgerbox).await;
}

/// CX-41: use is held to what was agreed, expiry needs no message, either revokes at once.
#[tokio::test]
async fn cc_086_an_agreement_holds_until_it_ends_or_is_revoked() {
    let (mut ledgerbox, mut bargain) = opened().await;
    bargain.agree(&ledgerbox, &Bargain::terms(600, 3)).await;
    for _ in 0..2 {
        let (_, request) = bargain.use_it(&ledgerbox, |_| {});
        ledgerbox.accept(&request).await;
    }
    let (_, third) = bargain.use_it(&ledgerbox, |_| {});
    assert_eq!(ledgerbox.code(&third).await, Code::RateLimitExceeded);
    ledgerbox.advance_ms(60_000).await;
    ledgerbox.accept(&third).await;
    let (_, fourth) = bargain.use_it(&ledgerbox, |_| {});
    assert_eq!(ledgerbox.code(&fourth).await, Code::InvalidStateTransition);
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    let of_it = types(&ledgerbox, agreement).await;
    assert_eq!(of_it, ["agreed", "used", "used", "used"]);
    // More was needed: the same agreement, its next revision, its counters anew.
    bargain.agree(&ledgerbox, &Bargain::terms(60, 5)).await;
    let (_, large) = bargain.use_it(&ledgerbox, |payload| {
        payload["parameters"]["text"] = json!("a".repeat(5_000));
    });
    assert_eq!(ledgerbox.code(&large).await, Code::ResultTooLarge);
    let (_, other) = bargain.use_it(&ledgerbox, |payload| {
        payload["task_type"] = json!("compute.inference");
    });
    assert_eq!(ledgerbox.code(&other).await, Code::InvalidStateTransition);
    let (_, request) = bargain.use_it(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    ledgerbox.advance_ms(60_001).await;
    let (_, late) = bargain.use_it(&ledgerbox, |_| {});
    assert_eq!(ledgerbox.code(&late).await, Code::InvalidStateTransition);
    let ended = types(&ledgerbox, agreement).await;
    assert_eq!(
        ended[ended.len() - 3..],
        ["lapsed", "notice_issued", "notice_issued"]
    );

    let mut revoked = bargain.clone();
    revoked.agreement = None;
    revoked.agree(&ledgerbox, &Bargain::terms(600, 3)).await;
    let stranger = revoked.stranger.clone();
    let strange = revoked.message(&ledgerbox, &stranger, Verb::Revoke, NONE);
    assert_eq!(ledgerbox.code(&strange).await, Code::Closed);
    let provider = revoked.provider.clone();
    let accepted = revoked.say(&ledgerbox, &provider, Verb::Revoke, NONE).await;
    assert_eq!(accepted.state, Some("revoked"));
    let (_, late) = revoked.use_it(&ledgerbox, |_| {});
    assert_eq!(ledgerbox.code(&late).await, Code::InvalidStateTransition);
    holds(&mut ledgerbox).await;
}

/// Notices about an agreement are owed for a moment after its end, and it is held so long: no message is taken
/// under it meanwhile.
#[tokio::test]
async fn cc_086_a_message_that_finds_the_end_of_its_agreement_is_refused() {
    let (mut ledgerbox, mut bargain) = opened().await;
    bargain.agree(&ledgerbox, &Bargain::terms(60, 3)).await;
    let (_, request) = bargain.use_it(&ledgerbox, |_| {});
    let mut renewal = bargain.clone();
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    let terms = Bargain::terms(600, 3);
    renewal.accept(&ledgerbox, &consumer, &terms).await;
    renewal.say(&ledgerbox, &consumer, Verb::Agree, NONE).await;
    let second = renewal.message(&ledgerbox, &provider, Verb::Agree, NONE);
    let another = bargain.message(&ledgerbox, &consumer, Verb::Request, NONE);
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    ledgerbox.settle().await;
    ledgerbox.clock.advance_ms(60_001);
    let refusals = [
        (request, Code::InvalidStateTransition),
        (second, Code::Closed),
        (another, Code::Closed),
    ];
    for (message, code) in refusals {
        assert_eq!(ledgerbox.code(&message).await, code);
    }
    assert_eq!(
        types_but_notices(&ledgerbox, agreement).await,
        ["agreed", "lapsed"]
    );
    holds(&mut ledgerbox).await;
}

/// CX-42: of two sessions about one revision one wins, and what fails changes nothing.
#[tokio::test]
async fn cx_42_of_two_renewals_of_one_revision_one_comes_into_force() {
    let (mut ledgerbox, mut bargain) = opened().await;
    bargain.agree(&ledgerbox, &Bargain::terms(600, 3)).await;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    let (mut one, mut other) = (bargain.clone(), bargain.clone());
    one.accept(&ledgerbox, &consumer, &Bargain::terms(700, 4))
        .await;
    other
        .accept(&ledgerbox, &provider, &Bargain::terms(800, 5))
        .await;
    one.say(&ledgerbox, &consumer, Verb::Agree, NONE).await;
    other.say(&ledgerbox, &provider, Verb::Agree, NONE).await;
    other.say(&ledgerbox, &consumer, Verb::Agree, NONE).await;
    let late = one.message(&ledgerbox, &provider, Verb::Agree, NONE);
    assert_eq!(ledgerbox.code(&late).await, Code::TermsMismatch);
    let stale = bargain.message(&ledgerbox, &consumer, Verb::Request, NONE);
    assert_eq!(ledgerbox.code(&stale).await, Code::TermsMismatch);
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    assert_eq!(types(&ledgerbox, agreement).await, ["agreed", "agreed"]);
    let row = ledgerbox.rows.rows().subjects[&agreement].clone();
    assert_eq!(row.detail["revision"], 2);
    assert_eq!(row.detail["consumer"], json!(consumer.did), "for ever");
    ledgerbox.advance_ms(31_000).await;
    holds(&mut ledgerbox).await;
}

/// Downtime moves the ledger's windows, never what both signed.
#[tokio::test]
async fn cx_37_downtime_moves_windows_and_no_duration() {
    let (mut ledgerbox, mut bargain) = opened().await;
    bargain.agree(&ledgerbox, &Bargain::terms(60, 3)).await;
    let mut waiting = bargain.clone();
    waiting.agreement = None;
    let consumer = bargain.consumer.clone();
    waiting
        .say(&ledgerbox, &consumer, Verb::Request, NONE)
        .await;
    ledgerbox.down_ms(120_000).await;
    ledgerbox.advance_ms(1_000).await;
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    let of_it = types(&ledgerbox, agreement).await;
    assert_eq!(of_it[..2], ["agreed", "lapsed"]);
    let provider = bargain.provider.clone();
    waiting
        .say(&ledgerbox, &provider, Verb::Response, NONE)
        .await;
    holds(&mut ledgerbox).await;
}

/// The bundle of an agreement brings its sessions and the descriptor they rest on; that of a session or
/// of an interaction under the agreement brings the agreement. Each is clean by itself.
#[tokio::test]
async fn mach_10_agreements_sessions_and_uses_are_audited_offline() {
    let (ledgerbox, mut bargain) = opened().await;
    bargain.agree(&ledgerbox, &Bargain::terms(600, 3)).await;
    let (id, request) = bargain.use_it(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let first = bargain.session.unwrap();
    bargain.agree(&ledgerbox, &Bargain::terms(60, 5)).await;
    let provider = bargain.provider.clone();
    bargain.say(&ledgerbox, &provider, Verb::Revoke, NONE).await;
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    let session = Subject::Session(first);
    for subject in [agreement, session, Subject::Interaction(id.into())] {
        let bytes = bundle_of(&ledgerbox, subject).await;
        let report = audit_export(&bytes[..], None).unwrap();
        assert_eq!(report.findings, [], "{subject}");
        let extract = report.extract.unwrap();
        assert_eq!(extract.open_ended, 0);
        let text = String::from_utf8(bytes).unwrap();
        // Each revision, and the revocation, is there; without it the file is not clean.
        for hidden in [
            "\"type\":\"agreed\"",
            "capability/revoke\"",
            "\"type\":\"session_closed\"",
        ] {
            let is_shown = |line: &&str| !line.contains(hidden);
            let without: String = text.split_inclusive('\n').filter(is_shown).collect();
            assert_ne!(without, text, "{subject} {hidden}");
            let report = audit_export(without.as_bytes(), None).unwrap();
            assert_ne!(report.findings, [], "{subject} {hidden}");
        }
    }
}
