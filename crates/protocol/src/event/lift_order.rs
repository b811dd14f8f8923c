//! What an operator signed to lift an exclusion: the request itself (RFC 9421), kept in the record, so
//! that whoever reads the log need not believe the ledger that somebody ordered it.

use super::signed_request::{NotOrdered, SignedRequest};
use crate::did::Did;
use crate::key::KeyId;
use crate::signature::Signature;
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};

/// An operator's signed request. Whose exclusion, and which, stands in the event beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiftOrder {
    /// Host and port that it was sent to, in lower case, without the port of the scheme.
    pub authority: String,
    /// The value of `@signature-params`: what is covered, when it was created, the nonce, the key.
    pub parameters: String,
    /// By the key in `keyid`.
    pub signature: Signature,
}

impl LiftOrder {
    /// The key that signed the order for this agent and the exclusion recorded at `excluded`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn signer(&self, agent: Did, excluded: u64) -> Result<KeyId, NotOrdered> {
        let (path, query) = LiftOrder::target(agent, excluded);
        self.request().signer(&path, &query)
    }

    /// Whether the order is taken at `at`, by the ledger's clock, as any signed request is.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check_fresh(&self, at: TimestampMs) -> Result<(), NotOrdered> {
        self.request().check_fresh(at)
    }

    fn request(&self) -> SignedRequest<'_> {
        SignedRequest {
            authority: &self.authority,
            parameters: &self.parameters,
            signature: self.signature,
        }
    }

    /// Path and query of the request, as they are signed. An order is for one exclusion: sent again, it
    /// lifts no later one.
    #[must_use]
    pub fn target(agent: Did, excluded: u64) -> (String, String) {
        let uuid = agent.uuid();
        (
            format!("/api/v1/agents/{uuid}/conduct/lift"),
            format!("excluded={excluded}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SecretKey;
    use crate::signed_read::sign;
    use crate::signed_read::{ReadProof, Target};

    const OPERATOR: &str = "did:x811:019b76da-a800-7000-8000-0000000000d2";
    const AGENT: &str = "did:x811:019b76da-a800-7000-8000-0000000000d3";

    #[test]
    fn cx_49_an_order_lifts_one_exclusion_of_one_agent() {
        let key = SecretKey::from_seed([1; 32]);
        let (agent, operator): (Did, Did) = (AGENT.parse().unwrap(), OPERATOR.parse().unwrap());
        let (path, query) = LiftOrder::target(agent, 41);
        let target = Target {
            method: "POST",
            authority: "ledger.example:8811",
            path: &path,
            query: Some(&query),
        };
        let fields = sign(&target, operator, &key, 1_767_225_600, [7; 16]);
        let (input, signature) = (fields.signature_input, fields.signature);
        let proof = ReadProof::parse(input.as_bytes(), signature.as_bytes()).unwrap();
        let order = LiftOrder {
            authority: "ledger.example:8811".to_owned(),
            parameters: proof.parameters().to_owned(),
            signature: proof.signature(),
        };
        assert_eq!(order.signer(agent, 41).unwrap().did, operator);
        assert_eq!(order.signer(agent, 42), Err(NotOrdered::Signature));
        assert_eq!(order.signer(operator, 41), Err(NotOrdered::Signature));
        let at = |ms: u64| order.check_fresh(TimestampMs::new(1_767_225_600_000 + ms));
        assert_eq!(at(1_000), Ok(()));
        assert!(at(60_001).is_err());
    }
}
