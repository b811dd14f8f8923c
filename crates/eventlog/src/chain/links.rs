//! The hashes alone: whether leaves are linked to one another and what tree they make, without
//! reading what they say.
//!
//! It shows that no byte was changed since somebody noted the head or the root, and nothing else:
//! no form, no stream, no signature, no decision.

use super::Head;
use super::verifier::{Break, Cause};
use crate::hash::Hash;
use crate::merkle::Frontier;

/// A leaf's hash, and what its last members say of its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linked {
    /// Hash of the record.
    pub hash: Hash,
    /// Place in the log, from 0.
    pub position: u64,
    /// Record hash of the record before.
    pub prev: Hash,
    /// The ledger's clock when it decided, ms since the Unix epoch.
    pub recorded_at_ms: u64,
}

impl Linked {
    /// Hashes `leaf`, and reads the members that stand behind its event; `None` where they are not
    /// those of format 1 in RFC 8785 form.
    #[must_use]
    pub fn of_leaf(leaf: &[u8]) -> Option<Linked> {
        let rest = leaf.strip_suffix(br#","v":1}"#)?;
        let (rest, _stream_seq) = last_integer(rest)?;
        let rest = rest.strip_suffix(br#"","stream_seq":"#)?;
        let rest = before_string(rest)?.strip_suffix(br#","stream":"#)?;
        let (rest, recorded_at_ms) = last_integer(rest)?;
        let rest = rest.strip_suffix(br#"","recorded_at_ms":"#)?;
        let (rest, prev) = rest.split_last_chunk::<64>()?;
        let rest = rest.strip_suffix(br#","prev":""#)?;
        let (rest, position) = last_integer(rest)?;
        let event = rest.strip_suffix(br#","position":"#)?;
        if !event.starts_with(br#"{"event":{"#) || !event.ends_with(b"}") {
            return None;
        }
        Some(Linked {
            hash: Hash::of_leaf(leaf),
            position,
            prev: str::from_utf8(prev).ok()?.parse().ok()?,
            recorded_at_ms,
        })
    }
}

/// The integer at the end, and what is before it.
fn last_integer(text: &[u8]) -> Option<(&[u8], u64)> {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let (rest, digits) = text.split_at(text.len() - digits.count());
    let is_canonical = digits.first() != Some(&b'0') || digits.len() == 1;
    let number = str::from_utf8(digits).ok()?.parse().ok()?;
    is_canonical.then_some((rest, number))
}

/// What is before the string whose closing quote was cut off: before a quote that is not escaped.
fn before_string(text: &[u8]) -> Option<&[u8]> {
    let mut end = text.len();
    loop {
        end = text[..end].iter().rposition(|byte| *byte == b'"')?;
        let slashes = text[..end].iter().rev().take_while(|byte| **byte == b'\\');
        if slashes.count() % 2 == 0 {
            return Some(&text[..end]);
        }
    }
}

/// Takes leaves in order, and stops at the first that does not follow.
#[derive(Debug, Clone)]
pub struct LinkVerifier {
    head: Head,
    frontier: Frontier,
}

impl Default for LinkVerifier {
    fn default() -> Self {
        Self::new()
    }
}

impl LinkVerifier {
    /// For a log from its first record on.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            head: Head::EMPTY,
            frontier: Frontier::new(),
        }
    }

    /// Takes the next leaf.
    ///
    /// # Errors
    /// The first of these: another position than the next, another link than the last hash, a time
    /// before the last. Nothing is taken then.
    pub fn push(&mut self, leaf: &Linked) -> Result<(), Break> {
        let due = self.head.size;
        let cause = if leaf.position > due {
            Cause::Missing {
                last: leaf.position - 1,
            }
        } else if leaf.position < due {
            Cause::Duplicated { expected: due }
        } else if leaf.prev != self.head.hash {
            Cause::LinkBroken {
                expected: self.head.hash,
                found: leaf.prev,
            }
        } else if leaf.recorded_at_ms < self.head.recorded_at_ms {
            Cause::TimeRanBack {
                before_ms: self.head.recorded_at_ms,
                found_ms: leaf.recorded_at_ms,
            }
        } else {
            self.head = Head {
                size: due + 1,
                hash: leaf.hash,
                recorded_at_ms: leaf.recorded_at_ms,
            };
            self.frontier.push(leaf.hash);
            return Ok(());
        };
        Err(Break {
            position: leaf.position.min(due),
            cause,
        })
    }

    /// Where the leaves end.
    #[must_use]
    pub fn head(&self) -> Head {
        self.head
    }

    /// The root over all of them.
    #[must_use]
    pub fn root(&self) -> Hash {
        self.frontier.root()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Draft, Record};
    use proptest::prelude::*;
    use serde_json::json;

    fn record(position: u64, prev: Hash, stream: &str, text: &str) -> Record {
        let draft = Draft {
            recorded_at_ms: 1_000 + position,
            stream: stream.to_owned(),
            stream_seq: position,
            event: json!({ "type": "test", "text": text }),
        };
        Record::seal(position, prev, draft).unwrap()
    }

    fn log(size: u64) -> Vec<Record> {
        let mut records: Vec<Record> = Vec::new();
        for position in 0..size {
            let prev = records.last().map_or(Hash::ZERO, Record::hash);
            records.push(record(position, prev, "a", "x"));
        }
        records
    }

    fn verify(leaves: impl IntoIterator<Item = Record>) -> Result<LinkVerifier, Break> {
        let mut verifier = LinkVerifier::new();
        for leaf in leaves {
            verifier.push(&Linked::of_leaf(leaf.bytes()).unwrap())?;
        }
        Ok(verifier)
    }

    #[test]
    fn rec_1_a_log_has_the_head_and_the_root_of_its_hashes() {
        let records = log(70);
        let verifier = verify(records.clone()).unwrap();
        let hashes: Vec<Hash> = records.iter().map(Record::hash).collect();
        assert_eq!(verifier.head(), Head::after(&records[69]));
        assert_eq!(verifier.root(), crate::merkle::root_of(&hashes));
    }

    #[test]
    fn rec_1_what_does_not_follow_is_named() {
        let records = log(4);
        let place = |leaves: Vec<Record>| verify(leaves).unwrap_err().position;
        let other = record(2, records[1].hash(), "a", "changed");
        for (leaves, due) in [
            (vec![records[0].clone(), records[2].clone()], 1),
            (vec![records[0].clone(), records[0].clone()], 0),
            (
                vec![
                    records[0].clone(),
                    records[1].clone(),
                    other,
                    records[3].clone(),
                ],
                3,
            ),
        ] {
            assert_eq!(place(leaves), due);
        }
        let mut late = LinkVerifier::new();
        late.push(&Linked::of_leaf(records[0].bytes()).unwrap())
            .unwrap();
        let early = Linked {
            recorded_at_ms: 1,
            ..Linked::of_leaf(records[1].bytes()).unwrap()
        };
        let cause = late.push(&early).unwrap_err().cause;
        assert!(matches!(cause, Cause::TimeRanBack { .. }), "{cause}");
    }

    #[test]
    fn rec_1_other_members_behind_the_event_are_no_leaf() {
        let leaf = String::from_utf8(log(2)[1].bytes().to_vec()).unwrap();
        assert!(Linked::of_leaf(leaf.as_bytes()).is_some());
        for (old, new) in [
            (r#""v":1}"#, r#""v":2}"#),
            (r#""v":1}"#, r#""v":1} "#),
            (r#""position":1"#, r#""position":01"#),
            (r#""position":1"#, r#""position":"#),
            (r#""prev""#, r#""next""#),
            (r#""stream":"a""#, r#""stream":a"#),
            (r#"{"event":{"#, r#"{"evens":{"#),
        ] {
            let changed = leaf.replacen(old, new, 1);
            assert_ne!(changed, leaf);
            assert_eq!(Linked::of_leaf(changed.as_bytes()), None, "{changed}");
        }
        assert_eq!(Linked::of_leaf(b""), None);
    }

    proptest! {
        #[test]
        fn rec_1_every_leaf_says_what_its_record_does(
            position in 1..1_u64 << 53,
            prev: [u8; 32],
            stream in ".{1,128}",
            text: String,
        ) {
            let record = record(position.min((1 << 53) - 1_001), Hash::from_bytes(prev), &stream, &text);
            let linked = Linked::of_leaf(record.bytes()).unwrap();
            prop_assert_eq!(linked.hash, record.hash());
            prop_assert_eq!(linked.position, record.position());
            prop_assert_eq!(linked.prev, record.prev());
            prop_assert_eq!(linked.recorded_at_ms, record.recorded_at_ms());
        }
    }
}
