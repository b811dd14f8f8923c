//! Messages that are authentic and still do not fit, with code and status (AX-42): each is refused,
//! and the right one afterwards is taken.

use crate::world::{Agent, Deal, World};
use serde_json::{Value, json};
use x811_protocol::envelope::SealedEnvelope;

/// The same message by the same sender, with another payload, properly signed.
fn spoilt(deal: &Deal<'_>, sealed: &SealedEnvelope, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let by_provider = sealed.header.from == deal.provider.did;
    let by = if by_provider {
        deal.provider
    } else {
        deal.initiator
    };
    let mut payload = payload(sealed);
    change(&mut payload);
    let kind = sealed.header.message_type.to_string();
    by.say(deal.world, sealed.header.to, &kind, payload).json
}

fn payload(sealed: &SealedEnvelope) -> Value {
    let body: Value = serde_json::from_slice(&sealed.body).unwrap();
    body["payload"].clone()
}

/// Another hash than any there is.
fn no_hash() -> Value {
    json!("ab".repeat(32))
}

#[tokio::test]
async fn ax_042_request_and_offer() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let unknown_task = spoilt(&deal, &deal.request, |p| p["task_type"] = json!("dance"));
    world.post(unknown_task).await.refused(422, "X811-3002");
    let text_budget = spoilt(&deal, &deal.request, |p| p["max_budget"] = json!("10"));
    world.post(text_budget).await.refused(400, "X811-4001");
    world.accept(&deal.request).await;

    let offer = deal.offer();
    let wrong_fee = spoilt(&deal, &offer, |p| p["protocol_fee"] = json!("0.24"));
    world.post(wrong_fee).await.refused(422, "X811-4001");
    let no_money = spoilt(&deal, &offer, |p| p["price"] = json!("1e1"));
    world.post(no_money).await.refused(400, "X811-4001");
    let lower_case = json!(provider.address().to_string());
    let no_checksum = spoilt(&deal, &offer, |p| p["payment_address"] = lower_case);
    world.post(no_checksum).await.refused(400, "X811-5002");
    let by_initiator = initiator.say(&world, provider.did, "x811/offer", payload(&offer));
    world
        .post(by_initiator.json)
        .await
        .refused(422, "X811-4001");
    world.accept(&offer).await;
}

#[tokio::test]
async fn ax_042_accept_result_and_verify() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.offer();
    world.accept(&deal.request).await;
    world.accept(&offer).await;
    let other_offer = spoilt(&deal, &deal.accept(&offer), |p| p["offer_hash"] = no_hash());
    world.post(other_offer).await.refused(422, "X811-4010");
    let too_early = deal.verify(&offer).json;
    world.post(too_early).await.refused(422, "X811-4001");
    world.accept(&deal.accept(&offer)).await;

    let result = deal.result(&offer);
    let no_type = spoilt(&deal, &result, |p| p["content_type"] = json!("?"));
    world.post(no_type).await.refused(415, "X811-6003");
    let large = json!("x".repeat(524_289));
    let too_large = spoilt(&deal, &result, |p| p["content"] = large);
    world.post(too_large).await.refused(413, "X811-6002");
    world.accept(&result).await;

    let verify = deal.verify(&offer);
    let other_result = spoilt(&deal, &verify, |p| p["result_hash"] = no_hash());
    world.post(other_result).await.refused(422, "X811-6001");
    world.accept(&verify).await;
}

#[tokio::test]
async fn ax_042_payment() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    let payment = deal.payment(&offer, &format!("0x{}", "aa".repeat(32)));
    let short = spoilt(&deal, &payment, |p| p["amount"] = json!("10"));
    world.post(short).await.refused(402, "X811-5001");
    let no_transaction = spoilt(&deal, &payment, |p| p["tx_hash"] = json!("0x12"));
    world.post(no_transaction).await.refused(400, "X811-5001");
    let elsewhere = spoilt(&deal, &payment, |p| p["network"] = json!("mainnet"));
    world.post(elsewhere).await.refused(400, "X811-4001");
    let somebody = json!(Agent::new().address().to_checksum());
    let not_mine = spoilt(&deal, &payment, |p| p["payer_address"] = somebody);
    world.post(not_mine).await.refused(400, "X811-5002");
    world.accept(&payment).await;
}
