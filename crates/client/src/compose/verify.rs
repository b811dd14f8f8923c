//! `x811/verify` (AE-61 to AE-63).

use serde_json::{Map, Value};
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::facts::DisputeCode;
use x811_protocol::id::{EnvelopeId, InteractionId};

use super::{ComposeError, Members, Payload};

/// Judges what was delivered. Compare the content with its hash before you say that it is good
/// (AX-19): the ledger does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verify {
    /// Id of the interaction: the envelope id of its REQUEST.
    pub interaction: InteractionId,
    /// Envelope id of the OFFER.
    pub offer_id: EnvelopeId,
    /// The RESULT's own hash, whatever the judgement (AE-62).
    pub result_hash: Digest,
    /// Whether it is as agreed.
    pub judgement: Judgement,
}

/// Good or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// As agreed; now it has to be paid.
    Verified,
    /// Not as agreed; the interaction ends in dispute.
    Disputed {
        /// Why, for a person.
        reason: String,
        /// Why, for a program.
        code: DisputeCode,
    },
}

impl Payload for Verify {
    fn message_type(&self) -> MessageType {
        CoreType::Verify.into()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = Members::default()
            .set_text("request_id", self.interaction)
            .set_text("offer_id", self.offer_id)
            .set_text("result_hash", self.result_hash);
        let members = match &self.judgement {
            Judgement::Verified => members.set("verified", true),
            Judgement::Disputed { reason, code } => members
                .set("verified", false)
                .set_text("dispute_reason", reason)
                .set_text("dispute_code", code),
        };
        Ok(members.0)
    }
}
