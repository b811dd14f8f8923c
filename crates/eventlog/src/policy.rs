//! The file a verifier trusts by: which logs, which witnesses, and how many of these must have seen
//! a checkpoint (C2SP tlog-policy).
//!
//! Files are read as UTF-8. A witness whose key is of a type that is not checked here, ML-DSA-44
//! say, may be named, and counts as one that has not cosigned.

mod read;

use thiserror::Error;

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::note::{CosignerKey, Note, NoteError, NoteKey, SIGNATURE_BYTES};

pub use read::PolicyError;

/// What makes a checkpoint good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    logs: Vec<NoteKey>,
    /// Witnesses and groups in the order of their lines; a group names only what stands before it.
    members: Vec<Member>,
    quorum: Option<MemberIndex>,
}

/// Place in the list of members.
type MemberIndex = usize;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Member {
    Witness(Witness),
    Group {
        name: String,
        threshold: usize,
        members: Vec<MemberIndex>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Witness {
    name: String,
    /// Absent when its type cannot be checked.
    key: Option<CosignerKey>,
}

impl Member {
    fn name(&self) -> &str {
        match self {
            Self::Witness(witness) => &witness.name,
            Self::Group { name, .. } => name,
        }
    }
}

/// A checkpoint that a policy holds for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// The checkpoint, signed by its log and by as many witnesses as the policy asks for.
    pub checkpoint: Checkpoint,
    /// Who cosigned it, among those the policy names.
    pub cosignatures: Vec<Cosignature>,
}

/// That a witness has seen a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cosignature {
    /// The policy's name for the witness.
    pub witness: String,
    /// When, in seconds since the Unix epoch.
    pub timestamp_s: u64,
}

impl Policy {
    /// The policy that trusts one log and asks for no witness.
    #[must_use]
    pub fn of_log(log: NoteKey) -> Self {
        Self {
            logs: vec![log],
            members: Vec::new(),
            quorum: None,
        }
    }

    /// The same, which trusts one more key of a log.
    #[must_use]
    pub fn with_log(mut self, log: NoteKey) -> Self {
        self.logs.push(log);
        self
    }

    /// The keys of the logs it names.
    #[must_use]
    pub fn logs(&self) -> &[NoteKey] {
        &self.logs
    }

    /// Whether a log's own signature is not enough for it.
    #[must_use]
    pub fn asks_for_witnesses(&self) -> bool {
        self.quorum.is_some()
    }

    /// Checks a signed checkpoint: by one of the logs, about that log, and cosigned as the quorum
    /// wants. `verify` gets a public key, the bytes that were signed and a signature.
    ///
    /// # Errors
    ///
    /// [`Distrust`].
    pub fn check(
        &self,
        note: &str,
        verify: impl Fn(&[u8; 32], &[u8], &[u8; SIGNATURE_BYTES]) -> bool,
    ) -> Result<Trusted, Distrust> {
        let checkpoint = self.open(note, &verify)?;
        let note = Note::parse(note).map_err(CheckpointError::Note)?;
        let mut cosignatures = Vec::new();
        let mut has_seen = Vec::with_capacity(self.members.len());
        for member in &self.members {
            has_seen.push(match member {
                Member::Witness(witness) => {
                    let seen_at_s = witness.seen_at_s(&note, &verify)?;
                    cosignatures.extend(seen_at_s.map(|timestamp_s| Cosignature {
                        witness: witness.name.clone(),
                        timestamp_s,
                    }));
                    seen_at_s.is_some()
                }
                Member::Group {
                    threshold, members, ..
                } => members.iter().filter(|member| has_seen[**member]).count() >= *threshold,
            });
        }
        match self.quorum.filter(|quorum| !has_seen[*quorum]) {
            Some(quorum) => Err(Distrust::NoQuorum {
                quorum: self.members[quorum].name().to_owned(),
                cosigned: cosignatures.len(),
            }),
            None => Ok(Trusted {
                checkpoint,
                cosignatures,
            }),
        }
    }

    /// The checkpoint, by whichever log signed it.
    fn open(
        &self,
        note: &str,
        verify: impl Fn(&[u8; 32], &[u8], &[u8; SIGNATURE_BYTES]) -> bool,
    ) -> Result<Checkpoint, CheckpointError> {
        let mut opened = Err(CheckpointError::Note(NoteError::NotSigned));
        for log in &self.logs {
            let by_log =
                |message: &[u8], signature: &_| verify(log.public_key(), message, signature);
            match Checkpoint::open(note, log.name(), *log.public_key(), by_log) {
                Err(CheckpointError::Note(NoteError::NotSigned)) => {}
                Err(error) => return Err(error),
                Ok(checkpoint) => opened = Ok(checkpoint),
            }
        }
        opened
    }
}

impl Witness {
    fn seen_at_s(
        &self,
        note: &Note,
        verify: impl Fn(&[u8; 32], &[u8], &[u8; SIGNATURE_BYTES]) -> bool,
    ) -> Result<Option<u64>, Distrust> {
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let by_witness =
            |message: &[u8], signature: &_| verify(key.public_key(), message, signature);
        match note.cosigned_at_s(key, by_witness) {
            Ok(timestamp_s) => Ok(Some(timestamp_s)),
            Err(NoteError::NotSigned) => Ok(None),
            Err(_) => Err(Distrust::Forged {
                witness: self.name.clone(),
            }),
        }
    }
}

/// Why a policy does not hold a checkpoint for good.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Distrust {
    /// No checkpoint of a log that the policy names.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A line names a witness, and its signature is not the witness's.
    #[error("the cosignature of {witness} does not verify: the checkpoint was changed")]
    Forged {
        /// The policy's name for the witness.
        witness: String,
    },
    /// Too few witnesses.
    #[error(
        "{cosigned} of the policy's witnesses have cosigned, which is not enough for its quorum \
         {quorum}: take a checkpoint that more of them have seen"
    )]
    NoQuorum {
        /// The policy's name for the quorum.
        quorum: String,
        /// Witnesses that have cosigned.
        cosigned: usize,
    },
}
