//! A checkpoint that cannot be stored (ledger-contract.md section 1.5).

use crate::world::{Agent, World};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};

/// Most steps of a second that a test waits for; an attempt takes as long as the disk does.
const MAX_STEPS: usize = 1_000;

/// Lets seconds pass until `/ready` is as `is_due` says.
async fn ready_once(world: &World, is_due: impl Fn(u16, &Value) -> bool) -> Value {
    for _ in 0..MAX_STEPS {
        let reply = world.get("/ready").await;
        let ready = reply.json();
        if is_due(reply.status, &ready) {
            return ready;
        }
        world.clock.advance_ms(1_000);
    }
    panic!("{}", world.get("/ready").await.text);
}

fn says(ready: &Value, member: &str) -> bool {
    ready[member]
        .to_string()
        .contains("no checkpoint could be stored")
}

async fn scraped(world: &World) -> String {
    let addr = world.running.metrics_addr.unwrap();
    let answer = world.http.get(format!("http://{addr}/metrics")).send();
    answer.await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn lc_1_5_without_a_checkpoint_attention_is_called_for_and_then_no_message_is_taken() {
    let world = World::start_blind_with(|config| {
        config.metrics_listen = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    });
    let world = world.await;
    let ready = ready_once(&world, |_, ready| ready["checkpoint_size"].is_u64()).await;
    assert!(!says(&ready, "attention"), "{ready}");
    assert!(scraped(&world).await.contains("x811_checkpoint_failing 0"));

    let [kept, away] = ["checkpoint", "away"].map(|name| world.dir.path().join(name));
    std::fs::rename(&kept, &away).unwrap();
    world.agent().await;
    let ready = ready_once(&world, |_, ready| says(ready, "attention")).await;
    assert_eq!(ready["ready"], true, "not before the bound: {ready}");
    assert!(scraped(&world).await.contains("x811_checkpoint_failing 1"));

    let ready = ready_once(&world, |status, _| status == 503).await;
    assert!(says(&ready, "why"), "{ready}");
    let refused = world.post(Agent::new().registration(&world).json).await;
    let refused = refused.refused(503, "X811-9001");
    assert!(
        refused["message"].to_string().contains("checkpoint"),
        "{refused}"
    );

    std::fs::rename(&away, &kept).unwrap();
    let ready = ready_once(&world, |status, _| status == 200).await;
    assert!(!says(&ready, "attention"), "{ready}");
    world.agent().await;
}
