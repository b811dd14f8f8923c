//! `x811.negotiation/…`: the shape rules of contract.md ("Messages and facts"), XN-1, XX-3 to XX-7.
//! What depends on the moment, the parameters or the state is held by the sequencer's tests.

use serde_json::json;

use super::offer::envelope_ids;
use super::*;

const OFFER: &str = "x811.negotiation/offer";
const COUNTER: &str = "x811.negotiation/counter";
const ACCEPT: &str = "x811.negotiation/accept";
const RESPONDER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e6544a";
const NEGOTIATION_ID: &str = "neg-0190a1b2-c3d4-7e5f-8901-234567890abc";

fn terms() -> Value {
    json!({
        "payer": INITIATOR,
        "payee": RESPONDER,
        "amount": { "value": "1.5", "currency": "USDC" },
        "amount_of": "price",
        "task_type": "translate",
        "deliverables": ["the text in German"],
        "deadline_s": 60,
        "sla": { "uptime_percent": 99 }
    })
}

fn offer() -> Value {
    json!({
        "terms": terms(),
        "expires_at": "2026-03-01T12:00:00.250Z",
        "max_rounds": 20,
        "parent_negotiation_id": NEGOTIATION_ID,
        "message": "a first proposal"
    })
}

fn counter() -> Value {
    json!({
        "negotiation_id": NEGOTIATION_ID,
        "step_id": REQUEST_ID,
        "terms": terms(),
        "expires_at": "2026-03-01T12:00:00Z"
    })
}

fn accept() -> Value {
    json!({
        "negotiation_id": NEGOTIATION_ID,
        "step_id": REQUEST_ID,
        "terms_hash": RESULT_HASH
    })
}

fn all<const N: usize>(
    verdict: Verdict,
    members: [Value; N],
) -> impl Iterator<Item = (Option<Value>, Verdict)> {
    members
        .into_iter()
        .map(move |member| (Some(member), verdict))
}

/// The verdicts on offers whose terms have `member` in place of the member `name`.
fn check_terms(name: &str, table: impl IntoIterator<Item = (Option<Value>, Verdict)>) {
    assert_eq!(verdict(&facts(OFFER, &offer())), ACCEPTED);
    for (member, expected) in table {
        let shown = member.clone();
        let changed = with(&offer(), "terms", Some(with(&terms(), name, member)));
        let outcome = facts(OFFER, &changed);
        assert_eq!(
            verdict(&outcome),
            expected,
            "{name} = {shown:?}: {outcome:?}"
        );
        if let Err(refusal) = outcome {
            assert!(refusal.message.contains(name), "{}", refusal.message);
            assert!(refusal.message.chars().count() <= 512);
        }
    }
}

/// The verdict on an amount, and what is recorded of it.
fn amount(value: &Value, currency: &str) -> (Verdict, Value) {
    let amount = json!({ "value": value, "currency": currency });
    let changed = with(
        &offer(),
        "terms",
        Some(with(&terms(), "amount", Some(amount))),
    );
    let outcome = facts(OFFER, &changed);
    let recorded = outcome.as_ref().map_or(Value::Null, |facts| {
        facts.to_value()["terms"]["amount"].clone()
    });
    (verdict(&outcome), recorded)
}

#[test]
fn xn_1_a_negotiation_is_named_by_neg_and_a_lower_case_uuid() {
    for (kind, good) in [(COUNTER, counter()), (ACCEPT, accept())] {
        let bare = NEGOTIATION_ID.trim_start_matches("neg-");
        let malformed = [
            json!(bare),
            json!(NEGOTIATION_ID.to_uppercase()),
            json!(format!("NEG-{bare}")),
            json!(format!("neg-{}", bare.replace('-', ""))),
            json!("neg-0190a1b2"),
            json!("neg-"),
            json!(1),
            Value::Null,
        ];
        let table = all(MALFORMED, malformed).chain([(None, MALFORMED)]);
        check_member(kind, &good, "negotiation_id", table);
        check_member(kind, &good, "step_id", envelope_ids());
    }
    let malformed = [json!(REQUEST_ID), json!("neg-1"), json!([NEGOTIATION_ID])];
    let table = all(MALFORMED, malformed).chain([(None, ACCEPTED)]);
    check_member(OFFER, &offer(), "parent_negotiation_id", table);
}

#[test]
fn xx_3_the_end_of_the_terms_is_a_moment_with_an_offset() {
    let malformed = [
        json!("2026-03-01T12:00:00"),
        json!("2026-03-01 12:00:00"),
        json!("2026-03-01"),
        json!("2026-03-01T12:00Z"),
        json!("2026-03-01T23:59:60Z"),
        json!("2026-02-29T12:00:00Z"),
        json!("2026-03-01T24:00:00Z"),
        json!("2026-03-01T12:00:00+25:00"),
        json!("2026-03-01T12:00:00.Z"),
        json!("1969-12-31T23:59:59Z"),
        json!("tomorrow"),
        json!(1_772_366_400_000_u64),
        json!(["2026-03-01T12:00:00Z"]),
    ];
    let good = [
        json!("2026-03-01T12:00:00Z"),
        json!("2026-03-01T12:00:00.999999999Z"),
        json!("2026-03-01T13:00:00+01:00"),
    ];
    let table = || all(MALFORMED, malformed.clone()).chain(all(ACCEPTED, good.clone()));
    let missing = |verdict| [(None, verdict)];
    check_member(
        OFFER,
        &offer(),
        "expires_at",
        table().chain(missing(MALFORMED)),
    );
    check_member(
        COUNTER,
        &counter(),
        "expires_at",
        table().chain(missing(ACCEPTED)),
    );
    // Floored to milliseconds, and one moment whatever the offset.
    let ms = |text: &str| {
        let changed = with(&offer(), "expires_at", Some(json!(text)));
        recorded(OFFER, &changed)["expires_at_ms"].clone()
    };
    assert_eq!(ms("2026-03-01T12:00:00.999999999Z"), 1_772_366_400_999_u64);
    assert_eq!(ms("2026-03-01T13:00:00.0009+01:00"), 1_772_366_400_000_u64);
}

#[test]
fn xx_4_max_rounds_is_an_integer_of_at_least_one() {
    let malformed = [json!(0), json!(-1), json!(1.5), json!("20"), json!(true)];
    let table = all(MALFORMED, malformed)
        .chain(all(ACCEPTED, [json!(1), json!(20), json!(1_000_000)]))
        .chain([(None, ACCEPTED)]);
    check_member(OFFER, &offer(), "max_rounds", table);
}

#[test]
fn xx_5_an_accept_names_terms_by_a_whole_hash() {
    let malformed = [
        json!(&RESULT_HASH[..63]),
        json!(RESULT_HASH.to_uppercase()),
        json!(format!("sha256:{RESULT_HASH}")),
        json!(""),
        json!(7),
        Value::Null,
    ];
    let table = all(MALFORMED, malformed).chain([(None, MALFORMED)]);
    check_member(ACCEPT, &accept(), "terms_hash", table);
}

#[test]
fn xx_7_an_amount_of_usdc_has_at_most_six_fraction_digits() {
    for (value, micro_usdc) in [
        ("0", "0"),
        ("1", "1000000"),
        ("0.000001", "1"),
        ("12.345678", "12345678"),
        // The dearest whose fee still fits: 10^18 micro-USDC in all.
        ("975609756097.560976", "975609756097560976"),
    ] {
        let (verdict, recorded) = amount(&json!(value), "USDC");
        assert_eq!(verdict, ACCEPTED, "{value}");
        assert_eq!(recorded, micro_usdc, "{value}");
    }
    for value in [
        json!(1),
        json!(1.5),
        json!(""),
        json!("1.0000001"),
        json!("01"),
        json!("1."),
        json!(".5"),
        json!("+1"),
        json!("-1"),
        json!("1e3"),
        json!("1,5"),
        json!(" 1"),
        json!("975609756097.560977"),
        json!("1000000000001"),
        json!("1000000000000000000"),
        Value::Null,
    ] {
        assert_eq!(amount(&value, "USDC").0, MALFORMED, "{value}");
    }
}

#[test]
fn xx_7_other_currencies_are_kept_as_they_are_written() {
    let most = format!("{}.{}", "9".repeat(18), "1".repeat(18));
    for value in ["0", "1", "0.000000000000000001", &most] {
        assert_eq!(
            amount(&json!(value), "ETH"),
            (ACCEPTED, Value::Null),
            "{value}"
        );
    }
    for value in [
        "1".repeat(19),
        format!("0.{}", "1".repeat(19)),
        "01".to_owned(),
        "1.".to_owned(),
        ".1".to_owned(),
        "1e3".to_owned(),
        String::new(),
    ] {
        assert_eq!(amount(&json!(value), "ETH").0, MALFORMED, "{value}");
    }
    for currency in ["USD", "EUR", "USDCE"] {
        assert_eq!(amount(&json!("1"), currency).0, ACCEPTED, "{currency}");
    }
    for currency in ["", "US", "usdc", "USDCUSD", "U5D", "US D", "ÜSD"] {
        assert_eq!(amount(&json!("1"), currency).0, MALFORMED, "{currency}");
    }
}

#[test]
fn xx_6_terms_are_what_a_request_can_repeat() {
    check_terms("task_type", {
        let malformed = [json!(""), json!("x".repeat(129)), json!("a\nb"), json!(1)];
        let good = [json!("x".repeat(128)), json!("translate")];
        all(MALFORMED, malformed)
            .chain(all(ACCEPTED, good))
            .chain([(None, ACCEPTED)])
    });
    check_terms("deadline_s", {
        let malformed = [json!(0), json!(-1), json!("60")];
        all(MALFORMED, malformed).chain([(Some(json!(1)), ACCEPTED), (None, ACCEPTED)])
    });
    check_terms("deliverables", {
        let malformed = [json!([]), json!(["a", 1]), json!("a"), json!([["a"]])];
        all(MALFORMED, malformed).chain([(Some(json!(["a"])), ACCEPTED), (None, ACCEPTED)])
    });
    check_terms("amount_of", {
        let malformed = [json!("Price"), json!("fee"), json!(1), Value::Null];
        all(MALFORMED, malformed)
            .chain(all(ACCEPTED, [json!("price"), json!("total")]))
            .chain([(None, MALFORMED)])
    });
    for party in ["payer", "payee"] {
        let malformed = [json!("did:web:x"), json!(REQUEST_ID), json!(1), Value::Null];
        check_terms(party, all(MALFORMED, malformed).chain([(None, MALFORMED)]));
    }
}

#[test]
fn xx_6_terms_hold_no_number_that_two_readers_read_differently() {
    for number in [
        json!(0.5),
        json!(1e300),
        json!(9_007_199_254_740_992_u64),
        json!(-9_007_199_254_740_992_i64),
    ] {
        for member in [
            number.clone(),
            json!([number]),
            json!({ "deep": [[number]] }),
        ] {
            let changed = with(&offer(), "terms", Some(with(&terms(), "sla", Some(member))));
            let outcome = facts(OFFER, &changed);
            assert_eq!(verdict(&outcome), MALFORMED, "{number}");
        }
    }
    // RFC 8785 writes 1.0 as 1: one value, one hash.
    for number in [
        json!(0),
        json!(1.0),
        json!(9_007_199_254_740_991_u64),
        json!(-9_007_199_254_740_991_i64),
    ] {
        let changed = with(&offer(), "terms", Some(with(&terms(), "sla", Some(number))));
        assert_eq!(verdict(&facts(OFFER, &changed)), ACCEPTED);
    }
}

#[test]
fn xx_6_terms_have_at_most_8192_bytes() {
    let sized = |bytes: usize| {
        let plain = with(&terms(), "note", Some(json!("")));
        let length = x811_protocol::canonical::to_canonical(&plain).len();
        let note = "x".repeat(bytes - length);
        with(
            &offer(),
            "terms",
            Some(with(&terms(), "note", Some(json!(note)))),
        )
    };
    assert_eq!(verdict(&facts(OFFER, &sized(8_192))), ACCEPTED);
    let refusal = facts(OFFER, &sized(8_193)).unwrap_err();
    assert_eq!(
        (refusal.code, refusal.http_status()),
        (Code::InvalidStateTransition, 400)
    );
    assert!(
        refusal.message.contains("8193 bytes"),
        "{}",
        refusal.message
    );
}

/// Members that this version does not know are agreed on like those that it knows.
#[test]
fn xx_6_unknown_members_of_terms_are_hashed() {
    let hash = |terms: Value| {
        let changed = with(&offer(), "terms", Some(terms));
        recorded(OFFER, &changed)["terms"]["terms_hash"].clone()
    };
    let usual = hash(terms());
    assert_ne!(usual, hash(with(&terms(), "sla", None)));
    assert_ne!(usual, hash(with(&terms(), "penalty", Some(json!("10 %")))));
    let turned: Value = serde_json::from_str(&terms().to_string()).unwrap();
    assert_eq!(usual, hash(turned));
}
