//! Checkpoints: what a log's tree was at a size, in the three lines that are signed (C2SP
//! tlog-checkpoint, transparency-log.md section B.2).
//!
//! Extension lines are never written and not accepted: nothing would check them.

use thiserror::Error;

use crate::decimal;
use crate::hash::Hash;
use crate::note::{Note, NoteError, NoteKey, SIGNATURE_BYTES};
use crate::record::MAX_INTEGER;

/// The tree of one log at one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log (record.md section 2); also the name its key signs under.
    pub origin: String,
    /// Records in it.
    pub size: u64,
    /// Root over their hashes.
    pub root: Hash,
}

impl Checkpoint {
    /// The text that is signed: origin, size and root, a line each.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!(
            "{}\n{}\n{}\n",
            self.origin,
            self.size,
            self.root.to_base64()
        )
    }

    /// Reads the text that was signed.
    ///
    /// # Errors
    ///
    /// [`CheckpointError`] when it is not exactly what [`Checkpoint::to_text`] writes.
    pub fn from_text(text: &str) -> Result<Self, CheckpointError> {
        let text = text.strip_suffix('\n').ok_or(CheckpointError::Lines)?;
        let mut lines = text.split('\n');
        let (Some(origin), Some(size), Some(root), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(CheckpointError::Lines);
        };
        if origin.is_empty() {
            return Err(CheckpointError::Lines);
        }
        Ok(Self {
            origin: origin.to_owned(),
            size: decimal::parse(size, MAX_INTEGER + 1).ok_or(CheckpointError::Size)?,
            root: Hash::from_base64(root).ok_or(CheckpointError::Root)?,
        })
    }

    /// Signs it under its origin's name with `public_key`; `sign` is that key's.
    ///
    /// # Errors
    ///
    /// [`NoteError`] when the origin cannot be a key's name.
    pub fn sign(
        &self,
        public_key: [u8; 32],
        sign: impl FnOnce(&[u8]) -> [u8; SIGNATURE_BYTES],
    ) -> Result<String, NoteError> {
        let key = NoteKey::new(self.origin.clone(), public_key)?;
        Ok(Note::sign(self.to_text(), &key, sign)?.encode())
    }

    /// What a signed note says, without any signature checked: for whoever places a note, or
    /// learns only later by which key to open it.
    ///
    /// # Errors
    ///
    /// [`CheckpointError`] when it is no note over a checkpoint.
    pub fn claimed(note: &str) -> Result<Self, CheckpointError> {
        Self::from_text(Note::parse(note)?.unverified_text())
    }

    /// Reads a signed checkpoint of the log `origin` and checks that `public_key` signed it.
    ///
    /// # Errors
    ///
    /// [`CheckpointError`] when it is no checkpoint, another log's, or not signed by that key.
    pub fn open(
        note: &str,
        origin: &str,
        public_key: [u8; 32],
        verify: impl Fn(&[u8], &[u8; SIGNATURE_BYTES]) -> bool,
    ) -> Result<Self, CheckpointError> {
        let note = Note::parse(note)?;
        let text = note.verify(&NoteKey::new(origin, public_key)?, verify)?;
        let checkpoint = Self::from_text(text)?;
        if checkpoint.origin != origin {
            return Err(CheckpointError::Origin {
                found: checkpoint.origin,
            });
        }
        Ok(checkpoint)
    }
}

/// Why something is not a checkpoint of a log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckpointError {
    /// Not a note, or not signed by the log's key.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// More or fewer lines than three, or an empty one.
    #[error("a checkpoint's text has three lines: origin, size and root")]
    Lines,
    /// A size that is no decimal number, or more than a log can hold.
    #[error("a checkpoint's size is a decimal number without leading zeros, at most 2^53")]
    Size,
    /// A root that is not 32 bytes of base64.
    #[error("a checkpoint's root is 32 bytes in standard base64 with padding")]
    Root,
    /// Signed by this key, but about another log.
    #[error("the checkpoint is of the log {found}: compare origins")]
    Origin {
        /// The log it names.
        found: String,
    },
}
