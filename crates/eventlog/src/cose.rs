//! Receipts in CBOR: an inclusion proof that the log signed, and a leaf with such a proof (RFC 9942
//! COSE receipts over RFC 9162 SHA-256 trees, RFC 9052 COSE_Sign1).
//!
//! Only what is written here is read: deterministic encoding (RFC 8949 section 4.2.1), these header
//! parameters and no others. So bytes have one meaning, and a meaning has one spelling, but for the
//! size of the tree, which no signature covers.

mod receipt;
mod statement;

use ciborium::Value;
use coset::iana::Algorithm;
use coset::{
    CoseSign1, Header, HeaderBuilder, Label, ProtectedHeader, TaggedCborSerializable as _,
};
use thiserror::Error;

use crate::inclusion::InclusionError;
use crate::note::SIGNATURE_BYTES;
use crate::record::MAX_LEAF_BYTES;

pub use receipt::CoseReceipt;
pub use statement::CoseStatement;

/// Header parameter with claims of RFC 8392 (RFC 9597).
const CWT_CLAIMS: i64 = 15;

/// Who signed: claim of RFC 8392.
const ISSUER: i64 = 1;

/// What it is about: claim of RFC 8392.
const SUBJECT: i64 = 2;

/// Most bytes of a statement: the largest leaf, some sixty rotations of the log's keys, and room for
/// the longest proof and the headers.
const MAX_BYTES: usize = MAX_LEAF_BYTES + 16_384 + 8_192;

/// A signature over all that `message` protects, and over `payload`, by the rule of the caller.
type Verify<'a> = &'a dyn Fn(&[u8; 32], &[u8], &[u8; SIGNATURE_BYTES]) -> bool;

/// What all messages here protect: EdDSA, the key that signed, who that is, and what it is about.
fn protected(public_key: [u8; 32], issuer: &str, subject: Option<&str>) -> HeaderBuilder {
    let claim = |name: i64, text: &str| (Value::from(name), Value::from(text));
    let mut claims = vec![claim(ISSUER, issuer)];
    claims.extend(subject.map(|subject| claim(SUBJECT, subject)));
    HeaderBuilder::new()
        .algorithm(Algorithm::EdDSA)
        .key_id(public_key.to_vec())
        .value(CWT_CLAIMS, Value::Map(claims))
}

fn sign1(
    protected: Header,
    unprotected: Header,
    payload: Option<Vec<u8>>,
    signature: [u8; SIGNATURE_BYTES],
) -> CoseSign1 {
    CoseSign1 {
        protected: ProtectedHeader {
            original_data: None,
            header: protected,
        },
        unprotected,
        payload,
        signature: signature.to_vec(),
    }
}

#[expect(
    clippy::expect_used,
    reason = "values of our own making, written to memory"
)]
fn encode(message: CoseSign1) -> Vec<u8> {
    let encoded = message.to_tagged_vec();
    encoded.expect("strings, integers, arrays and maps have a CBOR form")
}

/// A message as it was read, its parts by name.
struct Parts {
    protected: Header,
    unprotected: Header,
    payload: Option<Vec<u8>>,
    signature: [u8; SIGNATURE_BYTES],
}

impl Parts {
    fn read(bytes: &[u8]) -> Result<Parts, CoseError> {
        if bytes.len() > MAX_BYTES {
            return Err(CoseError::TooLarge { bytes: bytes.len() });
        }
        let message = CoseSign1::from_tagged_slice(bytes).map_err(|_| CoseError::NotSign1)?;
        let signature = message.signature.try_into();
        Ok(Parts {
            protected: message.protected.header,
            unprotected: message.unprotected,
            payload: message.payload,
            signature: signature.map_err(|_| CoseError::Form)?,
        })
    }

    fn public_key(&self) -> Result<[u8; 32], CoseError> {
        let key = self.protected.key_id.as_slice().try_into();
        key.map_err(|_| CoseError::Form)
    }

    /// The text of a protected claim.
    fn claim(&self, name: i64) -> Result<&str, CoseError> {
        let claims = parameter(&self.protected, CWT_CLAIMS).and_then(Value::as_map);
        let mut claims = claims.ok_or(CoseError::Form)?.iter();
        let found = claims.find(|(key, _)| *key == Value::from(name));
        let text = found.and_then(|(_, text)| text.as_text());
        text.ok_or(CoseError::Form)
    }
}

fn parameter(header: &Header, label: i64) -> Option<&Value> {
    let mut rest = header.rest.iter();
    let found = rest.find(|(key, _)| *key == Label::Int(label));
    found.map(|(_, value)| value)
}

/// Why bytes are no receipt or statement of ours, or do not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CoseError {
    /// More than any of ours has.
    #[error("the message has {bytes} bytes, at most {MAX_BYTES} are allowed")]
    TooLarge {
        /// How many bytes there are.
        bytes: usize,
    },
    /// Another kind of bytes.
    #[error("the bytes are no COSE_Sign1 message with its tag, 18")]
    NotSign1,
    /// Header parameters or an encoding that we do not write.
    #[error(
        "the message is not in the form that x811 writes: its headers are others, or its CBOR is \
         not deterministic"
    )]
    Form,
    /// The proof leads nowhere.
    #[error(transparent)]
    Inclusion(#[from] InclusionError),
    /// Not by the key that it names.
    #[error("the signature is not by the key that the message names")]
    Signature,
}
