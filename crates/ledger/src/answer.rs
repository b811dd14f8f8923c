//! What a submission is answered with. Answers of accepted messages are a function of the record
//! they led to, so that a repeat, today or in ten years, gets the first answer again.

use serde::Serialize;
use serde_with::skip_serializing_none;
use x811_eventlog::Record;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::event::{EnvelopeAccepted, Event};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::machine::Machine as _;
use x811_protocol::refusal::Refusal;
use x811_protocol::round;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::with_machine;

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
            state = subject.and_then(|subject| state_after(subject, accepted));
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

/// Name of the state that an accepted message about a subject leads to, if it leads to one.
fn state_after(subject: Subject, accepted: &EnvelopeAccepted) -> Option<&'static str> {
    with_machine!(subject, M(_) => M::state_after(accepted))
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
