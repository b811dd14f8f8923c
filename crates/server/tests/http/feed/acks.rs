//! Acknowledgements: cumulative, never back, never beyond what is durable, by the agent alone.

use super::{ack_path, inbox_of, post_claim, stream_of, unsigned};
use crate::readers::readers;
use crate::world::World;
use reqwest::Method;
use serde_json::{Value, json};
use x811_protocol::key::SecretKey;

#[tokio::test]
async fn ax_44_what_is_acknowledged_does_not_come_again_and_the_rest_does() {
    let (world, [a, b]) = World::peopled().await;
    let sent = world.ping(&a, &b, 0..4).await;
    let inbox = world.inbox(&b).await;
    // What was only written to a stream is not delivered.
    for _ in 0..2 {
        let mut listener = world.listen(&b, &stream_of(&b)).await;
        assert_eq!(listener.numbers(4).await, [0, 1, 2, 3]);
    }
    let answer = world.ack(&b, &inbox[1]["cursor"]).await.expect(200);
    let due = json!({ "through": inbox[1]["cursor"], "position": sent[1]["position"] });
    assert_eq!(answer, due);
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    assert_eq!(listener.numbers(2).await, [2, 3]);
    // A poll says itself from where: it takes nothing away.
    assert_eq!(world.inbox(&b).await, inbox);
}

#[tokio::test]
async fn ax_44_an_acknowledgement_never_goes_back() {
    let (world, [a, b]) = World::peopled().await;
    let beginning = world.get(&inbox_of(&b)).await.expect(200)["next"].clone();
    assert_eq!(world.ack(&b, &beginning).await.expect(200), json!({}));
    world.ping(&a, &b, 0..3).await;
    let inbox = world.inbox(&b).await;
    let due = world.ack(&b, &inbox[1]["cursor"]).await.expect(200);
    for back in [&inbox[0]["cursor"], &beginning, &inbox[1]["cursor"]] {
        assert_eq!(world.ack(&b, back).await.expect(200), due);
    }
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    assert_eq!(listener.numbers(1).await, [2]);
}

#[tokio::test]
async fn ax_44_an_acknowledgement_is_there_after_a_restart_and_a_lost_one_is_a_repetition() {
    let (world, [a, b]) = World::peopled().await;
    world.ping(&a, &b, 0..3).await;
    let inbox = world.inbox(&b).await;
    world.ack(&b, &inbox[1]["cursor"]).await.expect(200);
    let world = world.restart(1_000).await;
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    assert_eq!(listener.numbers(1).await, [2]);
    drop(listener);
    let lost = async |dir: &std::path::Path| {
        for name in ["feed.db", "feed.db-wal", "feed.db-shm"] {
            // The last two went with the server that closed them.
            let _ = std::fs::remove_file(dir.join(name));
        }
    };
    let world = world.restart_with(1_000, lost, |_| {}).await;
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    assert_eq!(listener.numbers(3).await, [0, 1, 2]);
}

#[tokio::test]
async fn ax_44_an_acknowledgement_file_that_is_damaged_is_replaced() {
    let (world, [a, b]) = World::peopled().await;
    world.ping(&a, &b, 0..2).await;
    let inbox = world.inbox(&b).await;
    world.ack(&b, &inbox[0]["cursor"]).await.expect(200);
    let damage = async |dir: &std::path::Path| {
        // Or SQLite would take its pages from there.
        let _ = std::fs::remove_file(dir.join("feed.db-wal"));
        std::fs::write(dir.join("feed.db"), [b'x'; 9_000]).unwrap();
    };
    let world = world.restart_with(1_000, damage, |_| {}).await;
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    assert_eq!(listener.numbers(2).await, [0, 1]);
    world.ack(&b, &inbox[0]["cursor"]).await.expect(200);
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    assert_eq!(listener.numbers(1).await, [1]);
}

/// A cursor is no secret: its owner can make one for any position.
#[tokio::test]
async fn ax_44_nothing_beyond_what_is_durable_is_acknowledged() {
    let (world, [a, b]) = World::peopled().await;
    let sent = world.ping(&a, &b, 0..1).await;
    let last = sent[0]["position"].as_u64().unwrap();
    world
        .ack(&b, &json!(cursor_behind(&b, last)))
        .await
        .expect(200);
    for beyond in [last + 1, last + 1_000, u64::from(u32::MAX), u64::MAX - 1] {
        let through = json!(cursor_behind(&b, beyond));
        let refused = world.ack(&b, &through).await.refused(400, "X811-4001");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("beyond"), "{message}");
    }
    // What comes then is delivered.
    world.ping(&a, &b, 1..2).await;
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    assert_eq!(listener.numbers(1).await, [1]);
}

/// The cursor behind that position, as the ledger would make it.
fn cursor_behind(agent: &crate::world::Agent, position: u64) -> String {
    use base64::Engine as _;
    let from = (position + 1).to_be_bytes();
    let check = x811_protocol::digest::Digest::of_parts(&[agent.did.uuid().as_bytes(), &from]);
    let bytes = [&from[..], &check.as_bytes()[..4]].concat();
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

#[tokio::test]
async fn ax_44_nobody_acknowledges_for_another() {
    let (world, [initiator, provider, stranger, auditor]) = readers().await;
    world.ping(&initiator, &provider, 0..2).await;
    let inbox = world.get_as(&provider, &inbox_of(&provider)).await;
    let cursor = inbox.expect(200)["messages"][1]["cursor"].clone();
    let path = ack_path(&provider, &cursor);
    for other in [&initiator, &stranger, &auditor] {
        let refused = world.post_as(other, &path).await;
        refused.refused(403, "X811-2004");
    }
    let refused = unsigned(&world, Method::POST, &path).await;
    refused.refused(401, "X811-2004");
    let mut forged = post_claim(&world, &provider, &path);
    forged.key = SecretKey::from_seed([3; 32]);
    let refused = world.post_signed(&path, &forged.sign()).await;
    refused.refused(401, "X811-2003");
    // A read that was signed is none, and another cursor was not signed.
    let mut read = post_claim(&world, &provider, &path);
    read.method = "GET";
    let refused = world.post_signed(&path, &read.sign()).await;
    refused.refused(401, "X811-2003");
    let good = post_claim(&world, &provider, &path).sign();
    let first = ack_path(&provider, &json!(cursor_behind(&provider, 0)));
    let refused = world.post_signed(&first, &good).await;
    refused.refused(401, "X811-2003");
    world.post_signed(&path, &good).await.expect(200);
    let replayed = world.post_signed(&path, &good).await;
    replayed.refused(409, "X811-2001");
    // A cursor of another's inbox acknowledges nothing in one's own.
    let own = ack_path(&initiator, &cursor);
    let refused = world.post_as(&initiator, &own).await;
    refused.refused(400, "X811-4001");
}

#[tokio::test]
async fn ax_44_open_reads_do_not_acknowledge() {
    let (world, [a, b]) = World::peopled().await;
    world.ping(&a, &b, 0..1).await;
    let inbox: Vec<Value> = world.inbox(&b).await;
    let path = ack_path(&b, &inbox[0]["cursor"]);
    let refused = unsigned(&world, Method::POST, &path).await;
    refused.refused(401, "X811-2004");
}
