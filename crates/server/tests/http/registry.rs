//! What becomes of a registration, over HTTP (ledger-contract.md section 4, AX-30, AX-31).

use crate::world::{Agent, Reply, World};
use serde_json::{Value, json};
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::payload::registry::rotation_message;

const HOUR_MS: u64 = 3_600_000;

fn ask(world: &World, agent: &Agent, verb: &str, payload: Value) -> SealedEnvelope {
    let kind = format!("x811.registry/{verb}");
    agent.say(world, world.ledger(), &kind, payload)
}

/// The message that puts `new_key` in the place of the agent's, and what it registers.
pub(crate) fn rotation(
    world: &World,
    agent: &Agent,
    new_key: &SecretKey,
) -> (SealedEnvelope, AgentKey) {
    let (old_public, new_public) = (agent.key.public(), new_key.public());
    let text = rotation_message(agent.did, world.ledger(), old_public, new_public);
    let replacement = AgentKey {
        key: new_public,
        profile: Profile::Digest,
    };
    let payload = json!({
        "document": DidDocument::build(agent.did, &[replacement], None),
        "new_key": new_public,
        "proof": new_key.sign(text.as_bytes()),
    });
    (ask(world, agent, "rotate", payload), replacement)
}

async fn did_document(world: &World, agent: &Agent) -> Reply {
    let path = format!("/api/v1/agents/{}/did", agent.uuid());
    world.get(&path).await
}

async fn shown(world: &World, agent: &Agent) -> Value {
    let path = format!("/api/v1/agents/{}", agent.uuid());
    world.get(&path).await.expect(200)
}

fn greeting(world: &World, agent: &Agent) -> SealedEnvelope {
    agent.say(world, world.ledger(), "x811.test/ping", json!({}))
}

#[tokio::test]
async fn lc_4_an_update_replaces_what_is_served() {
    let (world, [agent]) = World::peopled().await;
    let before = shown(&world, &agent).await;
    let mut payload = agent.registration_payload(&world);
    payload["capabilities"] = json!(["proofread", "translate"]);
    payload["document"]["service"][0]["serviceEndpoint"] = json!("https://agent.example/new");
    let accepted = world
        .accept(&ask(&world, &agent, "update", payload.clone()))
        .await;
    assert!(accepted.get("interaction_id").is_none() && accepted.get("state").is_none());

    let mut expected = before;
    expected["capabilities"] = payload["capabilities"].clone();
    assert_eq!(shown(&world, &agent).await, expected);
    let document = did_document(&world, &agent).await.expect(200);
    assert_eq!(document, payload["document"]);

    let served = expected["capabilities"].clone();
    payload["capabilities"] = json!(["proofread", "trans\u{ad}late"]);
    let hidden = ask(&world, &agent, "update", payload);
    let refused = world.post(hidden.json).await.expect(400);
    assert_eq!(refused["code"], "X811-1005", "{refused}");
    assert_eq!(shown(&world, &agent).await["capabilities"], served);
}

#[tokio::test]
async fn ax_031_past_its_expiry_a_sender_is_refused_until_it_updates() {
    let (world, [agent, other]) = World::peopled().await;
    let expires_at = crate::world::BEGUN.saturating_add_ms(HOUR_MS);
    let mut payload = agent.registration_payload(&world);
    payload["expires_at_ms"] = json!(expires_at);
    world
        .accept(&ask(&world, &agent, "update", payload.clone()))
        .await;
    let is_shown = shown(&world, &agent).await;
    assert_eq!(is_shown["expires_at_ms"], json!(expires_at));
    assert_eq!(is_shown["status"], "active");
    world.accept(&greeting(&world, &agent)).await;

    world.clock.advance_ms(HOUR_MS + 1);
    assert_eq!(shown(&world, &agent).await["status"], "expired");
    did_document(&world, &agent).await.expect(200);
    let late = world.post(greeting(&world, &agent).json).await;
    let body = late.refused(401, "X811-2003");
    assert_eq!(body["details"]["did_status"], "expired");
    let request = crate::world::Deal::new(&world, &other, &agent).request;
    world.post(request.json).await.refused(404, "X811-3001");
    let past = world.post(ask(&world, &agent, "update", payload.clone()).json);
    past.await.refused(400, "X811-1005");

    payload.as_object_mut().unwrap().remove("expires_at_ms");
    world.accept(&ask(&world, &agent, "update", payload)).await;
    let is_shown = shown(&world, &agent).await;
    assert_eq!(is_shown.get("expires_at_ms"), None);
    assert_eq!(is_shown["status"], "active");
    world.accept(&greeting(&world, &agent)).await;
}

#[tokio::test]
async fn ax_030_after_a_rotation_the_new_key_speaks_and_the_old_one_is_refused() {
    let (world, [mut agent]) = World::peopled().await;
    let new_key = SecretKey::from_seed([0x5e; 32]);
    let (rotate, replacement) = rotation(&world, &agent, &new_key);
    let document = DidDocument::build(agent.did, &[replacement], None);
    let accepted = world.accept(&rotate).await;
    assert_eq!(shown(&world, &agent).await["keys"], json!([replacement]));
    assert_eq!(did_document(&world, &agent).await.expect(200), document);

    let by_old_key = greeting(&world, &agent);
    world.post(by_old_key.json).await.refused(401, "X811-2003");
    let again = world.post(rotate.json.clone()).await;
    let first = again.refused(409, "X811-2001")["details"]["first"].clone();
    assert_eq!(first["position"], accepted["position"], "a lost answer");
    agent.key = new_key;
    world.accept(&greeting(&world, &agent)).await;
}

#[tokio::test]
async fn ax_030_a_did_goes_comes_back_and_ends() {
    let (world, [agent, other]) = World::peopled().await;
    let say = |verb: &'static str| ask(&world, &agent, verb, json!({}));
    let needless = world.post(say("reactivate").json).await;
    needless.refused(422, "X811-4001");

    world.accept(&say("deactivate")).await;
    did_document(&world, &agent).await.refused(410, "X811-1003");
    assert_eq!(shown(&world, &agent).await["status"], "deactivated");
    let muted = world.post(greeting(&world, &agent).json).await;
    let body = muted.refused(401, "X811-2003");
    assert_eq!(body["details"]["did_status"], "deactivated");
    let request = crate::world::Deal::new(&world, &other, &agent).request;
    world.post(request.json).await.refused(404, "X811-3001");
    let update = ask(&world, &agent, "update", agent.registration_payload(&world));
    world.post(update.json).await.refused(410, "X811-1003");

    world.accept(&say("reactivate")).await;
    did_document(&world, &agent).await.expect(200);
    world.accept(&greeting(&world, &agent)).await;

    world.accept(&say("revoke")).await;
    did_document(&world, &agent).await.refused(410, "X811-1002");
    assert_eq!(shown(&world, &agent).await["status"], "revoked");
    let back = world.post(say("reactivate").json).await;
    back.refused(410, "X811-1002");
    let anew = world.post(agent.registration(&world).json).await;
    anew.refused(409, "X811-1005");
}

#[tokio::test]
async fn lc_4_what_the_registry_does_not_know_is_refused() {
    let world = World::start().await;
    let (agent, stranger) = (world.agent().await, Agent::new());
    let erase = ask(&world, &agent, "erase", json!({}));
    world.post(erase.json).await.refused(400, "X811-4001");
    let unknown = ask(&world, &stranger, "revoke", json!({}));
    world.post(unknown.json).await.refused(404, "X811-1001");
}
