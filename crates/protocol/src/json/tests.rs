use serde_json::json;

use super::*;

fn read(text: &str) -> Result<Value, JsonError> {
    parse_strict(text.as_bytes(), &Limits::default())
}

#[test]
fn reads_every_kind_of_value() {
    let text = "\t{\"a\" : [ true,false , null,\r\n-1.5e-1, \"\\u00e9\\ud83d\\ude00\\/\\n\u{7f}\"],\"\":{} } ";
    let value = json!({"a": [true, false, null, -0.15, "é😀/\n\u{7f}"], "": {}});
    assert_eq!(read(text), Ok(value));
}

#[test]
fn refuses_what_is_not_rfc_8259() {
    for (text, offset) in [
        ("", 0),
        (" ", 1),
        ("\u{feff}{}", 0),
        ("{} {}", 3),
        ("[1,]", 3),
        ("[1 2]", 3),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("{\"a\" 1}", 5),
        ("[", 1),
        ("{\"a\":", 5),
        ("'a'", 0),
        ("\"a", 2),
        ("\"a\nb\"", 2),
        ("\"\u{1f}\"", 1),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 2),
        ("\"\\u12é\"", 2),
        ("\"\\u123", 2),
        ("tru", 0),
        ("True", 0),
        ("NaN", 0),
        ("Infinity", 0),
        ("-", 1),
        ("+1", 0),
        (".5", 0),
        ("1.", 2),
        ("1.e1", 2),
        ("1e", 2),
        ("1e+", 3),
        ("01", 0),
        ("-00", 0),
        ("0x1", 1),
        ("1_000", 1),
        ("/**/1", 0),
        ("\u{a0}1", 0),
    ] {
        assert_eq!(read(text), Err(JsonError::Syntax { offset }), "{text}");
    }
}

#[test]
fn ax_022_refuses_bytes_that_are_not_utf_8() {
    for bytes in [
        &b"\"\xff\""[..],
        b"\"\xc0\xaf\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
    ] {
        let error = parse_strict(bytes, &Limits::default());
        assert_eq!(error, Err(JsonError::NotUtf8 { offset: 1 }), "{bytes:?}");
    }
}

#[test]
fn ax_022_refuses_duplicate_keys_after_unescaping() {
    for (text, offset) in [
        (r#"{"a":1,"a":1}"#, 7),
        (r#"{"a":1,"\u0061":2}"#, 7),
        (r#"{"x":[{"é":1,"b":2,"\u00e9":3}]}"#, 20),
    ] {
        assert_eq!(
            read(text),
            Err(JsonError::DuplicateKey { offset }),
            "{text}"
        );
    }
    assert_eq!(
        read(r#"{"a":{"a":1},"A":1}"#),
        Ok(json!({"a": {"a": 1}, "A": 1}))
    );
    // Two spellings of é (composed, decomposed) are two keys: nothing is normalised.
    assert!(read("{\"\u{e9}\":1,\"e\u{301}\":1}").is_ok());
}

#[test]
fn ax_021_what_is_left_without_a_member_is_cut_out_where_all_is_canonical() {
    let rest = |text: &str| {
        let rest = parse_members(text.as_bytes(), &Limits::default(), Some("m"))
            .unwrap()
            .rest;
        rest.map(|rest| rest.concat())
    };
    for (text, left) in [
        (r#"{"m":1}"#, "{}"),
        (r#"{"m":{"m":[]},"n":2}"#, r#"{"n":2}"#),
        (r#"{"a":{"m":1},"m":"","n":2}"#, r#"{"a":{"m":1},"n":2}"#),
        (r#"{"a":"é,","m":null}"#, r#"{"a":"é,"}"#),
    ] {
        assert_eq!(rest(text).as_deref(), Some(left), "{text}");
    }
    for text in [
        r#"{"a":{"m":1}}"#,
        r#"[{"m":1}]"#,
        r#"{"n":1,"m":2}"#,
        r#"{"m":1, "n":2}"#,
        r#"{"\u006d":1}"#,
        r#"{"m":1.0}"#,
    ] {
        assert_eq!(rest(text), None, "{text}");
    }
}

#[test]
fn ax_022_refuses_lone_surrogates() {
    for text in [
        r#""\ud800""#,
        r#""\udfff""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ud800\ud800""#,
        r#""\ud800\u0041""#,
        r#""\udc00\ud800""#,
    ] {
        assert_eq!(
            read(text),
            Err(JsonError::LoneSurrogate { offset: 1 }),
            "{text}"
        );
    }
    assert_eq!(
        read(r#""\ud800\u12""#),
        Err(JsonError::Syntax { offset: 8 })
    );
    assert_eq!(read(r#""\ud834\udd1e""#), Ok(json!("\u{1d11e}")));
}

#[test]
fn ax_022_refuses_numbers_beyond_2_to_the_53_however_they_are_spelled() {
    for inside in [
        "9007199254740991",
        "-9007199254740991",
        "9007199254740991.000",
        "9007199254740990.99",
        "9.007199254740991e15",
        "9007199254740991000e-3",
        "0.0009007199254740991E+19",
        "0e999999999999999999999999",
        "0.000e400",
        "1e-999999999999999999999999",
        "900719925474099.1e1",
    ] {
        assert!(read(inside).is_ok(), "{inside}");
    }
    for beyond in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740993",
        "9007199254740991.1",
        "9007199254740991.0000000000000000000000000001",
        "9.007199254740992e15",
        "9007199254740992000e-3",
        "0.00090071992547409911e19",
        "18446744073709551616",
        "1e16",
        "1e21",
        "1e308",
        "1e400",
        "-1e999999999999999999999999",
    ] {
        assert_eq!(
            read(beyond),
            Err(JsonError::NumberOutOfRange { offset: 0 }),
            "{beyond}"
        );
    }
}

#[test]
fn ax_022_numbers_are_read_as_their_canonical_value() {
    for (text, value) in [
        ("100.0", json!(100)),
        ("1e2", json!(100)),
        ("-0", json!(0)),
        ("-0.0e5", json!(0)),
        ("0.05", json!(0.05)),
        ("1e-7", json!(1e-7)),
        ("5e-324", json!(5e-324)),
        ("0.1000000000000000055511151231257827", json!(0.1)),
    ] {
        assert_eq!(read(text), Ok(value), "{text}");
    }
}

#[test]
fn limits_hold_to_the_byte_and_to_the_level() {
    let limits = Limits::default();
    let of_size = |size: usize| [b"\"", "x".repeat(size - 2).as_bytes(), b"\""].concat();
    assert!(parse_strict(&of_size(1 << 20), &limits).is_ok());
    let too_large = JsonError::TooLarge {
        size: (1 << 20) + 1,
        max: 1 << 20,
    };
    assert_eq!(
        parse_strict(&of_size((1 << 20) + 1), &limits),
        Err(too_large)
    );

    let of_depth = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(read(&of_depth(128)).is_ok());
    assert_eq!(
        read(&of_depth(129)),
        Err(JsonError::TooDeep { offset: 128 })
    );
    assert_eq!(
        read(&"[".repeat(1 << 20)),
        Err(JsonError::TooDeep { offset: 128 })
    );
    let siblings = format!("[{}]", vec![of_depth(127); 3].join(","));
    assert!(read(&siblings).is_ok());
}
