//! The leaf of format 1: members to bytes, bytes to members, and the rules on both.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Draft, FORMAT_VERSION, MAX_DEPTH, MAX_INTEGER, MAX_LEAF_BYTES, MAX_STREAM_CHARS, RecordError,
};
use crate::hash::Hash;

/// Most leaves are shorter; room for one is made at once.
const TYPICAL_LEAF_BYTES: usize = 1_536;

/// Refuses members that format 1 cannot hold.
pub(super) fn check(position: u64, prev: Hash, draft: &Draft) -> Result<(), RecordError> {
    for (member, value) in [
        ("position", position),
        ("recorded_at_ms", draft.recorded_at_ms),
        ("stream_seq", draft.stream_seq),
    ] {
        if value > MAX_INTEGER {
            return Err(RecordError::NotAnInteger {
                path: format!("/{member}"),
            });
        }
    }
    if position == 0 && prev != Hash::ZERO {
        return Err(RecordError::FirstHasPrev);
    }
    check_stream(&draft.stream)?;
    if !draft.event.get("type").is_some_and(Value::is_string) {
        return Err(RecordError::EventWithoutType);
    }
    check_value(
        &draft.event,
        &Path {
            parent: None,
            step: Step::Member("event"),
            depth: 2,
        },
    )
}

fn check_stream(stream: &str) -> Result<(), RecordError> {
    let chars = stream.chars().count();
    match chars {
        0 => Err(RecordError::EmptyStream),
        1..=MAX_STREAM_CHARS => Ok(()),
        _ => Err(RecordError::StreamTooLong { chars }),
    }
}

fn check_value(value: &Value, path: &Path<'_>) -> Result<(), RecordError> {
    match value {
        Value::Null => Err(RecordError::Null {
            path: path.pointer(),
        }),
        Value::Bool(_) | Value::String(_) => Ok(()),
        Value::Number(number) => match number.as_u64() {
            Some(0..=MAX_INTEGER) => Ok(()),
            _ => Err(RecordError::NotAnInteger {
                path: path.pointer(),
            }),
        },
        Value::Array(_) | Value::Object(_) if path.depth > MAX_DEPTH => Err(RecordError::TooDeep),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check_value(item, &path.to(Step::Item(index)))),
        Value::Object(members) => members
            .iter()
            .try_for_each(|(name, member)| check_value(member, &path.to(Step::Member(name)))),
    }
}

/// The way to a value, kept on the stack: it is written out only when the value is refused.
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
    /// Objects and arrays from the leaf to the value, both counted if the value is one.
    depth: usize,
}

enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

impl<'a> Path<'a> {
    fn to(&'a self, step: Step<'a>) -> Self {
        Self {
            parent: Some(self),
            step,
            depth: self.depth + 1,
        }
    }

    /// RFC 6901.
    fn pointer(&self) -> String {
        let mut pointer = self.parent.map_or_else(String::new, Path::pointer);
        pointer.push('/');
        match self.step {
            Step::Member(name) => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
            Step::Item(index) => pointer.push_str(&index.to_string()),
        }
        pointer
    }
}

/// The members in the order their names sort in, which is the order RFC 8785 writes them.
#[derive(Serialize)]
struct Leaf<'a> {
    event: &'a Value,
    position: u64,
    prev: Hash,
    recorded_at_ms: u64,
    stream: &'a str,
    stream_seq: u64,
    v: u64,
}

/// The RFC 8785 bytes of checked members.
pub(super) fn encode(position: u64, prev: Hash, draft: &Draft) -> Result<Vec<u8>, RecordError> {
    let leaf = Leaf {
        event: &draft.event,
        position,
        prev,
        recorded_at_ms: draft.recorded_at_ms,
        stream: &draft.stream,
        stream_seq: draft.stream_seq,
        v: FORMAT_VERSION,
    };
    let bytes = write(&leaf).map_err(|error| RecordError::NotWritable {
        reason: error.to_string(),
    })?;
    if bytes.len() > MAX_LEAF_BYTES {
        return Err(RecordError::TooLarge { bytes: bytes.len() });
    }
    Ok(bytes)
}

/// Checked members hold no number but small integers, so with ordinary keys the compact form of
/// `serde_json` is the RFC 8785 form; the tests hold the two against each other. Other keys may
/// have to be put in another order.
fn write(leaf: &Leaf<'_>) -> serde_json::Result<Vec<u8>> {
    if !keys_are_in_order(leaf.event) {
        return serde_jcs::to_vec(leaf);
    }
    let mut bytes = Vec::with_capacity(TYPICAL_LEAF_BYTES);
    serde_json::to_writer(&mut bytes, leaf)?;
    Ok(bytes)
}

/// Whether the keys of all objects stand in the order of RFC 8785 as they are. ASCII keys have the
/// same order in UTF-8 and UTF-16.
fn keys_are_in_order(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.keys().all(|key| key.is_ascii())
                && members.keys().is_sorted()
                && members.values().all(keys_are_in_order)
        }
        Value::Array(items) => items.iter().all(keys_are_in_order),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The members of stored bytes; whether the bytes are canonical is the caller's question.
pub(super) fn decode(bytes: &[u8]) -> Result<(u64, Hash, Draft), RecordError> {
    if bytes.len() > MAX_LEAF_BYTES {
        return Err(RecordError::TooLarge { bytes: bytes.len() });
    }
    let text = str::from_utf8(bytes).map_err(|error| RecordError::NotUtf8 {
        valid_up_to: error.valid_up_to(),
    })?;
    let leaf: Value = serde_json::from_str(text).map_err(|error| RecordError::NotJson {
        column: error.column(),
        reason: error.to_string(),
    })?;
    let Value::Object(mut members) = leaf else {
        return Err(RecordError::NotAnObject);
    };

    // The format first: what else a leaf must hold depends on it.
    let format = take_integer(&mut members, "v")?;
    if format != FORMAT_VERSION {
        return Err(RecordError::UnknownFormat { found: format });
    }
    let position = take_integer(&mut members, "position")?;
    let prev = take_string(&mut members, "prev")?.parse()?;
    let draft = Draft {
        recorded_at_ms: take_integer(&mut members, "recorded_at_ms")?,
        stream: take_string(&mut members, "stream")?,
        stream_seq: take_integer(&mut members, "stream_seq")?,
        event: take(&mut members, "event")?,
    };
    match members.into_iter().next() {
        Some((member, _)) => Err(RecordError::UnknownMember { member }),
        None => Ok((position, prev, draft)),
    }
}

fn take(members: &mut Map<String, Value>, member: &'static str) -> Result<Value, RecordError> {
    members
        .remove(member)
        .ok_or(RecordError::MissingMember { member })
}

fn take_string(
    members: &mut Map<String, Value>,
    member: &'static str,
) -> Result<String, RecordError> {
    match take(members, member)? {
        Value::String(text) => Ok(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(RecordError::WrongType {
                member,
                expected: "a string",
            })
        }
    }
}

fn take_integer(
    members: &mut Map<String, Value>,
    member: &'static str,
) -> Result<u64, RecordError> {
    take(members, member)?
        .as_u64()
        .ok_or(RecordError::WrongType {
            member,
            expected: "an integer of 0 or more",
        })
}
