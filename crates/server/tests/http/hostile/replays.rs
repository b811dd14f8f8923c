//! The same nonce, the same id, the same bytes: at once, later, after a restart (AE-86 to AE-88,
//! ledger-contract.md section 3).

use super::{Stage, case};
use crate::world::{Agent, Deal, World};
use serde_json::json;
use x811_protocol::id::{EnvelopeId, Nonce};

/// A fresh envelope with a used nonce.
fn reusing(world: &World, by: &Agent, to: &Agent, nonce: Nonce) -> Vec<u8> {
    let mut header = by.header(world, to.did, "x811.test/ping");
    header.nonce = nonce;
    by.say_as(header, json!({ "again": true })).json
}

#[tokio::test]
async fn ae_087_a_nonce_is_one_senders_for_the_whole_window() {
    let (world, [a, b]) = World::peopled().await;
    let first = a.say(&world, b.did, "x811.test/ping", json!({}));
    let nonce = first.header.nonce;
    world.accept(&first).await;
    world.clock.advance_ms(299_999);
    world
        .post(first.json.clone())
        .await
        .refused(409, "X811-2001");
    world.clock.advance_ms(2);
    world
        .post(first.json.clone())
        .await
        .refused(401, "X811-2002");
    // Another sender's nonces are its own.
    world.post(reusing(&world, &b, &a, nonce)).await.expect(202);
    world.clock.advance_ms(599_998);
    world
        .post(reusing(&world, &a, &b, nonce))
        .await
        .refused(409, "X811-2001");
    let world = world.restart(0).await;
    world
        .post(reusing(&world, &a, &b, nonce))
        .await
        .refused(409, "X811-2001");
    world.post(first.json).await.refused(401, "X811-2002");
    // Longer than any envelope with it could still be of now; nonces are forgotten by the minute.
    world.clock.advance_ms(120_000);
    world
        .accept(&b.say(&world, a.did, "x811.test/ping", json!({})))
        .await;
    world.post(reusing(&world, &a, &b, nonce)).await.expect(202);
}

#[tokio::test]
async fn ae_070_ids_are_unique_for_ever_and_for_everybody() {
    let stage = Stage::open().await;
    let deal = Deal::new(&stage.world, &stage.a, &stage.b);
    stage.world.accept(&deal.request).await;
    let reused = |world: &World, by: &Agent, to: &Agent| {
        let mut header = by.header(world, to.did, "x811.test/ping");
        header.id = deal.id();
        by.say_as(header, json!({})).json
    };
    let cases = vec![
        case(
            "by its sender",
            reused(&stage.world, &stage.a, &stage.b),
            (422, "X811-4001"),
        ),
        case(
            "by another",
            reused(&stage.world, &stage.b, &stage.a),
            (422, "X811-4001"),
        ),
    ];
    stage.refuse_spent(cases).await;
    let mut header = stage.a.header(&stage.world, stage.b.did, "x811/request");
    header.id = deal.id();
    let request = stage
        .a
        .say_as(header, Deal::request_payload("another order"));
    let cases = vec![case("by another request", request.json, (422, "X811-4001"))];
    stage.refuse_spent(cases).await;
    let (id, Stage { world, a, b }) = (deal.id(), stage);
    let world = world.restart(1_000).await;
    let mut header = a.header(&world, b.did, "x811.test/ping");
    header.id = id;
    world
        .post(a.say_as(header, json!({})).json)
        .await
        .refused(422, "X811-4001");
    let path = format!("/api/v1/messages/by-id/{id}");
    let stored = world.get(&path).await.expect(200);
    assert_eq!(stored["envelope"]["type"], "x811/request");
}

/// An id that was never accepted is free, whatever became of the message that had it.
#[tokio::test]
async fn ae_070_the_id_of_a_refused_message_is_still_free() {
    let stage = Stage::open().await;
    let mut header = stage
        .a
        .header(&stage.world, Agent::new().did, "x811.test/ping");
    header.id = EnvelopeId::from_parts(crate::world::BEGUN.as_ms(), &[4; 10]);
    let id = header.id;
    let to_nobody = stage.a.say_as(header, json!({}));
    stage
        .refuse_spent(vec![case("to nobody", to_nobody.json, (404, "X811-3001"))])
        .await;
    let mut header = stage.a.header(&stage.world, stage.b.did, "x811.test/ping");
    header.id = id;
    stage.world.accept(&stage.a.say_as(header, json!({}))).await;
}

/// One message a hundred times at once is one record, and every other answer names it.
#[tokio::test]
async fn ae_088_a_burst_of_one_envelope_is_one_record() {
    let stage = Stage::open().await;
    let ping = stage.ping();
    let size = |look: &serde_json::Value| look[0].as_u64().unwrap();
    let before = size(&stage.look().await);
    let mut answers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let url = format!("{}/api/v1/messages", stage.world.base);
        let request = stage.world.http.post(url).body(ping.clone());
        answers.spawn(async move { crate::world::reply(request).await });
    }
    let mut accepted = 0;
    while let Some(answer) = answers.join_next().await {
        match answer.unwrap() {
            taken if taken.status == 202 => accepted += 1,
            other => drop(other.refused(409, "X811-2001")),
        }
    }
    assert_eq!((accepted, size(&stage.look().await)), (1, before + 1));
}
