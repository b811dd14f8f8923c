//! `x811/accept` and `x811/reject`: the initiator's answer to an OFFER (AE-57, AE-58).

use serde_json::{Map, Value};
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{CoreType, MessageType, VerifiedEnvelope};
use x811_protocol::facts::RejectCode;
use x811_protocol::id::EnvelopeId;

use super::{ComposeError, Members, Payload, offer_hash};

/// Takes an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// Envelope id of the OFFER that is taken.
    pub offer_id: EnvelopeId,
    /// What the initiator saw of it.
    pub offer_hash: Digest,
}

impl Accept {
    /// Takes exactly this offer, whose signature was checked.
    pub fn of(offer: &VerifiedEnvelope) -> Accept {
        Accept {
            offer_id: offer.header().id,
            offer_hash: offer_hash(offer.payload()),
        }
    }
}

impl Payload for Accept {
    fn message_type(&self) -> MessageType {
        CoreType::Accept.into()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = Members::default()
            .set_text("offer_id", self.offer_id)
            .set_text("offer_hash", self.offer_hash);
        Ok(members.0)
    }
}

/// Turns an offer down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// Envelope id of the OFFER that is turned down.
    pub offer_id: EnvelopeId,
    /// Why, for a person.
    pub reason: String,
    /// Why, for a program.
    pub code: RejectCode,
    /// X811-4030 when a policy decided (AX-36).
    pub error_code: Option<Code>,
}

impl Payload for Reject {
    fn message_type(&self) -> MessageType {
        CoreType::Reject.into()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = Members::default()
            .set_text("offer_id", self.offer_id)
            .set_text("reason", &self.reason)
            .set_text("code", self.code)
            .set_some("error_code", self.error_code.map(Code::as_str));
        Ok(members.0)
    }
}
