//! What holds for the facts of every payload (record.md section 3, AE-39 to AE-66). The input is a
//! message type, a line feed and a payload.

use serde_json::{Map, Value};
use x811_eventlog::{Draft, Hash, Record};
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::envelope::{AcceptedHeader, Header, MessageType, seal};
use x811_protocol::event::{AgentEvent, AgentRegistered, Derived, EnvelopeAccepted, Event};
use x811_protocol::facts::Facts;
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::key::{Profile, SecretKey};
use x811_protocol::payload::registry::Registration;
use x811_protocol::payload::{PayloadRules, facts};
use x811_protocol::time::TimestampMs;

const REGISTER: &str = "x811.registry/register";
const AGENT: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
/// The ledger that the wallets of the seeds are bound for.
const LEDGER: &str = "did:x811:019b7c01-0400-7812-8d20-bfe044e4522c";
const MOMENT: TimestampMs = TimestampMs::new(1_767_225_600_000);

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let Some(line_end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let Ok(Ok(message_type)) = std::str::from_utf8(&bytes[..line_end]).map(str::parse) else {
        return;
    };
    let Ok(Value::Object(payload)) = parse_strict(&bytes[line_end + 1..], &Limits::default())
    else {
        return;
    };
    for lenient_addresses in [false, true] {
        let rules = PayloadRules {
            lenient_addresses,
            ..PayloadRules::default()
        };
        check_facts(&message_type, &payload, &rules);
    }
    if message_type.as_str() == REGISTER {
        check_registration(&message_type, payload);
    }
}

/// Facts are those of the canonical form, have one form of their own, and fit into a record.
fn check_facts(message_type: &MessageType, payload: &Map<String, Value>, rules: &PayloadRules) {
    let found = match facts(message_type, did(AGENT), payload, rules) {
        Ok(found) => found,
        Err(refusal) => {
            assert!((400..500).contains(&refusal.http_status()), "{refusal:?}");
            assert!(
                !refusal.message.chars().any(char::is_control),
                "{refusal:?}"
            );
            return;
        }
    };
    let canonical: Map<String, Value> =
        serde_json::from_slice(&to_canonical(payload)).expect("canonical JSON is JSON");
    assert_eq!(
        facts(message_type, did(AGENT), &canonical, rules),
        Ok(found.clone())
    );

    let written = found.to_value();
    assert_eq!(Facts::from_value(message_type, &written), Ok(found.clone()));
    recorded(&Event::EnvelopeAccepted(EnvelopeAccepted {
        envelope: accepted(message_type, payload.clone()),
        facts: found,
        derived: Derived::default(),
    }));
}

/// What registers fits into a record.
fn check_registration(message_type: &MessageType, payload: Map<String, Value>) {
    let named = payload
        .get("document")
        .and_then(|document| document.get("id")?.as_str()?.parse().ok());
    let from = named.unwrap_or_else(|| did(AGENT));
    let Ok(registration) = Registration::parse(from, did(LEDGER), &payload) else {
        return;
    };
    assert!((1..=8).contains(&registration.keys.len()));
    recorded(&Event::Agent(AgentEvent::Registered(AgentRegistered {
        keys: registration.keys,
        wallets: registration.entry.wallets,
        capabilities: registration.entry.capabilities,
        document_digest: registration.entry.document_digest,
        expires_at_ms: registration.entry.expires_at_ms,
        reference_sdk: None,
        envelope: accepted(message_type, payload),
    })));
}

/// The leaf rules hold, integers included, and the event is read back as it was.
fn recorded(event: &Event) {
    let draft = Draft {
        recorded_at_ms: MOMENT.as_ms(),
        stream: "fuzz".to_owned(),
        stream_seq: 0,
        event: serde_json::to_value(event).expect("events are plain JSON"),
    };
    let record = Record::seal(0, Hash::ZERO, draft).expect("every accepted message has a leaf");
    let read = Record::parse(record.bytes().to_vec()).expect("and its leaf is read");
    let found = Event::from_json(read.event_json()).expect("as an event");
    assert_eq!(found, *event);
}

fn accepted(message_type: &MessageType, payload: Map<String, Value>) -> AcceptedHeader {
    let header = Header {
        id: EnvelopeId::from_parts(MOMENT.as_ms(), &[1; 10]),
        version: "0.1.0".to_owned(),
        message_type: message_type.clone(),
        from: did(AGENT),
        to: did(LEDGER),
        created_ms: MOMENT,
        expires_ms: None,
        nonce: Nonce::from_random([2; 16]),
    };
    let key = SecretKey::from_seed([7; 32]);
    seal(header, payload, &key, Profile::Digest).accepted_header()
}

fn did(text: &str) -> Did {
    text.parse().expect("a DID")
}
