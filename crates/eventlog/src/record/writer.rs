//! Writes an event in its RFC 8785 form, in one pass, and refuses on the way what a leaf cannot
//! hold: nulls, numbers that are not small integers, and nesting without end.
//!
//! `serde_jcs` would write anything, through a tree of values; every accepted message is written
//! here once, so this is worth a writer of its own. The tests hold the two against each other.

mod data_model;

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use serde::ser::{self, Serialize};

use super::{MAX_DEPTH, MAX_INTEGER, RecordError};

/// Objects and arrays around the value of the member `event`: the leaf.
const OUTER_DEPTH: usize = 1;

/// Members of the objects that are open at one time, in most events.
const TYPICAL_MEMBERS: usize = 32;

/// Writes into bytes that others have begun.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// The members of all objects that are open, as far as they are written.
    members: Vec<Member>,
    /// Bytes of an object while its members are put in order.
    scratch: Vec<u8>,
    depth: usize,
    /// The value of the member `type` of the outermost object, if that is a string.
    type_name: Option<Range<usize>>,
    /// A leaf leaves absent members out; a state may name them.
    takes_nulls: bool,
}

/// A member that is written: where its key begins, with its quote, and where key and value end.
#[derive(Debug, Clone, Copy)]
struct Member {
    start: usize,
    key_end: usize,
    end: usize,
}

/// Writes `event` and gives the place of its type's name.
pub(super) fn write_event(
    out: &mut Vec<u8>,
    event: &impl Serialize,
) -> Result<Range<usize>, RecordError> {
    let mut writer = Writer {
        out,
        members: Vec::with_capacity(TYPICAL_MEMBERS),
        scratch: Vec::new(),
        depth: OUTER_DEPTH,
        type_name: None,
        takes_nulls: false,
    };
    event
        .serialize(&mut writer)
        .map_err(|refused| refused.inside_member("event").into_error())?;
    writer.type_name.ok_or(RecordError::EventWithoutType)
}

/// Writes any `value` but for numbers that are not small integers.
pub(super) fn write_value(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), RecordError> {
    let mut writer = Writer {
        out,
        members: Vec::with_capacity(TYPICAL_MEMBERS),
        scratch: Vec::new(),
        depth: 0,
        type_name: None,
        takes_nulls: true,
    };
    value.serialize(&mut writer).map_err(Refused::into_error)
}

/// Writes a JSON string: `"`, `\` and control characters escaped, in their short or lower-case form.
pub(super) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    if needs_no_escape(bytes) {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    let mut plain_from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' | b'\\' => *byte,
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0c => b'f',
            b'\r' => b'r',
            0..0x20 => b'u',
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain_from..at]);
        out.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            out.extend_from_slice(format!("{byte:04x}").as_bytes());
        }
        plain_from = at + 1;
    }
    out.extend_from_slice(&bytes[plain_from..]);
    out.push(b'"');
}

/// Whether a string of these bytes is written as it is.
fn needs_no_escape(text: &[u8]) -> bool {
    let is_odd = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    holds_none(text, is_odd)
}

/// Whether no byte is `odd`; many at a time, without a branch between them. What is left over is
/// looked at together with bytes before it, which costs less than one by one.
fn holds_none(text: &[u8], odd: impl Fn(&u8) -> bool) -> bool {
    let is_any = |bytes: &[u8]| bytes.iter().fold(false, |any, byte| any | odd(byte));
    let (chunks, rest) = text.as_chunks::<16>();
    if let Some(end) = text.last_chunk::<16>() {
        !chunks.iter().any(|chunk| is_any(chunk)) && !is_any(end)
    } else if let (Some(begin), Some(end)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        !is_any(begin) && !is_any(end)
    } else if let (Some(begin), Some(end)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        !is_any(begin) && !is_any(end)
    } else {
        !is_any(rest)
    }
}

/// Writes an integer.
pub(super) fn write_integer(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(number.to_string().as_bytes());
}

/// What was refused, and the way to it, from the inside out.
#[derive(Debug)]
pub(super) struct Refused {
    why: Why,
    way: Vec<String>,
}

#[derive(Debug)]
enum Why {
    Null,
    NotAnInteger,
    TooDeep,
    NotJson(String),
}

impl Refused {
    fn new(why: Why) -> Refused {
        Refused {
            why,
            way: Vec::new(),
        }
    }

    /// Puts the name of a member on the way, escaped as RFC 6901 says.
    fn inside_member(mut self, name: &str) -> Refused {
        self.way.push(name.replace('~', "~0").replace('/', "~1"));
        self
    }

    fn inside_item(mut self, index: usize) -> Refused {
        self.way.push(index.to_string());
        self
    }

    fn into_error(self) -> RecordError {
        let path = || {
            let steps = self.way.iter().rev();
            steps.fold(String::new(), |path, step| path + "/" + step)
        };
        match self.why {
            Why::Null => RecordError::Null { path: path() },
            Why::NotAnInteger => RecordError::NotAnInteger { path: path() },
            Why::TooDeep => RecordError::TooDeep,
            Why::NotJson(reason) => RecordError::NotWritable { reason },
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} inside {:?}", self.why, self.way)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Refused {
        Refused::new(Why::NotJson(message.to_string()))
    }
}

impl Writer<'_> {
    fn null(&mut self) -> Result<(), Refused> {
        if !self.takes_nulls {
            return Err(Refused::new(Why::Null));
        }
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn integer(&mut self, number: u64) -> Result<(), Refused> {
        if number > MAX_INTEGER {
            return Err(Refused::new(Why::NotAnInteger));
        }
        write_integer(self.out, number);
        Ok(())
    }

    fn descend(&mut self, opening: u8) -> Result<(), Refused> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Refused::new(Why::TooDeep));
        }
        self.out.push(opening);
        Ok(())
    }

    /// Ends the object that begins at `start`, whose members are those from `first` on.
    fn end_object(&mut self, start: usize, first: usize) -> Result<(), Refused> {
        if !self.is_in_order(&self.members[first..])? {
            self.put_in_order(start, first)?;
        }
        self.out.push(b'}');
        if self.depth == OUTER_DEPTH + 1 {
            self.type_name = self.find_type(first);
        }
        self.members.truncate(first);
        self.depth -= 1;
        Ok(())
    }

    fn is_in_order(&self, members: &[Member]) -> Result<bool, Refused> {
        let mut in_order = true;
        for pair in members.windows(2) {
            match compare(self.key(pair[0]), self.key(pair[1]))? {
                Ordering::Less => {}
                Ordering::Equal => return Err(twice()),
                Ordering::Greater => in_order = false,
            }
        }
        Ok(in_order)
    }

    /// With its quotes.
    fn key(&self, member: Member) -> &[u8] {
        &self.out[member.start..member.key_end]
    }

    fn put_in_order(&mut self, start: usize, first: usize) -> Result<(), Refused> {
        let mut order = self.members[first..].to_vec();
        let mut failed = None;
        order.sort_by(|a, b| {
            compare(self.key(*a), self.key(*b)).unwrap_or_else(|refused| {
                failed = Some(refused);
                Ordering::Equal
            })
        });
        if let Some(refused) = failed {
            return Err(refused);
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.out[start + 1..]);
        self.out.truncate(start + 1);
        for (index, member) in order.into_iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            let moved = self.out.len();
            let source = member.start - start - 1..member.end - start - 1;
            self.out.extend_from_slice(&self.scratch[source]);
            self.members[first + index] = Member {
                start: moved,
                key_end: moved + member.key_end - member.start,
                end: self.out.len(),
            };
        }
        if self.is_in_order(&self.members[first..])? {
            return Ok(());
        }
        Err(twice())
    }

    fn find_type(&self, first: usize) -> Option<Range<usize>> {
        let mut members = self.members[first..].iter();
        let named = members.find(|member| self.key(**member) == b"\"type\"")?;
        let value = named.key_end + 1..named.end;
        let is_string = self.out.get(value.start) == Some(&b'"');
        is_string.then(|| value.start + 1..value.end - 1)
    }
}

fn twice() -> Refused {
    ser::Error::custom("a member is written twice")
}

/// Whether a key, as it is written, has the same order in bytes as in what it says.
fn is_plain(key: &[u8]) -> bool {
    holds_none(key, |byte| !byte.is_ascii() | (*byte == b'\\'))
}

/// Compares two keys, written with their quotes, by the UTF-16 code units of what they say.
fn compare(a: &[u8], b: &[u8]) -> Result<Ordering, Refused> {
    if is_plain(a) && is_plain(b) {
        return Ok(a[..a.len() - 1].cmp(&b[..b.len() - 1]));
    }
    let read = |key: &[u8]| serde_json::from_slice::<String>(key).map_err(ser::Error::custom);
    let (a, b) = (read(a)?, read(b)?);
    Ok(a.encode_utf16().cmp(b.encode_utf16()))
}

/// An array or an object that is open.
pub(super) struct Compound<'w, 'a> {
    writer: &'w mut Writer<'a>,
    /// Where its opening bracket stands.
    start: usize,
    /// The place of its first member among those of all open objects.
    first: usize,
    /// Items written so far.
    items: usize,
    /// Whether an object with one member stands around it: a variant that holds something.
    is_variant: bool,
}

impl<'w, 'a> Compound<'w, 'a> {
    fn open(writer: &'w mut Writer<'a>, opening: u8) -> Result<Self, Refused> {
        let start = writer.out.len();
        writer.descend(opening)?;
        Ok(Compound {
            first: writer.members.len(),
            start,
            items: 0,
            is_variant: false,
            writer,
        })
    }

    fn open_variant(
        writer: &'w mut Writer<'a>,
        variant: &str,
        opening: u8,
    ) -> Result<Self, Refused> {
        writer.descend(b'{')?;
        write_string(writer.out, variant);
        writer.out.push(b':');
        let mut compound = Compound::open(writer, opening)?;
        compound.is_variant = true;
        Ok(compound)
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Refused> {
        if self.items > 0 {
            self.writer.out.push(b',');
        }
        let index = self.items;
        self.items += 1;
        value
            .serialize(&mut *self.writer)
            .map_err(|refused| refused.inside_item(index))
    }

    fn begin_member(&mut self) -> usize {
        if self.items > 0 {
            self.writer.out.push(b',');
        }
        self.items += 1;
        self.writer.out.len()
    }

    fn member(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Refused> {
        let start = self.begin_member();
        write_string(self.writer.out, key);
        self.value_of(start, value)
            .map_err(|refused| refused.inside_member(key))
    }

    /// Writes the value of the member whose key begins at `start` and is written.
    fn value_of(&mut self, start: usize, value: &(impl Serialize + ?Sized)) -> Result<(), Refused> {
        let key_end = self.writer.out.len();
        self.writer.out.push(b':');
        value.serialize(&mut *self.writer)?;
        let end = self.writer.out.len();
        self.writer.members.push(Member {
            start,
            key_end,
            end,
        });
        Ok(())
    }

    fn close_array(self) -> Result<(), Refused> {
        self.writer.out.push(b']');
        self.writer.depth -= 1;
        Self::close_variant(self.writer, self.is_variant);
        Ok(())
    }

    fn close_object(self) -> Result<(), Refused> {
        self.writer.end_object(self.start, self.first)?;
        Self::close_variant(self.writer, self.is_variant);
        Ok(())
    }

    fn close_variant(writer: &mut Writer<'_>, is_variant: bool) {
        if is_variant {
            writer.out.push(b'}');
            writer.depth -= 1;
        }
    }
}
