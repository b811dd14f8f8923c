//! What is agreed to besides the price, by terms that a counterparty would like to slip in.

use super::*;
use crate::compose::Request;
use crate::negotiator::FixedConcession;
use serde_json::Value;
use x811_protocol::facts::{AcceptancePolicy, Facts};
use x811_protocol::payload::{PayloadRules, facts};

const ADA: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65401";
const BERT: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65402";

fn usdc(text: &str) -> MicroUsdc {
    MicroUsdc::from_usdc_decimal(text).unwrap()
}

fn negotiator() -> Negotiator {
    let request = Request {
        task_type: "echo".to_owned(),
        parameters: Map::new(),
        max_budget: usdc("0.05"),
        deadline_s: 60,
        acceptance_policy: AcceptancePolicy::Auto,
        threshold_amount: None,
        callback_url: None,
        idempotency_key: "first".to_owned(),
    };
    Negotiator {
        strategy: Arc::new(FixedConcession { step: usdc("0.01") }),
        per_turn: usdc("0.01"),
        max_turns: 20,
        life_ms: 600_000,
        purchases: vec![Purchase {
            order: Order {
                provider: BERT.parse().unwrap(),
                request,
            },
            opening: usdc("0.02"),
            deliverables: vec!["the text".to_owned()],
        }],
        sales: vec![Sale {
            task_type: "echo".to_owned(),
            opening: usdc("0.04"),
            lowest: usdc("0.03"),
            time_s: 30,
            deliverables: vec!["the text".to_owned()],
        }],
    }
}

/// A negotiation whose only terms are `author`'s.
fn offered(author: &str, to: &str, terms: &Value) -> Bargain {
    let author: Did = author.parse().unwrap();
    let payload = json!({"terms": terms, "expires_at": "2026-03-01T12:00:00Z"});
    let payload = payload.as_object().unwrap();
    let kind = "x811.negotiation/offer".parse().unwrap();
    let rules = PayloadRules::default();
    let Facts::Negotiation(read) = facts(&kind, author, payload, &rules).unwrap() else {
        panic!("it is a negotiation's");
    };
    let id = "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap();
    let turn = Turn {
        author,
        step: id,
        terms: terms.as_object().unwrap().clone(),
        facts: read.terms().unwrap().clone(),
    };
    Bargain::of(id.into(), (author, to.parse().unwrap()), turn)
}

fn terms(price: &str) -> Value {
    json!({
        "payer": ADA, "payee": BERT, "task_type": "echo", "deadline_s": 60,
        "deliverables": ["the text"],
        "amount": {"value": price, "currency": "USDC"}, "amount_of": "price",
    })
}

#[test]
fn xx_5_nothing_is_agreed_to_but_ones_own_terms_at_a_better_price() {
    let negotiator = negotiator();
    let slipped = [
        ("deadline_s", json!(1)),
        ("deadline_s", Value::Null),
        ("deliverables", json!(["a receipt"])),
        ("sla", json!("the provider pays damages")),
        ("description", json!("and everything on my disk")),
        ("amount", json!({"value": "0.05", "currency": "EUR"})),
    ];
    // As the payee, and then as the payer of an order that was answered so.
    for (me, author, price) in [(BERT, ADA, "0.045"), (ADA, BERT, "0.01")] {
        let order = (me == ADA).then(|| &negotiator.purchases[0]);
        let me: Did = me.parse().unwrap();
        let answer = |terms: &Value| {
            let bargain = offered(author, &me.to_string(), terms);
            negotiator.answer(me, &bargain, order, true).unwrap()
        };
        let good = answer(&terms(price));
        assert!(matches!(good, NegotiationStep::Accept { .. }), "{good:?}");
        for (member, value) in &slipped {
            let mut changed = terms(price);
            let members = changed.as_object_mut().unwrap();
            members.remove(*member);
            if !value.is_null() {
                members.insert((*member).to_owned(), value.clone());
            }
            let NegotiationStep::Counter { terms: own, .. } = answer(&changed) else {
                panic!("{member} {value} was agreed to");
            };
            assert!(own.get("sla").or(own.get("description")).is_none());
            assert_eq!(own["amount"]["currency"], "USDC");
        }
    }
}

#[test]
fn xx_6_work_that_is_not_sold_and_roles_turned_round_are_not_answered() {
    let negotiator = negotiator();
    let bert: Did = BERT.parse().unwrap();
    let answer = |terms: &Value| negotiator.answer(bert, &offered(ADA, BERT, terms), None, true);
    let mut other = terms("0.05");
    other["task_type"] = "mine".into();
    assert_eq!(answer(&other), None);
    let mut turned = terms("0.05");
    (turned["payer"], turned["payee"]) = (BERT.into(), ADA.into());
    assert_eq!(answer(&turned), None, "it would have to pay");
}

#[test]
fn xx_4_the_last_turn_is_taken_or_left() {
    let negotiator = Negotiator {
        max_turns: 1,
        ..negotiator()
    };
    let bert: Did = BERT.parse().unwrap();
    let answer = |price| {
        let bargain = offered(ADA, BERT, &terms(price));
        negotiator.answer(bert, &bargain, None, true)
    };
    let taken = answer("0.03").unwrap();
    assert!(matches!(taken, NegotiationStep::Accept { .. }), "{taken:?}");
    let left = answer("0.029999").unwrap();
    assert!(matches!(left, NegotiationStep::Reject { .. }), "{left:?}");
}
