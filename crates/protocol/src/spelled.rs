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
        Spelled::behind(prefix, |digits| {
            let written = hex::encode_to_slice(bytes, digits);
            debug_assert!(written.is_ok(), "LENGTH is that of prefix and digits");
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
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
