//! A leaf with its COSE receipt: a transparent statement.

use ciborium::Value;
use coset::iana::CoapContentFormat;
use coset::{Header, HeaderBuilder};

use super::{
    CoseError, CoseReceipt, ISSUER, Parts, SUBJECT, Verify, encode, parameter, protected, sign1,
};
use crate::note::SIGNATURE_BYTES;

/// Header parameter: receipts of the statement.
const RECEIPTS: i64 = 394;

/// Header parameter: which keys the log had, signed by the log (private use, RFC 9052 section 11.1).
const KEYS: i64 = -81_101;

/// A leaf that its issuer signed, and the proof that the log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoseStatement {
    /// Who says it.
    pub issuer: String,
    /// What it is about.
    pub subject: String,
    /// The issuer's key, Ed25519.
    pub public_key: [u8; 32],
    /// The leaf, byte for byte.
    pub leaf: Vec<u8>,
    /// That the log has it; covered by no signature of the issuer.
    pub receipt: CoseReceipt,
    /// The log's signed statement of its keys, a text that this crate does not read; covered by no
    /// signature of the issuer. Compact receipts have one; other statements may have none.
    pub keys: Option<Vec<u8>>,
    /// By the issuer's key over [`CoseStatement::signed_bytes`].
    pub signature: [u8; SIGNATURE_BYTES],
}

impl CoseStatement {
    /// What the issuer signs: all but the receipt and the keys.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        let leaf = Some(self.leaf.clone());
        let message = sign1(self.header(), Header::default(), leaf, self.signature);
        message.tbs_data(&[])
    }

    /// The CBOR bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let receipts = Value::Array(vec![Value::Bytes(self.receipt.to_bytes())]);
        let mut unprotected = HeaderBuilder::new().value(RECEIPTS, receipts);
        if let Some(keys) = &self.keys {
            unprotected = unprotected.value(KEYS, Value::Bytes(keys.clone()));
        }
        let unprotected = unprotected.build();
        let leaf = Some(self.leaf.clone());
        encode(sign1(self.header(), unprotected, leaf, self.signature))
    }

    /// Reads what [`CoseStatement::to_bytes`] writes, and nothing else.
    ///
    /// # Errors
    ///
    /// [`CoseError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CoseError> {
        let parts = Parts::read(bytes)?;
        let receipt = receipt(&parts.unprotected).ok_or(CoseError::Form)?;
        let statement = Self {
            issuer: parts.claim(ISSUER)?.to_owned(),
            subject: parts.claim(SUBJECT)?.to_owned(),
            public_key: parts.public_key()?,
            receipt: CoseReceipt::from_bytes(receipt)?,
            keys: parameter(&parts.unprotected, KEYS)
                .and_then(Value::as_bytes)
                .cloned(),
            leaf: parts.payload.ok_or(CoseError::Form)?,
            signature: parts.signature,
        };
        if statement.to_bytes() == bytes {
            Ok(statement)
        } else {
            Err(CoseError::Form)
        }
    }

    /// Checks that the key which is named signed the statement; the receipt in it is checked by
    /// itself. `verify` gets a public key, the bytes that were signed and a signature.
    ///
    /// # Errors
    ///
    /// [`CoseError::Signature`].
    pub fn verify(&self, verify: Verify<'_>) -> Result<(), CoseError> {
        if verify(&self.public_key, &self.signed_bytes(), &self.signature) {
            Ok(())
        } else {
            Err(CoseError::Signature)
        }
    }

    fn header(&self) -> Header {
        protected(self.public_key, &self.issuer, Some(&self.subject))
            .content_format(CoapContentFormat::Json)
            .build()
    }
}

/// The one receipt.
fn receipt(unprotected: &Header) -> Option<&[u8]> {
    let [receipt] = parameter(unprotected, RECEIPTS)?.as_array()?.as_slice() else {
        return None;
    };
    Some(receipt.as_bytes()?.as_slice())
}
