//! Keys as notes name them: a name, a type, and the key itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::NoteError;

/// Type of a key that signs the text of a note, with Ed25519.
const ED25519: u8 = 0x01;

/// Type of a key that cosigns checkpoints, with Ed25519 and a time.
const COSIGNATURE_V1: u8 = 0x04;

/// Bytes of a key id.
pub(super) const KEY_ID_BYTES: usize = 4;

/// An Ed25519 key by its name, for signatures of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey<const TYPE: u8> {
    name: String,
    public_key: [u8; 32],
}

/// The key of a log: it signs the text of a note.
pub type NoteKey = VerifierKey<ED25519>;

/// The key of a witness: it cosigns checkpoints that it has seen (C2SP tlog-cosignature).
pub type CosignerKey = VerifierKey<COSIGNATURE_V1>;

impl<const TYPE: u8> VerifierKey<TYPE> {
    /// Names a key.
    ///
    /// # Errors
    ///
    /// [`NoteError::Name`] when the name is empty or holds a space, a plus sign or a control
    /// character.
    pub fn new(name: impl Into<String>, public_key: [u8; 32]) -> Result<Self, NoteError> {
        let name = name.into();
        if is_name(&name) {
            Ok(Self { name, public_key })
        } else {
            Err(NoteError::Name)
        }
    }

    /// Reads the form for configuration files.
    ///
    /// # Errors
    ///
    /// [`VkeyError`].
    pub fn from_vkey(vkey: &str) -> Result<Self, VkeyError> {
        let mut parts = vkey.splitn(3, '+');
        let (Some(name), Some(id), Some(typed)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(VkeyError::Form);
        };
        let typed = STANDARD.decode(typed).map_err(|_| VkeyError::Form)?;
        let is_lower = !id.bytes().any(|digit| digit.is_ascii_uppercase());
        let stated = hex::decode(id).ok().filter(|_| is_lower);
        let stated = stated.ok_or(VkeyError::Form)?;
        if !is_name(name) {
            return Err(VkeyError::Form);
        }
        let (key_type, public_key) = typed.split_first().ok_or(VkeyError::Form)?;
        if stated != key_id(name, *key_type, public_key) {
            return Err(VkeyError::Id);
        }
        if *key_type != TYPE {
            return Err(VkeyError::Type {
                found: *key_type,
                expected: TYPE,
            });
        }
        let public_key = public_key.try_into().map_err(|_| VkeyError::Form)?;
        Ok(Self {
            name: name.to_owned(),
            public_key,
        })
    }

    /// The name that stands in its signature lines.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Ed25519 key.
    #[must_use]
    pub const fn public_key(&self) -> &[u8; 32] {
        &self.public_key
    }

    /// The first 4 bytes of `SHA-256(name ‖ 0x0A ‖ type ‖ public key)`.
    #[must_use]
    pub fn id(&self) -> [u8; KEY_ID_BYTES] {
        key_id(&self.name, TYPE, &self.public_key)
    }

    /// The form for configuration files: `name+hex(key id)+base64(type ‖ public key)`.
    #[must_use]
    pub fn to_vkey(&self) -> String {
        let mut typed = vec![TYPE];
        typed.extend(self.public_key);
        let id = hex::encode(self.id());
        format!("{}+{id}+{}", self.name, STANDARD.encode(typed))
    }
}

fn key_id(name: &str, key_type: u8, public_key: &[u8]) -> [u8; KEY_ID_BYTES] {
    let mut hasher = Sha256::new();
    hasher.update(name.as_bytes());
    hasher.update([b'\n', key_type]);
    hasher.update(public_key);
    let [a, b, c, d, ..]: [u8; 32] = hasher.finalize().into();
    [a, b, c, d]
}

pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && c != '+' && c >= ' ';
    !name.is_empty() && name.chars().all(is_plain)
}

/// Why a text is not a verifier key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum VkeyError {
    /// The text is not of the form that [`VerifierKey::to_vkey`] writes.
    #[error(
        "a verifier key is: name, plus sign, 8 lower-case hex digits of key id, plus sign, base64 \
         of type and key"
    )]
    Form,
    /// The id is not that of the name and the key.
    #[error("the key id does not belong to that name and key: one of the three was mistyped")]
    Id,
    /// A key for other signatures.
    #[error("a key of type {found:#04x}, but type {expected:#04x} is needed here")]
    Type {
        /// The type byte that was found.
        found: u8,
        /// The type that can be used.
        expected: u8,
    },
}
