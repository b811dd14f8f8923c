//! What a message's turn checks again: the key, as of now (design.md section 4).

use super::*;
use crate::submission::{VerdictBasis, receive};
use serde_json::json;
use x811_protocol::did::Did;
use x811_protocol::envelope::{CoreType, Header, SealedEnvelope, seal};
use x811_protocol::event::{
    AgentEvent, AgentRegistered, AgentStatusChanged, KeyRotated, LedgerEvent, LedgerKeys,
    LedgerOpened,
};
use x811_protocol::id::Nonce;
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::parameters::{AEEP_LOOKS_MS, Limits, Parameters, PayerBindingRule, Windows};

pub(crate) const NOW: TimestampMs = TimestampMs::new(1_767_312_000_000);

pub(crate) fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed([seed; 32])
}

fn agent_key(seed: u8) -> AgentKey {
    AgentKey {
        key: key(seed).public(),
        profile: Profile::Digest,
    }
}

fn did(number: u8) -> Did {
    Did::from_uuid(uuid::Builder::from_random_bytes([number; 16]).into_uuid()).unwrap()
}

fn envelope(from: u8, to: u8, serial: u8) -> SealedEnvelope {
    let payload = json!({"code": "X811-9002", "message": "out of paper"});
    sealed(CoreType::Error, payload, from, to, serial)
}

fn sealed(
    message_type: CoreType,
    payload: serde_json::Value,
    from: u8,
    to: u8,
    serial: u8,
) -> SealedEnvelope {
    let header = Header {
        id: EnvelopeId::from_parts(NOW.as_ms(), &[serial; 10]),
        version: "0.1.0".to_owned(),
        message_type: x811_protocol::envelope::MessageType::Core(message_type),
        from: did(from),
        to: did(to),
        created_ms: NOW,
        expires_ms: None,
        nonce: Nonce::from_random([serial; 16]),
    };
    let payload = payload.as_object().unwrap().clone();
    seal(header, payload, &key(from), Profile::Digest)
}

/// A ledger where agents 1 and 2 are registered.
fn world() -> World {
    let mut draft = BatchDraft::on(&World::empty(), None);
    let opened = LedgerOpened {
        log_id: did(9).uuid(),
        did: did(9),
        origin: "ledger.example/x811".to_owned(),
        keys: LedgerKeys {
            envelope: key(9).public(),
            checkpoint: key(10).public(),
            receipt: key(11).public(),
        },
        format: 1,
        rules_version: x811_protocol::rules::Rules::LATEST.version(),
        continues: None,
        reader: x811_protocol::rules::Rules::LATEST.reader(),
    };
    let parameters = Parameters {
        windows: Windows::AEEP,
        looks_ms: AEEP_LOOKS_MS,
        networks: Vec::new(),
        payer_binding: PayerBindingRule::Wallet,
        limits: Limits::DEFAULT,
        lenient: Vec::new(),
        contracts: None,
        capabilities: None,
        rounds: None,
    };
    append(
        &mut draft,
        &Stream::Ledger,
        Event::Ledger(LedgerEvent::Opened(opened)),
    );
    append(
        &mut draft,
        &Stream::Ledger,
        Event::Ledger(LedgerEvent::ParametersSet(parameters)),
    );
    for agent in [1, 2] {
        let registered = AgentRegistered {
            keys: vec![agent_key(agent)],
            wallets: Vec::new(),
            capabilities: vec!["echo".to_owned()],
            document_digest: Digest::ZERO,
            expires_at_ms: None,
            reference_sdk: None,
            envelope: envelope(agent, 9, 100 + agent).accepted_header(),
        };
        let stream = Stream::Agent(did(agent));
        append(
            &mut draft,
            &stream,
            Event::Agent(AgentEvent::Registered(registered)),
        );
    }
    draft.finish().unwrap().world
}

/// The same, with a REQUEST of agent 1 to agent 2 that has found no OFFER in time.
pub(crate) fn lapsed() -> World {
    let world = world();
    let payload = json!({
        "task_type": "echo",
        "parameters": {},
        "max_budget": 1,
        "currency": "USDC",
        "deadline": 60,
        "acceptance_policy": "auto",
        "idempotency_key": "order-1",
    });
    let sealed = sealed(CoreType::Request, payload, 1, 2, 70);
    let message = receive(&sealed.json, &world, NOW).unwrap();
    let mut draft = BatchDraft::on(&world, None);
    let verdict = take(&mut draft, &message, &Lookups::default(), None, NOW).unwrap();
    assert!(matches!(verdict, TurnVerdict::Recorded(_)), "{verdict:?}");
    let late = NOW.saturating_add_ms(Windows::AEEP.offer_ms + 1);
    crate::watch::lapse(&mut draft, late).unwrap();
    draft.finish().unwrap().world
}

fn append(draft: &mut BatchDraft, stream: &Stream, event: Event) {
    draft.append(stream, event, None, NOW).unwrap();
}

/// What becomes of a message of agent 1 when `event` is recorded while it waits.
fn overtaken_by(event: Option<Event>) -> (BatchDraft, TurnVerdict, Digest) {
    let world = world();
    let sealed = envelope(1, 2, 50);
    let message = receive(&sealed.json, &world, NOW).unwrap();
    let mut draft = BatchDraft::on(&world, None);
    if let Some(event) = event {
        append(&mut draft, &Stream::Agent(did(1)), event);
    }
    let verdict = take(&mut draft, &message, &Lookups::default(), None, NOW).unwrap();
    (draft, verdict, message.header.nonce_tag)
}

#[test]
fn ae_092_a_message_signed_by_a_present_key_is_recorded() {
    let (draft, verdict, nonce_tag) = overtaken_by(None);
    let TurnVerdict::Recorded(position) = verdict else {
        panic!("{verdict:?}");
    };
    let first = draft.world().first_answer(&nonce_tag);
    assert_eq!(first, Some(FirstAnswer::Record(position)));
}

/// Each way in which the key of agent 1 ends.
fn ends_of_the_key() -> [Event; 3] {
    let by = || AgentStatusChanged {
        envelope: envelope(1, 9, 60).accepted_header(),
    };
    let rotated = KeyRotated {
        old_key: key(1).public(),
        new_key: agent_key(3),
        proof: key(3).sign(b"not looked at here"),
        document_digest: Digest::ZERO,
        envelope: envelope(1, 9, 60).accepted_header(),
    };
    [
        Event::Agent(AgentEvent::KeyRotated(rotated)),
        Event::Agent(AgentEvent::Deactivated(by())),
        Event::Agent(AgentEvent::Revoked(by())),
    ]
}

#[test]
fn ae_092_a_key_that_ended_while_the_message_waited_signs_nothing() {
    for event in ends_of_the_key() {
        let name = event.type_name();
        let (draft, verdict, nonce_tag) = overtaken_by(Some(event));
        let TurnVerdict::Refused(refusal) = verdict else {
            panic!("{name}: {verdict:?}");
        };
        assert_eq!(refusal.code, Code::SignatureInvalid, "{name}");
        assert_eq!(draft.world().first_answer(&nonce_tag), None, "{name}");
    }
}

/// True if a verdict on a signature of agent 1 is the same after `change`.
fn is_same_basis_after(change: impl FnOnce(&mut BatchDraft, &World)) -> bool {
    let arrival = world();
    let mut draft = BatchDraft::on(&arrival, None);
    change(&mut draft, &arrival);
    let newest = draft.finish().unwrap().world;
    assert_ne!(newest.head(), arrival.head(), "the change is recorded");
    VerdictBasis::of(&newest, did(1), NOW) == VerdictBasis::of(&arrival, did(1), NOW)
}

#[test]
fn ax_029_a_verdict_on_a_signature_changes_with_the_key_and_the_parameters() {
    for event in ends_of_the_key() {
        let name = event.type_name();
        let stream = Stream::Agent(did(1));
        let is_same = is_same_basis_after(|draft, _| append(draft, &stream, event));
        assert!(!is_same, "{name}");
    }
    let is_same = is_same_basis_after(|draft, arrival| {
        let (_, parameters) = arrival.parameters().unwrap();
        let set = LedgerEvent::ParametersSet((**parameters).clone());
        append(draft, &Stream::Ledger, Event::Ledger(set));
    });
    assert!(!is_same, "parameters");
}

/// A bad envelope of a megabyte must not be checked once more because others send messages.
#[test]
fn limits_a_verdict_on_a_signature_does_not_change_with_other_records() {
    for (from, to) in [(1, 2), (2, 1)] {
        let is_same = is_same_basis_after(|draft, arrival| {
            let message = receive(&envelope(from, to, 50).json, arrival, NOW).unwrap();
            let verdict = take(draft, &message, &Lookups::default(), None, NOW).unwrap();
            assert!(matches!(verdict, TurnVerdict::Recorded(_)), "{verdict:?}");
        });
        assert!(is_same, "a message from {from} to {to}");
    }
}
