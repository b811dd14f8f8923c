//! One stored unit of the log: its bytes, its hash, and the strict reader of both.
//!
//! Stored bytes are hashed as stored. A [`Record`] therefore keeps the bytes it was given and
//! never writes them again; the parsed members beside them are a view. Whoever holds a `Record`
//! knows that its bytes are a well-formed leaf of format 1 (record.md section 1), because there
//! is no other way to make one.

mod leaf;
mod scan;
mod writer;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::hash::{Hash, HashError};
use leaf::Encoded;

/// The only format there is (record.md section 1, member `v`).
pub const FORMAT_VERSION: u64 = 1;

/// Most bytes a leaf may have: the length of a tile entry is a 16-bit number
/// (transparency-log.md section B.2).
pub const MAX_LEAF_BYTES: usize = 65_535;

/// Largest integer anywhere in a leaf: 2^53 − 1.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Most characters (Unicode scalar values) in a stream name.
pub const MAX_STREAM_CHARS: usize = 128;

/// Most objects and arrays inside one another in a leaf, the leaf itself counted.
pub const MAX_DEPTH: usize = 64;

/// Appends the RFC 8785 form of `value` to `out`: what is hashed of a state is written as leaves are.
/// Unlike a leaf it may hold nulls.
///
/// # Errors
/// A number that is no integer of at most 2^53 − 1, or more than [`MAX_DEPTH`] objects and arrays
/// inside one another.
pub fn write_canonical(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), RecordError> {
    writer::write_value(out, value)
}

/// What the writer decides about a record; position and link are added when it is sealed.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft<E = Value> {
    /// The ledger's clock when it decided, ms since the Unix epoch.
    pub recorded_at_ms: u64,
    /// The stream it belongs to, 1 to [`MAX_STREAM_CHARS`] characters.
    pub stream: String,
    /// Its place in the stream, from 0.
    pub stream_seq: u64,
    /// Written as an object with a string `type`; opaque otherwise.
    pub event: E,
}

/// A sealed record: verbatim leaf bytes, their hash, and the members read from them.
///
/// Cloning copies a pointer. Two records are equal when their bytes are.
#[derive(Clone)]
pub struct Record(Arc<Sealed>);

struct Sealed {
    bytes: Vec<u8>,
    hash: Hash,
    position: u64,
    prev: Hash,
    recorded_at_ms: u64,
    stream: String,
    stream_seq: u64,
    /// Where the event stands in the bytes.
    event: Range<usize>,
    /// Where the name of its type does, between its quotes.
    event_type: Range<usize>,
}

impl Record {
    /// Writes the leaf of `draft` at `position`, linked to the record whose hash is `prev`.
    ///
    /// # Errors
    ///
    /// Every rule that [`Record::parse`] enforces, so that nothing is sealed that cannot be read.
    pub fn seal<E: Serialize>(
        position: u64,
        prev: Hash,
        draft: Draft<E>,
    ) -> Result<Self, RecordError> {
        leaf::check(position, prev, &draft)?;
        let encoded = leaf::encode(position, prev, &draft)?;
        Ok(Self::new(encoded, position, prev, draft))
    }

    /// Reads stored bytes, which are kept as they are.
    ///
    /// # Errors
    ///
    /// The first rule of record.md section 1 that the bytes break.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, RecordError> {
        if let Some(scanned) = scan::scan(&bytes) {
            let draft = Draft {
                recorded_at_ms: scanned.recorded_at_ms,
                stream: scanned.stream,
                stream_seq: scanned.stream_seq,
                event: (),
            };
            leaf::check(scanned.position, scanned.prev, &draft)?;
            let encoded = Encoded {
                bytes,
                event: scanned.event,
                event_type: scanned.event_type,
            };
            return Ok(Self::new(encoded, scanned.position, scanned.prev, draft));
        }
        let (position, prev, draft) = leaf::decode(&bytes)?;
        leaf::check(position, prev, &draft)?;
        let encoded = leaf::encode(position, prev, &draft)?;
        if encoded.bytes != bytes {
            return Err(RecordError::NotCanonical);
        }
        Ok(Self::new(encoded, position, prev, draft))
    }

    fn new<E>(encoded: Encoded, position: u64, prev: Hash, draft: Draft<E>) -> Self {
        Self(Arc::new(Sealed {
            hash: Hash::of_leaf(&encoded.bytes),
            bytes: encoded.bytes,
            position,
            prev,
            recorded_at_ms: draft.recorded_at_ms,
            stream: draft.stream,
            stream_seq: draft.stream_seq,
            event: encoded.event,
            event_type: encoded.event_type,
        }))
    }

    /// The leaf bytes, as stored.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// The record hash, `SHA-256(0x00 ‖ bytes)`; computed once.
    #[must_use]
    pub fn hash(&self) -> Hash {
        self.0.hash
    }

    /// Place in the log, from 0.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.0.position
    }

    /// Record hash of the record before; [`Hash::ZERO`] at position 0.
    #[must_use]
    pub fn prev(&self) -> Hash {
        self.0.prev
    }

    /// The ledger's clock when it decided, ms since the Unix epoch.
    #[must_use]
    pub fn recorded_at_ms(&self) -> u64 {
        self.0.recorded_at_ms
    }

    /// The stream it belongs to.
    #[must_use]
    pub fn stream(&self) -> &str {
        &self.0.stream
    }

    /// Place in its stream, from 0.
    #[must_use]
    pub fn stream_seq(&self) -> u64 {
        self.0.stream_seq
    }

    /// The event as it stands in the leaf: an object with a string `type`, in RFC 8785 form.
    #[must_use]
    pub fn event_json(&self) -> &[u8] {
        &self.0.bytes[self.0.event.clone()]
    }

    /// The name of the event's type, as JSON writes it between quotes: plain for every name
    /// without quotes, backslashes and control characters.
    #[must_use]
    pub fn event_type(&self) -> &[u8] {
        &self.0.bytes[self.0.event_type.clone()]
    }

    /// The event, read from the leaf anew.
    #[must_use]
    pub fn event(&self) -> Value {
        // The bytes were written from JSON, or read as JSON: an event that is none cannot be.
        serde_json::from_slice(self.event_json()).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Record {
    /// The leaf bytes.
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.0.bytes == other.0.bytes
    }
}

impl Eq for Record {}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("hash", &self.0.hash)
            .field("bytes", &String::from_utf8_lossy(&self.0.bytes))
            .finish()
    }
}

/// Which rule of record.md section 1 a leaf breaks.
///
/// Met while sealing, it is a fault of the writer; met while reading, the stored bytes are not a
/// record: restore them from a copy and verify that one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// More than [`MAX_LEAF_BYTES`].
    #[error("the leaf has {bytes} bytes, at most {MAX_LEAF_BYTES} are allowed; shorten the event")]
    TooLarge {
        /// Bytes of the leaf.
        bytes: usize,
    },
    /// The bytes are not UTF-8.
    #[error("the leaf is not UTF-8 after byte {valid_up_to}")]
    NotUtf8 {
        /// Bytes that are still UTF-8.
        valid_up_to: usize,
    },
    /// Not JSON, or nested deeper than the reader goes.
    #[error("the leaf is not JSON at byte {column}: {reason}")]
    NotJson {
        /// Where reading stopped, bytes from 1.
        column: usize,
        /// What the reader met.
        reason: String,
    },
    /// JSON, but not an object.
    #[error("the leaf is not a JSON object")]
    NotAnObject,
    /// A member that format 1 requires is absent.
    #[error("the leaf has no member \"{member}\", which format 1 requires")]
    MissingMember {
        /// Name of the member.
        member: &'static str,
    },
    /// A member that format 1 does not know.
    #[error("the leaf has a member \"{member}\" unknown to format 1; read it with a later version")]
    UnknownMember {
        /// Name of the member.
        member: String,
    },
    /// A member of the wrong JSON type.
    #[error("member \"{member}\" is not {expected}")]
    WrongType {
        /// Name of the member.
        member: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// The leaf's `v` names a format that is not known.
    #[error(
        "the leaf is of format {found}, this reader knows {FORMAT_VERSION}; use a later version"
    )]
    UnknownFormat {
        /// The member `v`.
        found: u64,
    },
    /// `prev` is not a hash.
    #[error("member \"prev\" is not a hash: {0}")]
    PrevNotAHash(#[from] HashError),
    /// Position 0 has no record before it.
    #[error("the leaf at position 0 names a record before it; its \"prev\" must be 64 zeros")]
    FirstHasPrev,
    /// `stream` is empty.
    #[error("member \"stream\" is empty; name the stream")]
    EmptyStream,
    /// `stream` is too long.
    #[error("member \"stream\" has {chars} characters, at most {MAX_STREAM_CHARS} are allowed")]
    StreamTooLong {
        /// How many characters the name has.
        chars: usize,
    },
    /// The event is not an object with a string `type`.
    #[error("member \"event\" has no string member \"type\"")]
    EventWithoutType,
    /// A `null`: absent members are left out.
    #[error("the leaf holds a null at {path}; leave the member out instead")]
    Null {
        /// Where, as a JSON pointer (RFC 6901).
        path: String,
    },
    /// A float, a negative number, or an integer above [`MAX_INTEGER`].
    #[error("the number at {path} is not an integer from 0 to {MAX_INTEGER}")]
    NotAnInteger {
        /// Where, as a JSON pointer (RFC 6901).
        path: String,
    },
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("the leaf is nested deeper than {MAX_DEPTH} objects and arrays")]
    TooDeep,
    /// The same JSON, but not its RFC 8785 bytes.
    #[error("the leaf's bytes are not the RFC 8785 form of what they say; they were rewritten")]
    NotCanonical,
    /// The canonical writer failed.
    #[error("the leaf cannot be written in RFC 8785 form: {reason}")]
    NotWritable {
        /// What the writer said.
        reason: String,
    },
}

#[cfg(test)]
mod tests;
