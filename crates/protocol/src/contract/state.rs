//! What is known of a negotiation: one variant for each state, each with just its own data.
//!
//! Members stand in the order of their names, in which a state is hashed after every record.

use crate::did::Did;
use crate::event::ContractWindow;
use crate::facts::TermsFacts;
use crate::id::{ContractId, EnvelopeId, InteractionId};
use crate::machine::{RecordRef, not_restored};
use crate::parameters::Parameters;
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

named! {
    /// Names of the five states (XN-2). They are not those of interactions (XX-9).
    pub enum StateName {
        /// Terms were offered.
        Pending = "pending",
        /// Other terms were offered.
        Countered = "countered",
        /// The last terms are agreed on.
        Accepted = "accepted",
        /// One of the two ended it.
        Rejected = "rejected",
        /// Nobody answered in time.
        Expired = "expired",
    }
}

/// What the first offer fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// Id of the negotiation: the envelope id of its offer.
    pub id: ContractId,
    /// Who spoke first.
    pub initiator: Did,
    /// The most turns; the offer is the first.
    pub max_turns: u64,
    /// The parameters it keeps to its end. Not in the stored form: see
    /// [`State::with_parameters`].
    #[serde(skip, default = "not_restored")]
    pub parameters: Arc<Parameters>,
    /// The record of the offer.
    pub record: RecordRef,
    /// The agent that the offer was made to.
    pub responder: Did,
}

impl Opening {
    /// The other one of the two.
    pub fn counterparty(&self, party: Did) -> Did {
        if party == self.initiator {
            self.responder
        } else {
            self.initiator
        }
    }
}

/// Terms that one of the two proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Who proposed them.
    pub author: Did,
    /// From this moment on they cannot be accepted any more. Signed, so downtime never moves it.
    pub expires_at: TimestampMs,
    /// The message that proposed them.
    pub record: RecordRef,
    /// What was proposed.
    pub terms: TermsFacts,
    /// Which turn it was: 1 for the offer.
    pub turn: u64,
}

/// What becomes of an agreed contract: it opens one interaction, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Engagement {
    /// A REQUEST is awaited.
    Open {
        /// Until when; downtime moves it.
        deadline: TimestampMs,
    },
    /// Its REQUEST opened this interaction.
    Engaged {
        /// Id of that interaction.
        interaction: InteractionId,
    },
    /// No REQUEST came in time.
    Lapsed,
}

/// What stays known of a negotiation that ended without an agreement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// From the first offer.
    pub opening: Opening,
    /// The last terms.
    pub step: Step,
}

/// The state of a negotiation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum State {
    /// Terms were offered.
    Pending {
        /// From the offer.
        opening: Opening,
        /// The terms that were offered.
        step: Step,
    },
    /// Other terms were offered.
    Countered {
        /// From the first offer.
        opening: Opening,
        /// The last terms.
        step: Step,
    },
    /// Both parties agreed on the last terms.
    Accepted {
        /// The record of the accept.
        acceptance: RecordRef,
        /// What becomes of it.
        engagement: Engagement,
        /// From the first offer.
        opening: Opening,
        /// The terms agreed on.
        step: Step,
    },
    /// Rejected by the one, or withdrawn by the other.
    Rejected(Closing),
    /// Nobody answered in time.
    Expired(Closing),
}

impl State {
    /// The name of the state, as machines.md writes it.
    pub const fn name(&self) -> StateName {
        match self {
            State::Pending { .. } => StateName::Pending,
            State::Countered { .. } => StateName::Countered,
            State::Accepted { .. } => StateName::Accepted,
            State::Rejected(_) => StateName::Rejected,
            State::Expired(_) => StateName::Expired,
        }
    }

    /// What the first offer fixed.
    pub const fn opening(&self) -> &Opening {
        match self {
            State::Pending { opening, .. }
            | State::Countered { opening, .. }
            | State::Accepted { opening, .. } => opening,
            State::Rejected(closing) | State::Expired(closing) => &closing.opening,
        }
    }

    /// The last terms.
    pub const fn step(&self) -> &Step {
        match self {
            State::Pending { step, .. }
            | State::Countered { step, .. }
            | State::Accepted { step, .. } => step,
            State::Rejected(closing) | State::Expired(closing) => &closing.step,
        }
    }

    /// What becomes of it, once it is agreed.
    pub const fn engagement(&self) -> Option<Engagement> {
        match self {
            State::Accepted { engagement, .. } => Some(*engagement),
            State::Pending { .. }
            | State::Countered { .. }
            | State::Rejected(_)
            | State::Expired(_) => None,
        }
    }

    /// Whether nothing leads on from here.
    pub const fn is_over(&self) -> bool {
        match self {
            State::Pending { .. } | State::Countered { .. } => false,
            State::Accepted { engagement, .. } => !matches!(engagement, Engagement::Open { .. }),
            State::Rejected(_) | State::Expired(_) => true,
        }
    }

    /// The window that is open.
    pub const fn open_window(&self) -> Option<ContractWindow> {
        match self {
            State::Pending { .. } | State::Countered { .. } => Some(ContractWindow::Contract),
            State::Accepted {
                engagement: Engagement::Open { .. },
                ..
            } => Some(ContractWindow::Engagement),
            State::Accepted { .. } | State::Rejected(_) | State::Expired(_) => None,
        }
    }

    /// The last moment before time alone acts.
    pub const fn deadline(&self) -> Option<TimestampMs> {
        match self {
            State::Pending { step, .. } | State::Countered { step, .. } => {
                Some(last_moment(step.expires_at))
            }
            State::Accepted {
                engagement: Engagement::Open { deadline },
                ..
            } => Some(*deadline),
            State::Accepted { .. } | State::Rejected(_) | State::Expired(_) => None,
        }
    }

    /// The message that opened the last window; notices name it.
    pub const fn opener(&self) -> EnvelopeId {
        match self {
            State::Accepted { acceptance, .. } => acceptance.envelope,
            State::Pending { .. }
            | State::Countered { .. }
            | State::Rejected(_)
            | State::Expired(_) => self.step().record.envelope,
        }
    }

    /// The state once the ledger was away for that long.
    pub(super) fn after_downtime(mut self, gap_ms: u64) -> State {
        if let State::Accepted {
            engagement: Engagement::Open { deadline },
            ..
        } = &mut self
        {
            *deadline = deadline.saturating_add_ms(gap_ms);
        }
        self
    }

    /// A state that was read from its stored form, under the parameters it was opened under.
    #[must_use]
    pub fn with_parameters(mut self, parameters: Arc<Parameters>) -> State {
        match &mut self {
            State::Pending { opening, .. }
            | State::Countered { opening, .. }
            | State::Accepted { opening, .. } => opening.parameters = parameters,
            State::Rejected(closing) | State::Expired(closing) => {
                closing.opening.parameters = parameters;
            }
        }
        self
    }
}

/// The last moment before `end`, which is exclusive (machines.md section 3).
pub(super) const fn last_moment(end: TimestampMs) -> TimestampMs {
    end.saturating_sub_ms(1)
}

#[cfg(test)]
mod tests {
    use super::StateName;
    use crate::interaction;
    use std::any::TypeId;

    /// Both lists have `pending`, `accepted`, `rejected` and `expired`, and mean other things by them.
    #[test]
    fn xx_9_states_of_contracts_are_a_type_of_their_own() {
        let of_interactions = TypeId::of::<interaction::StateName>();
        assert_ne!(TypeId::of::<StateName>(), of_interactions);
        let shared = StateName::ALL.into_iter().filter(|state| {
            let mut names = interaction::StateName::ALL.into_iter();
            names.any(|name| name.as_str() == state.as_str())
        });
        let shared: Vec<&str> = shared.map(StateName::as_str).collect();
        assert_eq!(shared, ["pending", "accepted", "rejected", "expired"]);
    }
}
