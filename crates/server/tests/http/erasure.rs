//! Operators have bodies erased, and nobody else does (record.md section 4).

use crate::sessions::{advertise, agree_for};
use crate::signing::Claim;
use crate::world::{Agent, Deal, Reply, World, reply};
use serde_json::json;
use x811_protocol::signed_read::{SIGNATURE, SIGNATURE_INPUT};

async fn erase(world: &World, by: Option<&Agent>, path: &str) -> Reply {
    let mut request = world.http.post(format!("{}{path}", world.base));
    if let Some(by) = by {
        let claim = Claim {
            method: "POST",
            ..Claim::of(world, by, path)
        };
        let fields = claim.sign();
        request = request
            .header(SIGNATURE_INPUT, fields.signature_input)
            .header(SIGNATURE, fields.signature);
    }
    reply(request).await
}

#[tokio::test]
async fn rec_4_an_operator_has_the_bodies_of_a_declined_interaction_erased() {
    let operator = Agent::new();
    let world = World::start_with(|config| config.operators = vec![operator.did]).await;
    world.accept(&operator.registration(&world)).await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let deal = Deal::new(&world, &initiator, &provider);
    world.accept(&deal.request).await;
    let path = format!(
        "/api/v1/interactions/{}/erasure?reason_code=gdpr_request",
        deal.id()
    );
    let early = erase(&world, Some(&operator), &path).await;
    early.refused(422, "X811-4001");

    let offer = deal.offer();
    world.accept(&offer).await;
    let reject = json!({
        "offer_id": offer.header.id,
        "reason": "over the limit of my policy",
        "code": "PRICE_TOO_HIGH",
    });
    let reject = initiator.say(&world, provider.did, "x811/reject", reject);
    world.accept(&reject).await;
    for (by, status) in [(None, 403), (Some(&initiator), 403)] {
        let answer = erase(&world, by, &path).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    let unexplained = path.replace("gdpr_request", "GDPR");
    let answer = erase(&world, Some(&operator), &unexplained).await;
    answer.refused(400, "X811-4001");

    // The record keeps what was signed, in one spelling.
    let spelled = path.replace("gdpr", "%67dpr");
    let answer = erase(&world, Some(&operator), &spelled).await;
    answer.refused(400, "X811-4001");

    let done = erase(&world, Some(&operator), &path).await.expect(200);
    assert_eq!(done["interaction_id"], json!(deal.id()));
    assert_eq!(done["erased"].as_array().unwrap().len(), 1);
    let found = format!("/api/v1/messages/by-id/{}", deal.id());
    let found = world.get(&found).await.expect(200);
    assert_eq!(found["erased_at"], done["position"]);
    assert_eq!(found["first"]["position"], done["erased"][0]);
    assert!(found.get("envelope").is_none());
    let history = format!("/api/v1/interactions/{}/history", deal.id());
    let history = world.get(&history).await.expect(200);
    let facts = &history["records"][0]["leaf"]["event"]["facts"];
    assert!(facts["payload_hash"].is_string(), "{facts}");
    let inbox = world.inbox(&provider).await;
    assert_eq!(inbox.len(), 1, "the REJECT alone");
    let again = erase(&world, Some(&operator), &path).await;
    again.refused(422, "X811-4001");
}

#[tokio::test]
async fn mach_6_an_operator_has_the_bodies_of_a_closed_negotiation_erased() {
    let operator = Agent::new();
    let world = World::start_with(|config| config.operators = vec![operator.did]).await;
    world.accept(&operator.registration(&world)).await;
    let (payer, payee) = (world.agent().await, world.agent().await);
    let header = payer.header(&world, payee.did, "x811.negotiation/offer");
    let expires_at = header.created_ms.saturating_add_ms(600_000).to_rfc3339();
    let terms = json!({
        "payer": payer.did, "payee": payee.did,
        "amount": {"value": "0.02", "currency": "USDC"}, "amount_of": "price",
    });
    let offer = payer.say_as(header, json!({"terms": terms, "expires_at": expires_at}));
    world.accept(&offer).await;
    let id = format!("neg-{}", offer.header.id);
    let path = format!("/api/v1/negotiations/{id}/erasure?reason_code=gdpr_request");
    let early = erase(&world, Some(&operator), &path).await;
    early.refused(422, "X811-4001");

    let reject = json!({"negotiation_id": id, "step_id": offer.header.id});
    let reject = payee.say(&world, payer.did, "x811.negotiation/reject", reject);
    let closed = world.accept(&reject).await;
    for by in [None, Some(&payer)] {
        let answer = erase(&world, by, &path).await;
        assert_eq!(answer.status, 403, "{}", answer.text);
    }
    let bare = path.replace("neg-", "");
    let answer = erase(&world, Some(&operator), &bare).await;
    answer.refused(400, "X811-4001");

    let done = erase(&world, Some(&operator), &path).await.expect(200);
    assert_eq!(done["negotiation_id"], json!(id));
    assert!(done.get("interaction_id").is_none(), "{done}");
    assert_eq!(done["erased"].as_array().unwrap().len(), 2);
    // Its contract cannot be shown any more; its records can.
    let position = &done["position"];
    let shown = format!("/api/v1/negotiations/{id}?min_position={position}");
    let shown = world.get_as(&payer, &shown).await;
    shown.refused(404, "X811-4001");
    let history = format!("/api/v1/negotiations/{id}/history");
    let history = world.get_as(&payer, &history).await.expect(200);
    let last = history["records"].as_array().unwrap().last().unwrap();
    assert_eq!(last["position"], closed["position"]);
}

/// Sessions and agreements likewise, but for what both signed.
#[tokio::test]
async fn mach_6_an_operator_has_the_bodies_of_a_session_and_its_agreement_erased() {
    let operator = Agent::new();
    let world = World::start_with(|config| config.operators = vec![operator.did]).await;
    world.accept(&operator.registration(&world)).await;
    let (ada, bert) = (world.agent().await, world.agent().await);
    advertise(&world, &bert).await;
    let id = agree_for(&world, &ada, &bert, 3_600).await;
    let of = |kind: &str| format!("/api/v1/{kind}/{id}/erasure?reason_code=gdpr_request");
    let (session, agreement) = (of("sessions"), of("agreements"));
    for path in [&session, &agreement] {
        let early = erase(&world, Some(&operator), path).await;
        early.refused(422, "X811-4001");
    }
    let revoke = json!({"agreement_id": id, "revision": 1, "reason": "moved away"});
    let revoke = ada.say(&world, bert.did, "x811.capability/revoke", revoke);
    world.accept(&revoke).await;
    for (path, member, bodies) in [(&session, "session_id", 4), (&agreement, "agreement_id", 1)] {
        for by in [None, Some(&ada)] {
            assert_eq!(erase(&world, by, path).await.status, 403);
        }
        let done = erase(&world, Some(&operator), path).await.expect(200);
        assert_eq!(done[member], json!(id));
        assert!(done.get("interaction_id").is_none(), "{done}");
        assert_eq!(done["erased"].as_array().unwrap().len(), bodies);
        let again = erase(&world, Some(&operator), path).await;
        again.refused(422, "X811-4001");
    }
    // What both signed can be shown for ever.
    let jws = format!("/api/v1/agreements/{id}/jws");
    let jws = world.get_as(&bert, &jws).await.expect(200);
    assert_eq!(jws["signatures"].as_array().unwrap().len(), 2);
    let nobodys = session.replace(&id, &ada.uuid());
    let answer = erase(&world, Some(&operator), &nobodys).await;
    answer.refused(404, "X811-1001");
}
