use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::record::{Draft, Record, leaf};

fn sealed(event: Value) -> Vec<u8> {
    let draft = Draft {
        recorded_at_ms: 1_767_225_600_000,
        stream: "interaction:01a1".to_owned(),
        stream_seq: 3,
        event,
    };
    Record::seal(7, Hash::of_leaf(b"before"), draft)
        .unwrap()
        .bytes()
        .to_vec()
}

fn sample() -> Vec<u8> {
    sealed(json!({
        "facts": {"list": [1, [], {}, "a\u{1}\n\"\\é\u{1f}\u{7f}"], "yes": true, "z": 0},
        "type": "any",
        "types": [false, 9_007_199_254_740_991_u64],
    }))
}

/// What the long way reads: a leaf in canonical form, whatever its members say.
fn long_way(bytes: &[u8]) -> Option<(u64, Hash, Draft)> {
    let (position, prev, draft) = leaf::decode(bytes).ok()?;
    let encoded = leaf::encode(position, prev, &draft).ok()?;
    (encoded.bytes == bytes).then_some((position, prev, draft))
}

#[test]
fn rec_1_what_is_plain_is_read_in_one_pass() {
    let bytes = sample();
    let scanned = scan(&bytes).unwrap();
    assert_eq!(&bytes[scanned.event_type.clone()], b"any");
    let event: Value = serde_json::from_slice(&bytes[scanned.event.clone()]).unwrap();
    let (position, prev, draft) = long_way(&bytes).unwrap();
    assert_eq!(event, draft.event);
    assert_eq!((scanned.position, scanned.prev), (position, prev));
    assert_eq!(scanned.recorded_at_ms, draft.recorded_at_ms);
    assert_eq!(scanned.stream, draft.stream);
    assert_eq!(scanned.stream_seq, draft.stream_seq);
}

#[test]
fn rec_1_every_other_byte_is_read_alike_or_not_at_all() {
    let bytes = sample();
    for at in 0..bytes.len() {
        for byte in 0..=255 {
            let mut changed = bytes.clone();
            changed[at] = byte;
            assert_no_wider_than_the_long_way(&changed);
        }
        let mut shorter = bytes.clone();
        shorter.remove(at);
        assert_no_wider_than_the_long_way(&shorter);
        assert_no_wider_than_the_long_way(&bytes[..at]);
        for byte in *b" 0{}[],:\"\\ue+-.n" {
            let mut longer = bytes.clone();
            longer.insert(at, byte);
            assert_no_wider_than_the_long_way(&longer);
        }
    }
}

fn assert_no_wider_than_the_long_way(bytes: &[u8]) {
    let Some(scanned) = scan(bytes) else {
        return;
    };
    let text = String::from_utf8_lossy(bytes);
    let (position, prev, draft) = long_way(bytes).unwrap_or_else(|| panic!("{text}"));
    assert_eq!((scanned.position, scanned.prev), (position, prev), "{text}");
    assert_eq!(scanned.recorded_at_ms, draft.recorded_at_ms, "{text}");
    assert_eq!(scanned.stream, draft.stream, "{text}");
    assert_eq!(scanned.stream_seq, draft.stream_seq, "{text}");
    let event: Value = serde_json::from_slice(&bytes[scanned.event]).unwrap();
    assert_eq!(event, draft.event, "{text}");
    let type_name = [b"\"", &bytes[scanned.event_type], b"\""].concat();
    let type_name: Value = serde_json::from_slice(&type_name).unwrap();
    assert_eq!(type_name, draft.event["type"], "{text}");
}

#[test]
fn rec_1_nesting_ends_where_it_does_the_long_way() {
    let nested = |arrays: usize| (0..arrays).fold(json!(0), |inner, _| json!([inner]));
    assert!(scan(&sealed(json!({"deep": nested(MAX_DEPTH - 2), "type": "t"}))).is_some());
    let mut deeper = String::from("{\"event\":{\"deep\":");
    deeper += &"[".repeat(MAX_DEPTH - 1);
    assert!(scan((deeper + "0").as_bytes()).is_none());
}

proptest! {
    #[test]
    fn rec_1_a_scanner_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_no_wider_than_the_long_way(&bytes);
    }
}
