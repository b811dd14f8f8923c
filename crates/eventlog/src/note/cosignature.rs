//! Cosignatures: that a witness has seen a checkpoint at a time, and that it goes on where the one
//! it saw before ended (C2SP tlog-cosignature). The timestamp lies in the signature line.

use super::{CosignerKey, Note, NoteError, SIGNATURE_BYTES, SignatureLine};

const HEADER: &str = "cosignature/v1";

/// The largest time there may be.
const MAX_TIMESTAMP_S: u64 = (1 << 63) - 1;

impl Note {
    /// Adds a cosignature made at `timestamp_s`, in seconds since the Unix epoch; `sign` is that
    /// key's.
    ///
    /// # Errors
    ///
    /// [`NoteError::TooManySignatures`], and [`NoteError::Timestamp`] beyond 2^63 − 1.
    pub fn cosign(
        &mut self,
        key: &CosignerKey,
        timestamp_s: u64,
        sign: impl FnOnce(&[u8]) -> [u8; SIGNATURE_BYTES],
    ) -> Result<(), NoteError> {
        if timestamp_s > MAX_TIMESTAMP_S {
            return Err(NoteError::Timestamp);
        }
        let mut signature = timestamp_s.to_be_bytes().to_vec();
        signature.extend(sign(message(&self.text, timestamp_s).as_bytes()));
        self.add(SignatureLine {
            name: key.name().to_owned(),
            key_id: key.id(),
            signature,
        })
    }

    /// When `key` cosigned, in seconds since the Unix epoch; the last time when it did more than
    /// once. `verify` gets the bytes that were signed and a signature.
    ///
    /// # Errors
    ///
    /// [`NoteError::Forged`] when a line names the key and does not verify, and
    /// [`NoteError::NotSigned`] when no line names it.
    pub fn cosigned_at_s(
        &self,
        key: &CosignerKey,
        verify: impl Fn(&[u8], &[u8; SIGNATURE_BYTES]) -> bool,
    ) -> Result<u64, NoteError> {
        let mut latest_s = None;
        for line in self.lines_of(key.name(), key.id()) {
            let timestamp_s = timestamp_of(line, &self.text, &verify).ok_or(NoteError::Forged)?;
            latest_s = latest_s.max(Some(timestamp_s));
        }
        latest_s.ok_or(NoteError::NotSigned)
    }
}

fn timestamp_of(
    line: &SignatureLine,
    text: &str,
    verify: impl Fn(&[u8], &[u8; SIGNATURE_BYTES]) -> bool,
) -> Option<u64> {
    let (timestamp, signature) = line.signature.split_first_chunk()?;
    let timestamp_s = u64::from_be_bytes(*timestamp);
    let signature = signature.try_into().ok()?;
    let is_good =
        timestamp_s <= MAX_TIMESTAMP_S && verify(message(text, timestamp_s).as_bytes(), signature);
    is_good.then_some(timestamp_s)
}

fn message(text: &str, timestamp_s: u64) -> String {
    format!("{HEADER}\ntime {timestamp_s}\n{text}")
}
