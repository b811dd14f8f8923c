//! The row of a negotiation.

use super::row_of;
use crate::row::{DeadlineKind, SubjectRow};
use crate::world::Live;
use serde::Serialize;
use x811_protocol::contract::{Contract, Engagement, State};
use x811_protocol::did::Did;
use x811_protocol::event::ContractWindow;
use x811_protocol::facts::TermsFacts;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::time::TimestampMs;

/// What a row shows besides its columns; members stand in the order of their names.
#[derive(Debug, Serialize)]
struct Detail<'a> {
    /// Who proposed the last terms.
    author: Did,
    #[serde(skip_serializing_if = "Option::is_none")]
    engagement: Option<Engaged>,
    expires_at_ms: TimestampMs,
    initiator: Did,
    max_turns: u64,
    responder: Did,
    /// The last terms' message.
    step_id: EnvelopeId,
    terms: &'a TermsFacts,
    turn: u64,
}

/// What becomes of an agreed contract.
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

/// The row of a negotiation in some state.
pub(crate) fn row(live: &Live<State>) -> SubjectRow {
    let state = &live.state;
    let (opening, step) = (state.opening(), state.step());
    let detail = Detail {
        author: step.author,
        engagement: state.engagement().map(Engaged::of),
        expires_at_ms: step.expires_at,
        initiator: opening.initiator,
        max_turns: opening.max_turns,
        responder: opening.responder,
        step_id: step.record.envelope,
        terms: &step.terms,
        turn: step.turn,
    };
    let deadline = state.deadline().zip(state.open_window());
    let deadline = deadline.map(|(at, window)| match window {
        ContractWindow::Contract => (at, DeadlineKind::Signed),
        ContractWindow::Engagement => (at, DeadlineKind::Ledger),
    });
    row_of::<Contract>(live, state.name().as_str(), deadline, detail)
}
