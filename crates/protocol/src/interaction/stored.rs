//! The state outside of memory, as a snapshot of a ledger keeps it.
//!
//! Interactions share the parameters they were opened under; the stored form leaves them out, and
//! whoever reads it puts the shared ones back.

use super::{Opening, State};
use crate::parameters::Parameters;
use std::sync::Arc;

impl State {
    /// A state that was read from its stored form, under the parameters it was opened under.
    #[must_use]
    pub fn with_parameters(mut self, parameters: Arc<Parameters>) -> State {
        if let State::Disputed(dispute) = &mut self
            && let Some(unpaid) = &mut dispute.unpaid
        {
            Arc::make_mut(&mut unpaid.deal).opening.parameters = parameters.clone();
        }
        self.opening_mut().parameters = parameters;
        self
    }

    fn opening_mut(&mut self) -> &mut Opening {
        match self {
            State::Pending { opening, .. } | State::Offered { opening, .. } => opening,
            State::Accepted { deal, .. }
            | State::Delivered { deal, .. }
            | State::Verified { deal, .. }
            | State::Completed { deal, .. } => &mut Arc::make_mut(deal).opening,
            State::Disputed(dispute) => &mut dispute.closing.opening,
            State::Expired(closing) | State::Rejected(closing) | State::Failed(closing) => {
                &mut closing.opening
            }
        }
    }
}
