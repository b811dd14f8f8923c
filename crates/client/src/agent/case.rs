//! An interaction as decisions read it: facts of records whose hashes and signatures were checked.

use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::event::Event;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::facts::{OfferFacts, RequestFacts, ResultFacts};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::interaction::StateName;
use x811_protocol::settlement_view::{Live, ProviderPaid};
use x811_protocol::time::TimestampMs;

use super::outbox::Act;
use crate::transcript::Transcript;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    /// Id of the interaction.
    pub id: InteractionId,
    /// Consumer and payer.
    pub initiator: Did,
    /// Worker and payee.
    pub provider: Did,
    /// State as of its last record.
    pub state: StateName,
    /// End of the open window.
    pub deadline_at_ms: Option<TimestampMs>,
    /// What was asked.
    pub request: Option<RequestFacts>,
    /// Id and terms of the OFFER.
    pub offer: Option<(EnvelopeId, OfferFacts)>,
    /// Who is to be paid.
    pub payee: Option<EvmAddress>,
    /// What the RESULT says of itself.
    pub result: Option<ResultFacts>,
    /// Transactions named by PAYMENTs.
    pub payments: Vec<TxHash>,
    /// Whether the provider has its money, by these records.
    pub paid: ProviderPaid,
    /// What was said, oldest first.
    pub said: Vec<Said>,
}

/// An accepted message of an interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// The core type of the message.
    pub core: CoreType,
    /// Who sent the message.
    pub from: Did,
    /// Id of the envelope.
    pub envelope_id: EnvelopeId,
    /// SHA-256 of its body.
    pub digest: Digest,
    /// Place of its record.
    pub position: u64,
    /// Hash of its record.
    pub record_hash: Digest,
    /// When it was recorded.
    pub at_ms: TimestampMs,
}

impl Case {
    /// What the records say.
    pub(crate) fn of(transcript: &Transcript) -> Case {
        let view = &transcript.view;
        let nothing_else = Live::nothing(view.updated_at_ms);
        Case {
            id: view.id,
            initiator: view.initiator,
            provider: view.provider,
            state: view.state,
            deadline_at_ms: view.deadline_at_ms,
            request: transcript.request().cloned(),
            offer: transcript.offer().map(|(id, facts)| (id, facts.clone())),
            payee: transcript.payee(),
            result: transcript.result().cloned(),
            payments: transcript.declared().collect(),
            paid: transcript.settlement(nothing_else).paid,
            said: said(transcript),
        }
    }

    /// The first message of this kind by `from`.
    pub(crate) fn said(&self, act: Act, from: Did) -> Option<&Said> {
        let mut said = self.said.iter();
        said.find(|said| Some(said.core) == act.core_type() && said.from == from)
    }

    /// The party that `me` deals with.
    pub(crate) fn counterparty(&self, me: Did) -> Did {
        if self.initiator == me {
            self.provider
        } else {
            self.initiator
        }
    }

    /// Whether nothing more is said in it, whatever happens to its payment.
    pub(crate) fn is_over(&self) -> bool {
        match self.state {
            StateName::Completed
            | StateName::Expired
            | StateName::Rejected
            | StateName::Disputed
            | StateName::Failed => true,
            StateName::Pending
            | StateName::Offered
            | StateName::Accepted
            | StateName::Delivered
            | StateName::Verified => false,
        }
    }
}

fn said(transcript: &Transcript) -> Vec<Said> {
    let entries = transcript.entries.iter();
    let said = entries.filter_map(|entry| {
        let Event::EnvelopeAccepted(accepted) = &entry.event else {
            return None;
        };
        let MessageType::Core(core) = &accepted.envelope.message_type else {
            return None;
        };
        Some(Said {
            core: *core,
            from: accepted.envelope.from,
            envelope_id: accepted.envelope.id,
            digest: accepted.envelope.digest,
            position: entry.record.position,
            record_hash: entry.record.record_hash,
            at_ms: entry.record.recorded_at_ms,
        })
    });
    said.collect()
}
