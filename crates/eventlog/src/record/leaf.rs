//! The leaf of format 1: members to bytes, bytes to members, and the rules on both.

use std::ops::Range;

use serde::Serialize;
use serde_json::{Map, Value};

use super::writer::{write_event, write_integer, write_string};
use super::{Draft, FORMAT_VERSION, MAX_INTEGER, MAX_LEAF_BYTES, MAX_STREAM_CHARS, RecordError};
use crate::hash::Hash;

/// Most leaves are shorter; room for one is made at once.
const TYPICAL_LEAF_BYTES: usize = 1_536;

/// Refuses members that format 1 cannot hold, but for the event, which is refused as it is written.
pub(super) fn check<E>(position: u64, prev: Hash, draft: &Draft<E>) -> Result<(), RecordError> {
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
    check_stream(&draft.stream)
}

fn check_stream(stream: &str) -> Result<(), RecordError> {
    let chars = stream.chars().count();
    match chars {
        0 => Err(RecordError::EmptyStream),
        1..=MAX_STREAM_CHARS => Ok(()),
        _ => Err(RecordError::StreamTooLong { chars }),
    }
}

/// The RFC 8785 bytes of a leaf, and where the event and the name of its type stand in them.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) event: Range<usize>,
    pub(super) event_type: Range<usize>,
}

/// Writes checked members in the order their names sort in.
pub(super) fn encode<E: Serialize>(
    position: u64,
    prev: Hash,
    draft: &Draft<E>,
) -> Result<Encoded, RecordError> {
    let mut bytes = Vec::with_capacity(TYPICAL_LEAF_BYTES);
    bytes.extend_from_slice(b"{\"event\":");
    let event_start = bytes.len();
    let event_type = write_event(&mut bytes, &draft.event)?;
    let event = event_start..bytes.len();
    bytes.extend_from_slice(b",\"position\":");
    write_integer(&mut bytes, position);
    bytes.extend_from_slice(b",\"prev\":");
    write_string(&mut bytes, &prev.to_string());
    bytes.extend_from_slice(b",\"recorded_at_ms\":");
    write_integer(&mut bytes, draft.recorded_at_ms);
    bytes.extend_from_slice(b",\"stream\":");
    write_string(&mut bytes, &draft.stream);
    bytes.extend_from_slice(b",\"stream_seq\":");
    write_integer(&mut bytes, draft.stream_seq);
    bytes.extend_from_slice(b",\"v\":");
    write_integer(&mut bytes, FORMAT_VERSION);
    bytes.push(b'}');
    if bytes.len() > MAX_LEAF_BYTES {
        return Err(RecordError::TooLarge { bytes: bytes.len() });
    }
    Ok(Encoded {
        bytes,
        event,
        event_type,
    })
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
