//! The published TypeScript SDK by a driver of our own: what it sends, as it sends it, and what it reads
//! of the answers (decision 0190). Nothing of the driver is the client's or the ledger's code but the
//! key that signs.

use crate::world::{Agent, Reply, World, drawn, reply};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use x811_ledger::clock::Clock as _;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::parameters::Leniency;

const PAYEE: &str = "0x4242424242424242424242424242424242424242";

/// A ledger on which the SDK can be tried.
async fn lenient() -> World {
    World::start_with(|config| {
        config.lenient = vec![Leniency::ReferenceSdk, Leniency::Addresses];
    })
    .await
}

/// `new X811Client().send(…)`: the wrapped envelope.
pub(crate) fn sent(world: &World, from: &Agent, kind: &str, to: &Agent, payload: &Value) -> Value {
    let now = world.clock.wall();
    let uuid = uuid::Builder::from_unix_timestamp_millis(now.as_ms(), &drawn()).into_uuid();
    let mut envelope = json!({
        "version": "0.1.0", "id": uuid, "type": kind, "from": from.did, "to": to.did,
        "created": now.to_rfc3339(), "expires": now.saturating_add_ms(300_000).to_rfc3339(),
        "payload": payload, "nonce": hex::encode(drawn::<16>()),
    });
    let signature = from.key.sign(&to_canonical(&envelope));
    envelope["signature"] = BASE64_URL_SAFE_NO_PAD.encode(signature.as_bytes()).into();
    json!({ "envelope": envelope })
}

/// `client.register(…)`.
pub(crate) fn registration(world: &World, agent: &Agent, payload: &Value) -> Value {
    let multibase = agent.key.public().to_string();
    let id = format!("{}#key-1", agent.did);
    let mut form = sent(world, agent, "x811/request", agent, payload);
    form["did_document"] = json!({
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/ed25519-2020/v1"],
        "id": agent.did,
        "verificationMethod": [{
            "id": id, "type": "Ed25519VerificationKey2020", "controller": agent.did,
            "publicKeyMultibase": multibase,
        }],
        "authentication": [id], "assertionMethod": [id],
    });
    form["public_key"] = BASE64_URL_SAFE_NO_PAD
        .encode(agent.key.public().as_bytes())
        .into();
    form
}

async fn register(world: &World, agent: &Agent, payload: &Value) -> Reply {
    let form = registration(world, agent, payload).to_string();
    let url = format!("{}/api/v1/agents", world.base);
    reply(world.http.post(url).body(form)).await
}

/// `client.send(…)`; what the SDK takes out of the answer.
async fn send(world: &World, from: &Agent, kind: &str, to: &Agent, payload: &Value) -> Value {
    let form = sent(world, from, kind, to, payload);
    let answer = world.post(form.to_string()).await.expect(202);
    assert_eq!(answer["message_id"], form["envelope"]["id"], "{answer}");
    assert_eq!(answer["status"], "queued");
    answer
}

/// `client.poll()`.
async fn poll(world: &World, agent: &Agent) -> Vec<Value> {
    let path = format!("/api/v1/messages/{}?did={}", agent.uuid(), agent.did);
    let page = world.get(&path).await.expect(200);
    assert_eq!(page["agent_id"], agent.uuid());
    let messages = page["messages"].as_array().unwrap().clone();
    assert_eq!(page["count"], messages.len());
    messages
}

pub(crate) fn translator() -> Value {
    json!({
        "name": "Translator", "description": "German", "payment_address": PAYEE,
        "capabilities": [{"name": "translate", "pricing": {"model": "flat"}}],
    })
}

#[tokio::test]
async fn sdk_it_registers_discovers_and_deals_up_to_the_payment() {
    let world = lenient().await;
    let (buyer, seller) = (Agent::new(), Agent::new());
    let registered = register(&world, &seller, &translator()).await.expect(201);
    assert_eq!(registered["id"], seller.uuid());
    assert_eq!(registered["name"], "Translator");
    assert_eq!(registered["status"], "active");
    assert_eq!(registered["trust_score"], 0.5);
    assert_eq!(registered["capabilities"], json!(["translate"]));
    register(&world, &buyer, &json!({"name": "Buyer"}))
        .await
        .expect(201);
    let again = register(&world, &seller, &translator()).await;
    let again = again.refused(409, "X811-1005");
    let said = again["error"]["message"].as_str().unwrap();
    assert!(said.contains("already exists"), "{again}");
    discovers(&world, &seller).await;
    deals(&world, &buyer, &seller).await;
}

/// `DELETE /api/v1/agents/{uuid}`, as the SDK's driver sends it: what is signed has to say it, since the
/// method is not (sdk-compat.md, D1).
#[tokio::test]
async fn sdk_an_agent_is_deleted_by_its_own_empty_request() {
    let world = lenient().await;
    let (seller, other) = (Agent::new(), Agent::new());
    register(&world, &seller, &translator()).await.expect(201);
    register(&world, &other, &json!({"name": "Other"}))
        .await
        .expect(201);
    let url = format!("{}/api/v1/agents/{}", world.base, seller.uuid());
    let delete = |form: Value| reply(world.http.delete(&url).body(form.to_string()));
    let named = sent(&world, &seller, "x811/request", &seller, &translator());
    delete(named).await.refused(400, "X811-4001");
    let to_other = sent(&world, &seller, "x811/request", &other, &json!({}));
    delete(to_other).await.refused(400, "X811-4001");
    let by_other = sent(&world, &other, "x811/request", &other, &json!({}));
    delete(by_other).await.refused(403, "X811-2004");
    let heartbeat = sent(&world, &seller, "x811/heartbeat", &seller, &json!({}));
    delete(heartbeat).await.refused(400, "X811-4001");
    let leaves = sent(&world, &seller, "x811/request", &seller, &json!({}));
    let left = delete(leaves.clone()).await.expect(200);
    assert_eq!(left["id"], seller.uuid());
    assert_eq!(left["status"], "deactivated");
    delete(leaves).await.refused(409, "X811-2001");
    let card = format!("/api/v1/agents/{}/status", seller.uuid());
    assert_eq!(world.get(&card).await.expect(200)["status"], "deactivated");
    let strict = World::start().await;
    let url = format!("{}/api/v1/agents/{}", strict.base, seller.uuid());
    let form = sent(&strict, &seller, "x811/request", &seller, &json!({}));
    let refused = reply(strict.http.delete(url).body(form.to_string())).await;
    refused.refused(404, "X811-4001");
}

/// `client.resolve(…)` and `client.discover(…)`.
async fn discovers(world: &World, seller: &Agent) {
    let path = format!("/api/v1/agents/{}/did", seller.uuid());
    let document = world.get(&path).await.expect(200);
    let method = &document["verificationMethod"][0];
    assert_eq!(method["type"], "Ed25519VerificationKey2020");
    assert_eq!(
        method["publicKeyMultibase"],
        seller.key.public().to_string()
    );
    let query = "capability=translate&trust_min=0.3&status=active&limit=20&offset=0";
    let found = world
        .get(&format!("/api/v1/agents?{query}"))
        .await
        .expect(200);
    assert_eq!(
        (&found["total"], &found["limit"], &found["offset"]),
        (&json!(1), &json!(20), &json!(0))
    );
    let found = &found["agents"][0];
    assert_eq!(found["id"], seller.uuid());
    assert_eq!(found["name"], "Translator");
    assert_eq!(found["trust_score"], 0.5);
    assert_eq!(found["status"], "active");
    let stepped_over = world
        .get(&format!("/api/v1/agents?{query}1"))
        .await
        .expect(200);
    assert_eq!(stepped_over["agents"], json!([]));
    assert_eq!(stepped_over["total"], 1);
}

/// From a request to the payment, each message polled by whom it is for.
async fn deals(world: &World, buyer: &Agent, seller: &Agent) {
    let request = json!({
        "task_type": "translate", "parameters": {"text": "Good day"}, "max_budget": 0.05,
        "currency": "USDC", "deadline": 60, "acceptance_policy": "auto", "idempotency_key": "key-1",
    });
    let asked = send(world, buyer, "x811/request", seller, &request).await;
    let id = asked["interaction_id"].clone();
    assert_eq!(asked["interaction_status"], "pending");
    let got = poll(world, seller).await;
    assert_eq!(got.len(), 1);
    assert_eq!(got[0]["id"], id, "a bare envelope");
    assert!(poll(world, seller).await.is_empty(), "each once");
    let offer = json!({
        "request_id": got[0]["id"], "price": "0.029", "protocol_fee": "0.000725",
        "total_cost": "0.029725", "currency": "USDC", "estimated_time": 10,
        "deliverables": ["the text"], "expiry": 300,
    });
    send(world, seller, "x811/offer", buyer, &offer).await;
    let got = poll(world, buyer).await;
    let offer_hash = Digest::of(&to_canonical(&got[0]["payload"]));
    let accept = json!({"offer_id": id, "offer_hash": offer_hash});
    send(world, buyer, "x811/accept", seller, &accept).await;
    let result_hash = Digest::of(b"Guten Tag");
    let result = json!({
        "request_id": id, "offer_id": id, "content": "Guten Tag", "content_type": "text/plain",
        "result_hash": result_hash, "execution_time_ms": 7,
    });
    send(world, seller, "x811/result", buyer, &result).await;
    let verify = json!({"request_id": id, "result_hash": result_hash, "verified": true});
    send(world, buyer, "x811/verify", seller, &verify).await;
    let payment = json!({
        "request_id": id, "offer_id": id, "tx_hash": format!("0x{}", "ab".repeat(32)),
        "amount": 0.029725, "currency": "USDC", "network": "local",
        "payer_address": "0x1111111111111111111111111111111111111111", "payee_address": PAYEE,
    });
    let paid = send(world, buyer, "x811/payment", seller, &payment).await;
    assert_eq!(
        paid["interaction_status"], "verified",
        "nothing was paid yet"
    );
    let kinds: Vec<Value> = poll(world, seller)
        .await
        .into_iter()
        .map(|it| it["type"].clone())
        .collect();
    assert_eq!(kinds, ["x811/accept", "x811/verify", "x811/payment"]);
    let shown = format!("/api/v1/interactions/{}", id.as_str().unwrap());
    assert_eq!(world.get(&shown).await.expect(200)["state"], "verified");
    let trust = format!("/api/v1/agents/{}/trust", seller.uuid());
    assert_eq!(
        world.get(&trust).await.expect(200)["s"],
        0,
        "a hash earns nothing"
    );
}

#[tokio::test]
async fn sdk_a_ledger_without_the_leniency_refuses_its_requests() {
    let world = World::start().await;
    let (buyer, seller) = (Agent::new(), world.agent().await);
    let refused = register(&world, &buyer, &json!({"name": "Buyer"})).await;
    refused.refused(404, "X811-4001");
    let form = registration(&world, &buyer, &json!({"name": "Buyer"}));
    world.post(form.to_string()).await.refused(400, "X811-4001");
    let path = format!("/api/v1/messages/{}?did={}", seller.uuid(), seller.did);
    world.get(&path).await.refused(400, "X811-4001");
}

/// `client.heartbeat(…)`.
async fn beat(world: &World, agent: &Agent, form: &Value) -> Reply {
    let path = format!("/api/v1/agents/{}/heartbeat", agent.uuid());
    let url = format!("{}{path}", world.base);
    reply(world.http.post(url).body(form.to_string())).await
}

#[tokio::test]
async fn sdk_its_heartbeat_says_that_it_is_there_once() {
    let world = lenient().await;
    let (agent, other) = (Agent::new(), Agent::new());
    for each in [&agent, &other] {
        register(&world, each, &translator()).await.expect(201);
    }
    let capacity = json!({"availability": "online", "capacity": 3, "ttl": 60});
    let form = sent(&world, &agent, "x811/heartbeat", &agent, &capacity);
    let shown = beat(&world, &agent, &form).await.expect(200);
    assert_eq!(shown["availability"], "online");
    assert_eq!(shown["last_seen_at"], world.clock.wall().to_rfc3339());
    world.clock.advance_ms(60_001);
    let path = format!("/api/v1/agents/{}/status", agent.uuid());
    assert_eq!(
        world.get(&path).await.expect(200)["availability"],
        "offline"
    );
    // Whoever took it down cannot bring the agent back by it.
    let again = beat(&world, &agent, &form).await;
    again.refused(400, "X811-4001");
    // Nor can another agent, a message of another type, or one whose signature is not the agent's.
    let of_other = sent(&world, &other, "x811/heartbeat", &other, &capacity);
    beat(&world, &agent, &of_other)
        .await
        .refused(403, "X811-2004");
    let empty = sent(&world, &agent, "x811/request", &agent, &json!({}));
    beat(&world, &agent, &empty).await.refused(400, "X811-4001");
    let to_other = sent(&world, &agent, "x811/heartbeat", &other, &capacity);
    beat(&world, &agent, &to_other)
        .await
        .refused(400, "X811-4001");
    let mut longer = sent(&world, &agent, "x811/heartbeat", &agent, &capacity);
    longer["envelope"]["payload"]["ttl"] = 3_600.into();
    beat(&world, &agent, &longer)
        .await
        .refused(401, "X811-2003");
    let endless = json!({"availability": "online", "capacity": 3, "ttl": 3_601});
    let endless = sent(&world, &agent, "x811/heartbeat", &agent, &endless);
    beat(&world, &agent, &endless)
        .await
        .refused(400, "X811-4001");
    assert_eq!(
        world.get(&path).await.expect(200)["availability"],
        "offline"
    );
    let late = sent(&world, &agent, "x811/heartbeat", &agent, &capacity);
    world.clock.advance_ms(600_000);
    beat(&world, &agent, &late).await.refused(401, "X811-2002");
    let strict = World::start().await;
    let agent = strict.agent().await;
    let form = sent(&strict, &agent, "x811/heartbeat", &agent, &capacity);
    beat(&strict, &agent, &form).await.refused(401, "X811-2004");
}

#[tokio::test]
async fn sdk_its_card_says_what_was_registered_and_earned() {
    let world = lenient().await;
    let agent = Agent::new();
    register(&world, &agent, &translator()).await.expect(201);
    let card = world
        .get(&format!("/api/v1/agents/{}/card", agent.uuid()))
        .await
        .expect(200);
    assert_eq!(card["name"], "Translator");
    assert_eq!(card["description"], "German");
    assert_eq!(card["capabilities"], json!([{"name": "translate"}]));
    let ours = &card["x811"];
    assert_eq!(ours["did"], json!(agent.did));
    assert_eq!(ours["trust_score"], 0.5);
    assert_eq!(ours["interaction_count"], 0);
    assert_eq!(
        ours["payment_address"].as_str().unwrap().to_lowercase(),
        PAYEE
    );
    assert_eq!(ours["status"], "active");
    let nobody = Agent::new();
    let path = format!("/api/v1/agents/{}/card", nobody.uuid());
    world.get(&path).await.refused(404, "X811-1001");
    let strict = World::start().await;
    let agent = strict.agent().await;
    let path = format!("/api/v1/agents/{}/card", agent.uuid());
    strict.get(&path).await.refused(404, "X811-4001");
}

/// `new SSEClient(…)`: what was not polled, then what is behind the last event; envelopes alone.
#[tokio::test]
async fn sdk_its_stream_gives_envelopes_alone_behind_what_was_polled() {
    let world = lenient().await;
    let (buyer, seller) = (Agent::new(), Agent::new());
    for agent in [&buyer, &seller] {
        register(&world, agent, &translator()).await.expect(201);
    }
    let request = |key: &str| {
        json!({
            "task_type": "translate", "parameters": {}, "max_budget": 0.05, "currency": "USDC",
            "deadline": 60, "acceptance_policy": "auto", "idempotency_key": key,
        })
    };
    send(&world, &buyer, "x811/request", &seller, &request("a")).await;
    assert_eq!(poll(&world, &seller).await.len(), 1);
    let second = send(&world, &buyer, "x811/request", &seller, &request("b")).await;
    let third = send(&world, &buyer, "x811/request", &seller, &request("c")).await;
    let path = format!(
        "/api/v1/messages/{}/stream?did={}",
        seller.uuid(),
        seller.did
    );
    let mut stream = world.listen_with(&path, &[]).await;
    for expected in [&second, &third] {
        let event = stream.next().await.unwrap();
        let id = expected["message_id"].as_str().unwrap();
        assert!(
            event.starts_with(&format!("id: {id}\nevent: message\ndata: ")),
            "{event}"
        );
    }
    let last = second["message_id"].as_str().unwrap();
    let mut resumed = world.listen_with(&path, &[("last-event-id", last)]).await;
    let event = resumed.next().await.unwrap();
    assert!(
        event.contains(third["message_id"].as_str().unwrap()),
        "{event}"
    );
    // It uses nothing up.
    assert_eq!(poll(&world, &seller).await.len(), 2);
    let of_other = format!(
        "/api/v1/messages/{}/stream?did={}",
        seller.uuid(),
        buyer.did
    );
    let refused = world.open(&of_other, &[]).await.err().unwrap();
    refused.refused(403, "X811-2004");
}

/// Whoever knows a DID could use up its messages: only this machine may, and only of open reads.
#[tokio::test]
async fn sdk_its_poll_is_for_this_machine_and_for_the_agent_named() {
    let world = lenient().await;
    let (buyer, seller) = (Agent::new(), Agent::new());
    for agent in [&buyer, &seller] {
        register(&world, agent, &translator()).await.expect(201);
    }
    let path = format!("/api/v1/messages/{}?did={}", seller.uuid(), buyer.did);
    world.get(&path).await.refused(403, "X811-2004");
    let path = format!("/api/v1/messages/{}?did={}", seller.uuid(), seller.did);
    let passed_on = world.http.get(format!("{}{path}", world.base));
    let passed_on = reply(passed_on.header("x-forwarded-for", "192.0.2.1")).await;
    assert_eq!(passed_on.status, 403, "{}", passed_on.text);
}
