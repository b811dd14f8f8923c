//! Bytes that two readers could understand differently, or that cost too much to read (AX-22,
//! AX-41).

use super::{Case, MALFORMED, Stage, case};
use crate::world::sign_members;
use serde_json::json;

/// A good envelope with `text` put in place of its `"n":1`.
fn with_payload(stage: &Stage, text: &str) -> Vec<u8> {
    let ping = String::from_utf8(stage.ping()).unwrap();
    assert!(ping.contains(r#""n":1"#));
    ping.replace(r#""n":1"#, text).into_bytes()
}

#[tokio::test]
async fn ax_022_ambiguous_json() {
    let stage = Stage::open().await;
    let nested = [
        ("a key twice", r#""n":1,"n":1"#),
        ("a key twice, once escaped", r#""n":1,"\u006e":2"#),
        ("a key twice, deep", r#""n":[{"x":{"y":1,"y":1}}]"#),
        ("half a surrogate pair", r#""n":"\ud800""#),
        ("the other half", r#""n":"\udc00""#),
        ("two first halves", r#""n":"\ud800\ud800""#),
        ("half a pair in a key", r#""\udfff":1"#),
        ("2^53", r#""n":9007199254740992"#),
        ("2^53 + 1", r#""n":9007199254740993"#),
        ("-(2^53)", r#""n":-9007199254740992"#),
        ("2^53 as an exponent", r#""n":9.007199254740992e15"#),
        ("a fraction beyond 2^53", r#""n":9007199254740991.5"#),
        ("1e21", r#""n":1e21"#),
        ("1e400", r#""n":1e400"#),
        ("an endless exponent", r#""n":1e99999999999999999999"#),
        ("2^64", r#""n":18446744073709551616"#),
        ("a leading zero", r#""n":01"#),
        ("a leading plus", r#""n":+1"#),
        ("hexadecimal", r#""n":0x1"#),
        ("NaN", r#""n":NaN"#),
        ("Infinity", r#""n":-Infinity"#),
        ("a bare dot", r#""n":1."#),
        ("a raw line feed", "\"n\":\"a\nb\""),
        ("a raw NUL", "\"n\":\"a\0b\""),
        ("a comma too many", r#""n":1,"#),
        ("a comment", r#""n":1/*one*/"#),
        ("single quotes", r#"'n':1"#),
        ("an escape that is none", r#""n":"\x41""#),
    ];
    let mut cases: Vec<Case> = nested
        .iter()
        .map(|(name, text)| case(*name, with_payload(&stage, text), MALFORMED))
        .collect();
    let ping = String::from_utf8(stage.ping()).unwrap();
    let twice = ping.replacen('{', r#"{"version":"0.1.0","#, 1);
    let from_twice = format!(r#"{{"from":"{}",{}"#, stage.b.did, &ping[1..]);
    let signature_twice = ping.replacen('{', r#"{"signature":"AAAA","#, 1);
    cases.extend([
        case("`version` twice", twice, MALFORMED),
        case("`from` twice", from_twice, MALFORMED),
        case("`signature` twice", signature_twice, MALFORMED),
    ]);
    stage.refuse_unspent(cases).await;
}

#[tokio::test]
async fn ax_022_bytes_around_and_instead_of_an_envelope() {
    let stage = Stage::open().await;
    let ping = stage.ping();
    let around = |before: &[u8], after: &[u8]| [before, ping.as_slice(), after].concat();
    let utf_16: Vec<u8> = String::from_utf8(ping.clone())
        .unwrap()
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut overlong = ping.clone();
    overlong.splice(1..1, *b"\"\xc0\xaf\":1,");
    let mut cut = ping.clone();
    cut.truncate(ping.len() - 1);
    let cases = vec![
        case("nothing", "", MALFORMED),
        case("blanks", " \r\n\t", MALFORMED),
        case("a byte order mark", around(b"\xef\xbb\xbf", b""), MALFORMED),
        case("UTF-16", utf_16, MALFORMED),
        case("an overlong slash", overlong, MALFORMED),
        case("cut by a byte", cut, MALFORMED),
        case("trailing garbage", around(b"", b"x"), MALFORMED),
        case("a trailing NUL", around(b"", b"\0"), MALFORMED),
        case("a second envelope", around(&ping, b""), MALFORMED),
        case("a list of envelopes", around(b"[", b"]"), MALFORMED),
        case("an empty list", "[]", MALFORMED),
        case("a string", "\"{}\"", MALFORMED),
        case("a number", "1", MALFORMED),
        case("null", "null", MALFORMED),
        case("an empty object", "{}", MALFORMED),
        case("wrapped null", r#"{"envelope":null}"#, MALFORMED),
        case(
            "wrapped list",
            around(br#"{"envelope":["#, b"]}"),
            MALFORMED,
        ),
        case(
            "wrapped twice",
            around(br#"{"envelope":{"envelope":"#, b"}}"),
            MALFORMED,
        ),
        case(
            "wrapped beside something",
            around(br#"{"x":1,"envelope":"#, b"}"),
            MALFORMED,
        ),
    ];
    stage.refuse_unspent(cases).await;
    let spaced = around(b" \r\n\t", b" \n");
    stage.world.post(spaced).await.expect(202);
}

/// A good envelope with so many levels in all, the envelope itself counted.
fn nested(stage: &Stage, depth: usize) -> Vec<u8> {
    let mut members = stage.ping_members();
    // The envelope and its payload are two of them.
    let inner = (2..depth).fold(json!(1), |value, _| json!([value]));
    members["payload"]["n"] = inner;
    sign_members(&members, &stage.a.key)
}

#[tokio::test]
async fn ax_041_nesting_to_the_level_and_size_to_the_byte() {
    const TOO_LONG: (u16, &str) = (413, "X811-6002");
    const LIMIT: usize = 1 << 20;
    let stage = Stage::open().await;
    let sized = |bytes: usize| {
        let mut members = stage.ping_members();
        members["payload"]["n"] = json!("");
        let empty = sign_members(&members, &stage.a.key).len();
        members["payload"]["n"] = json!("x".repeat(bytes - empty));
        let sealed = sign_members(&members, &stage.a.key);
        assert_eq!(sealed.len(), bytes);
        sealed
    };
    for taken in [nested(&stage, 127), nested(&stage, 128)] {
        stage.world.post(taken).await.expect(202);
    }
    for taken in [sized(LIMIT - 1), sized(LIMIT)] {
        stage.world.post(taken).await.expect(202);
    }
    // As received it is short enough, as it would be stored it is not: 1e15 has 16 digits.
    let mut members = stage.ping_members();
    members["payload"]["n"] = json!(vec![1_000_000_000_000_000_u64; 80_000]);
    let swollen = String::from_utf8(sign_members(&members, &stage.a.key)).unwrap();
    let swollen = swollen.replace("1000000000000000", "1e15");
    assert!(swollen.len() < LIMIT);
    let brackets = [vec![b'['; 500_000], vec![b']'; 500_000]].concat();
    let objects = br#"{"a":"#.repeat(100_000);
    let cases = vec![
        case("129 levels", nested(&stage, 129), MALFORMED),
        case("half a million levels", brackets, MALFORMED),
        case("objects without end", objects, MALFORMED),
        case("a byte too long", sized(LIMIT + 1), TOO_LONG),
        case("far too long", vec![b' '; 3 * LIMIT], TOO_LONG),
        case("swollen in its canonical form", swollen, TOO_LONG),
    ];
    stage.refuse_unspent(cases).await;
}

#[tokio::test]
async fn ax_021_odd_but_good_text_is_taken_and_delivered_as_it_was() {
    let stage = Stage::open().await;
    let mut members = stage.ping_members();
    let huge_key = "k".repeat(500_000);
    members["payload"] = json!({
        "nul": "a\0b",
        "controls": "\u{1}\u{1b}[31m\u{7f}\u{85}",
        "bidi": "\u{202e}txt.exe",
        "noncharacter": "\u{ffff}\u{10ffff}",
        "two spellings": ["\u{e9}", "e\u{301}"],
        "": "an empty key",
        "a\0b": 1,
        "smallest": 5e-324,
        "safest": [9_007_199_254_740_991_u64, -9_007_199_254_740_991_i64],
        "null": null,
        huge_key: [],
    });
    let wire = sign_members(&members, &stage.a.key);
    stage.world.post(wire.clone()).await.expect(202);
    let path = format!("/api/v1/messages/{}", stage.b.uuid());
    let inbox = stage.world.get(&path).await.text;
    assert!(inbox.contains(std::str::from_utf8(&wire).unwrap()));
    // However it was spelled, what is stored is the one canonical form.
    let mut members = stage.ping_members();
    members["payload"] = json!({ "n": 100, "z": 0 });
    let wire = String::from_utf8(sign_members(&members, &stage.a.key)).unwrap();
    let spelled = wire.replace(r#""n":100"#, r#" "\u006e" : 1.0e2 "#);
    let spelled = spelled.replace(r#""z":0"#, r#""z":-0.0"#);
    assert_ne!(spelled, wire);
    stage.world.post(spelled).await.expect(202);
    assert!(stage.world.get(&path).await.text.contains(&wire));
}
