//! A request that an operator signed (RFC 9421), as a record keeps it: what orders have in common.

use crate::key::KeyId;
use crate::signature::Signature;
use crate::signed_read::{NotFresh, ProofError, ReadProof, Target};
use crate::time::TimestampMs;

/// How all of them are sent.
const METHOD: &str = "POST";

/// Why nobody ordered it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotOrdered {
    /// No signature of a request.
    #[error("the order is no signed request: {0}")]
    Form(#[from] ProofError),
    /// Signed is something else.
    #[error(
        "the key that the order names did not sign for this interaction, contract, session, agreement or \
         exclusion and what is asked of it"
    )]
    Signature,
    /// Signed for another time.
    #[error("the order was not taken then: {0}")]
    Time(#[from] NotFresh),
}

/// What a record has of the request beside its path and query.
pub(super) struct SignedRequest<'a> {
    pub(super) authority: &'a str,
    pub(super) parameters: &'a str,
    pub(super) signature: Signature,
}

impl SignedRequest<'_> {
    /// The key that signed the request for this path and query.
    pub(super) fn signer(&self, path: &str, query: &str) -> Result<KeyId, NotOrdered> {
        let proof = ReadProof::from_parameters(self.parameters, self.signature)?;
        let target = Target {
            method: METHOD,
            authority: self.authority,
            path,
            query: Some(query),
        };
        match proof.verify(&target) {
            true => Ok(proof.key_id),
            false => Err(NotOrdered::Signature),
        }
    }

    /// Whether it is taken at `at`, by the ledger's clock, as any signed request is.
    pub(super) fn check_fresh(&self, at: TimestampMs) -> Result<(), NotOrdered> {
        let proof = ReadProof::from_parameters(self.parameters, self.signature)?;
        Ok(proof.check_fresh(at)?)
    }
}
