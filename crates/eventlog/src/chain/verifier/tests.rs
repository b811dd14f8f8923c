use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use super::*;
use crate::record::Draft;

/// `size` records that follow one another, over three streams, two to a millisecond.
fn records(size: u64) -> Vec<Record> {
    let mut prev = Hash::ZERO;
    (0..size)
        .map(|position| {
            let record = sealed(position, prev, 1_000 + position / 2, position / 3);
            prev = record.hash();
            record
        })
        .collect()
}

fn sealed(position: u64, prev: Hash, recorded_at_ms: u64, stream_seq: u64) -> Record {
    let stream = format!("stream-{}", position % 3);
    let event = json!({ "type": "counted", "n": position });
    Record::seal(
        position,
        prev,
        Draft {
            recorded_at_ms,
            stream,
            stream_seq,
            event,
        },
    )
    .unwrap()
}

fn verify<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Break> {
    let mut verifier = ChainVerifier::new();
    records
        .into_iter()
        .flat_map(|record| verifier.push(record))
        .collect()
}

/// As [`verify`], without the stream gaps that a missing record also leaves.
fn verify_positions<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Break> {
    let is_gap = |found: &Break| matches!(found.cause, Cause::StreamGap { .. });
    verify(records)
        .into_iter()
        .filter(|found| !is_gap(found))
        .collect()
}

fn at(position: u64, cause: Cause) -> Break {
    Break { position, cause }
}

#[test]
fn rec_1_a_good_chain_has_no_break_from_any_head_on() {
    let records = records(20);
    assert_eq!(verify(&records), []);
    for start in 1..records.len() {
        let mut verifier = ChainVerifier::from_head(Head::after(&records[start - 1]));
        let breaks: Vec<Break> = records[start..]
            .iter()
            .flat_map(|r| verifier.push(r))
            .collect();
        assert_eq!(breaks, [], "from {start}");
        let head = Head::after(&records[19]);
        assert_eq!(verifier.head(), head);
        assert_eq!(verifier.finish(&head), []);
    }
}

#[test]
fn rec_1_a_stream_named_at_the_start_is_held_to_its_place() {
    let records = records(9);
    let resume = |next_seq| {
        ChainVerifier::from_head(Head::after(&records[5])).with_stream("stream-0", next_seq)
    };
    assert_eq!(resume(2).push(&records[6]), []);
    let stream = "stream-0".to_owned();
    let gap = Cause::StreamGap {
        stream,
        expected_seq: 1,
        found_seq: 2,
    };
    assert_eq!(resume(1).push(&records[6]), [at(6, gap)]);
}

#[test]
fn rec_1_a_dropped_record_shows_in_its_stream_too() {
    let mut records = records(12);
    records.remove(4);
    let stream = "stream-1".to_owned();
    let gap = Cause::StreamGap {
        stream,
        expected_seq: 1,
        found_seq: 2,
    };
    assert_eq!(
        verify(&records),
        [at(4, Cause::Missing { last: 4 }), at(7, gap)]
    );
}

#[test]
fn rec_1_a_stream_begins_at_zero() {
    let record = sealed(0, Hash::ZERO, 1_000, 1);
    let stream = "stream-0".to_owned();
    let gap = Cause::StreamGap {
        stream,
        expected_seq: 0,
        found_seq: 1,
    };
    assert_eq!(verify([&record]), [at(0, gap)]);
}

#[test]
fn rec_1_time_that_runs_back_is_named_once() {
    let mut records = records(3);
    records.push(sealed(3, records[2].hash(), 1_000, 1));
    records.push(sealed(4, records[3].hash(), 1_000, 1));
    let back = Cause::TimeRanBack {
        before_ms: 1_001,
        found_ms: 1_000,
    };
    assert_eq!(verify(&records), [at(3, back)]);
}

#[test]
fn rec_1_a_broken_link_is_named_once() {
    let mut records = records(3);
    let found = Hash::of_leaf(b"elsewhere");
    let expected = records[2].hash();
    records.push(sealed(3, found, 1_001, 1));
    records.push(sealed(4, records[3].hash(), 1_002, 1));
    assert_eq!(
        verify(&records),
        [at(3, Cause::LinkBroken { expected, found })]
    );
}

#[test]
fn rec_1_bytes_that_are_no_record_do_not_stop_the_pass() {
    let records = records(6);
    let mut verifier = ChainVerifier::new();
    let mut breaks = Vec::new();
    let spoilt = [&b" "[..], records[2].bytes()].concat();
    for (position, record) in records.iter().enumerate() {
        let bytes = if position == 2 {
            spoilt.clone()
        } else {
            record.bytes().to_vec()
        };
        let (read, found) = verifier.push_bytes(bytes);
        assert_eq!(read.as_ref(), (position != 2).then_some(record));
        breaks.extend(found);
    }
    let (expected, found) = (Hash::of_leaf(&spoilt), records[2].hash());
    let stream = "stream-2".to_owned();
    assert_eq!(
        breaks,
        [
            at(2, Cause::NotARecord(RecordError::NotCanonical)),
            at(3, Cause::LinkBroken { expected, found }),
            at(
                5,
                Cause::StreamGap {
                    stream,
                    expected_seq: 0,
                    found_seq: 1
                }
            ),
        ]
    );
}

#[test]
fn rec_1_bytes_put_between_two_records_are_named() {
    let records = records(4);
    let mut verifier = ChainVerifier::new();
    assert_eq!(verifier.push(&records[0]), []);
    let (read, breaks) = verifier.push_bytes(b"{}".to_vec());
    let cause = Cause::NotARecord(RecordError::MissingMember { member: "v" });
    assert_eq!((read, breaks), (None, vec![at(1, cause)]));
    assert_eq!(verifier.push(&records[1]), []);
    assert_eq!(verifier.push(&records[2]), []);
}

#[test]
fn rec_1_late_records_are_held_to_the_links_around_them() {
    let records = records(8);
    let forged = sealed(3, Hash::of_leaf(b"elsewhere"), 1_001, 1);
    let given = [0, 1, 5, 2].map(|index: usize| &records[index]);
    let breaks = verify_positions(given.into_iter().chain([&forged, &records[4], &records[6]]));
    let link = |expected: &Record, found| Cause::LinkBroken {
        expected: expected.hash(),
        found,
    };
    assert_eq!(
        breaks,
        [
            at(2, Cause::Missing { last: 4 }),
            at(2, Cause::Reordered { expected: 6 }),
            at(3, Cause::Reordered { expected: 6 }),
            at(3, link(&records[2], forged.prev())),
            at(4, Cause::Reordered { expected: 6 }),
            at(4, link(&forged, records[4].prev())),
        ]
    );
}

#[test]
fn rec_1_a_stream_goes_on_after_a_late_record() {
    let mut records = records(12);
    records.swap(3, 6);
    let late = |position| at(position, Cause::Reordered { expected: 7 });
    let stream = "stream-0".to_owned();
    let gap = Cause::StreamGap {
        stream,
        expected_seq: 1,
        found_seq: 2,
    };
    let missing = at(3, Cause::Missing { last: 5 });
    assert_eq!(
        verify(&records),
        [missing, at(6, gap), late(4), late(5), late(3)]
    );
}

#[test]
fn rec_1_a_late_record_beyond_its_stream_is_a_gap() {
    let records = records(4);
    let forged = sealed(1, records[0].hash(), 1_000, 5);
    let stream = "stream-1".to_owned();
    let gap = Cause::StreamGap {
        stream,
        expected_seq: 0,
        found_seq: 5,
    };
    let breaks = verify([&records[0], &records[2], &forged]);
    assert!(breaks.contains(&at(1, gap)), "{breaks:?}");

    let sealed_late = sealed(2, records[1].hash(), 1_001, 5);
    let stream = "stream-2".to_owned();
    let gap = Cause::StreamGap {
        stream,
        expected_seq: 1,
        found_seq: 5,
    };
    let mut verifier =
        ChainVerifier::from_head(Head::after(&records[0])).with_stream("stream-2", 1);
    let given = [&records[1], &records[3], &sealed_late];
    let breaks: Vec<Break> = given
        .into_iter()
        .flat_map(|record| verifier.push(record))
        .collect();
    assert!(breaks.contains(&at(2, gap)), "{breaks:?}");
}

#[test]
fn rec_1_the_record_after_a_gap_is_not_in_it() {
    let records = records(4);
    let given = [0, 3, 3, 2, 2].map(|index: usize| &records[index]);
    assert_eq!(
        verify_positions(given),
        [
            at(1, Cause::Missing { last: 2 }),
            at(3, Cause::Duplicated { expected: 4 }),
            at(2, Cause::Reordered { expected: 4 }),
            at(2, Cause::Duplicated { expected: 4 }),
        ]
    );
}

#[test]
fn rec_1_what_is_cut_added_or_replaced_at_the_end_shows_against_a_head() {
    let records = records(6);
    let finish = |given: &[Record], trusted: Head| {
        let mut verifier = ChainVerifier::new();
        assert_eq!(given.iter().flat_map(|r| verifier.push(r)).count(), 0);
        verifier.finish(&trusted)
    };
    let trusted = Head::after(&records[4]);
    assert_eq!(finish(&records[..5], trusted), []);
    assert_eq!(finish(&[], Head::EMPTY), []);
    assert_eq!(
        finish(&records[..3], trusted),
        [at(3, Cause::Missing { last: 4 })]
    );
    assert_eq!(
        finish(&records, trusted),
        [at(5, Cause::BeyondHead { size: 5 })]
    );

    let other = sealed(4, records[3].hash(), 1_009, 1);
    let differs = Cause::HeadDiffers {
        expected: trusted.hash,
        found: other.hash(),
    };
    let replaced = [&records[..4], &[other]].concat();
    assert_eq!(finish(&replaced, trusted), [at(4, differs)]);
}

#[test]
fn rec_1_unreadable_bytes_at_the_end_count_as_records_against_a_head() {
    let records = records(2);
    let mut verifier = ChainVerifier::new();
    assert_eq!(verifier.push(&records[0]), []);
    assert_eq!(verifier.push_bytes(b"torn".to_vec()).1.len(), 1);
    let trusted = Head::after(&records[1]);
    let found = Hash::of_leaf(b"torn");
    let differs = Cause::HeadDiffers {
        expected: trusted.hash,
        found,
    };
    assert_eq!(verifier.finish(&trusted), [at(1, differs)]);
}

/// Every break of a log whose bytes at `index` have one byte changed.
fn breaks_of_flip(records: &[Record], index: usize, byte: usize, mask: u8) -> Vec<Break> {
    let mut verifier = ChainVerifier::new();
    let mut breaks = Vec::new();
    for (position, record) in records.iter().enumerate() {
        let mut bytes = record.bytes().to_vec();
        if position == index {
            bytes[byte] ^= mask;
        }
        breaks.extend(verifier.push_bytes(bytes).1);
    }
    let last = records.last().map_or(Head::EMPTY, Head::after);
    breaks.extend(verifier.finish(&last));
    breaks
}

#[test]
fn design_8_4_every_flipped_bit_of_a_record_is_found() {
    let records = records(7);
    for index in 0..records.len() {
        for byte in 0..records[index].bytes().len() {
            for bit in 0..8 {
                let breaks = breaks_of_flip(&records, index, byte, 1 << bit);
                let position = index as u64;
                let near = |found: &Break| (position..=position + 1).contains(&found.position);
                assert!(
                    breaks.iter().any(near),
                    "record {index}, byte {byte}, bit {bit}"
                );
            }
        }
    }
}

/// However many bytes that are no record stand in a row, the link over them is known.
#[test]
fn more_unreadable_bytes_than_are_kept_break_no_link() {
    let count = MAX_UNREADABLE as u64 + 900;
    let hash = |number: u64| Hash::of_leaf(&number.to_be_bytes());
    let first = records(1).remove(0);
    let table = [
        // Each stood in the place of a record.
        (count, hash(count - 1), 0),
        // Some did, of those that are kept.
        (40, hash(39), 0),
        // What is not kept is missing.
        (count - 1, hash(count - 2), 1),
    ];
    for (stood, prev, broken) in table {
        let mut verifier = ChainVerifier::new();
        assert_eq!(verifier.push(&first), []);
        for number in 0..count {
            let break_at = verifier.push_unreadable(hash(number), RecordError::NotAnObject);
            assert_eq!(break_at.position, 1 + number);
        }
        let position = 1 + stood;
        let next = sealed(position, prev, 2_000, 0);
        let breaks = verifier.push(&next);
        let of_positions = breaks
            .iter()
            .filter(|found| !matches!(found.cause, Cause::StreamGap { .. }));
        assert_eq!(of_positions.count(), broken, "{stood}: {breaks:?}");
        assert_eq!(verifier.head().size, position + 1);
    }
}

proptest! {
    #[test]
    fn design_8_4_a_dropped_record_is_named(size in 2..40_u64, at_index in any::<Index>()) {
        let mut records = records(size);
        let dropped = records.remove(at_index.index(records.len() - 1)).position();
        let expected = [at(dropped, Cause::Missing { last: dropped })];
        prop_assert_eq!(verify_positions(&records), expected);
    }

    #[test]
    fn design_8_4_a_duplicated_record_is_named(
        size in 1..40_u64,
        from in any::<Index>(),
        to in any::<Index>(),
    ) {
        let mut records = records(size);
        let copy = records[from.index(records.len())].clone();
        let position = copy.position();
        let after = position + 1 + to.index((size - position) as usize) as u64;
        records.insert(after as usize, copy);
        let expected = [at(position, Cause::Duplicated { expected: after })];
        prop_assert_eq!(verify(&records), expected);
    }

    #[test]
    fn design_8_4_swapped_records_are_named(
        size in 2..40_u64,
        one in any::<Index>(),
        other in any::<Index>(),
    ) {
        let mut records = records(size);
        let low = one.index(records.len() - 1);
        let high = low + 1 + other.index(records.len() - 1 - low);
        records.swap(low, high);
        let (low, high) = (low as u64, high as u64);
        let mut expected = vec![at(low, Cause::Missing { last: high - 1 })];
        let late = |position| at(position, Cause::Reordered { expected: high + 1 });
        expected.extend((low + 1..high).map(late));
        expected.push(late(low));
        prop_assert_eq!(verify_positions(&records), expected);
    }

    #[test]
    fn design_8_4_an_inserted_record_is_named(size in 2..40_u64, place in any::<Index>()) {
        let mut records = records(size);
        let position = 1 + place.index(records.len() - 1);
        let before = &records[position - 1];
        let forged = Record::seal(
            position as u64,
            before.hash(),
            Draft {
                recorded_at_ms: before.recorded_at_ms(),
                stream: "forged".to_owned(),
                stream_seq: 0,
                event: json!({ "type": "forged" }),
            },
        )
        .unwrap();
        records.insert(position, forged);
        let breaks = verify_positions(&records);
        let position = position as u64;
        let twice = at(position, Cause::Duplicated { expected: position + 1 });
        prop_assert_eq!(breaks.first(), Some(&twice));
        // The record after the one that was pushed aside still names that one.
        prop_assert_eq!(breaks.get(1).map(|link| link.position), records.get(position as usize + 2).map(Record::position));
    }

    #[test]
    fn design_8_4_any_changed_byte_is_found(
        size in 1..12_u64,
        record in any::<Index>(),
        byte in any::<Index>(),
        mask in 1..=u8::MAX,
    ) {
        let records = records(size);
        let index = record.index(records.len());
        let byte = byte.index(records[index].bytes().len());
        prop_assert!(!breaks_of_flip(&records, index, byte, mask).is_empty());
    }
}
