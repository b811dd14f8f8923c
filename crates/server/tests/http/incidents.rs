//! Incidents of other ledgers, each told against this one, over HTTP and real SQLite. The names say
//! whose; what belongs to the sequencer alone stands with `x811-ledger`.

use crate::repeats::as_recorded;
use crate::world::{Deal, World, reply};
use serde_json::{Value, json};

/// A key that ends the first part of the pre-image early must not be another sender's key.
#[tokio::test]
async fn incident_separator_injection_in_the_pre_image_blnk() {
    let (world, [a, b]) = World::peopled().await;
    let mut interactions = Vec::new();
    for key in ["k", "k\0", "\0k", "\0", "k\0k", "k\u{1}", "K"] {
        let request = Deal::request_payload(key);
        let request = a.say(&world, b.did, "x811/request", request);
        interactions.push(world.accept(&request).await["interaction_id"].clone());
    }
    // The other's DID inside the key: the parts must not slide into each other.
    let forged = format!("\0{}\0k", a.did);
    for key in [forged, format!("{}k", a.did)] {
        let request = b.say(&world, a.did, "x811/request", Deal::request_payload(&key));
        interactions.push(world.accept(&request).await["interaction_id"].clone());
    }
    let distinct: std::collections::HashSet<String> =
        interactions.iter().map(Value::to_string).collect();
    assert_eq!(distinct.len(), interactions.len());
}

/// Two agents that choose the same key, the same nonce and the same bytes are two agents.
#[tokio::test]
async fn incident_two_tenants_share_a_key_space_ledger_1413() {
    let world = World::start().await;
    let (a, b, provider) = (
        world.agent().await,
        world.agent().await,
        world.agent().await,
    );
    let nonce = a.header(&world, provider.did, "x811/request").nonce;
    let mut interactions = Vec::new();
    for initiator in [&a, &b] {
        let mut header = initiator.header(&world, provider.did, "x811/request");
        header.nonce = nonce;
        let request = initiator.say_as(header, Deal::request_payload("order-1"));
        interactions.push(world.accept(&request).await["interaction_id"].clone());
    }
    assert_ne!(interactions[0], interactions[1]);
}

/// What is hashed is what was signed, whatever it holds: quotes, separators, controls, and text that
/// looks like the ledger's own.
#[tokio::test]
async fn incident_special_characters_in_hashed_text_ledger_787() {
    let (world, [a, b]) = World::peopled().await;
    for text in [
        r#"","signature":"AAAA","x":""#,
        "\\\"\\u0000\\",
        "\u{2028}\u{2029}\u{feff}",
        "\u{0}\u{1}\u{1f}\u{7f}\u{9f}",
        "</script><!--",
        "a|b;c:d/e%f&g=h",
        "\u{d7ff}\u{e000}\u{fffd}\u{1f600}\u{10ffff}",
        "e\u{301}\u{1e17}\u{0345}",
    ] {
        let ping = a.say(&world, b.did, "x811.test/ping", json!({ text: text }));
        let accepted = world.accept(&ping).await;
        let path = format!("/api/v1/messages/by-id/{}", ping.header.id);
        let stored = world.get(&path).await;
        let wire = std::str::from_utf8(&ping.json).unwrap();
        assert!(stored.text.contains(wire), "{text:?}: {}", stored.text);
        assert_eq!(
            stored.expect(200)["first"]["position"],
            accepted["position"]
        );
    }
}

/// Everything that was answered with 202 is there after a restart, position for position.
#[tokio::test]
async fn incident_ack_without_persist_eventuous_553() {
    let (world, [a, b]) = World::peopled().await;
    let mut acknowledged = Vec::new();
    for number in 0..20 {
        let ping = a.say(&world, b.did, "x811.test/ping", json!({ "number": number }));
        acknowledged.push((ping.header.id, world.accept(&ping).await));
    }
    let world = world.restart(1_000).await;
    for (id, first) in acknowledged {
        let stored = world.get(&format!("/api/v1/messages/by-id/{id}")).await;
        assert_eq!(stored.expect(200)["first"], as_recorded(&first));
    }
}

/// The same order, long after any window for nonces and ids has passed, is still the same order.
#[tokio::test]
async fn incident_same_id_appended_twice_after_the_keys_ttl_f3() {
    let (world, [a, b]) = World::peopled().await;
    let order = |world: &World| a.say(world, b.did, "x811/request", Deal::request_payload("k"));
    let first = world.accept(&order(&world)).await;
    let world = world.restart(40 * 86_400_000).await;
    let again = world.post(order(&world).json).await.expect(200);
    assert_eq!(again, first);
}

/// Concurrent copies of one envelope are one record.
#[tokio::test]
async fn incident_same_id_appended_twice_umadb_6() {
    let (world, [a, b]) = World::peopled().await;
    let header = a.header(&world, b.did, "x811.test/ping");
    let mut answers = tokio::task::JoinSet::new();
    for number in 0..16_u8 {
        // One id under many nonces: no nonce check can tell them apart.
        let mut header = header.clone();
        header.nonce = x811_protocol::id::Nonce::from_random([number; 16]);
        let url = format!("{}/api/v1/messages", world.base);
        let request = world.http.post(url).body(a.say_as(header, json!({})).json);
        answers.spawn(async move { reply(request).await.status });
    }
    let mut statuses = answers.join_all().await;
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (202, [422; 15].as_slice()));
    assert_eq!(world.inbox(&b).await.len(), 1);
}

/// A reader that polls while others write sees every position once, in order, without a gap that is
/// filled later.
#[tokio::test]
async fn incident_reader_passes_an_invisible_position_marten_4964() {
    const MESSAGES: usize = 60;
    let (world, [a, b]) = World::peopled().await;
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..MESSAGES {
        let ping = a.say(&world, b.did, "x811.test/ping", json!({ "number": number }));
        let request = world.http.post(format!("{}/api/v1/messages", world.base));
        let request = request.body(ping.json);
        writers.spawn(async move { reply(request).await.expect(202)["position"].clone() });
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    while seen.len() < MESSAGES {
        let path = format!("/api/v1/messages/{}?wait_ms=30000&limit=7{after}", b.uuid());
        let page = world.get(&path).await.expect(200);
        let messages = page["messages"].as_array().unwrap().clone();
        seen.extend(messages.iter().map(|m| m["position"].as_u64().unwrap()));
        after = format!("&after={}", page["next"].as_str().unwrap());
    }
    let positions = writers.join_all().await;
    let mut written: Vec<u64> = positions.iter().map(|p| p.as_u64().unwrap()).collect();
    written.sort_unstable();
    assert_eq!(seen, written);
}

/// A machine whose clock runs ahead or behind refuses in words and records nothing untrue.
#[tokio::test]
async fn incident_clock_skew_mammoth() {
    let world = World::start_blind_with(|_| {}).await;
    let (a, b) = (world.agent().await, world.agent().await);
    let ping = a.say(&world, b.did, "x811.test/ping", json!({}));
    let size = |ready: &Value| ready["size"].clone();
    while world.get("/ready").await.json()["networks"][0]["sight"] != "blind" {
        tokio::task::yield_now().await;
    }
    let before = size(&world.get("/ready").await.json());
    world
        .clock
        .jump_wall_to(crate::world::BEGUN.saturating_add_ms(3_600_000));
    let ahead = world.post(ping.json.clone()).await;
    ahead.refused(429, "X811-9001");
    world.clock.jump_wall_to(crate::world::BEGUN);
    world.accept(&ping).await;
    let after = size(&world.get("/ready").await.json());
    assert_eq!(after.as_u64(), before.as_u64().map(|size| size + 1));
}
