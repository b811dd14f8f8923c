//! A COSE receipt: that a leaf is in the log, signed over the tree's root.

use ciborium::Value;
use coset::{Header, HeaderBuilder};

use super::{CoseError, ISSUER, Parts, Verify, encode, parameter, protected, sign1};
use crate::hash::Hash;
use crate::inclusion::InclusionProof;
use crate::note::SIGNATURE_BYTES;

/// Header parameter: which kind of tree.
const TREE_KIND: i64 = 395;

/// RFC 9162 with SHA-256.
const RFC_9162_SHA_256: i64 = 1;

/// Header parameter: the proofs.
const PROOFS: i64 = 396;

/// Inclusion proofs among them.
const INCLUSION: i64 = -1;

/// Most hashes a proof can need.
const MAX_PATH: usize = 63;

/// An inclusion proof and the root it leads to, signed by the log. The root is left out: whoever
/// has the leaf computes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoseReceipt {
    /// Which log (record.md section 2).
    pub origin: String,
    /// The log's checkpoint key, Ed25519.
    pub public_key: [u8; 32],
    /// From the leaf to the root. Its size is covered by no signature.
    pub proof: InclusionProof,
    /// By that key over [`CoseReceipt::signed_bytes`].
    pub signature: [u8; SIGNATURE_BYTES],
}

impl CoseReceipt {
    /// What the log signs to vouch for `root` in every receipt under it.
    #[must_use]
    pub fn signed_bytes(origin: &str, public_key: [u8; 32], root: Hash) -> Vec<u8> {
        let header = header(origin, public_key);
        let message = sign1(header, Header::default(), None, [0; SIGNATURE_BYTES]);
        message.tbs_detached_data(root.as_bytes(), &[])
    }

    /// The CBOR bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let proofs = Value::Array(vec![Value::Bytes(self.encoded_proof())]);
        let proofs = Value::Map(vec![(Value::from(INCLUSION), proofs)]);
        let unprotected = HeaderBuilder::new().value(PROOFS, proofs).build();
        let header = header(&self.origin, self.public_key);
        encode(sign1(header, unprotected, None, self.signature))
    }

    /// Reads what [`CoseReceipt::to_bytes`] writes, and nothing else.
    ///
    /// # Errors
    ///
    /// [`CoseError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CoseError> {
        let parts = Parts::read(bytes)?;
        let receipt = Self {
            origin: parts.claim(ISSUER)?.to_owned(),
            public_key: parts.public_key()?,
            proof: proof(&parts.unprotected).ok_or(CoseError::Form)?,
            signature: parts.signature,
        };
        if receipt.to_bytes() == bytes {
            Ok(receipt)
        } else {
            Err(CoseError::Form)
        }
    }

    /// Checks that `leaf`, a record hash, is under a root that the key which is named has signed;
    /// returns the root. `verify` gets a public key, the bytes that were signed and a signature.
    ///
    /// # Errors
    ///
    /// [`CoseError::Inclusion`] and [`CoseError::Signature`].
    pub fn verify(&self, leaf: Hash, verify: Verify<'_>) -> Result<Hash, CoseError> {
        let root = self.proof.root(leaf)?;
        let signed = Self::signed_bytes(&self.origin, self.public_key, root);
        if verify(&self.public_key, &signed, &self.signature) {
            Ok(root)
        } else {
            Err(CoseError::Signature)
        }
    }

    #[expect(
        clippy::expect_used,
        reason = "values of our own making, written to memory"
    )]
    fn encoded_proof(&self) -> Vec<u8> {
        let path = self.proof.path.iter();
        let path = path.map(|hash| Value::Bytes(hash.as_bytes().to_vec()));
        let proof = Value::Array(vec![
            Value::from(self.proof.size),
            Value::from(self.proof.position),
            Value::Array(path.collect()),
        ]);
        let mut bytes = Vec::new();
        let written = ciborium::into_writer(&proof, &mut bytes);
        written.expect("integers and bytes have a CBOR form");
        bytes
    }
}

fn header(origin: &str, public_key: [u8; 32]) -> Header {
    protected(public_key, origin, None)
        .value(TREE_KIND, Value::from(RFC_9162_SHA_256))
        .build()
}

/// The one inclusion proof.
fn proof(unprotected: &Header) -> Option<InclusionProof> {
    let [(_, proofs)] = parameter(unprotected, PROOFS)?.as_map()?.as_slice() else {
        return None;
    };
    let [proof] = proofs.as_array()?.as_slice() else {
        return None;
    };
    let proof: Value = ciborium::from_reader(proof.as_bytes()?.as_slice()).ok()?;
    let [size, position, path] = proof.as_array()?.as_slice() else {
        return None;
    };
    let path = path.as_array()?;
    if path.len() > MAX_PATH {
        return None;
    }
    let hash = |bytes: &Value| {
        let bytes = bytes.as_bytes()?.as_slice().try_into().ok()?;
        Some(Hash::from_bytes(bytes))
    };
    Some(InclusionProof {
        position: position.as_integer()?.try_into().ok()?,
        size: size.as_integer()?.try_into().ok()?,
        path: path.iter().map(hash).collect::<Option<_>>()?,
    })
}
