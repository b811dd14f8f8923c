//! The same again: lost answers, repeated requests, repeated payments.

use crate::world::{Deal, World};
use serde_json::{Value, json};

const TX: &str = "0x00000000000000000000000000000000000000000000000000000000000000aa";

/// An answer without the names that the published SDK reads besides, each of which has to say the same
/// (decision 0190): what later answers say of the first.
pub(crate) fn as_recorded(answer: &Value) -> Value {
    let mut recorded = answer.clone();
    let members = recorded.as_object_mut().unwrap();
    assert_eq!(
        members.remove("message_id").as_ref(),
        members.get("envelope_id")
    );
    assert_eq!(members.remove("status").unwrap(), "queued");
    let state = members.remove("interaction_status");
    assert!(
        state.is_none() || state.as_ref() == members.get("state"),
        "{answer}"
    );
    recorded
}

#[tokio::test]
async fn ae_086_the_same_envelope_again_gets_2001_with_the_first_outcome() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let first = world.accept(&deal.request).await;
    let body = world
        .post(deal.request.json.clone())
        .await
        .refused(409, "X811-2001");
    assert_eq!(body["details"]["first"], as_recorded(&first));
    assert_eq!(body["related_message_id"], deal.id().to_string());

    let wrong = deal.accept(&deal.offer());
    world
        .post(wrong.json.clone())
        .await
        .refused(422, "X811-4001");
    let body = world.post(wrong.json).await.refused(409, "X811-2001");
    assert_eq!(body["details"]["first"], json!({ "code": "X811-4001" }));
}

#[tokio::test]
async fn ae_086_a_nonce_stays_spent_across_a_restart() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let accepted = deal.request.json.clone();
    let first = world.accept(&deal.request).await;
    let refused = deal.accept(&deal.offer()).json;
    world.post(refused.clone()).await.refused(422, "X811-4001");
    drop(deal);
    let world = world.restart(1_000).await;
    let body = world.post(accepted).await.refused(409, "X811-2001");
    assert_eq!(body["details"]["first"], as_recorded(&first));
    let body = world.post(refused).await.refused(409, "X811-2001");
    assert_eq!(body["details"]["first"]["code"], "X811-4001");
}

/// And it stays spent across a restart.
#[tokio::test]
async fn ae_088_a_payload_that_is_refused_has_spent_its_nonce() {
    let (world, [a, b]) = World::peopled().await;
    let header = a.header(&world, b.did, "x811/request");
    let malformed = a.say_as(header.clone(), json!({}));
    world.post(malformed.json).await.refused(400, "X811-4001");
    let well_formed = a.say_as(header, Deal::request_payload("k1"));
    let world = world.restart(1_000).await;
    let body = world.post(well_formed.json).await.refused(409, "X811-2001");
    assert_eq!(body["details"]["first"], json!({ "code": "X811-4001" }));
    assert!(world.inbox(&b).await.is_empty());
}

#[tokio::test]
async fn ae_088_of_messages_that_share_a_nonce_one_is_processed() {
    let (world, [a, b]) = World::peopled().await;
    let nonce = a.header(&world, b.did, "x811.test/ping").nonce;
    let ping = |number: u32| {
        let mut header = a.header(&world, b.did, "x811.test/ping");
        header.nonce = nonce;
        world.post(a.say_as(header, json!({ "number": number })).json)
    };
    let (one, two, three) = tokio::join!(ping(1), ping(2), ping(3));
    let mut statuses = [one.status, two.status, three.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 409, 409]);
    for answer in [one, two, three] {
        if answer.status == 409 {
            answer.refused(409, "X811-2001");
        }
    }
    assert_eq!(world.inbox(&b).await.len(), 1);
}

#[tokio::test]
async fn ax_012_an_equal_request_gets_200_with_the_first_answer() {
    let (world, [initiator, provider]) = World::peopled().await;
    let request = |key: &str, text: &str| {
        let mut payload = Deal::request_payload(key);
        payload["parameters"]["text"] = json!(text);
        initiator.say(&world, provider.did, "x811/request", payload)
    };
    let first = world.accept(&request("k1", "Hello")).await;
    let again = request("k1", "Hello");
    assert_eq!(world.post(again.json.clone()).await.expect(200), first);
    // Its own repeat is answered by nonce, with the same first outcome.
    let body = world.post(again.json).await.refused(409, "X811-2001");
    assert_eq!(body["details"]["first"], as_recorded(&first));
    let other = world.post(request("k1", "Goodbye").json).await;
    other.refused(422, "X811-4001");
    world.accept(&request("k2", "Hello")).await;
}

#[tokio::test]
async fn a_payment_of_known_hashes_gets_200_and_another_hash_202() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    let first = world.accept(&deal.payment(&offer, TX)).await;
    let repeat = deal.payment(&offer, TX);
    assert_eq!(world.post(repeat.json).await.expect(200), first);
    let other = world
        .accept(&deal.payment(&offer, &TX.replace("aa", "bb")))
        .await;
    assert_ne!(other["position"], first["position"]);
}
