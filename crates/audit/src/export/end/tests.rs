use super::*;
use serde_json::{Value, json};
use x811_eventlog::Draft;

const DEAL: &str = "interaction:019b76da-a800-7000-8000-000000000001";

fn key() -> SecretKey {
    SecretKey::from_seed([2; 32])
}

fn record(stream: &str, position: u64, stream_seq: u64) -> Record {
    let draft = Draft {
        recorded_at_ms: 1_767_225_600_000,
        stream: stream.to_owned(),
        stream_seq,
        event: json!({ "type": "ledger_resumed", "gap_ms": position }),
    };
    Record::seal(position, Hash::ZERO, draft).unwrap()
}

fn end(stream: &str, last: Option<&Record>, tree_size: u64) -> StreamEnd {
    StreamEnd {
        stream: stream.to_owned(),
        last: last.map(|record| LastRecord {
            seq: record.stream_seq(),
            hash: record.hash(),
        }),
        standing: stream.starts_with("interaction:").then_some(Standing::Paid),
        tree_size,
    }
}

#[test]
fn lc_8_an_end_is_signed_over_its_line_and_read_back() {
    let last = record(DEAL, 7, 3);
    for (stream, last) in [(DEAL, Some(&last)), ("ledger", None)] {
        let signed = end(stream, last, 12).sign(&key());
        let line = signed.to_line();
        assert_eq!(SignedEnd::parse(&line), Ok(signed.clone()));
        let mut object: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(serde_json::to_value(&signed).unwrap(), object);
        object.as_object_mut().unwrap().remove("signature").unwrap();
        let bytes = [b"x811 stream end v2\n", &*to_canonical(&object)].concat();
        assert!(key().public().verify(&bytes, &signed.signature));
        assert!(signed.is_by(&key().public()));
        for other in ["x811 stream end v1\n", "x811 stream end v3\n"] {
            let bytes = [other.as_bytes(), &*to_canonical(&object)].concat();
            let of_another_version = SignedEnd {
                signature: key().sign(&bytes),
                ..signed.clone()
            };
            assert!(!of_another_version.is_by(&key().public()), "{other}");
        }
    }
}

/// An end of an interaction says what became of its payment, and no other does.
#[test]
fn lc_8_an_end_has_a_standing_where_it_belongs() {
    let with = |stream: &str, standing: Option<Standing>| {
        let mut end = end(stream, None, 12);
        end.standing = standing;
        SignedEnd::parse(&end.sign(&key()).to_line()).is_ok()
    };
    let paid = Some(Standing::Paid);
    let table = [
        (DEAL, paid, true),
        (DEAL, None, false),
        ("ledger", paid, false),
        ("ledger", None, true),
    ];
    for (stream, standing, is_read) in table {
        assert_eq!(with(stream, standing), is_read, "{stream} {standing:?}");
    }
}

#[test]
fn lc_8_an_end_that_hides_an_included_record_is_contradicted_by_it() {
    let (third, fourth) = (record(DEAL, 7, 3), record(DEAL, 9, 4));
    let signed = |last: Option<&Record>| end(DEAL, last, 12).sign(&key());
    let honest = signed(Some(&fourth));
    for known in [&third, &fourth] {
        assert_eq!(honest.contradicts(known), None);
    }
    for (lie, hidden) in [(signed(Some(&third)), &fourth), (signed(None), &third)] {
        let said = lie.contradicts(hidden).unwrap();
        assert!(said.contains(DEAL), "{said}");
    }
    let another = record(DEAL, 8, 3);
    assert!(signed(Some(&third)).contradicts(&another).is_some());
    // What came later, or is of another stream, is none of its business.
    assert_eq!(honest.contradicts(&record(DEAL, 12, 5)), None);
    assert_eq!(honest.contradicts(&record("ledger", 10, 9)), None);
}

#[test]
fn lc_8_two_ends_that_cannot_both_be_true_contradict_each_other() {
    let (third, fourth) = (record(DEAL, 7, 3), record(DEAL, 9, 4));
    let signed = |last: &Record, size: u64| end(DEAL, Some(last), size).sign(&key());
    let table = [
        (signed(&third, 9), signed(&fourth, 10), false),
        (signed(&third, 9), signed(&third, 12), false),
        (signed(&fourth, 10), signed(&third, 12), true),
        (signed(&third, 12), signed(&fourth, 12), true),
        (signed(&third, 9), signed(&record(DEAL, 8, 3), 12), true),
    ];
    for (place, (one, two, differs)) in table.iter().enumerate() {
        assert_eq!(one.contradicts_end(two).is_some(), *differs, "{place}");
        assert_eq!(two.contradicts_end(one).is_some(), *differs, "{place}");
    }
    let mut reversed = end(DEAL, Some(&third), 9);
    reversed.standing = Some(Standing::Reversed);
    let reversed = reversed.sign(&key());
    assert!(reversed.contradicts_end(&signed(&third, 12)).is_some());
    assert_eq!(reversed.contradicts_end(&signed(&fourth, 12)), None);
}
