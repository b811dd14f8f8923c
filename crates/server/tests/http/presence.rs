//! Heartbeats, and REQUESTs to those who fell silent (AX-40, agents.md section 3).

use crate::feed::post_claim;
use crate::world::{Agent, Deal, World};
use serde_json::json;

fn path_of(agent: &Agent) -> String {
    format!("/api/v1/agents/{}", agent.uuid())
}

async fn beat(world: &World, agent: &Agent, query: &str) {
    let path = format!("{}/heartbeat?{query}", path_of(agent));
    world.post_as(agent, &path).await.expect(200);
}

async fn availability(world: &World, agent: &Agent) -> String {
    let path = format!("{}/status", path_of(agent));
    let shown = world.get(&path).await.expect(200);
    shown["availability"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn ax_40_who_fell_silent_is_asked_nothing_new_until_it_is_back() {
    let (world, [initiator, provider]) = World::peopled().await;
    assert_eq!(availability(&world, &provider).await, "unknown");
    let first = Deal::new(&world, &initiator, &provider);
    world.accept(&first.request).await;

    beat(&world, &provider, "ttl_s=60").await;
    assert_eq!(availability(&world, &provider).await, "online");
    beat(&world, &provider, "ttl_s=60&availability=busy").await;
    assert_eq!(availability(&world, &provider).await, "busy");
    world.clock.advance_ms(60_001);
    assert_eq!(availability(&world, &provider).await, "offline");

    let second = Deal::new(&world, &initiator, &provider);
    let refused = world.post(second.request.json.clone()).await;
    refused.refused(503, "X811-3003");
    assert_eq!(refused.headers["retry-after"], "30");
    // It left nothing, not even a spent nonce: the same bytes are taken once the agent is back.
    let path = format!("/api/v1/interactions/{}", second.id());
    world.get(&path).await.refused(404, "X811-4001");
    beat(&world, &provider, "ttl_s=60").await;
    world.accept(&second.request).await;
}

#[tokio::test]
async fn ax_40_what_was_begun_goes_on_whoever_is_silent() {
    let (world, [initiator, provider]) = World::peopled().await;
    for agent in [&initiator, &provider] {
        beat(&world, agent, "ttl_s=1").await;
    }
    let deal = Deal::new(&world, &initiator, &provider);
    world.accept(&deal.request).await;
    world.clock.advance_ms(1_001);
    assert_eq!(availability(&world, &initiator).await, "offline");
    let offer = deal.offer();
    world.accept(&offer).await;
    world.accept(&deal.accept(&offer)).await;
}

/// Who gains: a rival that makes a provider look offline, or keeps a dead one online. It has neither
/// the agent's key, nor a request that is taken twice.
#[tokio::test]
async fn ax_40_nobody_says_for_another_that_it_is_there() {
    let (world, [rival, provider]) = World::peopled().await;
    let path = format!("{}/heartbeat?ttl_s=1", path_of(&provider));
    world.post_as(&rival, &path).await.refused(403, "X811-2004");
    let url = format!("{}{path}", world.base);
    let unsigned = crate::world::reply(world.http.post(url)).await;
    unsigned.refused(401, "X811-2004");
    let claim = post_claim(&world, &provider, &path).sign();
    world.post_signed(&path, &claim).await.expect(200);
    world.clock.advance_ms(1_001);
    let again = world.post_signed(&path, &claim).await;
    assert!(again.status >= 400, "{}", again.text);
    assert_eq!(availability(&world, &provider).await, "offline");
    for query in ["ttl_s=0", "ttl_s=3601", "availability=offline", "until=9"] {
        let path = format!("{}/heartbeat?{query}", path_of(&provider));
        world
            .post_as(&provider, &path)
            .await
            .refused(400, "X811-4001");
    }
}

#[tokio::test]
async fn ax_40_a_restart_forgets_who_was_there() {
    let (world, [initiator, provider]) = World::peopled().await;
    beat(&world, &provider, "ttl_s=1").await;
    world.clock.advance_ms(1_001);
    assert_eq!(availability(&world, &provider).await, "offline");
    let world = world.restart(0).await;
    assert_eq!(availability(&world, &provider).await, "unknown");
    world
        .accept(&Deal::new(&world, &initiator, &provider).request)
        .await;
}

#[tokio::test]
async fn ax_40_discovery_lays_presence_over_its_pages() {
    let (world, [there, silent]) = World::peopled().await;
    beat(&world, &there, "").await;
    for (word, who) in [("online", &there), ("unknown", &silent)] {
        let path = format!("/api/v1/agents?availability={word}");
        let page = world.get(&path).await.expect(200);
        assert_eq!(page["agents"].as_array().unwrap().len(), 1);
        assert_eq!(page["agents"][0]["did"], json!(who.did));
        assert_eq!(page["agents"][0]["availability"], word);
    }
}
