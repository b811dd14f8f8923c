//! `x811.negotiation/…`: terms before work (contract.md, "Messages and facts").

use serde_json::{Map, Value};
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{CustomType, MessageType};
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::id::{ContractId, EnvelopeId};
use x811_protocol::time::TimestampMs;

use super::{ComposeError, Members, Payload};

/// One message of a negotiation.
#[derive(Debug, Clone, PartialEq)]
pub enum NegotiationStep {
    /// The first terms.
    Offer {
        /// The terms, as connect.md has them.
        terms: Map<String, Value>,
        /// From when on they cannot be accepted any more.
        expires_at: TimestampMs,
        /// The most turns; absent: as many as the ledger allows.
        max_turns: Option<u64>,
        /// The negotiation that it follows on; nobody checks it.
        parent: Option<ContractId>,
        /// For a person.
        message: Option<String>,
    },
    /// Other terms in place of the last ones.
    Counter {
        /// Which terms they answer.
        answers: Answered,
        /// The terms that are proposed.
        terms: Map<String, Value>,
        /// From when on they cannot be accepted any more; absent: as the terms before.
        expires_at: Option<TimestampMs>,
        /// For a person.
        message: Option<String>,
    },
    /// The last terms are agreed on.
    Accept {
        /// The terms that are agreed on.
        answers: Answered,
        /// SHA-256 of their RFC 8785 form.
        terms_hash: Digest,
    },
    /// The last terms are not agreed on, which ends the negotiation.
    Reject {
        /// The terms that are not agreed on.
        answers: Answered,
        /// For a person.
        message: Option<String>,
    },
    /// One's own last terms are taken back.
    Withdraw {
        /// The terms that are taken back.
        answers: Answered,
        /// For a person.
        message: Option<String>,
    },
}

/// The terms that a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// Id of the negotiation: the envelope id of its offer.
    pub negotiation: ContractId,
    /// The envelope that proposed them.
    pub step: EnvelopeId,
}

impl Answered {
    fn members(self) -> Members {
        Members::default()
            .set_text("negotiation_id", self.negotiation.to_public())
            .set_text("step_id", self.step)
    }
}

impl NegotiationStep {
    const fn verb(&self) -> NegotiationVerb {
        match self {
            NegotiationStep::Offer { .. } => NegotiationVerb::Offer,
            NegotiationStep::Counter { .. } => NegotiationVerb::Counter,
            NegotiationStep::Accept { .. } => NegotiationVerb::Accept,
            NegotiationStep::Reject { .. } => NegotiationVerb::Reject,
            NegotiationStep::Withdraw { .. } => NegotiationVerb::Withdraw,
        }
    }
}

impl Payload for NegotiationStep {
    #[expect(clippy::expect_used, reason = "the five names are types of messages")]
    fn message_type(&self) -> MessageType {
        let custom: CustomType = self.verb().as_str().parse().expect("a type of a message");
        MessageType::Custom(custom)
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = match self {
            NegotiationStep::Offer {
                terms,
                expires_at,
                max_turns,
                parent,
                message,
            } => Members::default()
                .set("terms", terms.clone())
                .set_text("expires_at", expires_at.to_rfc3339())
                .set_some("max_rounds", *max_turns)
                .set_some("parent_negotiation_id", parent.map(ContractId::to_public))
                .set_some("message", message.clone()),
            NegotiationStep::Counter {
                answers,
                terms,
                expires_at,
                message,
            } => answers
                .members()
                .set("terms", terms.clone())
                .set_some("expires_at", expires_at.map(TimestampMs::to_rfc3339))
                .set_some("message", message.clone()),
            NegotiationStep::Accept {
                answers,
                terms_hash,
            } => answers.members().set_text("terms_hash", terms_hash),
            NegotiationStep::Reject { answers, message }
            | NegotiationStep::Withdraw { answers, message } => {
                answers.members().set_some("message", message.clone())
            }
        };
        Ok(members.0)
    }
}
