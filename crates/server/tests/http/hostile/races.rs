//! Five seconds before and after each deadline, to the millisecond (AE-98, AE-103, AX-34): whether
//! the late message finds that the window has passed, or the ledger's own timer does.

use crate::world::{Deal, World};
use serde_json::{Value, json};
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::EnvelopeId;

/// How far an interaction has come, its window, the lapse's code and state.
const WINDOWS: [(usize, u64, &str, &str); 5] = [
    (1, 60_000, "X811-4020", "expired"),
    (2, 300_000, "X811-4021", "expired"),
    (3, 3_600_000, "X811-4022", "expired"),
    (4, 30_000, "X811-4023", "failed"),
    (5, 60_000, "X811-4024", "disputed"),
];

pub(super) const TX: &str = "0x00000000000000000000000000000000000000000000000000000000000000aa";

/// Says the first `said` messages; gives the next one to be made.
async fn until(deal: &Deal<'_>, said: usize) -> SealedEnvelope {
    let offer = deal.offer();
    let messages = [
        deal.request.clone(),
        offer.clone(),
        deal.accept(&offer),
        deal.result(&offer),
        deal.verify(&offer),
    ];
    for message in &messages[..said] {
        deal.world.accept(message).await;
    }
    offer
}

/// The message that the window waits for, made now.
fn awaited(deal: &Deal<'_>, said: usize, offer: &SealedEnvelope) -> SealedEnvelope {
    match said {
        1 => deal.offer(),
        2 => deal.accept(offer),
        3 => deal.result(offer),
        4 => deal.verify(offer),
        _ => deal.payment(offer, TX),
    }
}

pub(super) async fn shown(deal: &Deal<'_>) -> Value {
    let ready = deal.world.get("/ready").await.expect(200);
    let last = ready["size"].as_u64().unwrap() - 1;
    let path = format!("/api/v1/interactions/{}?min_position={last}", deal.id());
    deal.world.get(&path).await.expect(200)
}

/// Types of the interaction's events, in order.
pub(super) async fn events(deal: &Deal<'_>) -> Vec<Value> {
    let path = format!("/api/v1/interactions/{}/history", deal.id());
    let history = deal.world.get(&path).await.expect(200);
    let records = history["records"].as_array().unwrap();
    records
        .iter()
        .map(|record| record["leaf"]["event"]["type"].clone())
        .collect()
}

#[tokio::test]
async fn ae_098_in_time_is_until_the_deadline_itself() {
    for before_ms in [5_000, 1, 0] {
        for (said, window_ms, ..) in WINDOWS {
            let (world, [initiator, provider]) = World::peopled().await;
            let deal = Deal::new(&world, &initiator, &provider);
            let offer = until(&deal, said).await;
            world.clock.advance_ms(window_ms - before_ms);
            world.accept(&awaited(&deal, said, &offer)).await;
            assert!(!events(&deal).await.contains(&json!("lapsed")));
        }
    }
}

#[tokio::test]
async fn lc_1_whoever_finds_the_lapse_gets_its_code_and_the_next_4001() {
    for late_ms in [1, 5_000] {
        for (said, window_ms, code, state) in WINDOWS {
            let world = World::start_without_timers().await;
            let (initiator, provider) = (world.agent().await, world.agent().await);
            let deal = Deal::new(&world, &initiator, &provider);
            let offer = until(&deal, said).await;
            world.clock.advance_ms(window_ms + late_ms);
            let (first, second) = (awaited(&deal, said, &offer), awaited(&deal, said, &offer));
            let body = world.post(first.json.clone()).await.refused(422, code);
            assert_eq!(body["related_message_id"], json!(first.header.id));
            world
                .post(second.json.clone())
                .await
                .refused(422, "X811-4001");
            // Both were answered at their turn: both nonces are spent.
            for (message, answered) in [(first, code), (second, "X811-4001")] {
                let again = world.post(message.json).await.refused(409, "X811-2001");
                assert_eq!(again["details"]["first"], json!({ "code": answered }));
            }
            let position = body["details"]["position"].as_u64();
            assert_eq!(position, None, "a refusal has no record");
            while shown(&deal).await["state"] != state {
                tokio::task::yield_now().await;
            }
            let events = events(&deal).await;
            assert_eq!(events[said], "lapsed", "{events:?}");
            assert!(!events[said + 1..].contains(&json!("envelope_accepted")));
        }
    }
}

#[tokio::test]
async fn ax_035_the_timer_finds_the_lapse_before_anybody_who_is_late() {
    for (said, window_ms, code, state) in WINDOWS {
        let (world, [initiator, provider]) = World::peopled().await;
        let deal = Deal::new(&world, &initiator, &provider);
        let offer = until(&deal, said).await;
        world.clock.advance_ms(window_ms + 1);
        while shown(&deal).await["state"] != state {
            tokio::task::yield_now().await;
        }
        assert_eq!(shown(&deal).await["detail"]["code"], code);
        let late = awaited(&deal, said, &offer);
        world.post(late.json).await.refused(422, "X811-4001");
    }
}

#[tokio::test]
async fn lc_3_an_offer_that_is_dead_on_arrival_is_refused() {
    for (age_ms, expiry_s, is_taken) in [
        (0, 4, false),
        (0, 5, true),
        (1, 5, false),
        (290_000, 295, true),
        (290_000, 294, false),
        (295_000, 300, true),
        (295_001, 300, false),
        // A longer one is capped at five minutes, counted from `created` (AX-5).
        (295_001, 86_400, false),
        (300_000, 86_400, false),
    ] {
        let (world, [initiator, provider]) = World::peopled().await;
        let deal = Deal::new(&world, &initiator, &provider);
        world.accept(&deal.request).await;
        let good = deal.offer();
        let mut body: Value = serde_json::from_slice(&good.body).unwrap();
        body["payload"]["expiry"] = json!(expiry_s);
        let mut header = good.header;
        header.created_ms = header.created_ms.saturating_sub_ms(age_ms);
        header.id = EnvelopeId::from_parts(header.created_ms.as_ms(), &[8; 10]);
        let offer = provider.say_as(header, body["payload"].take());
        let answer = world.post(offer.json).await;
        if is_taken {
            answer.expect(202);
        } else {
            answer.refused(422, "X811-4001");
            assert_eq!(shown(&deal).await["state"], "pending");
            // Whoever hurries can still offer.
            world.accept(&deal.offer()).await;
        }
    }
}
