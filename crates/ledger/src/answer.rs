//! What a submission is answered with. Answers of accepted messages are a function of the record
//! they led to, so that a repeat, today or in ten years, gets the first answer again.

use serde::Serialize;
use serde_with::skip_serializing_none;
use x811_eventlog::Record;
use x811_protocol::capability::agreement::AgreementStanding;
use x811_protocol::capability::{descriptor, session};
use x811_protocol::code::Code;
use x811_protocol::contract;
use x811_protocol::digest::Digest;
use x811_protocol::event::{EnvelopeAccepted, Event};
use x811_protocol::facts::{CapabilityFacts, ConsensusFacts, Facts};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::interaction::{StateName, state_after};
use x811_protocol::refusal::Refusal;
use x811_protocol::round;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

/// A subject of a machine, as answers name it (machines.md section 2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnsweredSubject {
    /// Which machine it is of.
    pub kind: &'static str,
    /// Its id as in URLs.
    pub id: String,
}

impl From<Subject> for AnsweredSubject {
    fn from(subject: Subject) -> AnsweredSubject {
        AnsweredSubject {
            kind: subject.kind(),
            id: subject.public_id(),
        }
    }
}

/// The body of a 202 (ledger-contract.md section 6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Accepted {
    /// The interaction; absent for messages that belong to none.
    pub interaction_id: Option<InteractionId>,
    /// What the message is about; absent for messages about nothing.
    pub subject: Option<AnsweredSubject>,
    /// Id of the envelope that was accepted.
    pub envelope_id: EnvelopeId,
    /// Place in the log.
    pub position: u64,
    /// Hash of the record.
    pub record_hash: Digest,
    /// State the message led to; absent for messages that lead to none.
    pub state: Option<&'static str>,
    /// End of the window it opened.
    pub deadline_at_ms: Option<TimestampMs>,
    /// False where it is kept as evidence and moves nothing (machines.md section 5); absent elsewhere.
    pub counted: Option<bool>,
    /// Why it is not counted.
    pub code: Option<Code>,
}

impl Accepted {
    /// The answer to the envelope in `record`; `None` when the record holds none.
    pub fn from_record(record: &Record, event: &Event) -> Option<Accepted> {
        Accepted::of(&record.stream().parse().ok()?, record, event)
    }

    /// The same, when the stream of the record has been read.
    pub(crate) fn of(stream: &Stream, record: &Record, event: &Event) -> Option<Accepted> {
        let envelope = event.envelope()?;
        let subject = stream.subject();
        let (mut state, mut deadline_at_ms, mut code) = (None, None, None);
        if let Event::EnvelopeAccepted(accepted) = event {
            state = state_name_after(accepted);
            deadline_at_ms = accepted.derived.deadline_at_ms;
            code = evidence(accepted);
        }
        Some(Accepted {
            interaction_id: subject.and_then(Subject::interaction),
            subject: subject.map(AnsweredSubject::from),
            envelope_id: envelope.id,
            position: record.position(),
            record_hash: Digest::from_bytes(*record.hash().as_bytes()),
            state,
            deadline_at_ms,
            counted: code.map(|_| false),
            code,
        })
    }
}

/// Why a message is kept as evidence, if it is: a second vote, or a signal by who does not lead.
fn evidence(accepted: &EnvelopeAccepted) -> Option<Code> {
    let round::Effect::Evidence = accepted.derived.effect?;
    let is_vote = matches!(accepted.facts, Facts::Consensus(ConsensusFacts::Vote(_)));
    Some(if is_vote {
        Code::Duplicate
    } else {
        Code::WrongLeader
    })
}

/// Name of the state that a message with these facts leads to, if it leads to one.
fn state_name_after(accepted: &EnvelopeAccepted) -> Option<&'static str> {
    match &accepted.facts {
        Facts::Negotiation(facts) => Some(contract::state_after(facts).as_str()),
        Facts::Capability(CapabilityFacts::Advertise(_)) => Some(descriptor::STATE),
        Facts::Capability(CapabilityFacts::Revoke(_)) => Some(AgreementStanding::Revoked.as_str()),
        Facts::Capability(facts) => {
            session::state_after(facts, &accepted.derived).map(session::StateName::as_str)
        }
        Facts::Consensus(facts) => {
            round::state_after(accepted, facts).map(round::StateName::as_str)
        }
        Facts::Request(_)
        | Facts::Offer(_)
        | Facts::Accept(_)
        | Facts::Reject(_)
        | Facts::Result(_)
        | Facts::Verify(_)
        | Facts::Payment(_)
        | Facts::Error(_)
        | Facts::Custom(_) => state_after(&accepted.facts).map(StateName::as_str),
    }
}

/// What a submission led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Recorded now: 202.
    Accepted(Accepted),
    /// Recorded before, under another envelope: 200 with the first answer.
    Repeated(Accepted),
}

/// What a turn decided; answers that rest on an earlier record are read after the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TurnVerdict {
    /// Recorded at this position of the draft.
    Recorded(u64),
    /// Answered from an earlier record.
    Repeats(u64),
    /// The nonce was spent by the record at this position.
    Replays(u64),
    Refused(Refusal),
}
