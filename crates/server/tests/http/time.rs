//! Lapses and their notices; clocks that jump.

use crate::story::digest_key;
use crate::world::{Agent, Deal, World};
use serde_json::{Value, json};
use x811_ledger::clock::Clock as _;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::{EnvelopeRules, ParsedEnvelope, verify};

/// The first message in an inbox, waited for.
async fn first(world: &World, agent: &Agent) -> Value {
    let path = format!("/api/v1/messages/{}?wait_ms=30000", agent.uuid());
    let page = world.get(&path).await.expect(200);
    page["messages"][0].clone()
}

/// The last message in an inbox once it has `count`.
async fn last_of(world: &World, agent: &Agent, count: usize) -> Value {
    let mut after = String::new();
    let mut messages = Vec::new();
    while messages.len() < count {
        let path = format!("/api/v1/messages/{}?wait_ms=30000{after}", agent.uuid());
        let page = world.get(&path).await.expect(200);
        messages.extend(page["messages"].as_array().unwrap().clone());
        after = format!("&after={}", page["next"].as_str().unwrap());
    }
    messages.pop().unwrap()
}

#[tokio::test]
async fn ae_102_a_lapse_is_told_to_both_parties_signed_by_the_ledger() {
    let world = World::start_with(|config| config.windows.offer_ms = 2_000).await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let deal = Deal::new(&world, &initiator, &provider);
    world.accept(&deal.request).await;
    world.clock.advance_ms(2_001);

    let document = world.get("/.well-known/did.json").await.expect(200);
    let key = DidDocument::parse(&document).unwrap().keys[0];
    let to_initiator = first(&world, &initiator).await;
    let to_provider = last_of(&world, &provider, 2).await;
    for (message, to) in [(to_initiator, &initiator), (to_provider, &provider)] {
        let bytes = serde_json::to_vec(&message["envelope"]).unwrap();
        let parsed = ParsedEnvelope::parse(&bytes, &EnvelopeRules::default()).unwrap();
        let notice = verify(parsed, &[digest_key(key)]).unwrap();
        let header = notice.header();
        assert_eq!((header.from, header.to), (world.ledger(), to.did));
        assert_eq!(header.message_type.as_str(), "x811/error");
        assert_eq!(notice.payload()["code"], "X811-4020");
        assert_eq!(notice.payload()["related_message_id"], json!(deal.id()));
    }
    let path = format!("/api/v1/interactions/{}", deal.id());
    let shown = world.get(&path).await.expect(200);
    assert_eq!(
        (&shown["state"], &shown["detail"]["code"]),
        (&json!("expired"), &json!("X811-4020"))
    );
    let history = world.get(&format!("{path}/history")).await.expect(200);
    let events: Vec<&Value> = history["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| &record["leaf"]["event"]["type"])
        .collect();
    let expected = [
        "envelope_accepted",
        "lapsed",
        "notice_issued",
        "notice_issued",
    ];
    assert_eq!(events, expected.map(Value::from).each_ref());
    // Whoever comes now comes too late.
    world
        .post(deal.offer().json)
        .await
        .refused(422, "X811-4001");
}

#[tokio::test]
async fn ae_098_a_message_at_the_deadline_itself_is_in_time() {
    let world = World::start_with(|config| config.windows.offer_ms = 2_000).await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let deal = Deal::new(&world, &initiator, &provider);
    let answer = world.accept(&deal.request).await;
    let deadline_ms = answer["deadline_at_ms"].as_u64().unwrap();
    assert_eq!(deadline_ms, world.clock.wall().as_ms() + 2_000);
    // A lapse needs now > deadline (ledger-contract.md section 1).
    world.clock.advance_ms(2_000);
    world.accept(&deal.offer()).await;
}

#[tokio::test]
async fn a_jump_of_the_clock_makes_it_unready_until_it_is_settled() {
    let (world, [a, b]) = World::peopled().await;
    let ping = || a.say(&world, b.did, "x811.test/ping", json!({})).json;
    let before = ping();
    world
        .clock
        .jump_wall_to(crate::world::BEGUN.saturating_add_ms(120_000));
    let answer = world.post(before.clone()).await;
    answer.refused(429, "X811-9001");
    assert_eq!(answer.headers["retry-after"], "1");
    let unready = world.get("/ready").await.expect(503);
    assert_eq!(
        (&unready["ready"], &unready["clock"]),
        (&json!(false), &json!("unsettled"))
    );
    assert!(unready["why"][0].as_str().unwrap().contains("clock"));
    world.get("/health").await.expect(200);

    // It holds its course for ten seconds and is believed; the refused message kept its nonce.
    world.clock.advance_ms(10_001);
    world.post(before).await.expect(202);
    let ready = world.get("/ready").await.expect(200);
    assert_eq!(
        (&ready["ready"], &ready["clock"]),
        (&json!(true), &json!("settled"))
    );
    world.post(ping()).await.expect(202);
}

#[tokio::test]
async fn a_blind_ledger_is_ready_and_says_that_it_is_blind() {
    let world = World::start_blind_with(|_| {}).await;
    assert!(world.running.starts_blind.is_some());
    // The watcher's first report makes it a record; until then nothing is known.
    let sight = loop {
        let ready = world.get("/ready").await.expect(200);
        let sight = ready["networks"][0]["sight"].as_str().unwrap().to_owned();
        if sight != "unknown" {
            assert!(ready["size"].as_u64().unwrap() >= 3);
            break sight;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(sight, "blind");
}
