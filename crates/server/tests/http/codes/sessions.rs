//! Codes of sessions about capabilities.

use super::{Met, Spent};
use crate::world::{Agent, World};
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::capability::agreement::JWS_TYPE;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::jws;
use x811_protocol::key::KeyId;

/// The two, and what the consumer asks for.
struct Dealing<'a> {
    world: &'a World,
    consumer: &'a Agent,
    provider: &'a Agent,
}

impl Dealing<'_> {
    fn say(&self, from: &Agent, verb: &str, payload: Value) -> SealedEnvelope {
        let to = if from.did == self.consumer.did {
            self.provider
        } else {
            self.consumer
        };
        from.say(
            self.world,
            to.did,
            &format!("x811.capability/{verb}"),
            payload,
        )
    }

    fn request(&self, capability: &str, version: &str) -> SealedEnvelope {
        let payload = json!({
            "type": capability, "parameters": {},
            "protocol": {"min": version, "max": version, "deprecated": []},
        });
        self.say(self.consumer, "request", payload)
    }

    /// Says it, and it is accepted; the envelope's id.
    async fn accepted(&self, sealed: &SealedEnvelope) -> String {
        self.world.accept(sealed).await;
        sealed.header.id.to_string()
    }
}

/// CCN-2001, 3001, 4001, 4003, 4005, 4008, 4009, 4010.
pub(super) async fn provoked(met: &mut Met) {
    let (world, [consumer, provider]) = World::peopled().await;
    let advert = crate::capabilities::descriptor(&provider, 1);
    let advert = provider.say(&world, world.ledger(), "x811.capability/advertise", advert);
    world.accept(&advert).await;
    let dealing = Dealing {
        world: &world,
        consumer: &consumer,
        provider: &provider,
    };
    let other = dealing.request("compute.inference", "1.2.0").json;
    met.refused(&world, other, (Code::NotEligible, 422, Spent))
        .await;
    let later = dealing.request("tool.api", "5.0.0").json;
    met.refused(&world, later, (Code::VersionMismatch, 422, Spent))
        .await;
    let request = dealing.request("tool.api", "1.2.0");
    let session = dealing.accepted(&request).await;
    terms(met, &dealing, &session).await;
}

/// Too early, too often, and not what was said.
async fn terms(met: &mut Met, dealing: &Dealing<'_>, session: &str) {
    let (world, consumer, provider) = (dealing.world, dealing.consumer, dealing.provider);
    let terms = json!({"duration_s": 60});
    let offer = || {
        let payload = json!({"session_id": session, "terms": terms});
        dealing.say(consumer, "offer", payload)
    };
    met.refused(world, offer().json, (Code::WrongState, 422, Spent))
        .await;
    let willing = json!({"session_id": session, "willing": true});
    dealing
        .accepted(&dealing.say(provider, "response", willing))
        .await;
    let mut step = dealing.accepted(&offer()).await;
    let counter = |from: &Agent, step: &str| {
        let payload = json!({"session_id": session, "step_id": step, "terms": terms});
        dealing.say(from, "counter", payload)
    };
    for from in [provider, consumer, provider, consumer, provider] {
        step = dealing.accepted(&counter(from, &step)).await;
    }
    let sixth = counter(consumer, &step).json;
    met.refused(world, sixth, (Code::LimitReached, 422, Spent))
        .await;
    let accept = |terms_hash: Digest| {
        let payload = json!({"session_id": session, "step_id": step, "terms_hash": terms_hash});
        dealing.say(consumer, "accept", payload)
    };
    let others = accept(Digest::of(b"others")).json;
    met.refused(world, others, (Code::TermsMismatch, 422, Spent))
        .await;
    dealing
        .accepted(&accept(Digest::of(&to_canonical(&terms))))
        .await;
    let object = json!({
        "ledger": world.ledger(), "agreement_id": session, "session_id": session, "revision": 1,
        "consumer": consumer.did, "provider": provider.did, "type": "tool.api",
        "version": "1.2.0", "parameters": {}, "terms": terms,
    });
    signatures(met, dealing, session, &object).await;
}

async fn signatures(met: &mut Met, dealing: &Dealing<'_>, session: &str, object: &Value) {
    let (world, consumer) = (dealing.world, dealing.consumer);
    let agree = |by: &Agent| {
        let kid = KeyId {
            did: consumer.did,
            key: consumer.key.public(),
        };
        let signed = jws::sign(kid, JWS_TYPE, &to_canonical(object), &by.key);
        let payload = json!({
            "agreement": object, "protected": signed.protected, "signature": signed.signature,
        });
        dealing.say(consumer, "agree", payload)
    };
    let forged = agree(dealing.provider).json;
    met.refused(world, forged, (Code::JwsInvalid, 401, Spent))
        .await;
    dealing.accepted(&agree(consumer)).await;
    met.refused(world, agree(consumer).json, (Code::Duplicate, 409, Spent))
        .await;
    let close = || dealing.say(consumer, "close", json!({"session_id": session}));
    dealing.accepted(&close()).await;
    met.refused(world, close().json, (Code::Closed, 422, Spent))
        .await;
}

/// CCN-5001 to 5003: whoever finds the window of a session or an agreement over is told which it was, and
/// the next one that nothing is open.
pub(super) async fn late(met: &mut Met) {
    let world = World::start_without_timers().await;
    let (consumer, provider) = (world.agent().await, world.agent().await);
    let advert = crate::capabilities::descriptor(&provider, 1);
    let advert = provider.say(&world, world.ledger(), "x811.capability/advertise", advert);
    world.accept(&advert).await;
    let dealing = Dealing {
        world: &world,
        consumer: &consumer,
        provider: &provider,
    };
    let willing = |session: &str| {
        let payload = json!({"session_id": session, "willing": true});
        dealing.say(&provider, "response", payload)
    };
    let terms = json!({"duration_s": 1});
    let offer = |session: &str| {
        let payload = json!({"session_id": session, "terms": terms});
        dealing.say(&consumer, "offer", payload)
    };
    let unanswered = dealing
        .accepted(&dealing.request("tool.api", "1.2.0"))
        .await;
    world.clock.advance_ms(30_001);
    let late = (Code::ResponseTimeout, 422, Spent);
    met.refused(&world, willing(&unanswered).json, late).await;
    let late = (Code::Closed, 422, Spent);
    met.refused(&world, willing(&unanswered).json, late).await;

    let open = dealing
        .accepted(&dealing.request("tool.api", "1.2.0"))
        .await;
    dealing.accepted(&willing(&open)).await;
    world.clock.advance_ms(60_001);
    let late = (Code::SessionTimeout, 422, Spent);
    met.refused(&world, offer(&open).json, late).await;

    let agreed = dealing
        .accepted(&dealing.request("tool.api", "1.2.0"))
        .await;
    dealing.accepted(&willing(&agreed)).await;
    let step = dealing.accepted(&offer(&agreed)).await;
    let terms_hash = Digest::of(&to_canonical(&terms));
    let accept = json!({"session_id": agreed, "step_id": step, "terms_hash": terms_hash});
    dealing
        .accepted(&dealing.say(&provider, "accept", accept))
        .await;
    let object = json!({
        "ledger": world.ledger(), "agreement_id": agreed, "session_id": agreed, "revision": 1,
        "consumer": consumer.did, "provider": provider.did, "type": "tool.api",
        "version": "1.2.0", "parameters": {}, "terms": terms,
    });
    for by in [&consumer, &provider] {
        let kid = KeyId {
            did: by.did,
            key: by.key.public(),
        };
        let signed = jws::sign(kid, JWS_TYPE, &to_canonical(&object), &by.key);
        let payload = json!({
            "agreement": object, "protected": signed.protected, "signature": signed.signature,
        });
        dealing.accepted(&dealing.say(by, "agree", payload)).await;
    }
    world.clock.advance_ms(1_000);
    let revoke = json!({"agreement_id": agreed, "revision": 1, "reason": "moved away"});
    let revoke = dealing.say(&consumer, "revoke", revoke).json;
    met.refused(&world, revoke, (Code::AgreementEnded, 422, Spent))
        .await;
}
