//! Proof files: one entry of a log, the checkpoint it is under and the hashes between the two, in
//! a file that is checked offline (C2SP tlog-proof). Called `.tlog-proof`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

use crate::checkpoint::Checkpoint;
use crate::decimal;
use crate::hash::Hash;
use crate::inclusion::{InclusionError, InclusionProof};
use crate::record::MAX_INTEGER;

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";
const EXTRA: &str = "extra ";
const INDEX: &str = "index ";

/// Most hashes a proof can need.
const MAX_PATH: usize = 63;

/// What a proof file says. Nothing is verified by reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlogProof {
    /// Bytes that nothing vouches for: we put the leaf here, and whoever checks the proof hashes it.
    pub extra: Option<Vec<u8>>,
    /// Place of the entry in the log.
    pub index: u64,
    /// The hashes of its inclusion proof, the entry's sibling first.
    pub path: Vec<Hash>,
    /// The checkpoint as it was signed, with all its signature lines.
    pub checkpoint: String,
}

impl TlogProof {
    /// The text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        if let Some(extra) = &self.extra {
            text.push_str(&format!("{EXTRA}{}\n", STANDARD.encode(extra)));
        }
        text.push_str(&format!("{INDEX}{}\n", self.index));
        for hash in &self.path {
            text.push_str(&hash.to_base64());
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&self.checkpoint);
        text
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`TlogProofError`] when it is not exactly what [`TlogProof::to_text`] writes.
    pub fn from_text(text: &str) -> Result<Self, TlogProofError> {
        // The first empty line ends the proof; a checkpoint has another one of its own.
        let (proof, checkpoint) = text
            .split_once("\n\n")
            .ok_or(TlogProofError::NoCheckpoint)?;
        let mut lines = proof.split('\n').peekable();
        if lines.next() != Some(FIRST_LINE) {
            return Err(TlogProofError::FirstLine);
        }
        let extra = lines.next_if(|line| line.starts_with(EXTRA));
        let extra = extra
            .map(|line| STANDARD.decode(&line[EXTRA.len()..]))
            .transpose()
            .map_err(|_| TlogProofError::Extra)?;
        let index = lines.next().and_then(|line| line.strip_prefix(INDEX));
        let index = index
            .and_then(|index| decimal::parse(index, MAX_INTEGER))
            .ok_or(TlogProofError::Index)?;
        let mut path = Vec::new();
        for line in lines {
            if path.len() == MAX_PATH {
                return Err(TlogProofError::TooLong);
            }
            path.push(Hash::from_base64(line).ok_or(TlogProofError::Hash)?);
        }
        if checkpoint.is_empty() {
            return Err(TlogProofError::NoCheckpoint);
        }
        Ok(Self {
            extra,
            index,
            path,
            checkpoint: checkpoint.to_owned(),
        })
    }

    /// Checks that `leaf`, a record hash, is under `checkpoint`, which the caller has opened from
    /// [`TlogProof::checkpoint`] with keys of its own.
    ///
    /// # Errors
    ///
    /// [`InclusionError`].
    pub fn verify(&self, leaf: Hash, checkpoint: &Checkpoint) -> Result<(), InclusionError> {
        let proof = InclusionProof {
            position: self.index,
            size: checkpoint.size,
            path: self.path.clone(),
        };
        proof.verify(leaf, checkpoint.root)
    }
}

/// Why a text is not a proof file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TlogProofError {
    /// Another file, or another version.
    #[error("the file does not begin with the line {FIRST_LINE}: it is no proof of this version")]
    FirstLine,
    /// Extra data that is no base64.
    #[error("the line `extra` holds standard base64 with padding")]
    Extra,
    /// The line `index` is missing, or holds no plain number.
    #[error(
        "a line `index` with a decimal number without leading zeros has to come before the hashes"
    )]
    Index,
    /// A line that is no hash.
    #[error("between index and the empty line stand hashes, 32 bytes in base64 each")]
    Hash,
    /// More hashes than any tree has levels.
    #[error("a proof has at most {MAX_PATH} hashes")]
    TooLong,
    /// Nothing behind the proof.
    #[error("the file has no empty line with a checkpoint behind it: take the whole file")]
    NoCheckpoint,
}
