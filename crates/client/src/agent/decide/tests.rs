//! Offers, prices and moments at their edges.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test names the moves it is about"
)]

use super::*;
use crate::agent::state::State;
use crate::policy::{Provider, ProviderStatus};
use crate::testing::{CountingEntropy, identity, ledger_did};
use x811_protocol::digest::Digest;
use x811_protocol::facts::{AcceptancePolicy, OfferFacts};

const NOW: TimestampMs = TimestampMs::new(1_000_000);

fn usdc(text: &str) -> MicroUsdc {
    MicroUsdc::from_usdc_decimal(text).unwrap()
}

fn case(state: StateName, policy: AcceptancePolicy, total: &str) -> Case {
    let entropy = CountingEntropy::default();
    let id = "0190a1b2-c3d4-7e5f-8901-234567890abc";
    let offer = OfferFacts {
        deliverables_hash: Digest::ZERO,
        request_id: id.parse().unwrap(),
        price: usdc(total),
        protocol_fee: MicroUsdc::ZERO,
        total_cost: usdc(total),
        estimated_time_s: 5,
        expiry_s: 300,
        payment_address: None,
        payload_hash: Digest::of(b"offer"),
    };
    Case {
        id: id.parse().unwrap(),
        initiator: identity("ada", &entropy).did,
        provider: identity("bob", &entropy).did,
        state,
        deadline_at_ms: Some(NOW.saturating_add_ms(60_000)),
        request: Some(RequestFacts {
            agreement_id: None,
            negotiation_id: None,
            task_type: "echo".to_owned(),
            max_budget: usdc("0.05"),
            deadline_s: 60,
            acceptance_policy: policy,
            threshold_amount: Some(usdc("0.02")),
            idempotency_tag: Digest::ZERO,
            payload_hash: Digest::ZERO,
        }),
        offer: Some((id.parse().unwrap(), offer)),
        payee: None,
        result: None,
        payments: Vec::new(),
        paid: ProviderPaid::NotYet,
        said: Vec::new(),
    }
}

fn caps(most: &str) -> Caps {
    Caps {
        per_interaction: usdc(most),
        per_day: usdc("1"),
        per_counterparty: usdc("1"),
        per_network: usdc("1"),
    }
}

fn decision(answer: Answer) -> Decision {
    Decision {
        answer,
        offer_hash: Digest::of(b"offer"),
        total: usdc("0.03"),
        at_ms: NOW,
        reason: None,
    }
}

/// In one word.
fn answer(case: &Case, caps: Option<Caps>, answer: Option<Answer>) -> String {
    let state = State::new(case.initiator, ledger_did());
    let rules = InitiatorRules {
        minimum_trust: Trust::ZERO,
        caps,
        network: "local".to_owned(),
    };
    let decision = answer.map(decision);
    let known = Known {
        provider: Some(Provider {
            status: ProviderStatus::Active,
            trust: Trust::NEW_AGENT,
        }),
        decision: decision.as_ref(),
    };
    match initiator(case, &state, &rules, known, NOW) {
        Move::Accept(made) => format!("accept {}", made.total.to_usdc_decimal()),
        Move::Reject {
            code, error_code, ..
        } => match error_code {
            Some(error_code) => format!("{code} {error_code}"),
            None => code.to_string(),
        },
        Move::Ask { answer_by_ms, .. } => format!("ask {}", answer_by_ms.since(NOW)),
        other => format!("{other:?}"),
    }
}

#[test]
fn ae_109_to_ae_117_an_offer_is_answered_by_policy_person_and_caps() {
    use AcceptancePolicy::{Auto, HumanApproval, Threshold};
    let (yes, no) = (Some(Answer::Approve), Some(Answer::Reject));
    let wide = Some(caps("1"));
    let tight = Some(caps("0.029999"));
    let over = "POLICY_REJECTED X811-4030";
    // policy, total, caps, person, answer
    let table = [
        (Auto, "0.03", wide, None, "accept 0.03"),
        (Auto, "0.050001", wide, None, "PRICE_TOO_HIGH X811-4030"),
        (Auto, "0.03", tight, None, over),
        // Without caps nothing is accepted without a person.
        (Auto, "0.03", None, None, "ask 55000"),
        (Auto, "0.03", None, yes, "accept 0.03"),
        (Auto, "0.03", None, no, "OTHER"),
        (Threshold, "0.02", wide, None, "accept 0.02"),
        (Threshold, "0.020001", wide, None, "ask 55000"),
        (Threshold, "0.03", wide, yes, "accept 0.03"),
        (Threshold, "0.03", wide, no, "OTHER"),
        (Threshold, "0.050001", wide, yes, "PRICE_TOO_HIGH X811-4030"),
        (HumanApproval, "0.03", wide, None, "ask 55000"),
        (HumanApproval, "0.03", wide, yes, "accept 0.03"),
        (HumanApproval, "0.03", None, yes, "accept 0.03"),
        // A person's approval is within the caps too.
        (HumanApproval, "0.03", tight, yes, over),
    ];
    for (policy, total, caps, person, expected) in table {
        let case = case(StateName::Offered, policy, total);
        let said = answer(&case, caps, person);
        assert_eq!(said, expected, "{policy} {total} {caps:?} {person:?}");
    }
}

#[test]
fn ae_114_without_an_answer_in_time_nothing_is_said() {
    let mut case = case(StateName::Offered, AcceptancePolicy::HumanApproval, "0.03");
    let at = |left_ms| Some(NOW.saturating_add_ms(left_ms));
    case.deadline_at_ms = at(5_001);
    assert_eq!(answer(&case, None, None), "ask 1");
    case.deadline_at_ms = at(5_000);
    assert!(answer(&case, None, None).starts_with("Wait"));
}

#[test]
fn ae_112_nobody_approves_a_provider_that_may_not_act() {
    let case = case(StateName::Offered, AcceptancePolicy::HumanApproval, "0.03");
    let state = State::new(case.initiator, ledger_did());
    let rules = InitiatorRules {
        minimum_trust: Trust::ZERO,
        caps: Some(caps("1")),
        network: "local".to_owned(),
    };
    let decision = decision(Answer::Approve);
    let known = Known {
        provider: Some(Provider {
            status: ProviderStatus::Revoked,
            trust: Trust::FULL,
        }),
        decision: Some(&decision),
    };
    let next = initiator(&case, &state, &rules, known, NOW);
    assert!(
        matches!(
            next,
            Move::Reject {
                code: RejectCode::PolicyRejected,
                ..
            }
        ),
        "{next:?}"
    );
}

#[test]
fn ae_064_no_transfer_is_signed_in_the_last_twenty_seconds() {
    let mut case = case(StateName::Verified, AcceptancePolicy::Auto, "0.03");
    let state = State::new(case.initiator, ledger_did());
    let rules = InitiatorRules {
        minimum_trust: Trust::ZERO,
        caps: Some(caps("1")),
        network: "local".to_owned(),
    };
    let known = Known {
        provider: None,
        decision: None,
    };
    for (left_ms, pays) in [(20_000, true), (19_999, false), (0, false)] {
        case.deadline_at_ms = Some(NOW.saturating_add_ms(left_ms));
        let next = initiator(&case, &state, &rules, known, NOW);
        assert_eq!(next == Move::Pay, pays, "{left_ms}");
    }
}

fn offers(rule: &PriceRule, case: &Case, parameters_bytes: usize) -> Option<MicroUsdc> {
    let rules = ProviderRules {
        prices: vec![rule.clone()],
        payment_address: None,
        most_at_once: 1,
    };
    let state = State::new(case.provider, ledger_did());
    match provider(case, &state, &rules, parameters_bytes, false, NOW) {
        Move::Offer(offer) => Some(offer.total_cost().unwrap()),
        _ => None,
    }
}

#[test]
fn ae_049_a_price_is_by_task_and_size_and_never_above_the_budget() {
    let rule = PriceRule {
        task_type: "echo".to_owned(),
        price: usdc("0.01"),
        price_per_kib: usdc("0.01"),
        estimated_time_s: 60,
        expiry_s: 300,
        deliverables: vec!["the text".to_owned()],
        terms: None,
    };
    let pending = case(StateName::Pending, AcceptancePolicy::Auto, "0.03");
    // bytes, total with the fee of 2.5 %
    let table = [
        (0, Some("0.01025")),
        (1, Some("0.0205")),
        (1_024, Some("0.0205")),
        (1_025, Some("0.03075")),
        (3_072, Some("0.041")),
        (3_073, None),
        (usize::MAX, None),
    ];
    for (bytes, total) in table {
        assert_eq!(offers(&rule, &pending, bytes), total.map(usdc), "{bytes}");
    }
    let slow = PriceRule {
        estimated_time_s: 61,
        ..rule.clone()
    };
    assert_eq!(offers(&slow, &pending, 0), None, "longer than allowed");
    let other = PriceRule {
        task_type: "sum".to_owned(),
        ..rule
    };
    assert_eq!(offers(&other, &pending, 0), None, "no price for it");
}

#[test]
fn ae_059_work_begins_while_there_is_time_for_it() {
    let mut accepted = case(StateName::Accepted, AcceptancePolicy::Auto, "0.03");
    let state = State::new(accepted.provider, ledger_did());
    let rules = ProviderRules {
        prices: Vec::new(),
        payment_address: None,
        most_at_once: 1,
    };
    for (left_ms, expected) in [(10_001, Move::Work), (10_000, Move::TooLate)] {
        accepted.deadline_at_ms = Some(NOW.saturating_add_ms(left_ms));
        let next = provider(&accepted, &state, &rules, 0, false, NOW);
        assert_eq!(next, expected, "{left_ms}");
        let next = provider(&accepted, &state, &rules, 0, true, NOW);
        assert_eq!(next, Move::Wait(None), "it is being done");
    }
}
