//! Agent identifiers, `did:x811:<uuid>` (AE-72).
//!
//! The UUID is version 4 or 7 (AX-25) and written in lower case with hyphens; every other spelling
//! is refused, because identifiers are compared, hashed and logged as text (record.md section 1).

use std::fmt;
use std::str::FromStr;

use serde_with::DeserializeFromStr;
use uuid::Uuid;

use crate::id::parse_canonical_uuid;
use crate::spelled::{Spelled, written_as_spelled};

const PREFIX: &str = "did:x811:";

/// The DID of an agent or of a ledger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, DeserializeFromStr)]
pub struct Did(Uuid);

impl Did {
    /// The DID of this UUID.
    ///
    /// # Errors
    /// The UUID is neither version 4 nor version 7 of RFC 9562 (AX-25).
    pub fn from_uuid(uuid: Uuid) -> Result<Did, DidError> {
        let rfc9562 = uuid.get_variant() == uuid::Variant::RFC4122;
        match uuid.get_version_num() {
            4 | 7 if rfc9562 => Ok(Did(uuid)),
            _ => Err(DidError),
        }
    }

    /// The UUID behind the prefix.
    pub const fn uuid(&self) -> Uuid {
        self.0
    }

    fn spelled(&self) -> Spelled<45> {
        Spelled::behind(PREFIX, |uuid| {
            self.0.as_hyphenated().encode_lower(uuid);
        })
    }
}

written_as_spelled!(Did);

impl fmt::Debug for Did {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Did {
    type Err = DidError;

    fn from_str(text: &str) -> Result<Did, DidError> {
        let uuid = text.strip_prefix(PREFIX).ok_or(DidError)?;
        Did::from_uuid(parse_canonical_uuid(uuid).ok_or(DidError)?)
    }
}

/// The text or the UUID is not a DID of this method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a DID: write did:x811:<uuid> with a UUIDv4 or UUIDv7 in lower case")]
pub struct DidError;

#[cfg(test)]
mod tests {
    use super::*;

    const V7: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";

    #[test]
    fn ae_072_reads_and_writes_one_spelling() {
        for good in [V7, "did:x811:a1b2c3d4-e5f6-4890-abcd-ef1234567890"] {
            let did: Did = good.parse().unwrap();
            assert_eq!(did.to_string(), good);
            assert_eq!(Did::from_uuid(did.uuid()), Ok(did));
            let json = serde_json::to_string(&did).unwrap();
            assert_eq!(serde_json::from_str::<Did>(&json).unwrap(), did);
        }
    }

    #[test]
    fn ax_025_and_rec_1_refuse_every_other_spelling() {
        for bad in [
            "",
            "did:x811:",
            "019c8c61-8129-7511-9f31-aa5142e65448",
            "did:web:019c8c61-8129-7511-9f31-aa5142e65448",
            "DID:x811:019c8c61-8129-7511-9f31-aa5142e65448",
            "did:x811:019C8C61-8129-7511-9F31-AA5142E65448",
            "did:x811:019c8c61812975119f31aa5142e65448",
            "did:x811:{019c8c61-8129-7511-9f31-aa5142e65448}",
            "did:x811:urn:uuid:019c8c61-8129-7511-9f31-aa5142e65448",
            "did:x811:019c8c61-8129-7511-9f31-aa5142e65448#key",
            "did:x811:019c8c61-8129-7511-9f31-aa5142e65448 ",
            "did:x811:00000000-0000-0000-0000-000000000000",
            "did:x811:a1b2c3d4-e5f6-1890-abcd-ef1234567890",
            "did:x811:a1b2c3d4-e5f6-4890-cbcd-ef1234567890",
        ] {
            assert_eq!(bad.parse::<Did>(), Err(DidError), "{bad}");
        }
    }
}
