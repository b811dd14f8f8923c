//! `GET /api/v1/interactions/{id}/settlement`: where the money is, said to whoever may know.

use crate::base::Base;
use crate::world::{Deal, PATIENCE, World};
use serde_json::{Value, json};
use x811_protocol::settlement_view::{ProviderPaid, SettlementView};

const TX: &str = "0xabababababababababababababababababababababababababababababababab";
const OTHER_TX: &str = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

/// 10.25 USDC, what a [`Deal`] costs.
const TOTAL_MICRO_USDC: u64 = 10_250_000;

async fn settlement(world: &World, deal: &Deal<'_>) -> Value {
    let path = format!("/api/v1/interactions/{}/settlement", deal.id());
    let answer = world.get(&path).await.expect(200);
    let view: SettlementView = serde_json::from_value(answer.clone()).unwrap();
    assert_eq!(view.paid, view.standing.paid());
    let description = world.get("/openapi.json").await.expect(200);
    let shape = json!({"$ref": "#/components/schemas/SettlementAnswer"});
    assert_described(&answer, &shape, &description);
    answer
}

/// Every member is described, and every one that the description promises is there.
fn assert_described(value: &Value, shape: &Value, description: &Value) {
    let parts = parts(value, shape, description);
    assert!(!parts.is_empty(), "{value} is not described");
    if let Some(items) = value.as_array() {
        for item in items {
            assert_described(item, &parts[0]["items"], description);
        }
    } else if let Some(members) = value.as_object() {
        for (name, member) in members {
            let mut shapes = parts.iter().map(|part| &part["properties"][name]);
            let shape = shapes.find(|shape| !shape.is_null());
            let shape = shape.unwrap_or_else(|| panic!("{name} is not described: {value}"));
            assert_described(member, shape, description);
        }
        for part in parts {
            for name in part["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap();
                assert!(members.contains_key(name), "{name} is missing: {value}");
            }
        }
    } else if let Some(words) = parts[0]["enum"].as_array() {
        assert!(words.contains(value), "{value} is none of {words:?}");
    }
}

/// What `shape` is made of, where `value` is described by it: of several kinds the value's own.
fn parts<'a>(value: &Value, shape: &'a Value, description: &'a Value) -> Vec<&'a Value> {
    if let Some(reference) = shape["$ref"].as_str() {
        let shape = description.pointer(reference.trim_start_matches('#'));
        return parts(value, shape.unwrap(), description);
    }
    if let Some(all) = shape["allOf"].as_array() {
        let each = all.iter().map(|part| parts(value, part, description));
        return each.flatten().collect();
    }
    if let Some(kinds) = shape["oneOf"].as_array() {
        let is_its = |kind: &&Value| kind["properties"]["kind"]["enum"][0] == value["kind"];
        return kinds.iter().filter(is_its).collect();
    }
    vec![shape]
}

fn sentence(answer: &Value) -> &str {
    answer["sentence"].as_str().unwrap()
}

#[tokio::test]
async fn a_payment_is_told_from_the_offer_to_its_confirmation() {
    let (base, world, [initiator, provider]) = Base::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    world.accept(&deal.request).await;
    let answer = settlement(&world, &deal).await;
    assert_eq!(answer["standing"], json!({"kind": "not_due"}));
    assert!(sentence(&answer).contains("the interaction is pending; next, the OFFER until"));
    assert!(answer.get("due_micro_usdc").is_none() && answer.get("network").is_none());

    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    let answer = settlement(&world, &deal).await;
    assert_eq!(answer["standing"], json!({"kind": "not_declared"}));
    assert_eq!(
        (&answer["due_micro_usdc"], &answer["payee"]),
        (
            &json!(TOTAL_MICRO_USDC.to_string()),
            &json!(provider.address().to_checksum())
        )
    );
    assert_eq!(
        answer["next"],
        json!({"what": "payment", "at_ms": answer["due"]["at_ms"]})
    );

    let accepted = world.accept(&deal.payment(&offer, TX)).await;
    let answer = settlement(&world, &deal).await;
    assert_eq!(answer["standing"]["kind"], "declared");
    assert_eq!(answer["clock"], json!({"kind": "running"}));
    assert_eq!(answer["last_position"], accepted["position"]);

    base.pay(TX, &initiator, &provider, TOTAL_MICRO_USDC);
    base.watch_ms(&world, 4_000).await;
    let answer = until(&world, &deal, "seen").await;
    assert_eq!(
        answer["standing"],
        json!({"kind": "seen", "depth": 2, "of": 3})
    );
    assert!(
        sentence(&answer).starts_with("seen, 2 of 3 blocks; next, the confirmation"),
        "{answer}"
    );
    base.watch_ms(&world, 2_000).await;
    let answer = until(&world, &deal, "confirmed").await;
    assert_eq!(answer["paid"], json!(ProviderPaid::Yes));
    assert_eq!(
        answer["paid_micro_usdc"],
        json!(TOTAL_MICRO_USDC.to_string())
    );
    assert_eq!(answer["claims"][0]["tx_hash"], TX);
    assert_eq!(answer["transactions"][0]["endpoints"], json!(["rpc"]));
    assert!(
        sentence(&answer).starts_with("confirmed: 10.25 USDC by 0xabab"),
        "{answer}"
    );
    // What becomes of it is recorded for a day.
    let recorded_at_ms = answer["proof"]["recorded_at_ms"].as_u64().unwrap();
    let at_ms = recorded_at_ms + 24 * 60 * 60 * 1_000;
    assert_eq!(answer["due"], json!({"kind": "watch", "at_ms": at_ms}));
    assert_eq!(answer["clock"], json!({"kind": "running"}));
    assert_eq!(answer["next"], json!({"what": "final"}));
}

/// The answer once the money stands like that; the ledger takes a block in by itself.
async fn until(world: &World, deal: &Deal<'_>, kind: &str) -> Value {
    let stands = async {
        loop {
            let answer = settlement(world, deal).await;
            if answer["standing"]["kind"] == kind {
                break answer;
            }
            tokio::task::yield_now().await;
        }
    };
    match tokio::time::timeout(PATIENCE, stands).await {
        Ok(answer) => answer,
        Err(_) => panic!("not {kind}: {}", settlement(world, deal).await),
    }
}

#[tokio::test]
async fn a_refused_payment_names_its_cause_and_the_look_that_is_next() {
    let (base, world, [initiator, provider]) = Base::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    // It failed before it was declared: one that moves nothing is found by asking for it alone, and
    // that is done when it is declared and when a look is due.
    base.fail(TX);
    base.watch_ms(&world, 2_000).await;
    world.accept(&deal.payment(&offer, TX)).await;
    base.watch_ms(&world, 8_000).await;
    let answer = until(&world, &deal, "refused").await;
    assert_eq!(
        answer["standing"],
        json!({"kind": "refused", "cause": "reverted", "code": "X811-5003", "tx_hash": TX})
    );
    assert_eq!(
        (&answer["failures"], &answer["failures_to_dispute"]),
        (&json!(1), &json!(4))
    );
    base.watch_ms(&world, 24_000).await;
    let answer = settlement(&world, &deal).await;
    assert_eq!(answer["next"]["what"], "look");
    assert_eq!(answer["due"]["look"], 1);
    assert!(
        sentence(&answer).contains("next, look 1 of 4 at 2026-"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_stopped_clock_is_told_with_its_cause_and_its_bound() {
    let (_base, world, [initiator, provider]) = Base::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    world.accept(&deal.payment(&offer, OTHER_TX)).await;
    // No block for longer than a head may be old.
    world.clock.advance_ms(31_000);
    let blind = async {
        while world.get("/ready").await.json()["networks"][0]["sight"] != "blind" {
            tokio::task::yield_now().await;
        }
    };
    blind.await;
    let answer = settlement(&world, &deal).await;
    let clock = &answer["clock"];
    assert_eq!(
        (&clock["kind"], &clock["cause"]),
        (&json!("stopped"), &json!("stale_head"))
    );
    let since_ms = clock["since_ms"].as_u64().unwrap();
    assert_eq!(
        clock["operator_called_at_ms"],
        json!(since_ms + 24 * 60 * 60 * 1_000)
    );
    assert_eq!(answer["next"], json!({"what": "sight"}));
    assert!(
        sentence(&answer).contains("its clock stands still since 2026-"),
        "{answer}"
    );
    // The interaction itself says so too.
    let path = format!("/api/v1/interactions/{}", deal.id());
    let shown = world.get(&path).await.expect(200);
    assert_eq!(
        shown["detail"]["settlement"]["clock_stopped_since_ms"],
        json!(since_ms)
    );
    let left_ms = answer["due"]["at_ms"].as_u64().unwrap() - answer["as_of_ms"].as_u64().unwrap();
    // However long it takes, the same is left.
    world.clock.advance_ms(3_600_000);
    let later = settlement(&world, &deal).await;
    assert_eq!(
        later["due"]["at_ms"].as_u64().unwrap() - later["as_of_ms"].as_u64().unwrap(),
        left_ms
    );
    assert_eq!(later["state"], "verified");
}

#[tokio::test]
async fn it_is_read_like_the_interaction_itself() {
    let world = World::start_with(|config| config.open_reads = false).await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let deal = Deal::new(&world, &initiator, &provider);
    world.accept(&deal.request).await;
    let path = format!("/api/v1/interactions/{}/settlement", deal.id());
    world.get(&path).await.refused(401, "X811-2004");
    let stranger = world.agent().await;
    for (reader, status) in [(&initiator, 200), (&provider, 200), (&stranger, 404)] {
        let answer = world.get_as(reader, &path).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    let world = World::start().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let unknown = format!("/api/v1/interactions/{}/settlement", deal.id());
    world.get(&unknown).await.refused(404, "X811-4001");
    let size = world.get("/ready").await.json()["size"].as_u64().unwrap();
    let early = format!("{unknown}?min_position={size}");
    world.get(&early).await.refused(404, "X811-4001");
    let odd = format!("{unknown}?min_positon=1");
    world.get(&odd).await.refused(400, "X811-4001");
}

/// ledger-contract.md section 5: a bound on blindness pages the operator; it never changes a state.
#[tokio::test]
async fn rule_28_blindness_beyond_its_bound_calls_the_operator_and_changes_no_state() {
    let world = World::start_with(|config| {
        config.network.blind_page_after_ms = 3_600_000;
        config.metrics_listen = Some("127.0.0.1:0".parse().unwrap());
    })
    .await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    world.accept(&deal.payment(&offer, TX)).await;
    // The chain stands still from here on.
    world.clock.advance_ms(30_001);
    while world.get("/ready").await.json()["networks"][0]["sight"] != "blind" {
        tokio::task::yield_now().await;
    }
    let ready = world.get("/ready").await.expect(200);
    assert!(ready.get("attention").is_none(), "{ready}");
    world.clock.advance_ms(3_600_001);
    let ready = world.get("/ready").await.expect(200);
    assert_eq!(ready["ready"], true);
    assert!(ready["networks"][0]["blind_ms"].as_u64().unwrap() > 3_600_000);
    let attention = ready["attention"][0].as_str().unwrap();
    assert!(
        attention.starts_with("network local has been out of sight for 3600 s"),
        "{attention}"
    );
    let addr = world.running.metrics_addr.unwrap();
    let scraped = world.http.get(format!("http://{addr}/metrics")).send();
    let figures = scraped.await.unwrap().text().await.unwrap();
    for line in [
        "x811_network_blind_seconds{network=\"local\"} 3600.",
        "x811_network_blind_page{network=\"local\"} 1.0",
        "x811_settlement_events_total{kind=\"reversed\"} 0.0",
        "x811_settlement_events_total{kind=\"looked\"} 0.0",
    ] {
        assert!(figures.contains(line), "{line} is not in\n{figures}");
    }
    // Days later nothing has come of it.
    world.clock.advance_ms(3 * 24 * 3_600_000);
    let answer = settlement(&world, &deal).await;
    assert_eq!(
        (
            &answer["state"],
            &answer["standing"]["kind"],
            &answer["failures"]
        ),
        (&json!("verified"), &json!("declared"), &json!(0))
    );
}

/// ledger-contract.md section 5: an ACCEPT with a price needs a head that says what is older than it.
#[tokio::test]
async fn lc_5_no_accept_with_a_price_before_the_network_was_ever_seen() {
    let world = World::start_blind_with(|_| {}).await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let deal = Deal::new(&world, &initiator, &provider);
    world.accept(&deal.request).await;
    let offer = deal.offer();
    world.accept(&offer).await;
    let accept = deal.accept(&offer);
    for _ in 0..2 {
        let refused = world.post(accept.json.clone()).await;
        assert!(refused.headers.contains_key("retry-after"));
        let refused = refused.refused(503, "X811-9002");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("has shown this ledger a block of local"));
        assert_eq!(refused["related_message_id"], json!(accept.header.id));
    }
    let path = format!("/api/v1/interactions/{}", deal.id());
    assert_eq!(world.get(&path).await.expect(200)["state"], "offered");
}
