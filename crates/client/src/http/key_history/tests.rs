//! Former keys: those that lead to the present ones are believed where they were in force, and no
//! others, whatever the ledger shows.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::event::LedgerKeyRotated;
use x811_protocol::key::SecretKey;
use x811_protocol::signature::Signature;

use super::*;
use crate::compose::{Composer, Custom, Payload, Rotation};
use crate::entropy::SystemEntropy;
use crate::http::RetryPolicy;
use crate::identity::Identity;
use crate::testing::{CountingEntropy, ManualClock, Step, identity, ledger_did, scripted_ledger};

/// Where the records stand: registered, and two rotations.
const POSITIONS: [u64; 3] = [10, 20, 30];

/// An agent with three keys in turn, and the records that gave it them.
struct Agent {
    turns: [Identity; 3],
    records: Vec<HistoryRecord>,
}

impl Agent {
    fn new() -> Agent {
        Agent::signing(Profile::Digest)
    }

    fn signing(profile: Profile) -> Agent {
        let mut first = identity("alice", &CountingEntropy::default());
        first.profile = profile;
        let with_key = |seed| Identity {
            signing_key: SecretKey::from_seed([seed; 32]),
            ..first.clone()
        };
        let turns = [first.clone(), with_key(1), with_key(2)];
        let records = vec![
            registered(&turns[0]),
            rotated(1, &turns[0], &turns[1], ledger_did()),
            rotated(2, &turns[1], &turns[2], ledger_did()),
        ];
        Agent { turns, records }
    }

    fn did(&self) -> Did {
        self.turns[0].did
    }

    fn present(&self) -> AgentKey {
        self.turns[2].agent_key()
    }

    /// What the ledger answers to who asks for the present keys.
    fn present_steps(&self) -> [Step; 2] {
        let key = self.present();
        let shown = json!({
            "did": self.did(), "status": "active", "capabilities": [], "wallets": [],
            "keys": [key], "registered_at_ms": 1, "position": POSITIONS[0],
        });
        let document = DidDocument::build(self.did(), &[key], None);
        [Step::json(200, shown), Step::json(200, document)]
    }

    /// What it answers to who asks for the former ones, a page for each two records.
    fn history_steps(&self) -> Vec<Step> {
        let pages = self.records.chunks(2).enumerate().map(|(page, records)| {
            let records: Vec<Value> = records.iter().map(wire).collect();
            let next = (page == 0).then_some(1);
            Step::json(
                200,
                json!({"did": self.did(), "records": records, "next": next}),
            )
        });
        let info = json!({
            "did": ledger_did(), "log_id": "l", "origin": "o", "protocol_versions": ["0"],
            "networks": [], "payer_binding": "wallet", "looks_ms": [1, 2, 3, 4],
            "windows": {
                "offer_ms": 1, "accept_ms": 1, "result_ms": 1, "verify_ms": 1, "payment_ms": 1,
                "confirmation_ms": 1,
            },
        });
        pages.chain([Step::json(200, info)]).collect()
    }
}

fn registered(agent: &Identity) -> HistoryRecord {
    let envelope = hello(agent);
    let event = json!({
        "type": "agent_registered", "keys": [agent.agent_key()], "wallets": [],
        "capabilities": [], "document_digest": Digest::ZERO,
        "envelope": envelope.accepted_header(),
    });
    record(0, agent.did, event)
}

fn rotated(seq: usize, old: &Identity, new: &Identity, ledger: Did) -> HistoryRecord {
    let payload = Rotation::new(old, ledger, &[old.agent_key()], &new.signing_key, None);
    let envelope = seal(old, ledger, &payload);
    let proof = payload.members().unwrap()["proof"].clone();
    let event = json!({
        "type": "key_rotated", "old_key": old.signing_key.public(), "new_key": new.agent_key(),
        "proof": proof, "document_digest": Digest::ZERO, "envelope": envelope.accepted_header(),
    });
    record(seq, old.did, event)
}

fn record(seq: usize, did: Did, event: Value) -> HistoryRecord {
    let position = POSITIONS[seq];
    let leaf = json!({
        "v": 1, "position": position, "prev": Digest::ZERO, "recorded_at_ms": 1_000,
        "stream": format!("agent:{did}"), "stream_seq": seq, "event": event,
    });
    serde_json::from_value(json!({
        "position": position, "record_hash": hash(&leaf), "recorded_at_ms": 1_000,
        "stream_seq": seq, "leaf": leaf,
    }))
    .unwrap()
}

fn hash(leaf: &Value) -> Digest {
    Digest::of_parts(&[&[0], &to_canonical(leaf)])
}

fn wire(record: &HistoryRecord) -> Value {
    json!({
        "position": record.position, "record_hash": record.record_hash,
        "recorded_at_ms": record.recorded_at_ms, "stream_seq": record.stream_seq,
        "leaf": record.leaf,
    })
}

fn hello(from: &Identity) -> SealedEnvelope {
    let custom = Custom {
        message_type: "x811.ext/hello".parse().unwrap(),
        payload: Map::new(),
    };
    seal(from, ledger_did(), &custom)
}

fn seal(from: &Identity, to: Did, payload: &dyn Payload) -> SealedEnvelope {
    let (entropy, clock) = (CountingEntropy::default(), ManualClock::default());
    Composer::new(from, &entropy, &clock)
        .seal(to, payload)
        .unwrap()
}

fn follow(agent: &Agent) -> Result<KeyHistory, ClientError> {
    KeyHistory::follow(agent.did(), ledger_did(), &agent.records)
}

#[test]
fn lc_4_each_key_signs_from_its_record_to_that_of_the_next() {
    let agent = Agent::new();
    let history = follow(&agent).unwrap();
    assert!(history.leads_to(&[agent.present()]));
    let table = [
        (9, None),
        (10, Some(0)),
        (20, Some(0)),
        (21, Some(1)),
        (30, Some(1)),
        (31, Some(2)),
        (u64::MAX, Some(2)),
    ];
    for (position, turn) in table {
        let expected: Vec<AgentKey> = turn
            .map(|turn: usize| agent.turns[turn].agent_key())
            .into_iter()
            .collect();
        assert_eq!(history.keys_at(position), expected, "{position}");
    }
}

/// What a ledger that lies could show; the agent's present key is out of its reach.
#[test]
fn lc_4_a_forged_former_key_does_not_lead_to_the_present_ones() {
    let honest = Agent::new();
    let forger = Identity {
        signing_key: SecretKey::from_seed([66; 32]),
        ..honest.turns[0].clone()
    };
    let elsewhere = identity("elsewhere", &SystemEntropy).did;
    let last = |record| vec![honest.records[0].clone(), honest.records[1].clone(), record];
    let event = |change: fn(&mut Value)| {
        let mut leaf = honest.records[2].leaf.clone();
        change(&mut leaf["event"]);
        record(2, honest.did(), leaf["event"].clone())
    };
    // The forger's own, and the proof that named the honest key.
    let mut slipped_in = rotated(2, &forger, &honest.turns[2], ledger_did()).leaf["event"].clone();
    slipped_in["proof"] = honest.records[2].leaf["event"]["proof"].clone();
    let table = [
        (
            "never proved itself",
            vec![registered(&forger), record(2, honest.did(), slipped_in)],
        ),
        (
            "was not one of the agent's",
            vec![registered(&forger), honest.records[1].clone()],
        ),
        (
            "was not one of the agent's",
            last(rotated(2, &forger, &honest.turns[2], ledger_did())),
        ),
        (
            "never proved itself",
            last(rotated(2, &honest.turns[1], &honest.turns[2], elsewhere)),
        ),
        (
            "was one of the agent's before",
            last(event(|event| {
                event["new_key"]["key"] = event["old_key"].clone();
            })),
        ),
        (
            "never proved itself",
            last(event(|event| {
                event["proof"] = json!(Signature::from_bytes([7; 64]));
            })),
        ),
        (
            "never asked for it",
            last(event(|event| {
                event["envelope"]["signature"] = event["proof"].clone();
            })),
        ),
        (
            "never proved itself",
            last(event(|event| {
                event["new_key"]["key"] = json!(SecretKey::from_seed([66; 32]).public());
            })),
        ),
    ];
    for (fault, records) in table {
        assert_refused(fault, records);
    }

    // Consistent in itself, and not the agent's.
    let to_forger = rotated(2, &honest.turns[1], &forger, ledger_did());
    let agents_of_its_own = [vec![registered(&forger)], last(to_forger), Vec::new()];
    for records in agents_of_its_own {
        let agent = Agent {
            records,
            ..Agent::new()
        };
        assert!(!follow(&agent).unwrap().leads_to(&[honest.present()]));
    }
}

#[test]
fn lc_4_keys_come_in_the_order_of_the_log() {
    let honest = Agent::new();
    let table = [
        (
            "not the next of this agent's keys",
            honest.records[1..].to_vec(),
        ),
        (
            "not the next of this agent's keys",
            vec![honest.records[0].clone(); 2],
        ),
        (
            "out of order",
            vec![
                honest.records[0].clone(),
                rotated(2, &honest.turns[0], &honest.turns[1], ledger_did()),
                rotated(1, &honest.turns[1], &honest.turns[2], ledger_did()),
            ],
        ),
    ];
    for (fault, records) in table {
        assert_refused(fault, records);
    }
}

#[track_caller]
fn assert_refused(fault: &str, records: Vec<HistoryRecord>) {
    let agent = Agent {
        records,
        ..Agent::new()
    };
    let refused = follow(&agent).unwrap_err();
    assert!(
        matches!(&refused, ClientError::Untrusted { cause } if cause.contains(fault)),
        "{fault}: {refused}"
    );
}

/// The records of the ledger itself: opened, its receipt key replaced, and its envelope key.
fn of_the_ledger_itself() -> (Vec<HistoryRecord>, [SecretKey; 2]) {
    let [envelope, checkpoint, receipt, next] =
        [1, 2, 3, 4].map(|seed| SecretKey::from_seed([seed; 32]));
    let opened = json!({
        "type": "ledger_opened", "log_id": "019b7c01-0400-70d6-935e-9ce40543eb60",
        "did": ledger_did(), "origin": "ledger.example", "format": 1, "rules_version": 2, "reader": 2,
        "keys": {
            "envelope": envelope.public(), "checkpoint": checkpoint.public(),
            "receipt": receipt.public(),
        },
    });
    let rotation = |role, old: &SecretKey, new: u8| {
        let new_key = SecretKey::from_seed([new; 32]).public();
        let rotated = LedgerKeyRotated::sign(ledger_did(), role, old, new_key);
        serde_json::to_value(Event::Ledger(LedgerEvent::KeyRotated(rotated))).unwrap()
    };
    let records = vec![
        record(0, ledger_did(), opened),
        record(1, ledger_did(), rotation(LedgerRole::Receipt, &receipt, 5)),
        record(
            2,
            ledger_did(),
            rotation(LedgerRole::Envelope, &envelope, 4),
        ),
    ];
    (records, [envelope, next])
}

#[test]
fn lc_4_the_ledgers_own_notices_are_by_the_key_of_their_position() {
    let (records, keys) = of_the_ledger_itself();
    let [first, next] = keys.map(|key| of_the_ledger(key.public()));
    let history = KeyHistory::follow(ledger_did(), ledger_did(), &records).unwrap();
    assert!(history.leads_to(&[next]) && !history.leads_to(&[first]));
    for (position, key) in [(10, first), (20, first), (30, first), (31, next)] {
        assert_eq!(history.keys_at(position), [key], "{position}");
    }
    // A key that never signed for the next, and records of the ledger for an agent.
    let mut forged = records.clone();
    let mut event = records[2].leaf["event"].clone();
    event["proof"] = json!(Signature::from_bytes([7; 64]));
    forged[2] = record(2, ledger_did(), event);
    let agent = Agent::new().did();
    for (did, records) in [(ledger_did(), &forged), (agent, &records)] {
        let refused = KeyHistory::follow(did, ledger_did(), records);
        assert!(matches!(refused, Err(ClientError::Untrusted { .. })));
    }
}

/// Such a signature is over the whole body, which is not here; the new key's proof is.
#[test]
fn ax_023_keys_that_sign_whole_bodies_follow_by_their_proofs() {
    let mut agent = Agent::signing(Profile::Direct);
    let history = follow(&agent).unwrap();
    assert!(history.leads_to(&[agent.present()]));
    assert_eq!(history.keys_at(15), [agent.turns[0].agent_key()]);
    let mut event = agent.records[2].leaf["event"].clone();
    event["proof"] = json!(Signature::from_bytes([7; 64]));
    agent.records[2] = record(2, agent.did(), event);
    assert!(follow(&agent).is_err());
}

fn client(base: &str, clock: &Arc<ManualClock>) -> LedgerClient {
    // Every test of the crate may be the first; all install the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let policy = RetryPolicy {
        attempts: 1,
        first_delay_ms: 1,
        max_delay_ms: 1,
    };
    let entropy: Arc<CountingEntropy> = Arc::default();
    LedgerClient::with(base, policy, clock.clone(), entropy).unwrap()
}

#[tokio::test]
async fn lc_4_what_was_said_before_a_rotation_is_believed_after_it() {
    let agent = Agent::new();
    let mut steps: Vec<Step> = agent.present_steps().into();
    steps.extend(agent.history_steps());
    // What no key signed then is looked at afresh once (AX-29); the history still fits.
    steps.extend(agent.present_steps());
    let (base, ledger) = scripted_ledger(steps).await;
    let client = client(&base, &Arc::default());
    for (turn, position) in [(0, 15), (0, 20), (1, 21), (1, 30), (2, 31), (0, 11)] {
        let said = hello(&agent.turns[turn]);
        let verified = client.verified(&said.json, position).await.unwrap();
        assert_eq!(verified.key(), agent.turns[turn].agent_key(), "{position}");
    }
    let late = client.verified(&hello(&agent.turns[0]).json, 21).await;
    assert!(
        matches!(late, Err(ClientError::Untrusted { .. })),
        "{late:?}"
    );
    let requests = ledger.await.unwrap();
    let uuid = agent.did().uuid();
    assert!(requests[2].starts_with(&format!("GET /api/v1/agents/{uuid}/keys HTTP")));
    assert!(requests[3].starts_with(&format!("GET /api/v1/agents/{uuid}/keys?after_seq=1 ")));
    assert_eq!(requests.len(), 7);
}

#[tokio::test]
async fn lc_4_a_forged_history_is_refused() {
    let mut agent = Agent::new();
    let forger = Identity {
        signing_key: SecretKey::from_seed([66; 32]),
        ..agent.turns[0].clone()
    };
    agent.records = vec![registered(&forger)];
    let mut steps: Vec<Step> = agent.present_steps().into();
    // Of one page only.
    let mut history = agent.history_steps();
    let page = json!({"did": agent.did(), "records": [wire(&agent.records[0])]});
    history[0] = Step::json(200, page);
    steps.extend(history);
    steps.extend(agent.present_steps());
    let (base, ledger) = scripted_ledger(steps).await;
    let client = client(&base, &Arc::default());
    let error = client.verified(&hello(&forger).json, 15).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Untrusted { cause } if cause.contains("do not lead")),
        "{error}"
    );
    assert_eq!(ledger.await.unwrap().len(), 6);
}

#[tokio::test]
async fn ae_093_a_history_is_read_again_after_five_minutes() {
    use crate::clock::Clock as _;
    let agent = Agent::new();
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..2 {
        steps.extend(agent.present_steps());
        steps.extend(agent.history_steps());
    }
    let (base, ledger) = scripted_ledger(steps).await;
    let clock: Arc<ManualClock> = Arc::default();
    let client = client(&base, &clock);
    let said = hello(&agent.turns[0]);
    client.verified(&said.json, 15).await.unwrap();
    clock.pause(300_000).await;
    client.verified(&said.json, 15).await.unwrap();
    clock.pause(1).await;
    client.verified(&said.json, 15).await.unwrap();
    assert_eq!(ledger.await.unwrap().len(), 10);
}
