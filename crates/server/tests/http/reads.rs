//! Who may read, and what is not there.

use crate::repeats::as_recorded;
use crate::world::{Deal, World, reply};
use serde_json::json;
use x811_ledger::clock::Clock as _;
use x811_protocol::time::TimestampMs;

const SOME_ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";

#[tokio::test]
async fn ax_044_without_the_flag_nobody_reads_others_business() {
    let world = World::start_with(|config| config.open_reads = false).await;
    let agent = world.agent().await;
    for path in [
        format!("/api/v1/messages/{}", agent.uuid()),
        format!("/api/v1/messages/by-id/{SOME_ID}"),
        format!("/api/v1/interactions/{SOME_ID}"),
        format!("/api/v1/interactions/{SOME_ID}/history"),
        format!("/api/v1/interactions/{SOME_ID}/bundle"),
    ] {
        let body = world.get(&path).await.refused(401, "X811-2004");
        assert!(body["message"].as_str().unwrap().contains("RFC 9421"));
    }
    // What is public stays so.
    for path in [
        "/health",
        "/ready",
        "/.well-known/x811.json",
        "/.well-known/did.json",
    ] {
        world.get(path).await.expect(200);
    }
    world
        .get(&format!("/api/v1/agents/{}", agent.uuid()))
        .await
        .expect(200);
}

#[tokio::test]
async fn ax_044_a_foreign_host_header_is_refused() {
    let (world, [agent]) = World::peopled().await;
    let url = format!("{}/api/v1/messages/{}", world.base, agent.uuid());
    for (host, passes) in [
        ("localhost:8811", true),
        ("127.0.0.1", true),
        ("[::1]:9", true),
        ("ledger.example.org", false),
        ("127.0.0.1.example.org:8811", false),
    ] {
        let answer = reply(world.http.get(&url).header("host", host)).await;
        if passes {
            answer.expect(200);
        } else {
            answer.refused(403, "X811-2004");
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_404_in_json() {
    let world = World::start().await;
    for path in [
        format!("/api/v1/messages/by-id/{SOME_ID}"),
        format!("/api/v1/interactions/{SOME_ID}"),
        format!("/api/v1/interactions/{SOME_ID}/history"),
        "/".to_owned(),
        "/api/v2/messages".to_owned(),
    ] {
        world.get(&path).await.refused(404, "X811-4001");
    }
    for path in ["/api/v1/interactions/7", "/api/v1/messages/by-id/x"] {
        world.get(path).await.refused(400, "X811-4001");
    }
    let known = format!("/api/v1/interactions/{SOME_ID}?min_positon=1");
    world.get(&known).await.refused(400, "X811-4001");
}

#[tokio::test]
async fn another_method_is_405_in_json() {
    let world = World::start().await;
    let answer = world.get("/api/v1/messages").await;
    answer.refused(405, "X811-4001");
    assert_eq!(answer.headers["allow"], "POST");
    let delete = world.http.delete(format!("{}/ready", world.base));
    reply(delete).await.refused(405, "X811-4001");
}

#[tokio::test]
async fn by_id_tells_the_first_answer_and_the_envelope_for_ever() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let first = world.accept(&deal.request).await;
    let path = format!("/api/v1/messages/by-id/{}", deal.id());
    let found = world.get(&path).await.expect(200);
    assert_eq!(found["first"], as_recorded(&first));
    let sent: serde_json::Value = serde_json::from_slice(&deal.request.json).unwrap();
    assert_eq!(found["envelope"], sent);
    // Long after, and in another process.
    let (first, id) = (first.clone(), deal.id());
    drop(deal);
    let world = world.restart(3_600_000).await;
    let found = world.get(&format!("/api/v1/messages/by-id/{id}")).await;
    assert_eq!(found.expect(200)["first"], as_recorded(&first));
}

/// A client that had no answer seals again only when nothing of the first can come any more.
#[tokio::test]
async fn by_id_says_as_of_when_there_is_no_such_envelope() {
    // Seen once, the network would be blind after the minutes below, which is a record of its own.
    let world = World::start_blind_with(|_| {}).await;
    while world.get("/ready").await.json()["networks"][0]["sight"] != "blind" {
        tokio::task::yield_now().await;
    }
    let (a, b) = (world.agent().await, world.agent().await);
    let sealed = a.say(&world, b.did, "x811.test/ping", json!({}));
    let path = format!("/api/v1/messages/by-id/{}", sealed.header.id);
    let last = world.get("/ready").await.json()["size"].as_u64().unwrap() - 1;
    let due = |at: TimestampMs| json!({ "as_of": { "position": last, "at_ms": at } });
    let absent = world.get(&path).await.refused(404, "X811-4001");
    assert_eq!(absent["details"], due(world.clock.wall()));
    world.clock.advance_ms(330_001);
    let absent = world.get(&path).await.refused(404, "X811-4001");
    assert_eq!(absent["details"], due(world.clock.wall()));
    // By then it is not taken any more.
    world.post(sealed.json).await.refused(401, "X811-2002");
}

#[tokio::test]
async fn answers_are_json_and_nothing_else() {
    let (world, [a, b]) = World::peopled().await;
    let hostile = json!({ "note": "</script><script>alert(1)</script>\u{1b}[2J" });
    world
        .accept(&a.say(&world, b.did, "x811.test/note", hostile))
        .await;
    let answer = world.get(&format!("/api/v1/messages/{}", b.uuid())).await;
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    assert!(
        !answer.text.contains('\u{1b}'),
        "control characters are escaped"
    );
}

#[tokio::test]
async fn a_position_that_the_log_does_not_hold_is_named() {
    let world = World::start().await;
    let size = world.get("/ready").await.json()["size"].as_u64().unwrap();
    let path = format!("/api/v1/interactions/{SOME_ID}?min_position={size}");
    world.get(&path).await.refused(404, "X811-4001");
    let path = format!("/api/v1/interactions/{SOME_ID}?min_position=9007199254740992");
    world.get(&path).await.refused(400, "X811-4001");
}
