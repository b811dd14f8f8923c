//! Texts of one length, made on the stack: digests, hashes and ids stand in every record and every
//! state, and the formatting machinery takes several times as long as writing their digits.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// A text of `LENGTH` ASCII characters.
#[derive(Clone, Copy)]
pub(crate) struct Spelled<const LENGTH: usize>([u8; LENGTH]);

impl<const LENGTH: usize> Spelled<LENGTH> {
    /// `prefix`, and what `write` puts behind it.
    pub(crate) fn behind(prefix: &str, write: impl FnOnce(&mut [u8])) -> Spelled<LENGTH> {
        let mut text = [b' '; LENGTH];
        let (before, behind) = text.split_at_mut(prefix.len());
        before.copy_from_slice(prefix.as_bytes());
        write(behind);
        Spelled(text)
    }

    /// `prefix` and `bytes` in lower-case hex.
    pub(crate) fn hex(prefix: &str, bytes: &[u8]) -> Spelled<LENGTH> {
        Spelled::behind(prefix, |digits| write_hex(bytes, digits))
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn write_hex(bytes: &[u8], digits: &mut [u8]) {
    let digit = |nibble: u8| nibble + if nibble > 9 { b'a' - 10 } else { b'0' };
    let (pairs, _) = digits.as_chunks_mut();
    for (pair, byte) in pairs.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 0x0f)];
    }
}

/// What each byte says as a hex digit of either case; more than 15 for those that are none.
const DIGITS: [u8; 256] = {
    let mut digits = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        digits[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

/// The bytes that `text` spells in hex digits of either case, and in nothing else.
pub(crate) fn read_hex<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    if text.len() != 2 * BYTES {
        return None;
    }
    let mut bytes = [0; BYTES];
    let (pairs, _) = text.as_bytes().as_chunks();
    let mut all = 0;
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (DIGITS[usize::from(*high)], DIGITS[usize::from(*low)]);
        all |= high | low;
        *byte = high << 4 | low;
    }
    (all <= 0x0f).then_some(bytes)
}

/// Reads a value from its text where that stands, without a copy of it.
pub(crate) fn from_text<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    reader: D,
    read: fn(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    struct Text<T, E>(fn(&str) -> Result<T, E>);

    impl<T, E: fmt::Display> Visitor<'_> for Text<T, E> {
        type Value = T;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a string")
        }

        fn visit_str<X: Error>(self, text: &str) -> Result<T, X> {
            self.0(text).map_err(X::custom)
        }
    }

    reader.deserialize_str(Text(read))
}

/// Writes a type as the text that its `spelled` makes.
macro_rules! written_as_spelled {
    ($name:ty) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.spelled().as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
                writer.serialize_str(self.spelled().as_str())
            }
        }
    };
}

pub(crate) use written_as_spelled;
