//! Signed notes: a text and lines of signatures over it (C2SP signed-note, transparency-log.md
//! section B.2).
//!
//! The format is here, the cryptography is the caller's: it signs and verifies bytes by its own
//! rule, so that there is one rule for Ed25519 and not two. Type 0x01, Ed25519 over the whole text,
//! and type 0x04, a cosignature with a time, are made and checked; lines of other types and of
//! unknown keys are kept and ignored.

mod cosignature;
mod key;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

pub use key::{CosignerKey, NoteKey, VerifierKey, VkeyError};

use key::{KEY_ID_BYTES, is_name};

/// Bytes of an Ed25519 signature.
pub const SIGNATURE_BYTES: usize = 64;

/// Most signature lines a note is read with; the format asks for at least 16.
pub const MAX_SIGNATURES: usize = 64;

/// What a signature line begins with: an em dash and a space.
const LINE_START: &str = "\u{2014} ";

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
            name: key.name().to_owned(),
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
        for line in self.lines_of(key.name(), key.id()) {
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

    /// The text, whoever signed it.
    pub(crate) fn unverified_text(&self) -> &str {
        &self.text
    }

    fn lines_of(
        &self,
        name: &str,
        key_id: [u8; KEY_ID_BYTES],
    ) -> impl Iterator<Item = &SignatureLine> {
        let lines = self.signatures.iter();
        lines.filter(move |line| line.name == name && line.key_id == key_id)
    }

    fn add(&mut self, line: SignatureLine) -> Result<(), NoteError> {
        if self.signatures.len() == MAX_SIGNATURES {
            return Err(NoteError::TooManySignatures);
        }
        self.signatures.push(line);
        Ok(())
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
    /// A cosignature dated to no time.
    #[error("a cosignature's time is at most 2^63 - 1 seconds: check the clock")]
    Timestamp,
    /// A line names the key, and its signature is not the key's.
    #[error("the note's signature does not verify: its text or its signature was changed")]
    Forged,
    /// No line is by the key.
    #[error("the note is not signed by the key it is checked against: compare name and key")]
    NotSigned,
}
