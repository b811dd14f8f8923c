//! Inboxes: order, cursors, long polls.

use crate::world::{Agent, Deal, World};
use serde_json::{Value, json};
use std::collections::HashSet;

fn custom(world: &World, from: &Agent, to: &Agent, number: usize) -> Vec<u8> {
    from.say(world, to.did, "x811.test/ping", json!({ "number": number }))
        .json
}

fn numbers(messages: &Value) -> Vec<u64> {
    let messages = messages.as_array().unwrap();
    let number = |message: &Value| message["envelope"]["payload"]["number"].as_u64().unwrap();
    messages.iter().map(number).collect()
}

#[tokio::test]
async fn ae_125_pages_follow_the_order_of_the_log() {
    let (world, [a, b]) = World::peopled().await;
    for number in 0..7 {
        world.post(custom(&world, &a, &b, number)).await.expect(202);
        world
            .post(custom(&world, &b, &a, 100 + number))
            .await
            .expect(202);
    }
    let path = format!("/api/v1/messages/{}?limit=3", b.uuid());
    let (mut got, mut after) = (Vec::new(), String::new());
    let mut positions = Vec::new();
    for expected in [3, 3, 1, 0] {
        let page = world.get(&format!("{path}{after}")).await.expect(200);
        let messages = page["messages"].as_array().unwrap();
        assert_eq!(messages.len(), expected);
        positions.extend(messages.iter().map(|message| message["position"].as_u64()));
        got.extend(numbers(&page["messages"]));
        if let Some(last) = messages.last() {
            assert_eq!(page["next"], last["cursor"]);
        }
        after = format!("&after={}", page["next"].as_str().unwrap());
    }
    assert_eq!(got, [0, 1, 2, 3, 4, 5, 6]);
    assert!(positions.is_sorted());
    // The cursor of a single message goes on behind it.
    let first = world.get(&path).await.expect(200)["messages"][0]["cursor"].clone();
    let rest = world
        .get(&format!("{path}&after={}", first.as_str().unwrap()))
        .await;
    assert_eq!(numbers(&rest.expect(200)["messages"]), [1, 2, 3]);
}

/// Reading takes nothing away, and a server that ended before the first read delivers after it.
#[tokio::test]
async fn ae_001_every_message_is_delivered_at_least_once() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    let ids = |messages: Vec<Value>| -> Vec<Value> {
        let id = |message: &Value| message["envelope"]["id"].clone();
        messages.iter().map(id).collect()
    };
    let (request, offer) = (json!(deal.id()), json!(offer.header.id));
    drop(deal);
    let world = world.restart(1_000).await;
    let first = ids(world.inbox(&provider).await);
    assert_eq!((first.len(), &first[0]), (3, &request));
    assert_eq!(ids(world.inbox(&provider).await), first, "and again");
    let first = ids(world.inbox(&initiator).await);
    assert_eq!((first.len(), &first[0]), (2, &offer));
}

#[tokio::test]
async fn a_cursor_of_another_inbox_is_refused() {
    let (world, [a, b]) = World::peopled().await;
    let mine = world
        .get(&format!("/api/v1/messages/{}", a.uuid()))
        .await
        .expect(200);
    let cursor = mine["next"].as_str().unwrap();
    let path = format!("/api/v1/messages/{}?after=", b.uuid());
    for bad in [cursor, "0", "%C3%BC", ""] {
        world
            .get(&format!("{path}{bad}"))
            .await
            .refused(400, "X811-4001");
    }
}

#[tokio::test]
async fn a_long_poll_is_woken_by_a_message_and_by_nothing_else_of_note() {
    let (world, [a, b]) = World::peopled().await;
    let path = format!("/api/v1/messages/{}?wait_ms=30000", b.uuid());
    let poll = world.get(&path);
    let talk = async {
        // Records for others do not end the wait.
        world.post(custom(&world, &b, &a, 1)).await.expect(202);
        world.post(custom(&world, &a, &b, 2)).await.expect(202);
    };
    let (page, ()) = tokio::join!(poll, talk);
    assert_eq!(numbers(&page.expect(200)["messages"]), [2]);
}

#[tokio::test]
async fn a_poll_without_wait_answers_at_once_and_shutdown_ends_a_long_one() {
    let (mut world, [agent]) = World::peopled().await;
    let path = format!("{}/api/v1/messages/{}", world.base, agent.uuid());
    let page = crate::world::reply(world.http.get(&path)).await.expect(200);
    assert_eq!(page["messages"], json!([]));
    let next = page["next"].as_str().unwrap();
    let waiting = world.http.get(format!("{path}?wait_ms=30000&after={next}"));
    let (page, ()) = tokio::join!(crate::world::reply(waiting), async {
        world.agent().await;
        world.running.shutdown();
    });
    assert_eq!(page.expect(200)["next"], next);
    world.running.wait().await.unwrap();
}

#[tokio::test]
async fn unknown_agents_and_parameters_are_refused() {
    let world = World::start().await;
    let stranger = Agent::new();
    let path = format!("/api/v1/messages/{}", stranger.uuid());
    world.get(&path).await.refused(404, "X811-1001");
    let known = world.agent().await;
    let path = format!("/api/v1/messages/{}", known.uuid());
    for query in ["limit=many", "wait=3", "limit=-1"] {
        world
            .get(&format!("{path}?{query}"))
            .await
            .refused(400, "X811-4001");
    }
    world
        .get("/api/v1/messages/NOT-A-UUID")
        .await
        .refused(400, "X811-4001");
    world
        .get("/api/v1/messages/%ff")
        .await
        .refused(400, "X811-4001");
}

#[tokio::test]
async fn both_parties_get_their_own_messages_only() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    deal.verified().await;
    let kinds = |messages: Vec<Value>| -> Vec<String> {
        let kind = |message: Value| message["envelope"]["type"].as_str().unwrap().to_owned();
        messages.into_iter().map(kind).collect()
    };
    let theirs = kinds(world.inbox(&provider).await);
    assert_eq!(theirs, ["x811/request", "x811/accept", "x811/verify"]);
    let mine = kinds(world.inbox(&initiator).await);
    assert_eq!(mine, ["x811/offer", "x811/result"]);
    let distinct: HashSet<String> = theirs.into_iter().chain(mine).collect();
    assert_eq!(distinct.len(), 5);
}

#[tokio::test]
async fn an_answer_ends_before_it_grows_without_bound() {
    let (world, [a, b]) = World::peopled().await;
    for _ in 0..6 {
        let large = a.say(
            &world,
            b.did,
            "x811.test/blob",
            json!({ "blob": "x".repeat(1_000_000) }),
        );
        world.accept(&large).await;
    }
    let path = format!("/api/v1/messages/{}", b.uuid());
    let page = world.get(&path).await.expect(200);
    assert_eq!(page["messages"].as_array().unwrap().len(), 5);
    let next = page["next"].as_str().unwrap();
    let rest = world.get(&format!("{path}?after={next}")).await.expect(200);
    assert_eq!(rest["messages"].as_array().unwrap().len(), 1);
}

/// HTTP polling is the transport, and it is reliable: what was read once can be read again, by a
/// poll that waits and by one that does not.
#[tokio::test]
async fn ae_003_polls_that_wait_and_polls_that_do_not_deliver_the_same() {
    let (world, [a, b]) = World::peopled().await;
    for number in 0..3 {
        let ping = a.say(&world, b.did, "x811.test/ping", json!({ "number": number }));
        world.accept(&ping).await;
    }
    let path = format!("/api/v1/messages/{}", b.uuid());
    let polled = world.get(&path).await.expect(200);
    assert_eq!(polled["messages"].as_array().unwrap().len(), 3);
    for again in [path.clone(), format!("{path}?wait_ms=30000")] {
        assert_eq!(
            world.get(&again).await.expect(200)["messages"],
            polled["messages"]
        );
    }
}
