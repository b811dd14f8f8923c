//! Keys statements: which keys the ledger had after so many records, and where each was replaced,
//! by the checkpoint key in force then (ledger-contract.md section 8). A statement stands beside the
//! log and is no record of it.
//!
//! What a record cannot say of itself, that it is the last of its kind, a statement says of the
//! records that replaced keys: who leaves one of them out needs the checkpoint key in force.

use crate::keyring::Keyring;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use x811_eventlog::note::{NoteError, NoteKey};
use x811_eventlog::{Checkpoint, Hash};
use x811_protocol::canonical::to_canonical;
use x811_protocol::event::{LedgerKeys, LedgerOpened, LedgerRole};
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::key::{PublicKey, SecretKey};
use x811_protocol::signature::Signature;

const SIGNED_AS: &[u8] = b"x811 keys v1\n";

/// Most bytes of a signed statement as JSON; a rotation has some 250.
pub(crate) const MAX_STATEMENT_BYTES: usize = 65_535;

/// Which keys a ledger had after `size` records. Its members stand in the order of RFC 8785.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysStatement {
    /// Those in force after `size` records.
    pub keys: LedgerKeys,
    /// The log, as position 0 names it.
    pub log_id: Uuid,
    /// The name that checkpoints have.
    pub origin: String,
    /// Root of the Merkle tree over the first `size` records.
    pub root: Hash,
    /// Every key that was replaced by one of the first `size` records, in order of position.
    pub rotations: Vec<Rotation>,
    /// Records that this is said of.
    pub size: u64,
}

/// That a record replaced a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// The key from here on.
    pub new: PublicKey,
    /// The key until here.
    pub old: PublicKey,
    /// Place of the record in the log.
    pub position: u64,
    /// What the keys are for.
    pub role: LedgerRole,
}

/// A [`KeysStatement`] and who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Members", into = "Members")]
pub struct SignedKeys {
    /// What is said.
    pub statement: KeysStatement,
    /// By the checkpoint key in force after `size` records.
    pub signature: Signature,
}

impl KeysStatement {
    /// What the ledger that `opened` its log with these names has to say of `checkpoint`; `keyring`
    /// has every key that was replaced under it, and may have later ones.
    #[must_use]
    pub fn of(opened: &LedgerOpened, keyring: &Keyring, checkpoint: &Checkpoint) -> KeysStatement {
        let size = checkpoint.size;
        KeysStatement {
            keys: keyring.after(size),
            log_id: opened.log_id,
            origin: checkpoint.origin.clone(),
            root: checkpoint.root,
            rotations: keyring.rotations(size),
            size,
        }
    }

    /// The same, signed by `key`, which should be `keys.checkpoint`.
    #[must_use]
    pub fn sign(self, key: &SecretKey) -> SignedKeys {
        let signature = key.sign(&self.signed_bytes());
        SignedKeys {
            statement: self,
            signature,
        }
    }

    /// What the signature is over.
    fn signed_bytes(&self) -> Vec<u8> {
        [SIGNED_AS, &to_canonical(&Members::of(self, None))].concat()
    }

    /// The keys that were in force after the first `size` records, `size` being no more than this
    /// statement's.
    #[must_use]
    pub fn keys_after(&self, size: u64) -> LedgerKeys {
        let later = self.rotations.iter().rev();
        later
            .take_while(|rotation| rotation.position >= size)
            .fold(self.keys, |keys, rotation| {
                keys.with(rotation.role, rotation.old)
            })
    }

    /// Where that key of checkpoints was replaced; `None` where it was not, or is none of them.
    #[must_use]
    pub fn replaced_at(&self, checkpoint_key: PublicKey) -> Option<u64> {
        let mut rotations = self.rotations.iter();
        let found = rotations.find(|rotation| {
            rotation.role == LedgerRole::Checkpoint && rotation.old == checkpoint_key
        });
        found.map(|rotation| rotation.position)
    }

    /// The checkpoint key in force as verifiers are given it.
    ///
    /// # Errors
    /// The origin is no name for a key.
    pub fn checkpoint_key(&self) -> Result<NoteKey, NoteError> {
        NoteKey::new(&*self.origin, *self.keys.checkpoint.as_bytes())
    }

    /// Whether it is of that checkpoint: its name, size and root.
    #[must_use]
    pub fn is_of(&self, checkpoint: &Checkpoint) -> bool {
        (&self.origin, self.size, self.root)
            == (&checkpoint.origin, checkpoint.size, checkpoint.root)
    }

    /// Whether the rotations stand in order below `size`, and each key hands over to the next until
    /// those in force.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let positions = self.rotations.iter().map(|rotation| rotation.position);
        let is_in_order = positions.clone().is_sorted_by(|one, next| one < next);
        let is_covered = positions.clone().all(|at| (1..self.size).contains(&at));
        let mut keys = self.keys;
        let leads_there = self.rotations.iter().rev().all(|rotation| {
            let is_next = keys.of(rotation.role) == rotation.new && rotation.new != rotation.old;
            keys = keys.with(rotation.role, rotation.old);
            is_next
        });
        is_in_order && is_covered && leads_there
    }

    /// What two statements of one log say that cannot both be true; `None` where nothing is. Both
    /// signed by the ledger, they are evidence against it: two of one size that differ, or a later
    /// one with other rotations below the size of the earlier one.
    #[must_use]
    pub fn contradicts(&self, other: &KeysStatement) -> Option<String> {
        if (self.log_id, &self.origin) != (other.log_id, &other.origin) {
            return None;
        }
        let (earlier, later) = if self.size <= other.size {
            (self, other)
        } else {
            (other, self)
        };
        let size = earlier.size;
        if size == later.size && earlier.root != later.root {
            return Some(format!(
                "two keys statements are of {size} records, one of them with the root {}, the \
                 other with {}",
                earlier.root, later.root
            ));
        }
        let below = later.rotations.iter();
        let below = below.filter(|rotation| rotation.position < size);
        if !below.eq(earlier.rotations.iter()) {
            return Some(format!(
                "two keys statements, of {size} and of {} records, differ in which keys the first \
                 {size} records replaced",
                later.size
            ));
        }
        (later.keys_after(size) != earlier.keys).then(|| {
            format!(
                "two keys statements, of {size} and of {} records, differ in which keys were in \
                 force after {size} records",
                later.size
            )
        })
    }
}

impl SignedKeys {
    /// Whether the checkpoint key that it names signed it, and it [is sound](KeysStatement::is_sound).
    #[must_use]
    pub fn is_its_own(&self) -> bool {
        let key = self.statement.keys.checkpoint;
        self.statement.is_sound() && key.verify(&self.statement.signed_bytes(), &self.signature)
    }

    /// The object, in RFC 8785 form.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        to_canonical(self)
    }

    /// Reads what [`SignedKeys::to_json`] writes, and nothing else. Nothing is verified.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn from_json(bytes: &[u8]) -> Result<SignedKeys, String> {
        let limits = Limits::bytes(MAX_STATEMENT_BYTES);
        let value = parse_strict(bytes, &limits).map_err(|error| error.to_string())?;
        let signed = SignedKeys::deserialize(value).map_err(|error| error.to_string())?;
        if signed.to_json() == bytes {
            Ok(signed)
        } else {
            Err("it is not in RFC 8785 form".to_owned())
        }
    }
}

/// The object, and without `signature` what is signed.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    keys: LedgerKeys,
    log_id: Uuid,
    origin: String,
    root: Hash,
    rotations: Vec<Rotation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
    size: u64,
}

impl Members {
    fn of(statement: &KeysStatement, signature: Option<Signature>) -> Members {
        let statement = statement.clone();
        Members {
            keys: statement.keys,
            log_id: statement.log_id,
            origin: statement.origin,
            root: statement.root,
            rotations: statement.rotations,
            signature,
            size: statement.size,
        }
    }
}

impl From<SignedKeys> for Members {
    fn from(signed: SignedKeys) -> Members {
        Members::of(&signed.statement, Some(signed.signature))
    }
}

impl TryFrom<Members> for SignedKeys {
    type Error = &'static str;

    fn try_from(members: Members) -> Result<SignedKeys, &'static str> {
        Ok(SignedKeys {
            statement: KeysStatement {
                keys: members.keys,
                log_id: members.log_id,
                origin: members.origin,
                root: members.root,
                rotations: members.rotations,
                size: members.size,
            },
            signature: members.signature.ok_or("it has no member `signature`")?,
        })
    }
}

#[cfg(test)]
mod tests;
