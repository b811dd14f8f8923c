//! Negotiations, descriptors, sessions and agreements, and an exclusion that an operator lifts.

use super::{Cast, Recorder};
use crate::capabilities::descriptor;
use crate::codes::changed;
use crate::sessions::request_to;
use crate::world::{Agent, Deal};
use reqwest::Method;
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::capability::agreement::JWS_TYPE;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::jws;
use x811_protocol::key::KeyId;

/// What is shown of a subject.
const PARTS: [&str; 3] = ["", "/history", "/bundle"];

pub(super) async fn session(recorder: &mut Recorder, cast: &Cast) {
    negotiated(recorder, cast).await;
    refused(recorder, cast).await;
    advertised(recorder, cast).await;
    let agreement = agreed(recorder, cast, &cast.ada).await;
    revoked(recorder, cast, &agreement).await;
    excluded(recorder, cast).await;
}

impl Recorder {
    /// Sends a message of a namespace; its id.
    async fn say(&mut self, from: &Agent, to: &Agent, kind: &str, payload: Value) -> String {
        let world = self.world.clone();
        let message = from.say(&world, to.did, &format!("x811.{kind}"), payload);
        self.send(&kind.replace('/', " "), &message, 0).await;
        message.header.id.to_string()
    }

    /// Terms of Ada to Bert, offered; and under which name.
    async fn offered(&mut self, cast: &Cast) -> (SealedEnvelope, String) {
        let world = self.world.clone();
        let header = cast
            .ada
            .header(&world, cast.bert.did, "x811.negotiation/offer");
        let expires_at = header.created_ms.saturating_add_ms(600_000).to_rfc3339();
        let offer = cast.ada.say_as(
            header,
            json!({"terms": terms(cast, "1"), "expires_at": expires_at}),
        );
        self.send("negotiation offer", &offer, 0).await;
        let id = format!("neg-{}", offer.header.id);
        (offer, id)
    }
}

fn terms(cast: &Cast, usdc: &str) -> Value {
    json!({
        "payer": cast.ada.did, "payee": cast.bert.did, "amount_of": "price",
        "amount": {"value": usdc, "currency": "USDC"}, "deadline_s": 60, "task_type": "translate",
        "deliverables": ["the text in French"],
    })
}

/// A contract that is made over two steps.
async fn negotiated(recorder: &mut Recorder, cast: &Cast) {
    let (offer, id) = recorder.offered(cast).await;
    let (ada, bert) = (&cast.ada, &cast.bert);
    let world = recorder.world.clone();
    let none = changed(&world, ada, &offer, |it| it["terms"] = json!({}));
    recorder
        .post("negotiation offer of no terms", none, 0)
        .await;
    let own = json!({"negotiation_id": id, "step_id": offer.header.id, "terms": terms(cast, "2")});
    recorder
        .say(ada, bert, "negotiation/counter", own.clone())
        .await;
    let step = recorder.say(bert, ada, "negotiation/counter", own).await;
    let path = format!("/api/v1/negotiations/{id}");
    recorder
        .shown_to_all(cast, "negotiation pending", &path, &PARTS[..1])
        .await;
    for hash in [
        Digest::of(b"others"),
        Digest::of(&to_canonical(&terms(cast, "2"))),
    ] {
        let accept = json!({"negotiation_id": id, "step_id": step, "terms_hash": hash});
        recorder.say(ada, bert, "negotiation/accept", accept).await;
    }
    recorder.pass(2_000, 1).await;
    recorder.covered().await;
    recorder
        .shown_to_all(cast, "negotiation", &path, &PARTS)
        .await;
    recorder
        .shown_to_all(
            cast,
            "negotiation trace",
            &format!("/api/v1/traces/{id}"),
            &["", "?format=svg"],
        )
        .await;
    let mut deal = Deal::new(&world, ada, bert);
    let mut payload = Deal::request_payload("by contract");
    payload["max_budget"] = json!(2.05);
    payload["deadline"] = json!(60);
    payload["parameters"]["negotiation_id"] = json!(id);
    deal.request = ada.say(&world, bert.did, "x811/request", payload);
    recorder
        .send("request under the contract", &deal.request, 1)
        .await;
}

/// Negotiations that come to nothing, and one that is erased.
async fn refused(recorder: &mut Recorder, cast: &Cast) {
    let (ada, bert) = (&cast.ada, &cast.bert);
    let (offer, id) = recorder.offered(cast).await;
    let about = json!({"negotiation_id": id, "step_id": offer.header.id});
    recorder
        .say(bert, ada, "negotiation/withdraw", about.clone())
        .await;
    recorder
        .say(ada, bert, "negotiation/withdraw", about.clone())
        .await;
    recorder.say(bert, ada, "negotiation/reject", about).await;
    let (offer, id) = recorder.offered(cast).await;
    let erasure = format!("/api/v1/negotiations/{id}/erasure?reason_code=gdpr_request");
    let erase = (Method::POST, &*erasure);
    recorder
        .ask(
            "erase negotiation early",
            erase.clone(),
            Some(&cast.operator),
            Vec::new(),
        )
        .await;
    let about = json!({"negotiation_id": id, "step_id": offer.header.id});
    recorder.say(bert, ada, "negotiation/reject", about).await;
    recorder
        .ask("erase negotiation", erase, Some(&cast.operator), Vec::new())
        .await;
    recorder.grown(1).await;
    recorder.pass(2_000, 3).await;
    recorder.covered().await;
    recorder
        .shown_to_all(
            cast,
            "negotiation erased",
            &format!("/api/v1/negotiations/{id}"),
            &PARTS,
        )
        .await;
}

async fn advertised(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    for (name, revision, category) in [
        ("of magic", 1, "magic"),
        ("too late", 2, "tool_access"),
        ("first", 1, "tool_access"),
        ("second", 2, "tool_access"),
    ] {
        let mut payload = descriptor(&cast.bert, revision);
        payload["capabilities"][0]["category"] = json!(category);
        let message = cast
            .bert
            .say(&world, world.ledger(), "x811.capability/advertise", payload);
        recorder
            .send(&format!("advertise {name}"), &message, 0)
            .await;
    }
    recorder.covered().await;
    let path = format!("/api/v1/agents/{}/capabilities", cast.bert.uuid());
    recorder
        .shown_to_all(cast, "capabilities", &path, &["", "/bundle"])
        .await;
}

/// A session of `consumer` with Bert, up to what both signed.
async fn agreed(recorder: &mut Recorder, cast: &Cast, consumer: &Agent) -> String {
    let (world, bert) = (recorder.world.clone(), &cast.bert);
    let request = request_to(&world, consumer, bert);
    let other = changed(&world, consumer, &request, |it| {
        it["type"] = json!("compute.inference")
    });
    recorder.post("session of another type", other, 0).await;
    recorder.send("session request", &request, 0).await;
    let id = request.header.id.to_string();
    let terms = json!({"duration_s": 600, "max_requests": 3});
    let offer = json!({"session_id": id, "terms": terms});
    recorder
        .say(consumer, bert, "capability/offer", offer.clone())
        .await;
    let willing = json!({"session_id": id, "willing": true});
    recorder
        .say(bert, consumer, "capability/response", willing)
        .await;
    let step = recorder
        .say(consumer, bert, "capability/offer", offer)
        .await;
    let counter = json!({"session_id": id, "step_id": step, "terms": terms});
    let step = recorder
        .say(bert, consumer, "capability/counter", counter)
        .await;
    let accept = |hash| json!({"session_id": id, "step_id": step, "terms_hash": hash});
    recorder
        .say(
            consumer,
            bert,
            "capability/accept",
            accept(Digest::of(b"others")),
        )
        .await;
    let hash = Digest::of(&to_canonical(&terms));
    recorder
        .say(consumer, bert, "capability/accept", accept(hash))
        .await;
    let object = json!({
        "ledger": world.ledger(), "agreement_id": id, "session_id": id, "revision": 1,
        "consumer": consumer.did, "provider": bert.did, "type": "tool.api", "version": "1.2.0",
        "parameters": {}, "terms": terms,
    });
    let signed = |of: &Agent, by: &Agent| {
        let kid = KeyId {
            did: of.did,
            key: of.key.public(),
        };
        let signed = jws::sign(kid, JWS_TYPE, &to_canonical(&object), &by.key);
        json!({"agreement": object, "protected": signed.protected, "signature": signed.signature})
    };
    recorder
        .say(consumer, bert, "capability/agree", signed(consumer, bert))
        .await;
    recorder
        .say(
            consumer,
            bert,
            "capability/agree",
            signed(consumer, consumer),
        )
        .await;
    let last = bert.say(
        &world,
        consumer.did,
        "x811.capability/agree",
        signed(bert, bert),
    );
    recorder.send("capability agree", &last, 2).await;
    id
}

async fn revoked(recorder: &mut Recorder, cast: &Cast, id: &str) {
    recorder.covered().await;
    let (session, agreement) = (
        format!("/api/v1/sessions/{id}"),
        format!("/api/v1/agreements/{id}"),
    );
    recorder
        .shown_to_all(cast, "session", &session, &PARTS)
        .await;
    recorder
        .shown_to_all(
            cast,
            "agreement",
            &agreement,
            &[&PARTS[..], &["/jws", "/jws?revision=2"]].concat(),
        )
        .await;
    recorder
        .shown_to_all(
            cast,
            "session trace",
            &format!("/api/v1/traces/{id}"),
            &[""],
        )
        .await;
    for query in [
        "?as_of=1",
        "?provider=me",
        &format!("?consumer={}", cast.ada.uuid()),
    ] {
        let name = format!(
            "agreements {}",
            query.split('=').next().unwrap().trim_start_matches('?')
        );
        recorder
            .get(
                &name,
                Some(&cast.ada),
                &format!("/api/v1/agreements{query}"),
            )
            .await;
    }
    let revoke = json!({"agreement_id": id, "revision": 1, "reason": "moved away"});
    recorder
        .say(&cast.ada, &cast.bert, "capability/revoke", revoke.clone())
        .await;
    recorder
        .say(&cast.ada, &cast.bert, "capability/revoke", revoke)
        .await;
    recorder
        .say(
            &cast.bert,
            &cast.ada,
            "capability/close",
            json!({"session_id": id}),
        )
        .await;
    for subject in [&session, &agreement] {
        let path = format!("{subject}/erasure?reason_code=gdpr_request");
        let answer = recorder
            .ask(
                "erase what was agreed",
                (Method::POST, &path),
                Some(&cast.operator),
                Vec::new(),
            )
            .await;
        recorder.grown(u64::from(answer.status == 200)).await;
    }
}

/// Two consumers get no result under an agreement.
async fn excluded(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    for consumer in [&cast.ada, &cast.cleo] {
        let id = agreed(recorder, cast, consumer).await;
        let mut deal = Deal::new(&world, consumer, &cast.bert);
        let mut payload = Deal::request_payload(&id);
        payload["task_type"] = json!("tool.api");
        payload["parameters"]["agreement_id"] = json!(id);
        deal.request = consumer.say(&world, cast.bert.did, "x811/request", payload);
        recorder
            .send("request under an agreement", &deal.request, 1)
            .await;
        let offer = deal.offer();
        recorder.send("offer under an agreement", &offer, 0).await;
        recorder
            .send("accept under an agreement", &deal.accept(&offer), 0)
            .await;
    }
    recorder.pass(12_000, 3).await;
    recorder.pass(8_000, 10).await;
    let path = format!("/api/v1/agents/{}/conduct", cast.bert.uuid());
    recorder.shown_to_all(cast, "conduct", &path, &[""]).await;
    let shown = recorder
        .get("conduct by operator", Some(&cast.operator), &path)
        .await
        .json();
    recorder
        .send(
            "session with the excluded",
            &request_to(&world, &cast.ada, &cast.bert),
            0,
        )
        .await;
    let at = shown["exclusion"]["position"].as_u64().unwrap();
    for (name, at, by) in [
        ("lift by bert", at, Some(&cast.bert)),
        ("lift by nobody", at, None),
        ("lift of nothing", at + 1, Some(&cast.operator)),
        ("lift", at, Some(&cast.operator)),
        ("lift again", at, Some(&cast.operator)),
    ] {
        let path = format!("{path}/lift?excluded={at}");
        let answer = recorder
            .ask(name, (Method::POST, &path), by, Vec::new())
            .await;
        // The record and a notice of it.
        recorder.grown(2 * u64::from(answer.status == 200)).await;
    }
    recorder
        .shown_to_all(cast, "conduct lifted", &path, &[""])
        .await;
}
