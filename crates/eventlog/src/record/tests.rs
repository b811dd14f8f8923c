use proptest::prelude::*;
use serde_json::json;

use super::*;

fn draft() -> Draft {
    Draft {
        recorded_at_ms: 1_767_225_600_000,
        stream: "ledger".to_owned(),
        stream_seq: 0,
        event: json!({ "type": "opened", "names": ["a", "é"], "count": 3 }),
    }
}

fn leaf() -> Value {
    serde_json::from_slice(Record::seal(0, Hash::ZERO, draft()).unwrap().bytes()).unwrap()
}

/// The canonical leaf with `change` made to it, written canonically again.
fn parse_changed(change: impl FnOnce(&mut Value)) -> Result<Record, RecordError> {
    let mut leaf = leaf();
    change(&mut leaf);
    Record::parse(serde_jcs::to_vec(&leaf).unwrap())
}

#[test]
fn rec_1_leaf_is_the_canonical_json_of_seven_members() {
    let record = Record::seal(7, Hash::of_leaf(b"before"), draft()).unwrap();
    let text = str::from_utf8(record.bytes()).unwrap();
    assert_eq!(
        text,
        format!(
            "{{\"event\":{{\"count\":3,\"names\":[\"a\",\"é\"],\"type\":\"opened\"}},\
             \"position\":7,\"prev\":\"{}\",\"recorded_at_ms\":1767225600000,\
             \"stream\":\"ledger\",\"stream_seq\":0,\"v\":1}}",
            Hash::of_leaf(b"before")
        )
    );
    assert_eq!(record.hash(), Hash::of_leaf(text.as_bytes()));
}

type Change = fn(&mut Value);

#[test]
fn rec_1_every_broken_member_rule_is_named() {
    use RecordError as E;
    let not_an_integer = |member| E::WrongType {
        member,
        expected: "an integer of 0 or more",
    };
    let not_a_string = |member| E::WrongType {
        member,
        expected: "a string",
    };
    let at = |path: &str| E::NotAnInteger {
        path: path.to_owned(),
    };
    let cases: Vec<(Change, RecordError)> = vec![
        (|l| *l = json!([1]), E::NotAnObject),
        (
            |l| l["extra"] = json!(1),
            E::UnknownMember {
                member: "extra".to_owned(),
            },
        ),
        (|l| l["v"] = json!(2), E::UnknownFormat { found: 2 }),
        (|l| l["v"] = json!("1"), not_an_integer("v")),
        (|l| l["position"] = json!(-1), not_an_integer("position")),
        (|l| l["position"] = json!(0.5), not_an_integer("position")),
        (|l| l["position"] = Value::Null, not_an_integer("position")),
        (|l| l["position"] = json!(1_u64 << 53), at("/position")),
        (
            |l| l["recorded_at_ms"] = json!(1_u64 << 53),
            at("/recorded_at_ms"),
        ),
        (|l| l["stream_seq"] = json!(1_u64 << 53), at("/stream_seq")),
        (|l| l["prev"] = json!(7), not_a_string("prev")),
        (
            |l| l["prev"] = json!("00"),
            E::PrevNotAHash(HashError::Length { found: 2 }),
        ),
        (
            |l| l["prev"] = json!("AB".repeat(32)),
            E::PrevNotAHash(HashError::Digit { at: 0 }),
        ),
        (|l| l["prev"] = json!("ab".repeat(32)), E::FirstHasPrev),
        (|l| l["stream"] = json!(""), E::EmptyStream),
        (
            |l| l["stream"] = json!("é".repeat(129)),
            E::StreamTooLong { chars: 129 },
        ),
        (|l| l["stream"] = json!(1), not_a_string("stream")),
    ];
    for (change, error) in cases {
        assert_eq!(parse_changed(change), Err(error));
    }
    for member in [
        "v",
        "position",
        "prev",
        "recorded_at_ms",
        "stream",
        "stream_seq",
        "event",
    ] {
        let removed = parse_changed(|leaf| drop(leaf.as_object_mut().unwrap().remove(member)));
        assert_eq!(removed, Err(RecordError::MissingMember { member }));
    }
}

#[test]
fn rec_1_every_broken_event_rule_is_named() {
    use RecordError as E;
    let at = |path: &str| E::NotAnInteger {
        path: path.to_owned(),
    };
    let null = |path: &str| E::Null {
        path: path.to_owned(),
    };
    let cases: Vec<(Change, RecordError)> = vec![
        (|l| l["event"] = json!([]), E::EventWithoutType),
        (|l| l["event"] = json!({}), E::EventWithoutType),
        (|l| l["event"] = json!({ "type": 1 }), E::EventWithoutType),
        (
            |l| l["event"]["a/b"] = json!({ "c~d": [0, null] }),
            null("/event/a~1b/c~0d/1"),
        ),
        (|l| l["event"]["n"] = json!(-1), at("/event/n")),
        (|l| l["event"]["n"] = json!(1.5), at("/event/n")),
        (|l| l["event"]["n"] = json!([u64::MAX]), at("/event/n/0")),
        (|l| l["event"]["deep"] = nested(MAX_DEPTH - 1), E::TooDeep),
    ];
    for (change, error) in cases {
        assert_eq!(parse_changed(change), Err(error));
    }
}

/// `containers` arrays inside one another.
fn nested(containers: usize) -> Value {
    (0..containers).fold(json!(0), |inner, _| json!([inner]))
}

#[test]
fn rec_1_limits_are_allowed_themselves() {
    let largest = parse_changed(|leaf| {
        leaf["position"] = json!(MAX_INTEGER);
        leaf["recorded_at_ms"] = json!(MAX_INTEGER);
        leaf["stream_seq"] = json!(MAX_INTEGER);
        leaf["stream"] = json!("é".repeat(MAX_STREAM_CHARS));
        leaf["event"]["deep"] = nested(MAX_DEPTH - 2);
        leaf["event"]["n"] = json!(MAX_INTEGER);
    })
    .unwrap();
    assert_eq!(largest.position(), MAX_INTEGER);
    assert_eq!(largest.event()["n"], json!(MAX_INTEGER));
}

#[test]
fn rec_1_a_leaf_ends_at_65535_bytes() {
    let padded = |length: usize| {
        let mut draft = draft();
        draft.event["pad"] = json!("x".repeat(length));
        Record::seal(0, Hash::ZERO, draft)
    };
    let room = MAX_LEAF_BYTES - padded(0).unwrap().bytes().len();
    assert_eq!(padded(room).unwrap().bytes().len(), MAX_LEAF_BYTES);
    assert_eq!(
        padded(room + 1),
        Err(RecordError::TooLarge {
            bytes: MAX_LEAF_BYTES + 1
        })
    );
    let bytes = MAX_LEAF_BYTES + 1;
    assert_eq!(
        Record::parse(vec![b' '; bytes]),
        Err(RecordError::TooLarge { bytes })
    );
}

#[test]
fn rec_1_bytes_that_are_not_the_canonical_ones_are_refused() {
    let good = Record::seal(0, Hash::ZERO, draft()).unwrap();
    let text = str::from_utf8(good.bytes()).unwrap();
    let rewritten = [
        format!(" {text}"),
        format!("{text}\n"),
        text.replace(":3", ": 3"),
        text.replace("\"a\"", "\"\\u0061\""),
        text.replace("\"v\":1", "\"v\":1,\"v\":1"),
        text.replace("\"count\":3", "\"count\":2,\"count\":3"),
        text.replace("\"stream_seq\":0,\"v\":1", "\"v\":1,\"stream_seq\":0"),
    ];
    for bytes in rewritten {
        assert_ne!(bytes, text);
        assert_eq!(
            Record::parse(bytes.clone().into_bytes()),
            Err(RecordError::NotCanonical),
            "{bytes}"
        );
    }
    for number in ["3.0", "3e0", "-0", "1e400"] {
        let bytes = text.replace(":3", &format!(":{number}")).into_bytes();
        assert!(Record::parse(bytes).is_err(), "{number}");
    }
}

#[test]
fn rec_1_bytes_that_are_no_json_are_refused() {
    let cases: [&[u8]; 6] = [
        b"",
        b"{",
        b"\xff",
        b"{}x",
        b"{\"a\":\"\\ud800\"}",
        &[b'['; MAX_LEAF_BYTES],
    ];
    for bytes in cases {
        let error = Record::parse(bytes.to_vec()).unwrap_err();
        assert!(
            matches!(
                error,
                RecordError::NotJson { .. } | RecordError::NotUtf8 { valid_up_to: 0 }
            ),
            "{error}"
        );
    }
}

#[test]
fn rec_1_what_cannot_be_read_is_not_sealed() {
    let with = |event: Value| Record::seal(0, Hash::ZERO, Draft { event, ..draft() });
    assert_eq!(with(json!({})), Err(RecordError::EventWithoutType));
    assert_eq!(
        with(json!({ "type": "t", "n": 1.0 })),
        Err(RecordError::NotAnInteger {
            path: "/event/n".to_owned()
        })
    );
    assert_eq!(
        with(json!({ "type": "t", "deep": nested(500) })),
        Err(RecordError::TooDeep)
    );
    assert_eq!(
        Record::seal(0, Hash::of_leaf(b""), draft()),
        Err(RecordError::FirstHasPrev)
    );
    assert_eq!(
        Record::seal(1 << 53, Hash::ZERO, draft()),
        Err(RecordError::NotAnInteger {
            path: "/position".to_owned()
        })
    );
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0..=MAX_INTEGER).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

prop_compose! {
    fn drafts()(
        recorded_at_ms in 0..=MAX_INTEGER,
        stream in "\\PC{1,128}",
        stream_seq in 0..=MAX_INTEGER,
        kind in any::<String>(),
        inner in value(),
    ) -> Draft {
        Draft { recorded_at_ms, stream, stream_seq, event: json!({ "type": kind, "inner": inner }) }
    }
}

proptest! {
    #[test]
    fn rec_1_what_is_sealed_is_read_back(
        draft in drafts(),
        position in 1..=MAX_INTEGER,
        prev in any::<[u8; 32]>(),
    ) {
        let prev = Hash::from_bytes(prev);
        let sealed = Record::seal(position, prev, draft.clone()).unwrap();
        let parsed = Record::parse(sealed.bytes().to_vec()).unwrap();
        prop_assert_eq!(&parsed, &sealed);
        prop_assert_eq!(parsed.hash(), Hash::of_leaf(sealed.bytes()));
        prop_assert_eq!(parsed.position(), position);
        prop_assert_eq!(parsed.prev(), prev);
        prop_assert_eq!(parsed.recorded_at_ms(), draft.recorded_at_ms);
        prop_assert_eq!(parsed.stream(), &draft.stream);
        prop_assert_eq!(parsed.stream_seq(), draft.stream_seq);
        prop_assert_eq!(parsed.event(), draft.event);
    }

    #[test]
    fn rec_1_a_reader_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Record::parse(bytes).is_err());
    }
}

proptest! {
    /// RFC 8785 by another writer, whatever the keys and texts are.
    #[test]
    fn rec_1_a_leaf_in_one_pass_has_the_same_bytes(
        plain in proptest::collection::btree_map("[a-z_]{1,8}", any::<String>(), 0..6),
        odd in proptest::collection::btree_map(any::<String>(), 0..=MAX_INTEGER, 0..3),
        nested in any::<bool>(),
    ) {
        let mut event = json!({ "type": "any", "plain": plain });
        if nested {
            event["odd"] = json!([odd]);
        }
        let sealed = Record::seal(0, Hash::ZERO, Draft { event, ..draft() }).unwrap();
        let leaf: Value = serde_json::from_slice(sealed.bytes()).unwrap();
        prop_assert_eq!(sealed.bytes(), serde_jcs::to_vec(&leaf).unwrap());
    }
    /// The same whatever the order is in which members are handed over, with the type before all
    /// others, as variants have it, and behind them; a member twice is refused.
    #[test]
    fn rec_1_members_in_any_order_have_the_same_bytes(
        members in prop::collection::vec(("[a-z_]{1,2}|\\PC{1,2}", any::<String>()), 0..5),
        sorted in any::<bool>(),
        at_end in any::<bool>(),
    ) {
        let mut members = members;
        if sorted {
            members.sort();
        }
        let place = if at_end { members.len() } else { 0 };
        members.insert(place, ("type".to_owned(), "any".to_owned()));
        let keys: std::collections::BTreeSet<_> = members.iter().map(|(key, _)| key).collect();
        let is_twice = keys.len() < members.len();
        let event = InThisOrder(members.clone());
        let draft = Draft { event, recorded_at_ms: 1, stream: "s".to_owned(), stream_seq: 0 };
        let sealed = Record::seal(0, Hash::ZERO, draft);
        prop_assert_eq!(sealed.is_err(), is_twice);
        if let Ok(sealed) = sealed {
            let leaf: Value = serde_json::from_slice(sealed.bytes()).unwrap();
            prop_assert_eq!(sealed.bytes(), serde_jcs::to_vec(&leaf).unwrap());
            prop_assert_eq!(sealed.event_type(), b"any");
            for (key, value) in &members {
                prop_assert_eq!(&sealed.event()[key], value);
            }
        }
    }
}

struct InThisOrder(Vec<(String, String)>);

impl Serialize for InThisOrder {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
