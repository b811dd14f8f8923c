//! Where a stream ends, signed: what shows that nothing was cut off behind its last record
//! (ledger-contract.md section 8).

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use x811_eventlog::{Hash, Record};
use x811_protocol::canonical::to_canonical;
use x811_protocol::key::{PublicKey, SecretKey};
use x811_protocol::signature::Signature;

use crate::standing::Standing;
use x811_protocol::stream::{Stream, Subject};

/// Most bytes of the line of an end, its letter not counted.
pub(super) const MAX_END_BYTES: usize = 1_024;

/// What the signature is over begins with this line.
const LINE: &[u8] = b"x811 stream end v2\n";

/// How far a stream goes in the tree over the first `tree_size` records of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEnd {
    /// The stream's name.
    pub stream: String,
    /// Its last record; absent where it has none.
    pub last: Option<LastRecord>,
    /// The standing of the payment. Only streams of interactions have one.
    pub standing: Option<Standing>,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Members", into = "Members")]
pub struct SignedEnd {
    /// What is said.
    pub end: StreamEnd,
    /// By the ledger's checkpoint key.
    pub signature: Signature,
}

impl StreamEnd {
    /// The same, signed by `key`, which should be the checkpoint key in force after `tree_size`
    /// records.
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
        [LINE, &to_canonical(&Members::of(self, None))].concat()
    }

    /// Whether it says of the payment what an end of its stream has to.
    fn has_due_standing(&self) -> bool {
        let is_interaction = matches!(self.stream.parse(), Ok(Stream::Of(Subject::Interaction(_))));
        self.standing.is_some() == is_interaction
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

    /// Reads the line of a file, without its letter and line end.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<SignedEnd, String> {
        let value = super::line::read_canonical(line, MAX_END_BYTES)?;
        let members = Members::deserialize(value).map_err(|error| error.to_string())?;
        Ok(SignedEnd::try_from(members)?)
    }

    /// What a record of the log says against this end; `None` where nothing does. The record is to
    /// be one of the log's, by an inclusion proof: then an end that the ledger signed is evidence
    /// against it, where it hides the record or names another as the last.
    #[must_use]
    pub fn contradicts(&self, record: &Record) -> Option<String> {
        let place = (record.stream(), record.stream_seq());
        self.contradicts_place(place, record.position(), record.hash())
    }

    /// The same of the record that has that place in a stream, position and record hash.
    pub(crate) fn contradicts_place(
        &self,
        (record_stream, seq): (&str, u64),
        position: u64,
        hash: Hash,
    ) -> Option<String> {
        let StreamEnd {
            stream,
            last,
            tree_size,
            ..
        } = &self.end;
        if record_stream != stream || position >= *tree_size {
            return None;
        }
        let said = match last {
            Some(last) if last.seq > seq => return None,
            Some(last) if last.seq == seq && last.hash == hash => return None,
            Some(last) if last.seq == seq => format!("with another record as number {seq}"),
            Some(last) => format!("with number {} as its last", last.seq),
            None => "without any record".to_owned(),
        };
        Some(format!(
            "the ledger signed an end of the stream `{stream}` over {tree_size} records {said}, but \
             record {position} is number {seq} of it"
        ))
    }

    /// What two ends of one stream say that cannot both be true; `None` where nothing is. Both signed
    /// by the ledger, they are evidence against it.
    #[must_use]
    pub fn contradicts_end(&self, other: &SignedEnd) -> Option<String> {
        let (one, two) = if self.end.tree_size <= other.end.tree_size {
            (&self.end, &other.end)
        } else {
            (&other.end, &self.end)
        };
        if one.stream != two.stream {
            return None;
        }
        let (first, second) = (one.last, two.last);
        let (first_seq, second_seq) = (first.map(|it| it.seq), second.map(|it| it.seq));
        let is_same = first == second;
        let has_both_standings = one.standing.is_some() && two.standing.is_some();
        let differs = first_seq > second_seq
            || (first_seq == second_seq && !is_same)
            || (one.tree_size == two.tree_size && !is_same)
            // Without another record nothing has become of the payment.
            || (is_same && has_both_standings && one.standing != two.standing);
        differs.then(|| {
            format!(
                "the ledger signed two ends of the stream `{}`, over {} and over {} records, that \
                 cannot both be true",
                one.stream, one.tree_size, two.tree_size
            )
        })
    }
}

/// The object in the line, and without `signature` in what is signed.
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    last_hash: Option<Hash>,
    last_seq: Option<u64>,
    signature: Option<Signature>,
    standing: Option<Standing>,
    stream: String,
    tree_size: u64,
}

impl Members {
    fn of(end: &StreamEnd, signature: Option<Signature>) -> Members {
        Members {
            last_hash: end.last.map(|last| last.hash),
            last_seq: end.last.map(|last| last.seq),
            signature,
            standing: end.standing,
            stream: end.stream.clone(),
            tree_size: end.tree_size,
        }
    }
}

impl From<SignedEnd> for Members {
    fn from(signed: SignedEnd) -> Members {
        Members::of(&signed.end, Some(signed.signature))
    }
}

impl TryFrom<Members> for SignedEnd {
    type Error = &'static str;

    fn try_from(members: Members) -> Result<SignedEnd, &'static str> {
        let last = match (members.last_seq, members.last_hash) {
            (Some(seq), Some(hash)) => Some(LastRecord { seq, hash }),
            (None, None) => None,
            (_, _) => return Err("it has one of `last_seq` and `last_hash` alone"),
        };
        let end = StreamEnd {
            stream: members.stream,
            last,
            standing: members.standing,
            tree_size: members.tree_size,
        };
        if !end.has_due_standing() {
            return Err("it has a `standing` that ends of this kind have not, or lacks one");
        }
        Ok(SignedEnd {
            end,
            signature: members.signature.ok_or("it has no member `signature`")?,
        })
    }
}

#[cfg(test)]
mod tests;
