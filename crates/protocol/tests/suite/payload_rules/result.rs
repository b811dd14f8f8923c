//! `x811/result`: AE-59, AE-60.

use serde_json::json;
use x811_protocol::digest::Digest;

use super::answers::hashes;
use super::offer::envelope_ids;
use super::*;

const KIND: &str = "x811/result";
const TOO_LARGE: Verdict = Verdict::Refused(Code::ResultTooLarge, 413);
const UNSUPPORTED: Verdict = Verdict::Refused(Code::ContentTypeUnsupported, 415);

pub(crate) fn example() -> Value {
    json!({
        "request_id": REQUEST_ID,
        "offer_id": OFFER_ID,
        "content": "{\"ticker\":\"ETH\",\"period\":\"7d\",\"trend\":\"bullish\",\"vwap\":2847.32}",
        "content_type": "application/json",
        "result_hash": RESULT_HASH,
        "execution_time_ms": 12500,
        "model_used": "claude-sonnet-4-6",
        "methodology": "Multi-source price aggregation with statistical trend analysis"
    })
}

fn linked() -> Value {
    let payload = with(&example(), "content", None);
    with(
        &payload,
        "result_url",
        Some(json!("https://provider.example/results/7")),
    )
}

fn check(name: &str, table: impl IntoIterator<Item = (Option<Value>, Verdict)>) {
    check_member(KIND, &example(), name, table);
}

#[test]
fn ae_059_required_members() {
    check("request_id", envelope_ids());
    check("offer_id", envelope_ids());
    check("result_hash", hashes());
    check(
        "execution_time_ms",
        [
            (Some(json!(0)), ACCEPTED),
            // Minus zero has the RFC 8785 form `0`.
            (Some(json!(-0.0)), ACCEPTED),
            (Some(json!(-1)), MALFORMED),
            (Some(json!(0.5)), MALFORMED),
            (Some(json!("0")), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ae_059_content_type() {
    check(
        "content_type",
        [
            (Some(json!("text/plain; charset=utf-8")), ACCEPTED),
            (Some(json!("json")), UNSUPPORTED),
            (Some(json!("")), UNSUPPORTED),
            (Some(json!("text/html\r\n")), UNSUPPORTED),
            (
                Some(json!(format!("text/{}", "x".repeat(124)))),
                UNSUPPORTED,
            ),
            (Some(json!(1)), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ae_060_optional_members() {
    for name in ["model_used", "methodology"] {
        check(
            name,
            [
                (None, ACCEPTED),
                (Some(json!("")), ACCEPTED),
                (Some(json!({})), MALFORMED),
                (Some(Value::Null), MALFORMED),
            ],
        );
    }
    check(
        "result_size",
        [
            (None, ACCEPTED),
            (Some(json!(0)), ACCEPTED),
            (Some(json!(-1)), MALFORMED),
            (Some(json!(1.5)), MALFORMED),
            (Some(json!("61")), MALFORMED),
        ],
    );
    check_member(
        KIND,
        &linked(),
        "result_url",
        [
            (
                Some(json!(
                    "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
                )),
                ACCEPTED,
            ),
            (Some(json!("results/7")), MALFORMED),
            (Some(json!("")), MALFORMED),
            (Some(Value::Null), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ax_019_the_hash_is_of_the_contents_utf_8_bytes() {
    let facts = recorded(KIND, &example());
    let expected = json!({
        "request_id": REQUEST_ID,
        "offer_id": OFFER_ID,
        "result_hash": RESULT_HASH,
        "content_type": "application/json",
        "location": "inline",
        "content_matches": true,
    });
    assert_eq!(facts, expected);

    for content in ["", "é", "{ }", "a\r\nb", "\u{feff}x"] {
        let hash = Digest::of(content.as_bytes()).to_string();
        let payload = with(&example(), "content", Some(json!(content)));
        assert_eq!(
            recorded(KIND, &payload)["content_matches"],
            false,
            "recorded, not refused"
        );
        let payload = with(&payload, "result_hash", Some(json!(hash)));
        assert_eq!(
            recorded(KIND, &payload)["content_matches"],
            true,
            "{content:?}"
        );
    }
}

#[test]
fn ax_020_content_or_url() {
    let neither = with(&example(), "content", None);
    assert_eq!(verdict(&facts(KIND, &neither)), MALFORMED);

    let facts = recorded(KIND, &linked());
    assert_eq!(facts["location"], "url");
    assert_eq!(facts.get("content_matches"), None);

    let both = with(&linked(), "content", example().get("content").cloned());
    let facts = recorded(KIND, &both);
    assert_eq!(
        (&facts["location"], &facts["content_matches"]),
        (&json!("inline"), &json!(true))
    );
}

#[test]
fn ax_041_size_limits() {
    let inline = |bytes: usize| with(&example(), "content", Some(json!("x".repeat(bytes))));
    let announced = |bytes: u64| with(&linked(), "result_size", Some(json!(bytes)));
    let table = [
        (inline(524_288), ACCEPTED),
        (inline(524_289), TOO_LARGE),
        (
            with(&example(), "content", Some(json!("é".repeat(262_145)))),
            TOO_LARGE,
        ),
        (announced(52_428_800), ACCEPTED),
        (announced(52_428_801), TOO_LARGE),
    ];
    for (payload, expected) in table {
        assert_eq!(verdict(&facts(KIND, &payload)), expected);
    }
    let rules = PayloadRules {
        max_inline_content_bytes: 10,
        ..PayloadRules::default()
    };
    assert_eq!(verdict(&facts_under(&rules, KIND, &inline(10))), ACCEPTED);
    assert_eq!(verdict(&facts_under(&rules, KIND, &inline(11))), TOO_LARGE);
}
