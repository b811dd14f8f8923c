//! Negotiations as their parties list them, and their bundles.

use crate::log::{checkpoint, covered_as};
use crate::readers::readers;
use crate::world::{Agent, World};
use serde_json::{Value, json};
use x811_audit::audit_export;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::stream::Subject;

const PATH: &str = "/api/v1/negotiations";

/// Terms of `payer` to `payee`.
fn offer(world: &World, payer: &Agent, payee: &Agent) -> SealedEnvelope {
    let kind = "x811.negotiation/offer";
    let header = payer.header(world, payee.did, kind);
    let expires_at = header.created_ms.saturating_add_ms(600_000).to_rfc3339();
    let terms = json!({
        "payer": payer.did, "payee": payee.did,
        "amount": {"value": "0.02", "currency": "USDC"}, "amount_of": "price",
    });
    payer.say_as(header, json!({"terms": terms, "expires_at": expires_at}))
}

fn public(offer: &SealedEnvelope) -> String {
    format!("neg-{}", offer.header.id)
}

fn ids(page: &Value) -> Vec<&str> {
    let listed = page["negotiations"].as_array().unwrap();
    listed
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn promise_7_an_agent_lists_its_own_negotiations_page_by_page() {
    let (world, [ada, bert, eve, auditor]) = &readers().await;
    let mut expected = Vec::new();
    for _ in 0..3 {
        let made = offer(world, ada, bert);
        world.accept(&made).await;
        expected.push(public(&made));
    }
    let others = offer(world, eve, bert);
    let position = world.accept(&others).await["position"].as_u64().unwrap();
    expected.sort_unstable();

    let recent = format!("{PATH}?min_position={position}");
    let own = world.get_as(ada, &recent).await.expect(200);
    assert_eq!(ids(&own), expected);
    assert!(own.get("next").is_none(), "{own}");
    assert_eq!(own["negotiations"][0]["status"], "pending");
    assert_eq!(own["negotiations"][0]["terms"]["amount"], "20000");
    let first = world
        .get_as(ada, &format!("{PATH}?limit=2"))
        .await
        .expect(200);
    assert_eq!(ids(&first), expected[..2]);
    let next = first["next"].as_str().unwrap();
    let rest = format!("{PATH}?limit=2&after={next}");
    let rest = world.get_as(ada, &rest).await.expect(200);
    assert_eq!((ids(&rest), rest.get("next")), (vec![&*expected[2]], None));

    // Whose they are is not asked twice: eve sees hers alone, an auditor those of all.
    let hers = world.get_as(eve, PATH).await.expect(200);
    assert_eq!(ids(&hers), [public(&others)]);
    let theirs = format!("{PATH}?party={}", ada.uuid());
    let refused = world.get_as(eve, &theirs).await;
    refused.refused(403, "X811-2004");
    let audited = world.get_as(auditor, &theirs).await.expect(200);
    assert_eq!(ids(&audited), expected);
    assert_eq!(ids(&world.get_as(auditor, PATH).await.expect(200)).len(), 4);
    world.get(PATH).await.refused(401, "X811-2004");
    for wrong in [
        "?after=1",
        "?party=ada",
        "?limit=0",
        "?limit=101",
        "?who=me",
    ] {
        let answer = world.get_as(ada, &format!("{PATH}{wrong}")).await;
        answer.refused(400, "X811-4001");
    }
}

#[tokio::test]
async fn xn_7_a_contracts_bundle_is_for_its_parties_and_proves_its_authors_offline() {
    let (world, [ada, bert, stranger, auditor]) = &readers().await;
    let made = offer(world, ada, bert);
    world.accept(&made).await;
    let id = public(&made);
    let reject = json!({"negotiation_id": id, "step_id": made.header.id});
    let reject = bert.say(world, ada.did, "x811.negotiation/reject", reject);
    world.accept(&reject).await;
    checkpoint(world).await;
    let path = format!("{PATH}/{id}/bundle");
    for reader in [ada, bert, auditor] {
        let answer = covered_as(world, reader, &path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let report = audit_export(answer.text.as_bytes(), None).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        assert_eq!(report.signatures_valid, report.envelopes);
        let extract = report.extract.unwrap();
        let contract = extract.subject().and_then(Subject::contract);
        assert_eq!(contract.map(|id| id.offer_id()), Some(made.header.id));
        assert_eq!(extract.open_ended, 0);

        // A step that is left out is missed, whatever else is put right.
        let lines = answer.text.split_inclusive('\n');
        let without: String = lines
            .filter(|line| !line.contains("negotiation/reject"))
            .collect();
        let report = audit_export(without.as_bytes(), None).unwrap();
        assert!(!report.findings.is_empty(), "a rejection was left out");
    }
    let others = world.get_as(stranger, &path).await;
    others.refused(404, "X811-4001");
}

#[tokio::test]
async fn ax_41_a_message_of_a_negotiation_has_16_kib_at_most() {
    let (world, [ada, bert, _, _]) = &readers().await;
    let sealed = |message_bytes: usize| {
        let made = offer(world, ada, bert);
        let mut payload: Value = serde_json::from_slice(&made.json).unwrap();
        let mut payload = payload["payload"].take();
        payload["message"] = "x".repeat(message_bytes).into();
        ada.say_as(
            ada.header(world, bert.did, "x811.negotiation/offer"),
            payload,
        )
    };
    // The body is what is signed: everything but the signature.
    let body_bytes = |sealed: &SealedEnvelope| {
        let mut members: Value = serde_json::from_slice(&sealed.json).unwrap();
        members.as_object_mut().unwrap().remove("signature");
        members.to_string().len()
    };
    let room = 16_384 - body_bytes(&sealed(0));
    world.accept(&sealed(room)).await;
    let answer = world.post(sealed(room + 1).json).await;
    let refused = answer.refused(413, "X811-6002");
    let message = refused["message"].to_string();
    assert!(message.contains("16384"), "{refused}");
}
