//! What the published SDK writes otherwise, with its leniency and without it (decision 0190): every
//! form of the SDK is refused by a strict reader, and a strict payload has the same facts under both.

use serde_json::json;
use x811_protocol::id::Nonce;
use x811_protocol::money::MicroUsdc;

use super::*;

fn lenient() -> PayloadRules {
    PayloadRules {
        reference_sdk: true,
        ..PayloadRules::default()
    }
}

#[test]
fn sdk_longer_decimals_are_rounded_half_up() {
    for (text, micro_usdc) in [
        ("0.045000000000000005", Some(45_000)),
        ("0.0449999999999999", Some(45_000)),
        ("0.0000005", Some(1)),
        ("0.00000049999", Some(0)),
        ("1", Some(1_000_000)),
        ("0.029", Some(29_000)),
        ("0.1234565", Some(123_457)),
        ("", None),
        (".5", None),
        ("1.", None),
        ("-0.0450000000", None),
        ("01.0000000", None),
        ("1.000000x", None),
        ("1.0000001e3", None),
        ("1.00000é0", None),
    ] {
        let read = MicroUsdc::from_long_decimal(text).ok();
        assert_eq!(read.map(MicroUsdc::as_micro_usdc), micro_usdc, "{text}");
    }
}

#[test]
fn sdk_a_nonce_is_32_lower_case_hex_digits() {
    let plain = Nonce::plain("0123456789ab4def8123456789abcdef").unwrap();
    let hyphenated: Nonce = "01234567-89ab-4def-8123-456789abcdef".parse().unwrap();
    assert_eq!(plain, hyphenated);
    assert!(Nonce::plain(&"f".repeat(32)).is_ok(), "any value");
    for bad in [
        "",
        "0123456789AB4DEF8123456789ABCDEF",
        "01234567-89ab-4def-8123-456789abcdef",
        "0123456789ab4def8123456789abcdeg",
        "0123456789ab4def8123456789abcde",
        "{123456789ab4def8123456789abcde}",
    ] {
        assert!(Nonce::plain(bad).is_err(), "{bad}");
    }
}

#[test]
fn sdk_what_it_writes_is_refused_by_a_strict_reader_alone() {
    let offer = offer::example();
    let priced = with(&offer, "price", Some(json!("0.029000000000000001")));
    let numbered = with(&offer, "price", Some(json!(0.029)));
    let payment = payment::example();
    let paid = with(&payment, "amount", Some(json!(0.029_725)));
    let verify = json!({
        "request_id": REQUEST_ID, "offer_id": OFFER_ID, "result_hash": RESULT_HASH,
        "verified": true,
    });
    let without = with(&verify, "offer_id", None);
    for (kind, written, strict, member) in [
        ("x811/offer", &priced, &offer, "price"),
        ("x811/offer", &numbered, &offer, "price"),
        ("x811/payment", &paid, &payment, "amount"),
    ] {
        assert!(facts(kind, written).is_err(), "{written}");
        let read = facts_under(&lenient(), kind, written).unwrap().to_value();
        assert_eq!(read[member], recorded(kind, strict)[member]);
        let same = facts_under(&lenient(), kind, strict).unwrap().to_value();
        assert_eq!(same, recorded(kind, strict));
    }
    assert!(facts("x811/verify", &without).is_err());
    let read = facts_under(&lenient(), "x811/verify", &without).unwrap();
    assert_eq!(read.to_value()["offer_id"], verify["request_id"]);
    let same = facts_under(&lenient(), "x811/verify", &verify).unwrap();
    assert_eq!(same.to_value(), recorded("x811/verify", &verify));
    // A fee that does not follow from the rounded price is refused under both.
    let dear = with(&priced, "protocol_fee", Some(json!("0.000726")));
    assert!(facts_under(&lenient(), "x811/offer", &dear).is_err());
}
