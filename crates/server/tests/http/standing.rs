//! Promise 7 and an agent's standing: a DID that is out of use reads nothing, and neither does a
//! key that was replaced. The records are laid into the stored log, as if a message had come.

use crate::signing::Claim;
use crate::world::{Agent, Reply, World};
use serde_json::json;
use std::path::Path;
use x811_eventlog::{Draft, EventLog as _, Record};
use x811_ledger::port::{Commit, LedgerStore as _};
use x811_protocol::digest::Digest;
use x811_protocol::event::{AgentEvent, AgentStatusChanged, Event, KeyRotated};
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_store::SqliteStore;
use x811_world::World as State;

/// Lays `event` at the end of `agent`'s stream.
async fn lay(data_dir: &Path, agent: &Agent, event: Event) {
    let store = SqliteStore::open(data_dir).await.unwrap();
    let size = store.log().head().await.unwrap().size;
    let mut state = State::empty();
    for position in 0..size {
        for record in store.log().read(position, 1).await.unwrap() {
            let event = Event::from_json(record.event_json()).unwrap();
            state.apply(&record, &event).unwrap();
        }
    }
    let draft = Draft {
        recorded_at_ms: state.head().recorded_at_ms,
        stream: format!("agent:{}", agent.did),
        stream_seq: state.agent(agent.did).unwrap().identity_seq,
        event: serde_json::to_value(&event).unwrap(),
    };
    let record = Record::seal(state.head().size, state.head().hash, draft).unwrap();
    state.apply(&record, &event).unwrap();
    let commit = Commit {
        expected_size: record.position(),
        records: vec![record],
        frontier: state.frontier().to_bytes(),
        ..Commit::default()
    };
    store.commit(commit).await.unwrap();
}

async fn closed_with(agent: &Agent, world: World, event: Event) -> World {
    let meanwhile = async |dir: &Path| lay(dir, agent, event).await;
    let close = |config: &mut x811_server::ServerConfig| config.open_reads = false;
    world.restart_with(0, meanwhile, close).await
}

async fn read(world: &World, agent: &Agent, key: &SecretKey) -> Reply {
    let path = format!("/api/v1/messages/{}", agent.uuid());
    let claim = Claim {
        key: key.clone(),
        ..Claim::of(world, agent, &path)
    };
    world.ask_signed(&path, &claim.sign()).await
}

#[tokio::test]
async fn promise_7_a_did_out_of_use_reads_nothing_until_it_is_active_again() {
    for (status, change) in [
        ("deactivated", AgentEvent::Deactivated as fn(_) -> _),
        ("revoked", AgentEvent::Revoked as fn(_) -> _),
    ] {
        let (world, [agent]) = World::peopled().await;
        let envelope = agent.say(&world, world.ledger(), "x811.registry/status", json!({}));
        let envelope = envelope.accepted_header();
        let change = Event::Agent(change(AgentStatusChanged { envelope }));
        let world = closed_with(&agent, world, change).await;
        let answer = read(&world, &agent, &agent.key).await;
        let body = answer.refused(401, "X811-2003");
        assert_eq!(body["details"], json!({ "did_status": status }));
        if status == "deactivated" {
            let envelope = agent.say(&world, world.ledger(), "x811.registry/status", json!({}));
            let envelope = envelope.accepted_header();
            let back = Event::Agent(AgentEvent::Reactivated(AgentStatusChanged { envelope }));
            let world = closed_with(&agent, world, back).await;
            read(&world, &agent, &agent.key).await.expect(200);
        }
    }
}

#[tokio::test]
async fn promise_7_a_key_that_was_replaced_reads_nothing() {
    let (world, [agent]) = World::peopled().await;
    let new_key = SecretKey::from_seed([5; 32]);
    let envelope = agent.say(&world, world.ledger(), "x811.registry/rotate", json!({}));
    let rotated = KeyRotated {
        old_key: agent.key.public(),
        new_key: AgentKey {
            key: new_key.public(),
            profile: Profile::Digest,
        },
        proof: new_key.sign(b"the log is trusted here"),
        document_digest: Digest::ZERO,
        envelope: envelope.accepted_header(),
    };
    read(&world, &agent, &new_key)
        .await
        .refused(401, "X811-2003");
    let world = closed_with(&agent, world, Event::Agent(AgentEvent::KeyRotated(rotated))).await;
    let body = read(&world, &agent, &agent.key)
        .await
        .refused(401, "X811-2003");
    assert_eq!(body["details"], json!({ "did_status": "active" }));
    read(&world, &agent, &new_key).await.expect(200);
}
