//! What holds for every message to the registry that is not a registration (ledger-contract.md
//! section 4). The input is a message type, a line feed and a payload; key 7 of the agent signs, and
//! key 8 may take its place.

use serde_json::{Map, Value};
use x811_eventlog::{Draft, Hash, Record};
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::envelope::{AcceptedHeader, Header, MessageType, seal};
use x811_protocol::event::{AgentEvent, AgentUpdated, Event, KeyRotated};
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::payload::registry::{Operation, Rotation, Update, Verb, rotation_message};
use x811_protocol::time::TimestampMs;

const AGENT: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
/// The ledger that proofs of the seeds are made for.
const LEDGER: &str = "did:x811:019b7c01-0400-7812-8d20-bfe044e4522c";
const MOMENT: TimestampMs = TimestampMs::new(1_767_225_600_000);

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let Some(line_end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let message_type = std::str::from_utf8(&bytes[..line_end]).map(str::parse);
    let Ok(Ok(message_type)) = message_type else {
        return;
    };
    let Ok(Some(verb)) = Verb::of(&message_type) else {
        return;
    };
    let Ok(Value::Object(payload)) = parse_strict(&bytes[line_end + 1..], &Limits::default())
    else {
        return;
    };
    let read = |payload| Operation::parse(verb, did(AGENT), did(LEDGER), key().public(), payload);
    let operation = match read(&payload) {
        Ok(operation) => operation,
        Err(refusal) => {
            assert!((400..500).contains(&refusal.http_status()), "{refusal:?}");
            let has_controls = refusal.message.chars().any(char::is_control);
            assert!(!has_controls, "{refusal:?}");
            return;
        }
    };
    assert_eq!(operation.verb(), verb);
    let canonical: Map<String, Value> =
        serde_json::from_slice(&to_canonical(&payload)).expect("canonical JSON is JSON");
    assert_eq!(read(&canonical), Ok(operation.clone()));
    match operation {
        Operation::Update(update) => check_update(*update, accepted(&message_type, payload)),
        Operation::Rotate(rotation) => check_rotation(*rotation, accepted(&message_type, payload)),
        Operation::Register(_)
        | Operation::Deactivate
        | Operation::Reactivate
        | Operation::Revoke => {}
    }
}

/// An update is of the agent itself, keeps exactly the keys that its document lists, and fits into
/// a record.
fn check_update(update: Update, envelope: AcceptedHeader) {
    let entry = update.entry.clone();
    assert_eq!(entry.document.id, did(AGENT));
    let listed: Vec<AgentKey> = entry
        .document
        .keys
        .iter()
        .map(|key| agent_key(*key))
        .collect();
    assert_eq!(update.keeps(&listed), Ok(()));
    assert!(update.keeps(&listed[1..]).is_err(), "a key was taken away");
    recorded(&Event::Agent(AgentEvent::Updated(AgentUpdated {
        wallets: entry.wallets,
        capabilities: entry.capabilities,
        document_digest: entry.document_digest,
        expires_at_ms: entry.expires_at_ms,
        envelope,
    })));
}

/// A rotation replaces the key that signed by one that has signed for it, and no other.
fn check_rotation(rotation: Rotation, envelope: AcceptedHeader) {
    let (old_key, new_key) = (rotation.old_key, rotation.new_key);
    assert_eq!(old_key, key().public());
    assert_eq!(rotation.document.id, did(AGENT));
    assert!(rotation.document.keys.contains(&new_key.key));
    assert!(!rotation.document.keys.contains(&old_key));
    let proved = rotation_message(did(AGENT), did(LEDGER), old_key, new_key.key);
    assert!(new_key.key.verify(proved.as_bytes(), &rotation.proof));
    let elsewhere = rotation_message(did(LEDGER), did(AGENT), old_key, new_key.key);
    assert!(!new_key.key.verify(elsewhere.as_bytes(), &rotation.proof));

    let others = rotation
        .document
        .keys
        .iter()
        .filter(|key| **key != new_key.key);
    let mut keys: Vec<AgentKey> = others.map(|key| agent_key(*key)).collect();
    assert!(
        rotation.replaces_one_of(&keys).is_err(),
        "the old key is not known"
    );
    keys.push(agent_key(old_key));
    assert_eq!(rotation.replaces_one_of(&keys), Ok(()));
    keys.push(new_key);
    assert!(
        rotation.replaces_one_of(&keys).is_err(),
        "the new key is known"
    );
    recorded(&Event::Agent(AgentEvent::KeyRotated(KeyRotated {
        old_key,
        new_key,
        proof: rotation.proof,
        document_digest: rotation.document_digest,
        envelope,
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
    seal(header, payload, &key(), Profile::Digest).accepted_header()
}

fn key() -> SecretKey {
    SecretKey::from_seed([7; 32])
}

fn agent_key(key: x811_protocol::key::PublicKey) -> AgentKey {
    AgentKey {
        key,
        profile: Profile::Digest,
    }
}

fn did(text: &str) -> Did {
    text.parse().expect("a DID")
}
