//! The published SDK, on a ledger of its own that takes its form.

use super::recorder::{Answer, Recorder};
use crate::reference_sdk::{registration, sent, translator};
use crate::world::Agent;
use reqwest::Method;
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::parameters::Leniency;

impl Recorder {
    async fn posted(&mut self, name: &str, path: &str, form: &Value, records: u64) -> Value {
        let body = form.to_string().into_bytes();
        let answer = self
            .ask(&format!("sdk {name}"), (Method::POST, path), None, body)
            .await;
        self.grown(records).await;
        answer.json()
    }
}

pub(super) async fn session() -> Vec<Answer> {
    let mut recorder = Recorder::start(|config| {
        config.lenient = vec![Leniency::ReferenceSdk, Leniency::Addresses];
    })
    .await;
    let recorder = &mut recorder;
    let world = recorder.world.clone();
    let (buyer, seller) = (Agent::new(), Agent::new());
    for (name, agent, payload) in [
        ("seller", &seller, translator()),
        ("buyer", &buyer, json!({"name": "Buyer"})),
    ] {
        let form = registration(&world, agent, &payload);
        recorder
            .posted(&format!("register {name}"), "/api/v1/agents", &form, 1)
            .await;
        recorder
            .posted(
                &format!("register {name} again"),
                "/api/v1/agents",
                &form,
                0,
            )
            .await;
    }
    let agent = format!("/api/v1/agents/{}", seller.uuid());
    for part in ["", "/did", "/card", "/status", "/trust"] {
        recorder
            .get(
                &format!("sdk agent{}", part.replace('/', " ")),
                None,
                &format!("{agent}{part}"),
            )
            .await;
    }
    let query = "/api/v1/agents?capability=translate&trust_min=0.3&status=active&limit=20&offset=0";
    recorder.get("sdk discover", None, query).await;
    let beat = json!({"availability": "online", "capacity": 3, "ttl": 60});
    let beat = sent(&world, &seller, "x811/heartbeat", &seller, &beat);
    for name in ["heartbeat", "heartbeat again"] {
        recorder
            .posted(name, &format!("{agent}/heartbeat"), &beat, 0)
            .await;
    }
    deal(recorder, &buyer, &seller).await;
    for (name, of, did) in [
        ("seller", &seller, &seller),
        ("buyer", &buyer, &buyer),
        ("seller by buyer", &seller, &buyer),
    ] {
        let path = format!("/api/v1/messages/{}?did={}", of.uuid(), did.did);
        recorder
            .get(&format!("sdk poll of {name}"), None, &path)
            .await;
    }
    let leaves = sent(&world, &seller, "x811/request", &seller, &json!({}))
        .to_string()
        .into_bytes();
    for name in ["sdk delete", "sdk delete again"] {
        let answer = recorder
            .ask(name, (Method::DELETE, &agent), None, leaves.clone())
            .await;
        recorder.grown(u64::from(answer.status == 200)).await;
    }
    recorder.get("sdk agent deleted", None, &agent).await;
    std::mem::take(&mut recorder.answers)
}

async fn deal(recorder: &mut Recorder, buyer: &Agent, seller: &Agent) {
    let world = recorder.world.clone();
    let path = "/api/v1/messages";
    let request = json!({
        "task_type": "translate", "parameters": {"text": "Good day"}, "max_budget": 0.05,
        "currency": "USDC", "deadline": 60, "acceptance_policy": "auto", "idempotency_key": "key-1",
    });
    let form = sent(&world, buyer, "x811/request", seller, &request);
    let id = recorder.posted("request", path, &form, 1).await["interaction_id"].clone();
    recorder.posted("request again", path, &form, 0).await;
    let offer = json!({
        "request_id": id, "price": "0.029", "protocol_fee": "0.000725", "total_cost": "0.029725",
        "currency": "USDC", "estimated_time": 10, "deliverables": ["the text"], "expiry": 300,
    });
    let result_hash = Digest::of(b"Guten Tag");
    let accept = json!({"offer_id": id, "offer_hash": Digest::of(&to_canonical(&offer))});
    let result = json!({
        "request_id": id, "offer_id": id, "content": "Guten Tag", "content_type": "text/plain",
        "result_hash": result_hash, "execution_time_ms": 7,
    });
    let verify = json!({"request_id": id, "result_hash": result_hash, "verified": true});
    let payment = json!({
        "request_id": id, "offer_id": id, "tx_hash": format!("0x{}", "ab".repeat(32)),
        "amount": 0.029_725, "currency": "USDC", "network": "local",
        "payer_address": "0x1111111111111111111111111111111111111111",
        "payee_address": "0x4242424242424242424242424242424242424242",
    });
    for (kind, from, to, payload) in [
        ("offer", seller, buyer, &offer),
        ("accept", buyer, seller, &accept),
        ("result", seller, buyer, &result),
        ("verify", buyer, seller, &verify),
        ("payment", buyer, seller, &payment),
    ] {
        let form = sent(&world, from, &format!("x811/{kind}"), to, payload);
        recorder.posted(kind, path, &form, 1).await;
    }
    let shown = format!("/api/v1/interactions/{}", id.as_str().unwrap());
    recorder.get("sdk interaction", None, &shown).await;
}
