//! The detail of a negotiation's row.

use super::state::{Engagement, State};
use crate::did::Did;
use crate::facts::TermsFacts;
use crate::id::{EnvelopeId, InteractionId};
use crate::time::TimestampMs;
use serde::Serialize;

/// The detail of a row.
#[derive(Debug, Serialize)]
pub(super) struct Detail<'a> {
    /// The agent that proposed the last terms.
    author: Did,
    #[serde(skip_serializing_if = "Option::is_none")]
    engagement: Option<Engaged>,
    expires_at_ms: TimestampMs,
    initiator: Did,
    max_turns: u64,
    responder: Did,
    /// The message with the last terms.
    step_id: EnvelopeId,
    terms: &'a TermsFacts,
    turn: u64,
}

/// The engagement of an agreed contract.
#[derive(Debug, Serialize)]
struct Engaged {
    #[serde(skip_serializing_if = "Option::is_none")]
    interaction_id: Option<InteractionId>,
    state: &'static str,
}

impl Engaged {
    fn of(engagement: Engagement) -> Engaged {
        let (state, interaction_id) = match engagement {
            Engagement::Open { .. } => ("open", None),
            Engagement::Lapsed => ("lapsed", None),
            Engagement::Engaged { interaction } => ("engaged", Some(interaction)),
        };
        Engaged {
            interaction_id,
            state,
        }
    }
}

impl Detail<'_> {
    pub(super) fn of(state: &State) -> Detail<'_> {
        let (opening, step) = (state.opening(), state.step());
        Detail {
            author: step.author,
            engagement: state.engagement().map(Engaged::of),
            expires_at_ms: step.expires_at,
            initiator: opening.initiator,
            max_turns: opening.max_turns,
            responder: opening.responder,
            step_id: step.record.envelope,
            terms: &step.terms,
            turn: step.turn,
        }
    }
}
