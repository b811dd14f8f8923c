//! Where a reader is in an inbox, as opaque text that is good for that inbox alone.

use crate::error::ApiError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;

/// Bytes of the check that ties a cursor to its recipient.
const CHECK_BYTES: usize = 4;

/// A place in the inbox of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::routes) struct Cursor {
    pub(in crate::routes) recipient: Did,
    /// The first position that has not been read.
    pub(in crate::routes) from_position: u64,
}

impl Cursor {
    pub(in crate::routes) fn beginning(recipient: Did) -> Cursor {
        Cursor {
            recipient,
            from_position: 0,
        }
    }

    pub(in crate::routes) fn behind(recipient: Did, position: u64) -> Cursor {
        Cursor {
            recipient,
            from_position: position.saturating_add(1),
        }
    }

    /// The place that `text`, the parameter `name`, says.
    pub(in crate::routes) fn read(
        name: &str,
        text: &str,
        recipient: Did,
    ) -> Result<Cursor, ApiError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok();
        let position = bytes
            .as_deref()
            .and_then(|bytes| bytes.first_chunk::<8>())
            .map(|position| u64::from_be_bytes(*position));
        let cursor = position.map(|from_position| Cursor {
            recipient,
            from_position,
        });
        cursor
            .filter(|cursor| cursor.to_string() == text)
            .ok_or_else(|| {
                ApiError::malformed(format!(
                    "`{name}` is no cursor of this inbox: give the `next` or `cursor` of an \
                     earlier answer, or leave it out to begin with the first message"
                ))
            })
    }

    fn check(&self) -> [u8; CHECK_BYTES] {
        let position = self.from_position.to_be_bytes();
        let digest = Digest::of_parts(&[self.recipient.uuid().as_bytes(), &position]);
        let [a, b, c, d, ..] = *digest.as_bytes();
        [a, b, c, d]
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.from_position.to_be_bytes()[..], &self.check()].concat();
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_own_inbox_alone() {
        let mine: Did = "did:x811:a1b2c3d4-e5f6-4890-abcd-ef1234567890"
            .parse()
            .unwrap();
        let theirs: Did = "did:x811:a1b2c3d4-e5f6-4890-abcd-ef1234567891"
            .parse()
            .unwrap();
        for position in [0, 7, u64::MAX - 1, u64::MAX] {
            let text = Cursor::behind(mine, position).to_string();
            let read = Cursor::read("after", &text, mine).unwrap();
            assert_eq!(read.from_position, position.saturating_add(1));
            assert!(Cursor::read("after", &text, theirs).is_err());
        }
        for bad in ["", "7", "AAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA", "ü", "===="] {
            assert!(Cursor::read("after", bad, mine).is_err(), "{bad}");
        }
    }
}
