//! Promise 7 and reads that wait: who may read is asked again when there is something to show.

use crate::registry::rotation;
use crate::signing::Claim;
use crate::world::{Agent, Reply, World};
use serde_json::json;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::key::SecretKey;

/// A waiting read of `agent`'s inbox; while it waits `change` is accepted, and then mail comes.
async fn waited(world: &World, agent: &Agent, change: Option<SealedEnvelope>) -> Reply {
    let sender = world.agent().await;
    let path = format!("/api/v1/messages/{}?wait_ms=30000", agent.uuid());
    let ask = || async {
        let fields = Claim::of(world, agent, &path).sign();
        world.ask_signed(&path, &fields).await
    };
    let (mut first, mut second) = (Box::pin(ask()), Box::pin(ask()));
    // One read of an inbox may wait: whichever comes second is refused, so the other one waits.
    let (refused, waiting) = tokio::select! {
        refused = &mut first => (refused, second),
        refused = &mut second => (refused, first),
    };
    refused.refused(429, "X811-9001");
    let mail = sender.say(
        world,
        agent.did,
        "x811.test/ping",
        json!({"secret": "open sesame"}),
    );
    let then = async {
        if let Some(change) = &change {
            world.accept(change).await;
        }
        world.accept(&mail).await;
    };
    tokio::join!(waiting, then).0
}

async fn closed() -> World {
    World::start_with(|config| {
        config.open_reads = false;
        config.rate_limits.limit_loopback = true;
        config.rate_limits.long_polls_per_did = 1;
    })
    .await
}

#[tokio::test]
async fn promise_7_a_read_that_waits_is_answered_to_who_may_still_read() {
    let world = closed().await;
    let agent = world.agent().await;
    let page = waited(&world, &agent, None).await.expect(200);
    assert_eq!(page["messages"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn promise_7_a_read_that_waits_does_not_outlive_its_key_or_its_did() {
    let world = closed().await;
    for verb in ["rotate", "deactivate", "revoke"] {
        let agent = world.agent().await;
        let (change, status) = match verb {
            "rotate" => {
                let new_key = SecretKey::from_seed([5; 32]);
                (rotation(&world, &agent, &new_key).0, "active")
            }
            "deactivate" => (change(&world, &agent, verb), "deactivated"),
            _ => (change(&world, &agent, verb), "revoked"),
        };
        let answer = waited(&world, &agent, Some(change)).await;
        let body = answer.refused(401, "X811-2003");
        assert_eq!(body["details"], json!({ "did_status": status }), "{verb}");
        assert!(!answer.text.contains("open sesame"), "{verb}");
        assert!(answer.headers.contains_key("accept-signature"), "{verb}");
    }
}

fn change(world: &World, agent: &Agent, verb: &str) -> SealedEnvelope {
    let kind = format!("x811.registry/{verb}");
    agent.say(world, world.ledger(), &kind, json!({}))
}
