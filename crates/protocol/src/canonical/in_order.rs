//! Writes what is declared in the order of RFC 8785, and gives up at the first key that is not.

use std::io;

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

use super::Canonical;

/// The RFC 8785 form of `value`, unless a key would have to go to another place.
pub(super) fn write<T: Serialize + ?Sized>(value: &T) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1_024);
    let formatter = InOrder::default();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    written.is_ok().then_some(bytes)
}

/// Compares every key with the one before it in its object. ASCII keys only: those have the same
/// order in bytes and in UTF-16.
#[derive(Debug, Default)]
struct InOrder {
    /// The last key of each object that is open, one behind the other; then the one being written.
    keys: Vec<u8>,
    open: Vec<Open>,
    in_key: bool,
}

/// An object that is not closed yet: where its last key lies.
#[derive(Debug, Clone, Copy)]
struct Open {
    from: usize,
    to: usize,
    has_key: bool,
}

impl InOrder {
    fn key_ends(&mut self) -> Option<()> {
        self.in_key = false;
        let object = self.open.last_mut()?;
        let (before, key) = (&self.keys[object.from..object.to], &self.keys[object.to..]);
        if object.has_key && before >= key {
            return None;
        }
        self.keys.drain(object.from..object.to);
        object.to = self.keys.len();
        object.has_key = true;
        Some(())
    }
}

impl Formatter for InOrder {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let from = self.keys.len();
        self.open.push(Open {
            from,
            to: from,
            has_key: false,
        });
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(object) = self.open.pop() {
            self.keys.truncate(object.from);
        }
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.in_key = true;
        if first {
            return Ok(());
        }
        writer.write_all(b",")
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.key_ends().ok_or_else(gives_up)
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.in_key {
            if !fragment.is_ascii() {
                return Err(gives_up());
            }
            self.keys.extend_from_slice(fragment.as_bytes());
        }
        writer.write_all(fragment.as_bytes())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        if self.in_key {
            return Err(gives_up());
        }
        Canonical.write_char_escape(writer, escape)
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        Canonical.write_f64(writer, value)
    }

    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        Canonical.write_u64(writer, value)
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        Canonical.write_i64(writer, value)
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, _writer: &mut W, _value: f32) -> io::Result<()> {
        Err(gives_up())
    }

    fn write_u128<W: ?Sized + io::Write>(&mut self, _writer: &mut W, _: u128) -> io::Result<()> {
        Err(gives_up())
    }

    fn write_i128<W: ?Sized + io::Write>(&mut self, _writer: &mut W, _: i128) -> io::Result<()> {
        Err(gives_up())
    }
}

/// Nobody reads why.
fn gives_up() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
