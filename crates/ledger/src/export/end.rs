//! Where a stream ends, signed: what shows that nothing was cut off behind its last record
//! (ledger-contract.md section 7).

use serde::{Deserialize, Serialize};
use x811_eventlog::Hash;
use x811_protocol::canonical::to_canonical;
use x811_protocol::key::{PublicKey, SecretKey};
use x811_protocol::signature::Signature;

/// Most bytes of the line of an end, its letter not counted.
pub(super) const MAX_END_BYTES: usize = 1_024;

const SIGNED_AS: &[u8] = b"x811 stream end v1\n";

/// How far a stream goes in the tree over the first `tree_size` records of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEnd {
    /// The stream's name.
    pub stream: String,
    /// Its last record; absent where it has none.
    pub last: Option<LastRecord>,
    /// Records of the log that this is said of.
    pub tree_size: u64,
}

/// The last record of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastRecord {
    /// Its place in the stream.
    pub seq: u64,
    /// Its record hash.
    pub hash: Hash,
}

/// A [`StreamEnd`] and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedEnd {
    /// What is said.
    pub end: StreamEnd,
    /// By the ledger's receipt key.
    pub signature: Signature,
}

impl StreamEnd {
    /// The same, signed by `key`, which should be the ledger's receipt key.
    #[must_use]
    pub fn sign(self, key: &SecretKey) -> SignedEnd {
        let signature = key.sign(&self.signed_bytes());
        SignedEnd {
            end: self,
            signature,
        }
    }

    /// What the signature is over.
    fn signed_bytes(&self) -> Vec<u8> {
        [SIGNED_AS, &to_canonical(&Members::of(self, None))].concat()
    }
}

impl SignedEnd {
    /// Whether `key` signed it.
    #[must_use]
    pub fn is_by(&self, key: &PublicKey) -> bool {
        key.verify(&self.end.signed_bytes(), &self.signature)
    }

    /// The line, without its letter and line end.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        to_canonical(&Members::of(&self.end, Some(self.signature)))
    }

    /// Reads the line, without its letter and line end.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<SignedEnd, String> {
        let value = super::read_canonical(line, MAX_END_BYTES)?;
        let members = Members::deserialize(value).map_err(|error| error.to_string())?;
        let last = match (members.last_seq, members.last_hash) {
            (Some(seq), Some(hash)) => Some(LastRecord { seq, hash }),
            (None, None) => None,
            (_, _) => return Err("it has one of `last_seq` and `last_hash` alone".to_owned()),
        };
        Ok(SignedEnd {
            end: StreamEnd {
                stream: members.stream,
                last,
                tree_size: members.tree_size,
            },
            signature: members.signature.ok_or("it has no member `signature`")?,
        })
    }
}

/// The object in the line, and without `signature` in what is signed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_hash: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
    stream: String,
    tree_size: u64,
}

impl Members {
    fn of(end: &StreamEnd, signature: Option<Signature>) -> Members {
        Members {
            last_hash: end.last.map(|last| last.hash),
            last_seq: end.last.map(|last| last.seq),
            signature,
            stream: end.stream.clone(),
            tree_size: end.tree_size,
        }
    }
}
