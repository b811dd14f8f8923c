//! Who has bodies erased and exclusions lifted: an operator, and what it signed for that.

use super::{ReadRefusal, Reader, covered_authority, malformed, only};
use crate::app::App;
use crate::error::ApiError;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::did::Did;
use x811_protocol::event::{ErasureOrder, LiftOrder};
use x811_protocol::signed_read::{ReadProof, SIGNATURE, SIGNATURE_INPUT};
use x811_protocol::stream::Subject;

/// An operator whose signature holds.
pub(crate) struct Operator {
    pub(crate) did: Did,
    proof: ReadProof,
    authority: String,
}

impl Operator {
    /// What it signed, for the record.
    ///
    /// # Errors
    /// 400 where path or query are spelled in another way than the record can say.
    pub(crate) fn order(
        self,
        subject: Subject,
        reason_code: &str,
    ) -> Result<ErasureOrder, ApiError> {
        let order = ErasureOrder {
            subject,
            authority: self.authority,
            parameters: self.proof.parameters().to_owned(),
            signature: self.proof.signature(),
        };
        let (path, query) = ErasureOrder::target(subject, reason_code);
        match order.signer(reason_code) {
            Ok(_) => Ok(order),
            Err(_) => Err(ApiError::malformed(format!(
                "an order is recorded as it is signed, so it has one spelling: sign {path}?{query}"
            ))),
        }
    }
}

impl Operator {
    /// What it signed to lift an exclusion, for the record.
    ///
    /// # Errors
    /// 400 where path or query are spelled in another way than the record can say.
    pub(crate) fn lift(self, agent: Did, excluded: u64) -> Result<LiftOrder, ApiError> {
        let order = LiftOrder {
            authority: self.authority,
            parameters: self.proof.parameters().to_owned(),
            signature: self.proof.signature(),
        };
        let (path, query) = LiftOrder::target(agent, excluded);
        match order.signer(agent, excluded) {
            Ok(_) => Ok(order),
            Err(_) => Err(ApiError::malformed(format!(
                "an order is recorded as it is signed, so it has one spelling: sign {path}?{query}"
            ))),
        }
    }
}

impl<C: Clock> FromRequestParts<Arc<App<C>>> for Operator {
    type Rejection = ReadRefusal;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App<C>>,
    ) -> Result<Operator, ReadRefusal> {
        let reader = Reader::from_request_parts(parts, app).await?;
        let did = reader.operator(app);
        let did = did.ok_or_else(ApiError::not_an_operator)?;
        let proof = ReadProof::parse(
            only(&parts.headers, SIGNATURE_INPUT)?,
            only(&parts.headers, SIGNATURE)?,
        )
        .map_err(malformed)?;
        let authority = covered_authority(parts, app, &proof)?.to_owned();
        Ok(Operator {
            did,
            proof,
            authority,
        })
    }
}
