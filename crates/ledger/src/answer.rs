//! What a submission is answered with. Answers of accepted messages are a function of the record
//! they led to, so that a repeat, today or in ten years, gets the first answer again.

use crate::stream::Stream;
use serde::Serialize;
use x811_eventlog::Record;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::interaction::state_after;
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

/// The body of a 202 (ledger-contract.md section 6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Accepted {
    /// The interaction; absent for messages that belong to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<InteractionId>,
    /// The message.
    pub envelope_id: EnvelopeId,
    /// Place in the log.
    pub position: u64,
    /// Record hash.
    pub record_hash: Digest,
    /// State the message led to; absent for messages that lead to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// End of the window it opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at_ms: Option<TimestampMs>,
}

impl Accepted {
    /// The answer to the envelope in `record`; `None` when the record holds none.
    pub fn from_record(record: &Record, event: &Event) -> Option<Accepted> {
        Accepted::of(&record.stream().parse().ok()?, record, event)
    }

    /// The same, when the stream of the record has been read.
    pub(crate) fn of(stream: &Stream, record: &Record, event: &Event) -> Option<Accepted> {
        let envelope = event.envelope()?;
        let interaction_id = match stream {
            Stream::Interaction(id) => Some(*id),
            Stream::Ledger
            | Stream::Network(_)
            | Stream::Agent(_)
            | Stream::Mail(_)
            | Stream::Roots => None,
        };
        let (mut state, mut deadline_at_ms) = (None, None);
        if let Event::EnvelopeAccepted(accepted) = event {
            state = state_after(&accepted.facts);
            deadline_at_ms = accepted.derived.deadline_at_ms;
        }
        Some(Accepted {
            interaction_id,
            envelope_id: envelope.id,
            position: record.position(),
            record_hash: Digest::from_bytes(*record.hash().as_bytes()),
            state: state.map(x811_protocol::interaction::StateName::as_str),
            deadline_at_ms,
        })
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
pub(crate) enum Verdict {
    /// Recorded at this position of the draft.
    Recorded(u64),
    /// Answered from an earlier record.
    Repeats(u64),
    /// The nonce was spent by the record at this position.
    Replays(u64),
    /// Refused.
    Refused(Refusal),
}
