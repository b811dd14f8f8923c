//! Receipts: proof of a payment in one file, for people who were not there.
//!
//! # Format, version 1
//!
//! One JSON object in RFC 8785 form and a line end:
//!
//! | member | holds |
//! |---|---|
//! | `x811_receipt` | 1 |
//! | `interaction` | its id |
//! | `envelopes` | OFFER, ACCEPT, VERIFY and every PAYMENT, in this order, each `{leaf, body}`: the record as stored and the message that was signed |
//! | `identity` | `{leaf, path}`: the record at position 0, which names the ledger's keys, and its inclusion proof |
//! | `proof` | the proof file (C2SP tlog-proof) of the record `confirmed`, whose leaf is its `extra` |
//! | `ask` | where the ledger says whether the payment was reversed since |
//! | `signature` | Ed25519 by `keys.receipt` over the line `x811 receipt v1`, LF, and the object without this member |
//!
//! Leaves and bodies are JSON values in the object, because both are in RFC 8785 form: their own
//! form gives back the bytes that are hashed. The record `confirmed` lists the record hashes of the
//! envelopes and the evidence; everything hangs on it, and it hangs on the checkpoint.

mod build;
mod verify;

pub use build::{ReceiptError, build};
pub use verify::{Checked, Paid, Step, Verdict, verify};

use serde_json::{Map, Value, json};
use x811_eventlog::{Hash, TlogProof, TlogProofError};
use x811_protocol::canonical::to_canonical;
use x811_protocol::id::InteractionId;
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::key::SecretKey;
use x811_protocol::signature::Signature;

/// The version of the format, under `x811_receipt`.
pub const RECEIPT_VERSION: u64 = 1;

const MARK: &str = "x811_receipt";
const SIGNED_AS: &[u8] = b"x811 receipt v1\n";

/// Most bytes of a receipt: eleven leaves and as many bodies of the largest kind.
const MAX_BYTES: usize = 16 << 20;

/// A receipt as it is written. Nothing is verified by reading it.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// Which interaction was paid.
    pub interaction: InteractionId,
    /// OFFER, ACCEPT, VERIFY and every PAYMENT.
    pub envelopes: Vec<Enclosed>,
    /// Leaf of position 0.
    pub identity: Vec<u8>,
    /// Its inclusion proof under the same checkpoint.
    pub identity_path: Vec<Hash>,
    /// The record `confirmed` under its checkpoint.
    pub proof: TlogProof,
    /// Path at the ledger that says how the payment stands now.
    pub ask: String,
    /// By the ledger's receipt key.
    pub signature: Signature,
}

/// A record and the message it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosed {
    /// Leaf bytes.
    pub leaf: Vec<u8>,
    /// Body bytes.
    pub body: Vec<u8>,
}

impl Receipt {
    /// The same, signed by `key`, which should be the receipt key of the ledger at position 0.
    #[must_use]
    pub fn sign(mut self, key: &SecretKey) -> Receipt {
        self.signature = key.sign(&self.signed_bytes());
        self
    }

    /// What the signature is over.
    fn signed_bytes(&self) -> Vec<u8> {
        [SIGNED_AS, &to_canonical(&Value::Object(self.members()))].concat()
    }

    fn members(&self) -> Map<String, Value> {
        let envelopes = self.envelopes.iter();
        let envelopes: Vec<Value> = envelopes
            .map(|enclosed| json!({ "leaf": value(&enclosed.leaf), "body": value(&enclosed.body) }))
            .collect();
        let identity = json!({ "leaf": value(&self.identity), "path": self.identity_path });
        let members = [
            (MARK, json!(RECEIPT_VERSION)),
            ("interaction", json!(self.interaction)),
            ("envelopes", Value::Array(envelopes)),
            ("identity", identity),
            ("proof", json!(self.proof.to_text())),
            ("ask", json!(self.ask)),
        ];
        let members = members.map(|(name, value)| (name.to_owned(), value));
        members.into_iter().collect()
    }

    /// The file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut members = self.members();
        members.insert("signature".to_owned(), json!(self.signature));
        let mut bytes = to_canonical(&Value::Object(members));
        bytes.push(b'\n');
        bytes
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`NotAReceipt`] when it is not exactly what [`Receipt::to_bytes`] writes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Receipt, NotAReceipt> {
        let json = bytes.strip_suffix(b"\n").ok_or(NotAReceipt::NoLineEnd)?;
        let value = parse_strict(json, &Limits::bytes(MAX_BYTES))
            .map_err(|error| NotAReceipt::Json(error.to_string()))?;
        if value[MARK] != RECEIPT_VERSION {
            return Err(NotAReceipt::Version);
        }
        let enclosed = |entry: &Value| {
            Some(Enclosed {
                leaf: to_canonical(entry.get("leaf")?),
                body: to_canonical(entry.get("body")?),
            })
        };
        let envelopes = value["envelopes"].as_array().ok_or(member("envelopes"))?;
        let envelopes: Option<Vec<Enclosed>> = envelopes.iter().map(enclosed).collect();
        let read = |name| value[name].as_str().ok_or(member(name));
        let receipt = Receipt {
            interaction: read("interaction")?
                .parse()
                .map_err(|_| member("interaction"))?,
            envelopes: envelopes.ok_or(member("envelopes"))?,
            identity: to_canonical(&value["identity"]["leaf"]),
            identity_path: serde_json::from_value(value["identity"]["path"].clone())
                .map_err(|_| member("identity"))?,
            proof: TlogProof::from_text(read("proof")?)?,
            ask: read("ask")?.to_owned(),
            signature: read("signature")?
                .parse()
                .map_err(|_| member("signature"))?,
        };
        // What has other members, or another form, was not written by us.
        if receipt.to_bytes() == bytes {
            Ok(receipt)
        } else {
            Err(NotAReceipt::Form)
        }
    }
}

/// Bytes that are JSON, as a value; others, which nothing of ours is, as none.
fn value(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}

fn member(name: &'static str) -> NotAReceipt {
    NotAReceipt::Member { name }
}

/// Why a file is no receipt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAReceipt {
    /// No line end at the end.
    #[error("the file does not end with a line end: it was cut off")]
    NoLineEnd,
    /// No JSON.
    #[error("the file is no JSON: {0}")]
    Json(String),
    /// Of another version, or something else.
    #[error(
        "the file is no receipt of version {RECEIPT_VERSION}: `{MARK}` is another, or not there"
    )]
    Version,
    /// A member is missing or malformed.
    #[error("the receipt's member `{name}` is missing or malformed")]
    Member {
        /// Which one.
        name: &'static str,
    },
    /// The proof inside is none.
    #[error("the receipt's member `proof` is no proof file: {0}")]
    Proof(#[from] TlogProofError),
    /// Members that do not belong there, or another spelling.
    #[error("the receipt is not in RFC 8785 form, or has members that no receipt has")]
    Form,
}
