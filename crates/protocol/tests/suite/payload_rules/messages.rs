//! What holds for all messages alike.

use serde_json::json;
use x811_protocol::digest::Digest;
use x811_protocol::facts::CoreFacts;

use super::*;

/// A good payload of every core type.
pub(crate) fn examples() -> [(&'static str, Value); 8] {
    [
        ("x811/request", request::example()),
        ("x811/offer", offer::example()),
        ("x811/accept", answers::accept()),
        ("x811/reject", answers::reject()),
        ("x811/result", result::example()),
        ("x811/verify", answers::dispute()),
        ("x811/payment", payment::example()),
        ("x811/error", answers::error()),
    ]
}

#[test]
fn ae_038_each_core_type_has_its_facts() {
    for (kind, payload) in examples() {
        let facts = facts(kind, &payload).unwrap();
        let fits = match facts.core().unwrap() {
            CoreFacts::Request(_) => kind == "x811/request",
            CoreFacts::Offer(_) => kind == "x811/offer",
            CoreFacts::Accept(_) => kind == "x811/accept",
            CoreFacts::Reject(_) => kind == "x811/reject",
            CoreFacts::Result(_) => kind == "x811/result",
            CoreFacts::Verify(_) => kind == "x811/verify",
            CoreFacts::Payment(_) => kind == "x811/payment",
            CoreFacts::Error(_) => kind == "x811/error",
        };
        assert!(fits, "{kind}");
    }
}

#[test]
fn ae_038_and_ae_077_an_empty_payload_fits_no_core_type() {
    for (kind, _) in examples() {
        assert_eq!(verdict(&facts(kind, &json!({}))), MALFORMED, "{kind}");
    }
}

#[test]
fn ae_039_unknown_members_are_ignored_but_covered_by_the_hash() {
    for (kind, payload) in examples() {
        let extended = with(&payload, "x_unknown", Some(json!({"deep": [1, null]})));
        let mut plain = recorded(kind, &payload);
        let mut with_unknown = recorded(kind, &extended);
        let hashes = [&mut plain, &mut with_unknown]
            .map(|facts| facts.as_object_mut().unwrap().remove("payload_hash"));
        assert_eq!(plain, with_unknown, "{kind}");
        if let [Some(plain), Some(with_unknown)] = hashes {
            assert_ne!(plain, with_unknown, "{kind}");
        }
    }
}

#[test]
fn ae_039_payload_hash_is_of_the_canonical_form() {
    let hash = |text: &str| {
        let payload = serde_json::from_str(text).unwrap();
        recorded("x811.ext/note", &payload)["payload_hash"].clone()
    };
    let expected = Digest::of(br#"{"10":1,"2":[0.5],"a":{"b":0,"c":100}}"#).to_string();
    assert_eq!(
        hash(r#"{"a": {"c": 1e2, "b": -0}, "2": [0.50], "10": 1.0}"#),
        expected
    );
}

/// No message but the OFFER has a fact that could change what the OFFER said.
#[test]
fn ae_067_terms_in_later_messages_are_not_facts() {
    let terms = [
        ("price", json!("0.000001")),
        ("total_cost", json!("0.000001")),
        ("protocol_fee", json!("0")),
        ("deliverables", json!(["nothing"])),
    ];
    for (kind, payload) in examples().into_iter().skip(2) {
        let changed = terms
            .iter()
            .fold(payload.clone(), |payload, (name, value)| {
                with(&payload, name, Some(value.clone()))
            });
        assert_eq!(facts(kind, &changed), facts(kind, &payload), "{kind}");
    }
}

#[test]
fn ae_123_extension_payloads_are_opaque() {
    for payload in [
        json!({}),
        json!({"price": -1, "request_id": 5}),
        offer::example(),
    ] {
        let facts = recorded("x811.ext/counter-offer", &payload);
        assert_eq!(facts.as_object().unwrap().len(), 1, "payload_hash only");
    }
}

/// Facts follow from values: every spelling with one RFC 8785 form gives the same facts.
#[test]
fn ax_046_integers_may_be_spelled_as_any_equal_number() {
    let spelled = |deadline: &str| {
        let text = request::example().to_string();
        let text = text.replace("\"deadline\":60", &format!("\"deadline\":{deadline}"));
        facts("x811/request", &serde_json::from_str(&text).unwrap())
    };
    let expected = spelled("60").unwrap();
    for same in ["60.0", "6e1", "600E-1", "0.6e2"] {
        assert_eq!(spelled(same).as_ref(), Ok(&expected), "{same}");
    }
    for other in [
        "60.5",
        "0",
        "-0",
        "0.0",
        "-60",
        "1e300",
        "9007199254740992",
        "9007199254740993",
    ] {
        assert_eq!(verdict(&spelled(other)), MALFORMED, "{other}");
    }
    assert_eq!(verdict(&spelled("9007199254740991")), ACCEPTED);
    assert_eq!(verdict(&spelled("9007199254740991.0")), ACCEPTED);
}

#[test]
fn ax_046_messages_never_repeat_unbounded_text_of_the_sender() {
    let flood = "\u{1b}[31m".repeat(100_000);
    for name in ["currency", "acceptance_policy"] {
        let refused = facts(
            "x811/request",
            &with(&request::example(), name, Some(json!(flood))),
        );
        let message = refused.unwrap_err().message;
        assert!(message.chars().count() < 300, "{message}");
        assert!(!message.chars().any(char::is_control), "{message}");
    }
}
