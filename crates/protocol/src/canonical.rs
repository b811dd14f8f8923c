//! Canonical JSON, RFC 8785: the bytes that are signed, hashed and stored (AE-80, AX-22).
//!
//! Keys are ordered by UTF-16 code units, numbers are written as ECMAScript writes doubles, and
//! nothing is escaped that need not be. `serde_jcs` does it for anything; members whose keys are
//! ASCII are in order in their map already and are written in one pass, which takes a tenth of the
//! time. The tests hold both against the RFC's own vectors and against each other.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use crate::json::MAX_SAFE_INTEGER;

/// The RFC 8785 form of `value`.
///
/// RFC 8785 knows only doubles, so an integer beyond ±(2^53 - 1) is written rounded. Whatever came
/// through [`crate::json::parse_strict`] holds none, and it refuses to read one back.
///
/// # Panics
/// `T` is not plain JSON: a map key is not a string, or its own `Serialize` fails. A
/// `serde_json::Value` is none of these, so no input can cause it.
pub fn to_canonical<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    #[expect(
        clippy::expect_used,
        reason = "a type of ours that is not plain JSON is a defect"
    )]
    let value = serde_json::to_value(value).expect("only types with string keys are written");
    if holds_keys_in_order(&value) {
        in_one_pass(&value)
    } else {
        put_in_order(&value)
    }
}

fn put_in_order<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    #[expect(
        clippy::expect_used,
        reason = "a type of ours that is not plain JSON is a defect"
    )]
    serde_jcs::to_vec(value).expect("only types with string keys and finite numbers are written")
}

/// Returns the RFC 8785 form of members without a copy of them.
pub fn members_to_canonical(members: &serde_json::Map<String, Value>) -> Vec<u8> {
    if keys_are_in_order(members) {
        in_one_pass(members)
    } else {
        put_in_order(members)
    }
}

fn in_one_pass<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1_024);
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, Canonical));
    match written {
        Ok(()) => bytes,
        Err(_) => put_in_order(value),
    }
}

/// Whether the keys of all objects stand in the order of RFC 8785 as they are: a map of this
/// program is in order of bytes, and ASCII keys have the same order in UTF-16.
fn keys_are_in_order(members: &serde_json::Map<String, Value>) -> bool {
    members.keys().all(|key| key.is_ascii())
        && members.keys().is_sorted()
        && members.values().all(holds_keys_in_order)
}

fn holds_keys_in_order(value: &Value) -> bool {
    match value {
        Value::Object(members) => keys_are_in_order(members),
        Value::Array(items) => items.iter().all(holds_keys_in_order),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Writes numbers as ECMAScript does. Everything else `serde_json` writes as RFC 8785 asks: no
/// blanks, and only `"`, `\\` and control characters escaped, in their short or lower-case form.
struct Canonical;

impl Formatter for Canonical {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(ryu_js::Buffer::new().format(value).as_bytes())
    }

    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value > MAX_SAFE_INTEGER {
            return self.write_f64(writer, value as f64);
        }
        write!(writer, "{value}")
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        if value.unsigned_abs() > MAX_SAFE_INTEGER {
            return self.write_f64(writer, value as f64);
        }
        write!(writer, "{value}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::{Limits, parse_members, parse_strict};

    fn canonical_of(text: &str) -> String {
        let value = parse_strict(text.as_bytes(), &Limits::default()).unwrap();
        let bytes = to_canonical(&value);
        assert_eq!(put_in_order(&value), bytes, "{text}");
        if let Value::Object(members) = &value {
            assert_eq!(members_to_canonical(members), bytes, "{text}");
        }
        String::from_utf8(bytes).unwrap()
    }

    /// RFC 8785 section 3.2.2 and 3.2.3, but for the number 333333333.33333329, kept, and 1E30,
    /// which strict reading refuses and which is tested below as a value.
    #[test]
    fn ae_080_sample_of_rfc_8785() {
        let text = r#"{
            "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        assert_eq!(
            canonical_of(text),
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        );
    }

    /// RFC 8785 section 3.2.3: by UTF-16 code units, where a surrogate pair sorts before U+FB33.
    #[test]
    fn ax_022_keys_are_ordered_by_utf_16_code_units() {
        let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return",
            "\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji",
            "\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
        let order = [
            "Carriage Return",
            "One",
            "Control",
            "Latin",
            "Euro",
            "Emoji",
            "Hebrew",
        ];
        let canonical = canonical_of(text);
        let places = order.map(|name| canonical.find(&format!(":\"{name}")).unwrap());
        assert!(places.is_sorted(), "{canonical}");

        assert_eq!(
            canonical_of(r#"{"a":1,"2":2,"10":3}"#),
            r#"{"10":3,"2":2,"a":1}"#
        );
        let astral_first = "{\"\u{10000}\":1,\"\u{e000}\":2}";
        assert_eq!(
            canonical_of("{\"\u{e000}\":2,\"\u{10000}\":1}"),
            astral_first
        );
        assert_eq!(
            canonical_of(r#"{"aa":1,"a":{"z":1,"":2}}"#),
            r#"{"a":{"":2,"z":1},"aa":1}"#
        );
    }

    /// RFC 8785 appendix B, all finite rows.
    #[test]
    fn ax_022_numbers_have_the_ecmascript_form() {
        for (bits, text) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(
                to_canonical(&f64::from_bits(bits)),
                text.as_bytes(),
                "{bits:x}"
            );
        }
        assert_eq!(
            canonical_of("[1e-7,100.0,-0,1e-6]"),
            "[1e-7,100,0,0.000001]"
        );
        assert_eq!(
            to_canonical(&json!([1e21, -0.0, u64::MAX])),
            b"[1e+21,0,18446744073709552000]"
        );
    }

    #[test]
    fn ax_022_declared_members_are_put_in_order() {
        #[derive(Serialize)]
        struct Declared {
            b: [u8; 2],
            a: bool,
        }
        let declared = Declared { b: [1, 2], a: true };
        assert_eq!(to_canonical(&declared), br#"{"a":true,"b":[1,2]}"#);
    }

    #[test]
    fn ax_022_only_what_must_be_is_escaped() {
        let controls: String = (0..=0x1f).map(char::from).collect();
        let text = "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\
                    \\u000e\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\
                    \\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f\"";
        assert_eq!(to_canonical(&controls), text.as_bytes());
        assert_eq!(
            to_canonical("\u{7f}\u{2028}/é😀"),
            "\"\u{7f}\u{2028}/é😀\"".as_bytes()
        );
        let keyed: Value = [(controls, Value::Null)].into_iter().collect();
        let expected = format!("{{{text}:null}}");
        assert_eq!(to_canonical(&keyed), expected.as_bytes());
    }

    #[test]
    fn ax_022_canonical_form_shows_while_reading() {
        let form = |text: &str| {
            let outermost = parse_members(text.as_bytes(), &Limits::default(), None);
            outermost.unwrap().is_canonical
        };
        assert!(form(r#"{"a":{"b":[1,null,true,"é"],"c":""},"b":0}"#));
        for text in [
            r#"{"b":0,"a":0}"#,
            r#"{"a": 0}"#,
            r#"{"a":0} "#,
            r#"{"a":1e0}"#,
            r#"{"a":-0}"#,
            r#"{"a":1.0}"#,
            r#"{"a":"\u0061"}"#,
            r#"{"é":0}"#,
        ] {
            assert!(!form(text), "{text}");
        }
    }

    #[test]
    fn ax_021_null_is_written_and_absent_is_not() {
        assert_eq!(canonical_of(r#"{"b":null,"a":[]}"#), r#"{"a":[],"b":null}"#);
    }

    /// Any JSON of a depth of three, with keys of all planes.
    fn any_value() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            // Of both signs, zeros too; what is not finite becomes null.
            any::<f64>().prop_map(Value::from),
            Just(Value::from(-0.0)),
            proptest::num::f64::SUBNORMAL.prop_map(Value::from),
            (0_u32..10_000_000).prop_map(|cents| Value::from(f64::from(cents) / 100.0)),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z_]{0,6}", inner.clone(), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
                proptest::collection::btree_map(any::<String>(), inner, 0..3)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn ax_022_what_reads_as_canonical_is(value in any_value(), blank in proptest::bool::ANY) {
            let mut text = to_canonical(&value);
            if blank {
                text.push(b' ');
            }
            for text in [text, value.to_string().into_bytes()] {
                let outermost = parse_members(&text, &Limits::default(), None);
                let read = parse_strict(&text, &Limits::default());
                proptest::prop_assert_eq!(outermost.as_ref().err(), read.as_ref().err());
                if outermost.is_ok_and(|outermost| outermost.is_canonical) {
                    proptest::prop_assert_eq!(to_canonical(&read.unwrap()), text);
                }
            }
        }

        #[test]
        fn ax_022_one_pass_writes_the_same_bytes(value in any_value()) {
            let mut members = serde_json::Map::new();
            members.insert("payload".to_owned(), value);
            let due = String::from_utf8(put_in_order(&members)).unwrap();
            for bytes in [members_to_canonical(&members), to_canonical(&members)] {
                proptest::prop_assert_eq!(String::from_utf8(bytes).unwrap(), due.as_str());
            }
        }
    }
}
