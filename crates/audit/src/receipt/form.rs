//! The form of a receipt.

use super::leaf::{Enclosed, Leaf, Opened};
use crate::export::SignedEnd;
use crate::version;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use x811_eventlog::{Checkpoint, Hash, Multiproof, ProvenLeaf, Record, RecordError};
use x811_protocol::canonical::to_canonical;
use x811_protocol::id::InteractionId;
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::key::SecretKey;
use x811_protocol::signature::Signature;
use x811_protocol::stream::Stream;
use x811_world::keys_statement::SignedKeys;

/// The form of receipts, under `x811_receipt`.
pub const RECEIPT_VERSION: u64 = 3;

const MARK: &str = "x811_receipt";

const LINE_END: &[u8] = b"\n";

/// Most bytes of a receipt: eleven messages and records of the largest kind.
pub const MAX_RECEIPT_BYTES: usize = 16 << 20;

/// A message may be nested as deep as an envelope may be, below the file's object, its array
/// `envelopes` and the object around the body.
const LIMITS: Limits = Limits {
    max_bytes: MAX_RECEIPT_BYTES,
    max_depth: Limits::DEFAULT_DEPTH + 3,
};

/// A receipt as it is written. Nothing is verified by reading it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Where ACCEPT, VERIFY and PAYMENTs are signed by more than one key: the records
    /// `agent_registered` and `key_rotated` of the initiator that gave it each of them before it was
    /// used, in order of position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_keys: Vec<Leaf>,
    /// Path at the ledger that says how the payment stands now.
    pub ask: String,
    /// The checkpoint as it was signed, with all its signature lines.
    pub checkpoint: String,
    /// The record `confirmed`.
    pub confirmed: Leaf,
    /// Where the interaction's stream ends under the checkpoint, and what became of the payment.
    pub end: SignedEnd,
    /// OFFER, ACCEPT, VERIFY and every PAYMENT; the REQUEST before them where it names the contract
    /// that opened the interaction.
    pub envelopes: Vec<Enclosed>,
    /// Multiproof of these records under the checkpoint.
    #[serde(with = "crate::in_base64")]
    pub hashes: Vec<Hash>,
    /// Which interaction was paid.
    pub interaction: InteractionId,
    /// The keys statement of the checkpoint's records.
    pub keys: SignedKeys,
    /// The record at position 0: the ledger and its keys.
    pub ledger: Opened,
    /// The parameters that the interaction was opened under: the networks and their tokens.
    pub parameters: Leaf,
    /// Every `ledger_key_rotated` under the checkpoint: the keys in force are those after them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rotations: Vec<Leaf>,
    /// By the ledger's receipt key.
    pub signature: Signature,
    /// The number of the form, [`RECEIPT_VERSION`].
    #[serde(rename = "x811_receipt")]
    pub version: u64,
}

impl Receipt {
    /// The same, signed by `key`, which should be the receipt key of the ledger at position 0.
    #[must_use]
    pub fn sign(self, key: &SecretKey) -> Receipt {
        self.issue(key).0
    }

    /// Signs as [`Receipt::sign`] does, and gives the file of [`Receipt::to_bytes`] with it: what is
    /// signed is the file but for a member, so that it is written once.
    #[must_use]
    pub fn issue(mut self, key: &SecretKey) -> (Receipt, Vec<u8>) {
        let mut file = self.to_bytes();
        let place = self.signature_in(&file);
        self.signature = key.sign(&self.signed_of(&file, place.clone()));
        let member = self.signature_member();
        file.splice(place, member.into_bytes());
        (self, file)
    }

    /// What the signature is over: the file without its member `signature` and without its line end.
    pub(super) fn signed_bytes(&self) -> Vec<u8> {
        let file = self.to_bytes();
        let place = self.signature_in(&file);
        self.signed_of(&file, place)
    }

    /// The same of the file, whose member `signature` stands at `place`.
    fn signed_of(&self, file: &[u8], place: Range<usize>) -> Vec<u8> {
        let line = b"x811 receipt v3\n";
        let json = file.len() - LINE_END.len();
        [&line[..], &file[..place.start], &file[place.end..json]].concat()
    }

    /// Where in its file the member `signature` stands: it is the last but one, and behind it the
    /// version alone, which is a number.
    fn signature_in(&self, file: &[u8]) -> Range<usize> {
        let behind = format!("\"{MARK}\":{}}}", self.version).len() + LINE_END.len();
        let end = file.len().saturating_sub(behind);
        end.saturating_sub(self.signature_member().len())..end
    }

    fn signature_member(&self) -> String {
        format!("\"signature\":\"{}\",", self.signature)
    }

    /// The bytes of the file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = to_canonical(self);
        bytes.extend_from_slice(LINE_END);
        bytes
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`NotAReceipt`] when it is not exactly what [`Receipt::to_bytes`] writes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Receipt, NotAReceipt> {
        let json = bytes.strip_suffix(LINE_END).ok_or(NotAReceipt::NoLineEnd)?;
        let value =
            parse_strict(json, &LIMITS).map_err(|error| NotAReceipt::Json(error.to_string()))?;
        let version = value.get(MARK).ok_or(NotAReceipt::NoVersion)?;
        if *version != RECEIPT_VERSION {
            return Err(NotAReceipt::Version(version::named(version)));
        }
        let receipt: Receipt = serde_json::from_value(value)
            .map_err(|error| NotAReceipt::Member(error.to_string()))?;
        // What has other members was not written by us.
        if receipt.to_bytes() == bytes {
            Ok(receipt)
        } else {
            Err(NotAReceipt::Form)
        }
    }

    /// Its records without those of messages, in order of position, all under its checkpoint; the error
    /// is a sentence.
    pub(crate) fn records(&self) -> Result<Vec<Record>, String> {
        let ledger = Stream::Ledger.to_string();
        let of_ledger = self.rotations.iter().chain([&self.parameters]);
        let of_ledger = of_ledger.map(|leaf| leaf.record(ledger.clone()));
        let confirmed = self.confirmed.record(self.stream());
        let records: Result<Vec<Record>, _> = [self.ledger.record(), confirmed]
            .into_iter()
            .chain(of_ledger)
            .collect();
        let mut records = records.map_err(|error| error.to_string())?;
        records.sort_unstable_by_key(Record::position);
        let claimed = Checkpoint::claimed(&self.checkpoint).map_err(|error| error.to_string())?;
        let leaves: Vec<ProvenLeaf> = records
            .iter()
            .map(|record| (record.position(), record.hash()))
            .collect();
        let proof = self.multiproof(claimed.size);
        proof
            .verify(&leaves, claimed.root)
            .map_err(|error| error.to_string())?;
        Ok(records)
    }

    /// Name of the stream that its records but two are in.
    pub(super) fn stream(&self) -> String {
        Stream::interaction(self.interaction).to_string()
    }

    /// Name of the stream that the sender of the last PAYMENT, as it says, has its keys in.
    pub(super) fn initiator_stream(&self) -> Option<String> {
        let payment = self.envelopes.last()?;
        let did = payment.body.get("from")?.as_str()?.parse().ok()?;
        Some(Stream::Agent(did).to_string())
    }

    pub(super) fn multiproof(&self, size: u64) -> Multiproof {
        let hashes = self.hashes.clone();
        Multiproof { size, hashes }
    }

    /// The records that the multiproof is of, in order of position.
    pub(super) fn leaves(&self, confirmed: &Record) -> Result<Vec<ProvenLeaf>, String> {
        let sealed = |record: Result<Record, RecordError>| {
            let record = record.map_err(|error| error.to_string())?;
            Ok::<_, String>((record.position(), record.hash()))
        };
        let mut leaves = vec![
            sealed(self.ledger.record())?,
            (confirmed.position(), confirmed.hash()),
        ];
        for leaf in self.rotations.iter().chain([&self.parameters]) {
            leaves.push(sealed(leaf.record(Stream::Ledger.to_string()))?);
        }
        for leaf in &self.agent_keys {
            let stream = self.initiator_stream();
            leaves.push(sealed(
                leaf.record(stream.ok_or("no ACCEPT names who sent it")?),
            )?);
        }
        leaves.sort_unstable();
        Ok(leaves)
    }
}

/// Path at the ledger that says how a payment stands now.
pub fn ask(interaction: InteractionId) -> String {
    format!("/api/v1/interactions/{interaction}/settlement")
}

/// Why a file is no receipt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAReceipt {
    /// No line end at the end.
    #[error("the file does not end with a line end: it was cut off")]
    NoLineEnd,
    /// The file is no JSON.
    #[error("the file is no JSON: {0}")]
    Json(String),
    /// The file says nothing of its form.
    #[error("the file is no receipt: it has no member `{MARK}`")]
    NoVersion,
    /// A form that this program does not know.
    #[error(
        "unknown version: `{MARK}` is {0}, this program knows {RECEIPT_VERSION}; use the version of x811 that \
         wrote the receipt, or ask the ledger for it again"
    )]
    Version(String),
    /// A member is missing or malformed.
    #[error("the receipt cannot be read: {0}")]
    Member(String),
    /// Members that do not belong there, or another spelling.
    #[error("the receipt is not in RFC 8785 form, or has members that no receipt has")]
    Form,
}
