//! Interactions: paid, declined, disputed, lapsed in every window, failed and erased.

use super::{Cast, Recorder, WINDOW_MS};
use crate::codes::changed;
use crate::world::Deal;
use reqwest::Method;
use serde_json::{Value, json};
use x811_protocol::envelope::SealedEnvelope;

/// 10.25 USDC, what a [`Deal`] costs.
const TOTAL_MICRO_USDC: u64 = 10_250_000;

/// What is shown of an interaction.
const PARTS: [&str; 6] = [
    "",
    "/settlement",
    "/history",
    "/bundle",
    "/receipt",
    "/receipt?format=cose",
];

fn tx(number: u8) -> String {
    format!("0x{}", hex::encode([number; 32]))
}

fn path(deal: &Deal<'_>) -> String {
    format!("/api/v1/interactions/{}", deal.id())
}

pub(super) async fn session(recorder: &mut Recorder, cast: &Cast) {
    paid(recorder, cast).await;
    declined(recorder, cast).await;
    disputed(recorder, cast).await;
    lapsed(recorder, cast).await;
    failed(recorder, cast).await;
}

#[expect(
    clippy::too_many_lines,
    reason = "a list of requests, one after the other"
)]
async fn paid(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    let deal = Deal::new(&world, &cast.ada, &cast.bert);
    let offer = deal.offer();
    recorder.send("offer before the request", &offer, 0).await;
    recorder.send("request", &deal.request, 0).await;
    recorder.send("request again", &deal.request, 0).await;
    let again = changed(&world, &cast.ada, &deal.request, |_| {});
    recorder.post("request of the same key", again, 0).await;
    let other = changed(&world, &cast.ada, &deal.request, |it| {
        it["deadline"] = json!(7)
    });
    recorder
        .post("another request of the same key", other, 0)
        .await;
    recorder
        .shown_to_all(cast, "pending", &path(&deal), &PARTS[..2])
        .await;
    let offer = deal.offer();
    let dear = changed(&world, &cast.bert, &offer, |it| {
        it["total_cost"] = json!("11")
    });
    recorder.post("offer that does not add up", dear, 0).await;
    recorder.send("offer", &offer, 0).await;
    let accept = deal.accept(&offer);
    let wrong = json!("ab".repeat(32));
    let other = changed(&world, &cast.ada, &accept, |it| {
        it["offer_hash"] = wrong.clone()
    });
    recorder.post("accept of another offer", other, 0).await;
    recorder.send("accept", &accept, 0).await;
    let result = deal.result(&offer);
    let other = changed(&world, &cast.bert, &result, |it| {
        it["content_type"] = json!("?")
    });
    recorder.post("result of no type", other, 0).await;
    let large = json!("x".repeat(524_289));
    let other = changed(&world, &cast.bert, &result, |it| it["content"] = large);
    recorder.post("result too large", other, 0).await;
    let by_other = changed(&world, &cast.ada, &result, |_| {});
    recorder.post("result by the initiator", by_other, 0).await;
    recorder.send("result", &result, 0).await;
    let verify = deal.verify(&offer);
    let other = changed(&world, &cast.ada, &verify, |it| {
        it["result_hash"] = wrong.clone()
    });
    recorder.post("verify of another result", other, 0).await;
    recorder.send("verify", &verify, 0).await;
    recorder
        .shown_to_all(cast, "verified", &path(&deal), &PARTS[..2])
        .await;
    let payment = deal.payment(&offer, &tx(1));
    let short = changed(&world, &cast.ada, &payment, |it| it["amount"] = json!("10"));
    recorder.post("payment too small", short, 0).await;
    let elsewhere = json!(cast.eve.address().to_checksum());
    let strange = changed(&world, &cast.ada, &payment, |it| {
        it["payer_address"] = elsewhere
    });
    recorder.post("payment by a stranger", strange, 0).await;
    recorder.send("payment", &payment, 0).await;
    recorder
        .shown_to_all(cast, "declared", &path(&deal), &PARTS[1..2])
        .await;
    recorder
        .base
        .pay(&tx(1), &cast.ada, &cast.bert, TOTAL_MICRO_USDC);
    recorder.pass(2_000, 1).await;
    recorder.pass(2_000, 0).await;
    recorder
        .shown_to_all(cast, "seen", &path(&deal), &PARTS[1..2])
        .await;
    recorder.pass(2_000, 1).await;
    recorder.covered().await;
    recorder
        .shown_to_all(cast, "paid", &path(&deal), &PARTS)
        .await;
    let trace = format!("/api/v1/traces/{}", deal.id());
    recorder
        .shown_to_all(cast, "paid trace", &trace, &[""])
        .await;
    let second = deal.payment(&offer, &tx(2));
    recorder.send("payment once it is paid", &second, 0).await;
    for page in [
        "?limit=2",
        "?limit=2&after_seq=1",
        "?limit=0",
        "?after_seq=x",
        "?min_position=99999",
    ] {
        let name = format!("history {}", page.replace(['?', '=', '&'], " "));
        recorder
            .get(
                &name,
                Some(&cast.ada),
                &format!("{}/history{page}", path(&deal)),
            )
            .await;
    }
}

async fn declined(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    let deal = Deal::new(&world, &cast.ada, &cast.bert);
    recorder.send("request to decline", &deal.request, 0).await;
    let erasure = format!("{}/erasure?reason_code=gdpr_request", path(&deal));
    let erase = (Method::POST, &*erasure);
    recorder
        .ask(
            "erase too early",
            erase.clone(),
            Some(&cast.operator),
            Vec::new(),
        )
        .await;
    let offer = deal.offer();
    recorder.send("offer to decline", &offer, 0).await;
    let reject =
        json!({"offer_id": offer.header.id, "reason": "too dear", "code": "PRICE_TOO_HIGH"});
    let reject = cast.ada.say(&world, cast.bert.did, "x811/reject", reject);
    recorder.send("reject", &reject, 0).await;
    recorder.send("reject again", &reject, 0).await;
    // The payment before is final.
    recorder.pass(2_000, 1).await;
    recorder.covered().await;
    recorder
        .shown_to_all(cast, "rejected", &path(&deal), &PARTS)
        .await;
    recorder
        .ask("erase by ada", erase.clone(), Some(&cast.ada), Vec::new())
        .await;
    recorder
        .ask("erase by nobody", erase.clone(), None, Vec::new())
        .await;
    recorder
        .ask("erase", erase.clone(), Some(&cast.operator), Vec::new())
        .await;
    recorder.grown(1).await;
    recorder
        .ask("erase again", erase, Some(&cast.operator), Vec::new())
        .await;
    recorder.covered().await;
    recorder
        .shown_to_all(cast, "erased", &path(&deal), &PARTS[..4])
        .await;
    let by_id = format!("/api/v1/messages/by-id/{}", deal.id());
    recorder
        .get("erased message", Some(&cast.ada), &by_id)
        .await;
}

async fn disputed(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    let deal = Deal::new(&world, &cast.ada, &cast.bert);
    let (offer, messages) = messages(&deal);
    for message in &messages[..4] {
        recorder
            .send(&format!("{} to dispute", kind(message)), message, 0)
            .await;
    }
    let dispute = changed(&world, &cast.ada, &deal.verify(&offer), |it| {
        it["verified"] = json!(false);
        it["dispute_reason"] = json!("it is no French");
        it["dispute_code"] = json!("INCOMPLETE");
    });
    let answer = recorder.post("dispute", dispute, 0).await;
    assert_eq!(answer["state"], "disputed", "{answer}");
    recorder.covered().await;
    recorder
        .shown_to_all(cast, "disputed", &path(&deal), &PARTS[..4])
        .await;
}

/// The offer, and everything up to VERIFY.
fn messages(deal: &Deal<'_>) -> (SealedEnvelope, [SealedEnvelope; 5]) {
    let offer = deal.offer();
    let (accept, result, verify) = (
        deal.accept(&offer),
        deal.result(&offer),
        deal.verify(&offer),
    );
    (
        offer.clone(),
        [deal.request.clone(), offer, accept, result, verify],
    )
}

fn kind(message: &SealedEnvelope) -> String {
    message.header.message_type.to_string().replace("x811/", "")
}

async fn lapsed(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    for said in 1..=5 {
        let deal = Deal::new(&world, &cast.ada, &cast.bert);
        let (_, messages) = messages(&deal);
        for message in &messages[..said] {
            recorder
                .send(
                    &format!("{} to lapse after {said}", kind(message)),
                    message,
                    0,
                )
                .await;
        }
        recorder.pass(WINDOW_MS + 1, 3).await;
        if let Some(late) = messages.get(said) {
            recorder
                .send(&format!("{} too late", kind(late)), late, 0)
                .await;
        }
        let name = format!("lapsed after {said}");
        recorder
            .shown_to_all(cast, &name, &path(&deal), &PARTS[..1])
            .await;
    }
    let inbox = format!("/api/v1/messages/{}", cast.ada.uuid());
    let told: Value = recorder
        .get("notices of lapses", Some(&cast.ada), &inbox)
        .await
        .json();
    assert!(told.to_string().contains("X811-4020"), "{told}");
}

async fn failed(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    let deal = Deal::new(&world, &cast.ada, &cast.bert);
    let (offer, messages) = messages(&deal);
    for message in &messages {
        recorder
            .send(&format!("{} to fail", kind(message)), message, 0)
            .await;
    }
    recorder.base.fail(&tx(3));
    recorder.pass(2_000, 0).await;
    recorder
        .send("payment that fails", &deal.payment(&offer, &tx(3)), 1)
        .await;
    recorder.pass(4_000, 3).await;
    recorder
        .shown_to_all(cast, "failing", &path(&deal), &PARTS[1..2])
        .await;
    recorder.pass(16_000, 3).await;
    recorder.pass(4_000, 1).await;
    recorder.covered().await;
    recorder
        .shown_to_all(cast, "failed", &path(&deal), &PARTS)
        .await;
}
