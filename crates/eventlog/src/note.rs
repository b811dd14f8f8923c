//! Signed notes: a text and lines of signatures over it (C2SP signed-note, transparency-log.md
//! section B.2).
//!
//! The format is here, the cryptography is the caller's: it signs and verifies bytes by its own
//! rule, so that there is one rule for Ed25519 and not two. Only type 0x01, Ed25519 over the whole
//! text, is made and checked; lines of other types and of unknown keys are kept and ignored.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// Signature type of Ed25519 over the text.
const ED25519: u8 = 0x01;

/// Bytes of a key id.
const KEY_ID_BYTES: usize = 4;

/// Bytes of an Ed25519 signature.
pub const SIGNATURE_BYTES: usize = 64;

/// Most signature lines a note is read with; the format asks for at least 16.
pub const MAX_SIGNATURES: usize = 64;

/// What a signature line begins with: an em dash and a space.
const LINE_START: &str = "\u{2014} ";

/// A key as notes name it: a name, and the Ed25519 key that signs under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    name: String,
    public_key: [u8; 32],
}

impl NoteKey {
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

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first 4 bytes of `SHA-256(name ‖ 0x0A ‖ 0x01 ‖ public key)`.
    #[must_use]
    pub fn id(&self) -> [u8; KEY_ID_BYTES] {
        let mut hasher = Sha256::new();
        hasher.update(self.name.as_bytes());
        hasher.update([b'\n', ED25519]);
        hasher.update(self.public_key);
        let [a, b, c, d, ..]: [u8; 32] = hasher.finalize().into();
        [a, b, c, d]
    }

    /// The form for configuration files: `name+hex(key id)+base64(0x01 ‖ public key)`.
    #[must_use]
    pub fn to_vkey(&self) -> String {
        let mut typed = vec![ED25519];
        typed.extend(self.public_key);
        let id = hex::encode(self.id());
        format!("{}+{id}+{}", self.name, STANDARD.encode(typed))
    }
}

/// A text and the signature lines under it. Nothing is verified by reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<SignatureLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SignatureLine {
    name: String,
    key_id: [u8; KEY_ID_BYTES],
    signature: Vec<u8>,
}

impl Note {
    /// Signs a text: `sign` gets its bytes, final LF included, and returns the Ed25519 signature
    /// by `key`.
    ///
    /// # Errors
    ///
    /// [`NoteError::Text`] for a text that does not end in LF or holds another control character.
    pub fn sign(
        text: impl Into<String>,
        key: &NoteKey,
        sign: impl FnOnce(&[u8]) -> [u8; SIGNATURE_BYTES],
    ) -> Result<Self, NoteError> {
        let text = text.into();
        if !is_text(&text) {
            return Err(NoteError::Text);
        }
        let signature = sign(text.as_bytes()).to_vec();
        let line = SignatureLine {
            name: key.name.clone(),
            key_id: key.id(),
            signature,
        };
        Ok(Self {
            text,
            signatures: vec![line],
        })
    }

    /// Reads a note. Text and signatures part at the last empty line.
    ///
    /// # Errors
    ///
    /// [`NoteError`] when it is not one.
    pub fn parse(note: &str) -> Result<Self, NoteError> {
        let at = note.rfind("\n\n").ok_or(NoteError::NoSignatures)?;
        let (text, lines) = (&note[..=at], &note[at + 2..]);
        if !is_text(text) {
            return Err(NoteError::Text);
        }
        let lines = lines.strip_suffix('\n').ok_or(NoteError::NoSignatures)?;
        let mut signatures = Vec::new();
        for line in lines.split('\n') {
            if signatures.len() == MAX_SIGNATURES {
                return Err(NoteError::TooManySignatures);
            }
            signatures.push(SignatureLine::parse(line).ok_or(NoteError::SignatureLine)?);
        }
        Ok(Self {
            text: text.to_owned(),
            signatures,
        })
    }

    /// The text, if `key` signed it: `verify` gets the text's bytes and a signature. The text of a
    /// note means nothing until this has returned it.
    ///
    /// # Errors
    ///
    /// [`NoteError::Forged`] when a line names the key and does not verify, and
    /// [`NoteError::NotSigned`] when no line names it.
    pub fn verify(
        &self,
        key: &NoteKey,
        verify: impl Fn(&[u8], &[u8; SIGNATURE_BYTES]) -> bool,
    ) -> Result<&str, NoteError> {
        let mut is_signed = false;
        let id = key.id();
        for line in &self.signatures {
            if line.name != key.name || line.key_id != id {
                continue;
            }
            let signature = line.signature.as_slice().try_into();
            if !signature.is_ok_and(|signature| verify(self.text.as_bytes(), signature)) {
                return Err(NoteError::Forged);
            }
            is_signed = true;
        }
        if is_signed {
            Ok(&self.text)
        } else {
            Err(NoteError::NotSigned)
        }
    }

    /// The note as it is stored and sent.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut note = format!("{}\n", self.text);
        for line in &self.signatures {
            let bytes = [&line.key_id[..], &line.signature].concat();
            note.push_str(LINE_START);
            note.push_str(&line.name);
            note.push(' ');
            note.push_str(&STANDARD.encode(bytes));
            note.push('\n');
        }
        note
    }
}

impl SignatureLine {
    fn parse(line: &str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(LINE_START)?.split_once(' ')?;
        let bytes = STANDARD.decode(encoded).ok()?;
        let (key_id, signature) = bytes.split_first_chunk()?;
        if !is_name(name) || signature.is_empty() {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            key_id: *key_id,
            signature: signature.to_vec(),
        })
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && c != '+' && c >= ' ';
    !name.is_empty() && name.chars().all(is_plain)
}

fn is_text(text: &str) -> bool {
    text.ends_with('\n') && text.chars().all(|c| c == '\n' || c >= ' ')
}

/// Why something is not a signed note, or not signed by whom it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoteError {
    /// A key name that no signature line can hold.
    #[error("a key name is not empty and has no spaces, no plus sign and no control characters")]
    Name,
    /// A text that cannot be signed.
    #[error("a note's text ends with a line feed and has no other control characters")]
    Text,
    /// No empty line, or nothing after it.
    #[error("a note has signature lines after its last empty line; take the whole file")]
    NoSignatures,
    /// A line that is no signature.
    #[error("a signature line is: em dash, space, key name, space, base64 of key id and signature")]
    SignatureLine,
    /// More lines than anybody needs.
    #[error("a note has at most {MAX_SIGNATURES} signature lines; remove those nobody knows")]
    TooManySignatures,
    /// A line names the key, and its signature is not the key's.
    #[error("the note's signature does not verify: its text or its signature was changed")]
    Forged,
    /// No line is by the key.
    #[error("the note is not signed by the key it is checked against: compare name and key")]
    NotSigned,
}
