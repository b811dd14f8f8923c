//! How an agent came by its keys, over HTTP (ledger-contract.md section 4).

use crate::registry::rotation;
use crate::rotated_keys::rotated;
use crate::world::{Agent, World};
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;

/// An agent of two rotations with an update between them; and where they were recorded.
async fn rotated_twice(world: &World) -> (Agent, Vec<Value>) {
    let mut agent = world.agent().await;
    let first = agent.key.public();
    let mut positions = Vec::new();
    for seed in [0x51, 0x52] {
        let new_key = SecretKey::from_seed([seed; 32]);
        let (rotate, _) = rotation(world, &agent, &new_key);
        positions.push(world.accept(&rotate).await["position"].clone());
        agent.key = new_key;
        let payload = agent.registration_payload(world);
        let update = agent.say(world, world.ledger(), "x811.registry/update", payload);
        world.accept(&update).await;
    }
    assert_ne!(agent.key.public(), first);
    (agent, positions)
}

#[tokio::test]
async fn lc_4_registration_and_rotations_are_shown_as_they_are_stored() {
    let world = World::start().await;
    let (agent, rotated_at) = rotated_twice(&world).await;
    let path = format!("/api/v1/agents/{}/keys", agent.uuid());
    let whole = world.get(&path).await.expect(200);
    assert_eq!(whole["did"], json!(agent.did));
    assert!(whole.get("next").is_none());
    let records = whole["records"].as_array().unwrap();
    let kinds: Vec<&Value> = records
        .iter()
        .map(|r| &r["leaf"]["event"]["type"])
        .collect();
    assert_eq!(kinds, ["agent_registered", "key_rotated", "key_rotated"]);
    let seqs: Vec<&Value> = records.iter().map(|record| &record["stream_seq"]).collect();
    assert_eq!(seqs, [0, 1, 3], "updates leave the keys alone");
    for record in records {
        let hash = Digest::of_parts(&[&[0], &to_canonical(&record["leaf"])]);
        assert_eq!(record["record_hash"], hash.to_string());
        assert_eq!(record["leaf"]["position"], record["position"]);
        assert_eq!(record["leaf"]["stream"], format!("agent:{}", agent.did));
    }
    assert_eq!(
        [&records[1]["position"], &records[2]["position"]],
        [&rotated_at[0], &rotated_at[1]]
    );
    let newest = &records[2]["leaf"]["event"]["new_key"]["key"];
    assert_eq!(*newest, json!(agent.key.public()));

    // The same, looking at one record of the stream at a time.
    let (mut paged, mut next) = (Vec::new(), String::new());
    loop {
        let page = world
            .get(&format!("{path}?limit=1{next}"))
            .await
            .expect(200);
        paged.extend(page["records"].as_array().unwrap().clone());
        match page.get("next") {
            Some(seq) => next = format!("&after_seq={seq}"),
            None => break,
        }
    }
    assert_eq!(&paged, records);
}

#[tokio::test]
async fn ax_030_who_left_for_ever_still_has_the_keys_of_its_messages_shown() {
    let world = World::start().await;
    let (agent, _) = rotated_twice(&world).await;
    let revoke = agent.say(&world, world.ledger(), "x811.registry/revoke", json!({}));
    world.accept(&revoke).await;
    let path = format!("/api/v1/agents/{}/keys", agent.uuid());
    let shown = world.get(&path).await.expect(200);
    assert_eq!(shown["records"].as_array().unwrap().len(), 3);

    let stranger = Agent::new();
    let path = format!("/api/v1/agents/{}/keys", stranger.uuid());
    world.get(&path).await.refused(404, "X811-1001");
    for question in ["limit=0", "limit=201", "after_seq=-1", "at=3"] {
        let path = format!("/api/v1/agents/{}/keys?{question}", agent.uuid());
        assert_eq!(world.get(&path).await.status, 400, "{question}");
    }
}

/// Who reads a notice needs the key that the ledger had at its position.
#[tokio::test]
async fn lc_4_the_ledgers_own_keys_are_shown_alike() {
    let world = World::start().await;
    let before = world.get("/.well-known/x811.json").await.expect(200);
    let roles = [LedgerRole::Receipt, LedgerRole::Envelope];
    let world = rotated(world, &roles).await;
    let did: Did = before["did"].as_str().unwrap().parse().unwrap();
    let path = format!("/api/v1/agents/{}/keys", did.uuid());
    let shown = world.get(&path).await.expect(200);
    assert_eq!(shown["did"], before["did"]);
    let records = shown["records"].as_array().unwrap();
    let events: Vec<&Value> = records
        .iter()
        .map(|record| &record["leaf"]["event"])
        .collect();
    let of = |member| {
        events
            .iter()
            .map(|event| &event[member])
            .collect::<Vec<_>>()
    };
    let rotation = "ledger_key_rotated";
    assert_eq!(of("type"), ["ledger_opened", rotation, rotation]);
    assert_eq!(of("role")[1..], ["envelope", "receipt"]);
    let document = world.get("/.well-known/did.json").await.expect(200);
    let present = events[1]["new_key"].as_str().unwrap();
    assert!(document.to_string().contains(present), "{document}");

    let page = world.get(&format!("{path}?limit=1")).await.expect(200);
    assert_eq!(page["records"].as_array().unwrap(), &records[..1]);
    let rest = format!("{path}?after_seq={}", page["next"]);
    let rest = world.get(&rest).await.expect(200);
    assert_eq!(rest["records"].as_array().unwrap(), &records[1..]);
    assert!(rest.get("next").is_none());
}
