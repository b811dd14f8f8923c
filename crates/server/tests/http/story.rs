//! One interaction from REQUEST to PAYMENT, and what everybody can read of it.

use crate::world::{Deal, World};
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{EnvelopeRules, ParsedEnvelope, verify};
use x811_protocol::key::{AgentKey, Profile, PublicKey};

const TX: &str = "0x00000000000000000000000000000000000000000000000000000000000000aa";

#[tokio::test]
async fn ae_009_from_request_to_a_watched_payment() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.offer();
    let mut last = 0;
    for (sealed, state, window_ms) in [
        (deal.request.clone(), "pending", Some(60_000)),
        (offer.clone(), "offered", Some(300_000)),
        (deal.accept(&offer), "accepted", Some(3_600_000)),
        (deal.result(&offer), "delivered", Some(30_000)),
        (deal.verify(&offer), "verified", Some(60_000)),
        (deal.payment(&offer, TX), "verified", Some(30_000)),
    ] {
        let answer = world.accept(&sealed).await;
        assert_eq!(answer["interaction_id"], deal.id().to_string());
        assert_eq!(answer["envelope_id"], sealed.header.id.to_string());
        assert_eq!(answer["state"], state);
        let deadline = window_ms.map(|ms| crate::world::BEGUN.saturating_add_ms(ms));
        assert_eq!(answer["deadline_at_ms"], json!(deadline), "{state}");
        last = answer["position"].as_u64().unwrap();
    }
    let path = format!("/api/v1/interactions/{}?min_position={last}", deal.id());
    let shown = world.get(&path).await.expect(200);
    assert_eq!(shown["initiator"], json!(initiator.did));
    assert_eq!(shown["provider"], json!(provider.did));
    assert_eq!(
        (&shown["state"], &shown["total"]),
        (&json!("verified"), &json!("10250000"))
    );
    assert_eq!(shown["total_usdc"], "10.25");
    assert_eq!(shown["last_position"], last);
    assert_eq!(shown["detail"]["settlement"]["declared"][0]["tx_hash"], TX);
    // In sight: the clock of the settlement runs.
    assert!(shown["detail"]["settlement"]["clock_stopped_since_ms"].is_null());
    assert_eq!(shown["deadline_at_ms"], answer_by(30_000), "{shown}");
}

fn answer_by(ms: u64) -> Value {
    json!(crate::world::BEGUN.saturating_add_ms(ms))
}

#[tokio::test]
async fn rec_1_the_history_is_the_stored_leaves() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    deal.verified().await;
    let path = format!("/api/v1/interactions/{}/history", deal.id());
    let whole = world.get(&path).await.expect(200);
    assert!(whole.get("next").is_none());
    let records = whole["records"].as_array().unwrap();
    let kinds: Vec<&Value> = records
        .iter()
        .map(|record| &record["leaf"]["event"]["envelope"]["type"])
        .collect();
    let expected = ["request", "offer", "accept", "result", "verify"];
    assert_eq!(
        kinds,
        expected
            .map(|kind| json!(format!("x811/{kind}")))
            .each_ref()
    );
    for (seq, record) in records.iter().enumerate() {
        let hash = Digest::of_parts(&[&[0], &to_canonical(&record["leaf"])]);
        assert_eq!(record["record_hash"], hash.to_string());
        assert_eq!(record["stream_seq"], seq);
        assert_eq!(record["leaf"]["position"], record["position"]);
        assert_eq!(record["leaf"]["recorded_at_ms"], record["recorded_at_ms"]);
    }
    // The same in pages of two.
    let (mut paged, mut next) = (Vec::new(), String::new());
    loop {
        let page = world
            .get(&format!("{path}?limit=2{next}"))
            .await
            .expect(200);
        paged.extend(page["records"].as_array().unwrap().clone());
        match page.get("next") {
            Some(seq) => next = format!("&after_seq={seq}"),
            None => break,
        }
    }
    assert_eq!(&paged, records);
}

#[tokio::test]
async fn ae_084_what_an_inbox_delivers_verifies_and_is_canonical() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    let raw = world
        .get(&format!("/api/v1/messages/{}", initiator.uuid()))
        .await;
    let wire = String::from_utf8(offer.json.clone()).unwrap();
    assert!(
        raw.text.contains(&wire),
        "byte for byte in canonical key order"
    );
    for message in world.inbox(&initiator).await {
        let bytes = serde_json::to_vec(&message["envelope"]).unwrap();
        let parsed = ParsedEnvelope::parse(&bytes, &EnvelopeRules::default()).unwrap();
        assert_eq!(
            (parsed.header.from, parsed.header.to),
            (provider.did, initiator.did)
        );
        verify(parsed, &[digest_key(provider.key.public())]).unwrap();
    }
}

/// A key that signs digests.
pub(crate) fn digest_key(key: PublicKey) -> AgentKey {
    AgentKey {
        key,
        profile: Profile::Digest,
    }
}
