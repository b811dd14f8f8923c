//! Who there is, page by page, and what they have earned (agents.md sections 3 and 4).

use crate::world::{Agent, Deal, World};
use base64::Engine as _;
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::signature::Signature;

/// The DIDs of a page.
fn dids(page: &Value) -> Vec<String> {
    let agents = page["agents"].as_array().unwrap().iter();
    agents
        .map(|agent| agent["did"].as_str().unwrap().to_owned())
        .collect()
}

async fn page(world: &World, query: &str) -> Value {
    world
        .get(&format!("/api/v1/agents?{query}"))
        .await
        .expect(200)
}

#[tokio::test]
async fn ax_37_pages_are_in_order_of_registration_and_stable_while_agents_register() {
    let world = World::start().await;
    let mut registered = Vec::new();
    for _ in 0..5 {
        registered.push(world.agent().await.did.to_string());
    }
    let (mut found, mut next) = (Vec::new(), None);
    loop {
        let after = next.map_or(String::new(), |next: u64| format!("&after={next}"));
        let page = page(&world, &format!("limit=2{after}")).await;
        found.extend(dids(&page));
        next = page["next"].as_u64();
        if next.is_none() {
            break;
        }
        if registered.len() < 8 {
            registered.push(world.agent().await.did.to_string());
        }
    }
    assert_eq!(found, registered);
    // The ledger's own DID is nobody's partner.
    assert!(!found.contains(&world.ledger().to_string()));
    let last = page(&world, "limit=100").await;
    let size = world.get("/ready").await.json()["size"].as_u64().unwrap();
    assert_eq!(last["as_of"], size - 1);
}

#[tokio::test]
async fn ax_37_who_may_not_act_or_offers_something_else_is_stepped_over() {
    let (world, [left, kept]) = World::peopled().await;
    let other = Agent::new();
    let mut payload = other.registration_payload(&world);
    payload["capabilities"] = json!(["summary", "translate.fr"]);
    let register = other.say(&world, world.ledger(), "x811.registry/register", payload);
    world.accept(&register).await;
    let leave = left.say(
        &world,
        world.ledger(),
        "x811.registry/deactivate",
        json!({}),
    );
    world.accept(&leave).await;

    let of = |agent: &Agent| vec![agent.did.to_string()];
    assert_eq!(dids(&page(&world, "capability=translate").await), of(&kept));
    assert_eq!(dids(&page(&world, "capability=summary").await), of(&other));
    assert_eq!(
        dids(&page(&world, "capability=translate%25").await),
        of(&other)[..0]
    );
    let shown = &page(&world, "capability=translate.fr").await["agents"][0];
    assert_eq!(shown["capabilities"], json!(["summary", "translate.fr"]));

    let back = left.say(
        &world,
        world.ledger(),
        "x811.registry/reactivate",
        json!({}),
    );
    world.accept(&back).await;
    // In its old place.
    let all = [&left, &kept].map(|agent| agent.did.to_string());
    assert_eq!(dids(&page(&world, "capability=translate").await), all);
    for query in [
        "limit=0",
        "limit=101",
        "trust_min=0.555",
        "trust_min=2",
        "trust_min=1.01",
        "who=me",
    ] {
        let path = format!("/api/v1/agents?{query}");
        world.get(&path).await.refused(400, "X811-4001");
    }
}

/// A provider that never delivers.
async fn failed(world: &World, initiator: &Agent, provider: &Agent) {
    let deal = Deal::new(world, initiator, provider);
    world.accept(&deal.request).await;
    let offer = deal.offer();
    world.accept(&offer).await;
    world.accept(&deal.accept(&offer)).await;
    world.clock.advance_ms(3_600_001);
    // It finds that the window has passed, or that the ledger's own look found it first.
    let late = world.post(deal.result(&offer).json).await;
    let refused = ["X811-4022", "X811-4001"].contains(&late.json()["code"].as_str().unwrap());
    assert!(refused, "{}", late.text);
}

#[tokio::test]
async fn ax_37_trust_is_shown_as_of_any_record_with_all_it_is_made_of() {
    let (world, [initiator, provider]) = World::peopled().await;
    let path = format!("/api/v1/agents/{}/trust", provider.uuid());
    let before = world.get(&path).await.expect(200);
    let nothing = json!({
        "did": provider.did, "as_of": before["as_of"], "score_hundredths": 50,
        "s": 0, "f": 0, "d": 0, "contested": 0, "distinct_payers": 0,
    });
    assert_eq!(before, nothing);

    failed(&world, &initiator, &provider).await;
    let after = world.get(&path).await.expect(200);
    assert_eq!(
        (&after["f"], &after["score_hundredths"]),
        (&json!(1), &json!(1))
    );
    let position = after["position"].as_u64().unwrap();
    let at = async |position: u64| world.get(&format!("{path}?as_of={position}")).await;
    assert_eq!(at(position).await.expect(200)["f"], 1);
    let earlier = at(position - 1).await.expect(200);
    assert_eq!(
        (&earlier["f"], &earlier["score_hundredths"]),
        (&json!(0), &json!(50))
    );
    at(1_000_000).await.expect(404);
    let nobody = format!("/api/v1/agents/{}/trust", Agent::new().uuid());
    world.get(&nobody).await.refused(404, "X811-1001");

    let whole = dids(&page(&world, "trust_min=0").await);
    assert_eq!(
        whole,
        [initiator.did, provider.did].map(|did| did.to_string())
    );
    let trusted = page(&world, "trust_min=0.5").await;
    assert_eq!(dids(&trusted), [initiator.did.to_string()]);
    assert_eq!(trusted["agents"][0]["trust"]["score_hundredths"], 50);
}

/// The signature of a card, verified by this test's own hand: JWS over the RFC 8785 form without
/// `signatures`.
async fn assert_signed_by_the_ledger(world: &World, card: &Value) {
    let document = world.get("/.well-known/did.json").await.expect(200);
    let mut unsigned = card.clone();
    let signatures = unsigned
        .as_object_mut()
        .unwrap()
        .remove("signatures")
        .unwrap();
    let text = |member: &str| signatures[0][member].as_str().unwrap().to_owned();
    let engine = base64::prelude::BASE64_URL_SAFE_NO_PAD;
    let decoded = |text: &str| engine.decode(text).unwrap();
    let header: Value = serde_json::from_slice(&decoded(&text("protected"))).unwrap();
    let kid = &document["verificationMethod"][0]["id"];
    assert_eq!(header, json!({ "alg": "EdDSA", "kid": kid, "typ": "JOSE" }));
    let payload = engine.encode(to_canonical(&unsigned));
    let input = format!("{}.{payload}", text("protected"));
    let signature: [u8; 64] = decoded(&text("signature")).try_into().unwrap();
    let key = world.running.identity.keys.envelope;
    assert!(key.verify(input.as_bytes(), &Signature::from_bytes(signature)));
}

#[tokio::test]
async fn ae_121_cards_are_this_ledgers_view_signed_by_it() {
    let (world, [agent]) = World::peopled().await;
    let reply = world.get("/.well-known/agent-card.json").await;
    assert_eq!(reply.headers["content-type"], "application/a2a+json");
    let card = reply.expect(200);
    assert_signed_by_the_ledger(&world, &card).await;
    let path = format!("/api/v1/agents/{}/agent-card.json", agent.uuid());
    let card = world.get(&path).await.expect(200);
    assert_signed_by_the_ledger(&world, &card).await;
    let extension = &card["capabilities"]["extensions"][0];
    assert_eq!(extension["params"]["did"], json!(agent.did));
    assert_eq!(extension["params"]["protocol_majors"], json!(["0"]));
    assert_eq!(
        extension["params"]["wallets"],
        json!([agent.address().to_checksum()])
    );
    assert_eq!(extension["params"]["trust"]["score_hundredths"], "50");
    assert_eq!(card["skills"][0]["id"], "translate");

    let leave = agent.say(
        &world,
        world.ledger(),
        "x811.registry/deactivate",
        json!({}),
    );
    world.accept(&leave).await;
    world.get(&path).await.refused(410, "X811-1003");
    let nobody = format!("/api/v1/agents/{}/agent-card.json", Agent::new().uuid());
    world.get(&nobody).await.refused(404, "X811-1001");
}
