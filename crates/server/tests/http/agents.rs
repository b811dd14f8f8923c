//! Registration and what is served of it.

use crate::world::{Agent, World};
use serde_json::json;
use x811_protocol::document::DidDocument;

#[tokio::test]
async fn ax_032_the_ledger_publishes_who_it_is() {
    let world = World::start().await;
    let identity = &world.running.identity;
    let known = world.get("/.well-known/x811.json").await.expect(200);
    assert_eq!(known["did"], identity.did.to_string());
    assert_eq!(known["log_id"], identity.log_id.to_string());
    assert_eq!(known["origin"], identity.origin);
    assert_eq!(known["protocol_versions"], json!(["0"]));
    assert_eq!(known["looks_ms"], json!([5_000, 15_000, 60_000, 300_000]));
    assert_eq!(known["windows"]["offer_ms"], 60_000);
    assert_eq!(known["payer_binding"], "wallet");
    let token = crate::world::TOKEN.to_checksum();
    let network = json!({
        "name": "local", "chain_id": 31_337, "token": token, "confirmed_depth": 3,
        "endpoint_quorum": 1, "final_by": "tag",
    });
    assert_eq!(known["networks"], json!([network]));

    for path in [
        "/.well-known/did.json".to_owned(),
        format!("/api/v1/agents/{}/did", identity.did.uuid()),
    ] {
        let reply = world.get(&path).await;
        assert_eq!(reply.headers["content-type"], "application/did+json");
        let document = DidDocument::parse(&reply.expect(200)).unwrap();
        assert_eq!(document.id, identity.did);
        assert_eq!(document.keys, [identity.keys.envelope]);
    }
}

#[tokio::test]
async fn a_registered_agent_is_served_with_the_document_it_gave() {
    let world = World::start().await;
    let agent = Agent::new();
    let path = format!("/api/v1/agents/{}", agent.uuid());
    world.get(&path).await.refused(404, "X811-1001");
    world
        .get(&format!("{path}/did"))
        .await
        .refused(404, "X811-1001");

    let accepted = world.accept(&agent.registration(&world)).await;
    assert!(accepted.get("interaction_id").is_none() && accepted.get("state").is_none());
    let shown = world.get(&path).await.expect(200);
    let expected = json!({
        "did": agent.did,
        "status": "active",
        "capabilities": ["translate"],
        "wallets": [{"address": agent.address().to_checksum(), "kind": "eoa"}],
        "keys": [{"key": agent.key.public(), "profile": "digest"}],
        "registered_at_ms": crate::world::BEGUN,
        "position": accepted["position"],
    });
    assert_eq!(shown, expected);
    let document = world.get(&format!("{path}/did")).await.expect(200);
    let given = &agent.registration_payload(&world)["document"];
    assert_eq!(&document, given, "services and all");
}

/// No answer about a DID is kept from before: the same envelope counts once its sender is there.
#[tokio::test]
async fn ae_093_the_senders_document_is_resolved_at_verification_time() {
    let world = World::start().await;
    let (known, newcomer) = (world.agent().await, Agent::new());
    let message = newcomer.say(&world, known.did, "x811.test/ping", json!({}));
    world
        .post(message.json.clone())
        .await
        .refused(404, "X811-1001");
    world.accept(&newcomer.registration(&world)).await;
    world.accept(&message).await;
}

#[tokio::test]
async fn a_registration_that_does_not_fit_is_refused() {
    let (world, [agent]) = World::peopled().await;
    let again = agent.registration(&world);
    world.post(again.json).await.refused(409, "X811-1005");

    // No replay on another ledger: the wallet is bound to this one, and `to` names it.
    let (other, elsewhere) = (World::start().await, Agent::new());
    let foreign = elsewhere.registration(&other);
    world.post(foreign.json).await.refused(400, "X811-1005");
    let mut payload = elsewhere.registration_payload(&other);
    let to_us = elsewhere.say(
        &world,
        world.ledger(),
        "x811.registry/register",
        payload.clone(),
    );
    world.post(to_us.json).await.refused(400, "X811-1005");

    payload = elsewhere.registration_payload(&world);
    payload["document"]["id"] = json!(agent.did);
    let stolen = elsewhere.say(&world, world.ledger(), "x811.registry/register", payload);
    world.post(stolen.json).await.refused(400, "X811-1005");
}

/// What an Agent Card is made of, as far as a ledger keeps it: what the agent can do, where it
/// listens, and what its standing rests on. The card itself is the agent's to serve.
#[tokio::test]
async fn ae_008_the_ledger_serves_what_an_agent_card_needs() {
    let (world, [agent]) = World::peopled().await;
    let path = format!("/api/v1/agents/{}", agent.uuid());
    let shown = world.get(&path).await.expect(200);
    assert_eq!(shown["capabilities"], json!(["translate"]));
    assert_eq!(shown["status"], "active");
    let document = world.get(&format!("{path}/did")).await.expect(200);
    let endpoint = &document["service"][0]["serviceEndpoint"];
    assert_eq!(*endpoint, "https://agent.example/inbox");
}
