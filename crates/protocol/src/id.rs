//! Identifiers of envelopes and interactions, and nonces.
//!
//! One spelling only: hyphenated lower case (record.md section 1). Versions are checked by default
//! (envelope ids UUIDv7, nonces UUIDv4: AE-70, AE-76); a ledger set to lenient ids takes any
//! RFC 9562 UUID (AX-25), so what is read back from a record is never checked for its version.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use uuid::{Builder, Uuid, Variant};

use crate::spelled::{Spelled, from_text, written_as_spelled};
use crate::stream::Subject;

/// The id of one envelope, unique for ever (AE-70, ledger-contract.md section 3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnvelopeId(Uuid);

impl EnvelopeId {
    /// A UUIDv7 of this moment and these random bytes; of `unix_ms` the low 48 bits are used.
    pub fn from_parts(unix_ms: u64, random: &[u8; 10]) -> EnvelopeId {
        EnvelopeId(Builder::from_unix_timestamp_millis(unix_ms, random).into_uuid())
    }

    /// Reads any RFC 9562 UUID in lower case (the lenient switch of AX-25).
    ///
    /// # Errors
    /// The text is not a hyphenated lower-case UUID of version 1 to 8.
    pub fn lenient(text: &str) -> Result<EnvelopeId, IdError> {
        parse_any_version(text)
            .map(EnvelopeId)
            .ok_or(IdError::NotUuid)
    }

    /// Takes any RFC 9562 UUID, as [`EnvelopeId::lenient`] does.
    ///
    /// # Errors
    /// The UUID is not of version 1 to 8.
    pub fn from_uuid(uuid: Uuid) -> Result<EnvelopeId, IdError> {
        if is_rfc_9562(uuid) {
            Ok(EnvelopeId(uuid))
        } else {
            Err(IdError::NotUuid)
        }
    }

    /// The time inside a UUIDv7, milliseconds since the Unix epoch; `None` for other versions.
    pub fn unix_ms(&self) -> Option<u64> {
        if self.0.get_version_num() != 7 {
            return None;
        }
        let bytes = self.0.as_bytes();
        Some(
            bytes[..6]
                .iter()
                .fold(0, |ms, byte| (ms << 8) | u64::from(*byte)),
        )
    }

    /// The UUID itself.
    pub const fn uuid(&self) -> Uuid {
        self.0
    }
}

impl FromStr for EnvelopeId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<EnvelopeId, IdError> {
        let id = EnvelopeId::lenient(text)?;
        if id.0.get_version_num() == 7 {
            Ok(id)
        } else {
            Err(IdError::NotVersion7)
        }
    }
}

macro_rules! lower_case_text {
    ($type:ty, $inner:ident => $uuid:expr) => {
        impl $type {
            fn spelled(&self) -> Spelled<36> {
                let $inner = &self.0;
                Spelled::behind("", |text| {
                    $uuid.as_hyphenated().encode_lower(text);
                })
            }
        }

        written_as_spelled!($type);

        /// Of any version: what is recorded was accepted under the rules of its time.
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
                from_text(reader, <$type>::lenient)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($type), "({})"), self)
            }
        }

        impl From<$type> for String {
            fn from(id: $type) -> String {
                id.to_string()
            }
        }
    };
}

/// The id of a subject: the envelope id of the message that opened it, or the id of what did, read by its own
/// name.
macro_rules! subject_id {
    (
        $(#[$about:meta])*
        $id:ident of $subject:ident, from $opener:ty { $(#[$about_opening:meta])* $opening:ident }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $id(EnvelopeId);

        impl $id {
            /// Reads any RFC 9562 UUID in lower case (the lenient switch of AX-25).
            ///
            /// # Errors
            /// The text is not a hyphenated lower-case UUID of version 1 to 8.
            pub fn lenient(text: &str) -> Result<$id, IdError> {
                EnvelopeId::lenient(text).map($id)
            }

            $(#[$about_opening])*
            pub const fn $opening(&self) -> EnvelopeId {
                self.0
            }
        }

        impl FromStr for $id {
            type Err = IdError;

            fn from_str(text: &str) -> Result<$id, IdError> {
                $id::lenient(text)
            }
        }

        impl From<$opener> for $id {
            fn from(opener: $opener) -> $id {
                $id(opener.into())
            }
        }

        impl From<$id> for EnvelopeId {
            fn from(id: $id) -> EnvelopeId {
                id.0
            }
        }

        impl From<$id> for Subject {
            fn from(id: $id) -> Subject {
                Subject::$subject(id)
            }
        }

        lower_case_text!($id, opened_by => opened_by.0);
    };
}

subject_id! {
    /// The id of an interaction: the envelope id of its REQUEST (AX-1).
    InteractionId of Interaction, from EnvelopeId {
        /// The envelope id of the REQUEST that opened the interaction.
        request_id
    }
}

subject_id! {
    /// The id of a contract's negotiation: the envelope id of its first offer (machines.md section 2).
    /// Records and streams write it as it is, payloads, answers and URLs as `neg-<uuid>`.
    ContractId of Contract, from EnvelopeId {
        /// The envelope id of the offer that opened it.
        offer_id
    }
}

impl ContractId {
    /// What stands before the id outside of the log.
    const PREFIX: &str = "neg-";

    /// Reads `neg-<uuid>`.
    ///
    /// # Errors
    /// The prefix is not there, or what follows is no UUID.
    pub fn from_public(text: &str) -> Result<ContractId, IdError> {
        let id = text.strip_prefix(Self::PREFIX).ok_or(IdError::NotContract);
        id.and_then(ContractId::lenient)
            .map_err(|_| IdError::NotContract)
    }

    /// `neg-<uuid>`: how payloads, answers and URLs write it.
    pub fn to_public(self) -> String {
        format!("{}{self}", Self::PREFIX)
    }
}

subject_id! {
    /// The id of an agreement: the envelope id of the capability request whose session made its first
    /// revision (machines.md section 2).
    AgreementId of Agreement, from SessionId {
        /// The envelope id of that request.
        request_id
    }
}

subject_id! {
    /// The id of a session about a capability: the envelope id of its request (machines.md section 2).
    SessionId of Session, from EnvelopeId {
        /// The envelope id of the request that opened it.
        request_id
    }
}

subject_id! {
    /// The id of a round: the envelope id of its proposal (machines.md section 2).
    RoundId of Round, from EnvelopeId {
        /// The envelope id of the proposal that opened it.
        proposal_id
    }
}

/// A nonce, unique per sender within the nonce window (AE-76, AE-86).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(Uuid);

impl Nonce {
    /// A UUIDv4 of these random bytes.
    pub fn from_random(random: [u8; 16]) -> Nonce {
        Nonce(Builder::from_random_bytes(random).into_uuid())
    }

    /// Reads any RFC 9562 UUID in lower case (the lenient switch of AX-25).
    ///
    /// # Errors
    /// The text is not a hyphenated lower-case UUID of version 1 to 8.
    pub fn lenient(text: &str) -> Result<Nonce, IdError> {
        parse_any_version(text).map(Nonce).ok_or(IdError::NotUuid)
    }

    /// Reads 32 lower-case hex digits of any value, as the published SDK writes nonces (decision 0190).
    /// It is the same nonce as those digits with hyphens between.
    ///
    /// # Errors
    /// The text is anything else.
    pub fn plain(text: &str) -> Result<Nonce, IdError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != Nonce::PLAIN_LEN || !text.bytes().all(is_digit) {
            return Err(IdError::NotUuid);
        }
        let uuid = Uuid::try_parse(text).map_err(|_| IdError::NotUuid)?;
        Ok(Nonce(uuid))
    }

    /// Digits of a nonce without hyphens.
    pub(crate) const PLAIN_LEN: usize = 32;
}

impl FromStr for Nonce {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Nonce, IdError> {
        let nonce = Nonce::lenient(text)?;
        if nonce.0.get_version_num() == 4 {
            Ok(nonce)
        } else {
            Err(IdError::NotVersion4)
        }
    }
}

/// Why a text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not a UUID in the one spelling that is read.
    #[error("not a UUID: write it hyphenated and in lower case")]
    NotUuid,
    /// An envelope id of another version.
    #[error("not a UUIDv7: make a time-ordered UUID (RFC 9562 version 7)")]
    NotVersion7,
    /// A nonce of another version.
    #[error("not a UUIDv4: make a random UUID (RFC 9562 version 4)")]
    NotVersion4,
    /// No id of a negotiation.
    #[error("not the id of a negotiation: write neg- and the envelope id of its first offer")]
    NotContract,
}

/// Reads a UUID only in its canonical spelling: 36 characters, hyphens, lower case.
pub(crate) fn parse_canonical_uuid(text: &str) -> Option<Uuid> {
    if text.len() != 36 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    Uuid::try_parse(text).ok()
}

fn parse_any_version(text: &str) -> Option<Uuid> {
    let uuid = parse_canonical_uuid(text)?;
    is_rfc_9562(uuid).then_some(uuid)
}

fn is_rfc_9562(uuid: Uuid) -> bool {
    (1..=8).contains(&uuid.get_version_num()) && uuid.get_variant() == Variant::RFC4122
}

lower_case_text!(EnvelopeId, uuid => uuid);
lower_case_text!(Nonce, uuid => uuid);

#[cfg(test)]
mod tests {
    use super::*;

    const V7: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";
    const V4: &str = "a1b2c3d4-e5f6-4890-abcd-ef1234567890";

    #[test]
    fn ae_070_and_ae_076_check_the_version_unless_lenient() {
        assert_eq!(V7.parse::<EnvelopeId>().unwrap().to_string(), V7);
        assert_eq!(V4.parse::<Nonce>().unwrap().to_string(), V4);
        assert_eq!(V4.parse::<EnvelopeId>(), Err(IdError::NotVersion7));
        assert_eq!(V7.parse::<Nonce>(), Err(IdError::NotVersion4));
        assert_eq!(EnvelopeId::lenient(V4).unwrap().to_string(), V4);
        assert_eq!(Nonce::lenient(V7).unwrap().to_string(), V7);
    }

    #[test]
    fn ax_025_what_a_lenient_ledger_recorded_is_read_again() {
        for recorded in [V4, V7] {
            let text = serde_json::json!(recorded);
            let id = EnvelopeId::deserialize(&text).unwrap();
            assert_eq!(id, EnvelopeId::lenient(recorded).unwrap());
            assert_eq!(InteractionId::deserialize(&text).unwrap(), id.into());
            let nonce = Nonce::deserialize(&text).unwrap();
            assert_eq!(nonce, Nonce::lenient(recorded).unwrap());
        }
    }

    #[test]
    fn rec_1_one_spelling_even_when_lenient() {
        for bad in [
            "",
            "0190A1B2-C3D4-7E5F-8901-234567890ABC",
            "0190a1b2c3d47e5f8901234567890abc",
            "{0190a1b2-c3d4-7e5f-8901-234567890abc}",
            "urn:uuid:0190a1b2-c3d4-7e5f-8901-234567890abc",
            "0190a1b2-c3d4-7e5f-8901-234567890abg",
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "0190a1b2-c3d4-7e5f-c901-234567890abc",
        ] {
            assert_eq!(EnvelopeId::lenient(bad), Err(IdError::NotUuid), "{bad}");
            assert_eq!(Nonce::lenient(bad), Err(IdError::NotUuid), "{bad}");
            assert!(
                serde_json::from_value::<EnvelopeId>(bad.into()).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn ae_070_the_time_of_a_uuid_v7_is_its_first_48_bits() {
        let id: EnvelopeId = V7.parse().unwrap();
        assert_eq!(id.unix_ms(), Some(0x0190_a1b2_c3d4));
        assert_eq!(EnvelopeId::lenient(V4).unwrap().unix_ms(), None);

        let made = EnvelopeId::from_parts(1_767_225_600_000, &[0xff; 10]);
        assert_eq!(made.unix_ms(), Some(1_767_225_600_000));
        assert_eq!(made.to_string().parse(), Ok(made));
        let nonce = Nonce::from_random([0xff; 16]);
        assert_eq!(nonce.to_string().parse(), Ok(nonce));
    }

    #[test]
    fn ax_001_the_interaction_id_is_the_request_id() {
        let request_id: EnvelopeId = V7.parse().unwrap();
        let id = InteractionId::from(request_id);
        assert_eq!(id.to_string(), V7);
        assert_eq!(id.request_id(), request_id);
        assert_eq!(serde_json::to_value(id).unwrap(), serde_json::json!(V7));
    }
}
