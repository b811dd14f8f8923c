//! What a decision about a negotiation may look at.

use crate::World;
use crate::agent::AgentStanding;
use std::sync::Arc;
use x811_protocol::contract::Context;
use x811_protocol::did::Did;
use x811_protocol::parameters::Parameters;
use x811_protocol::time::TimestampMs;

/// What a decision about a negotiation may look at, held so that a context can borrow it.
pub struct Surroundings {
    parameters: Arc<Parameters>,
    parameters_position: u64,
    ledger: Did,
    recipient_is_active: bool,
}

impl Surroundings {
    /// Of a message to `recipient`; `None` before the ledger has parameters.
    pub fn of(world: &World, recipient: Did, now: TimestampMs) -> Option<Surroundings> {
        let (parameters_position, parameters) = world.parameters()?;
        let recipient = world.agent(recipient);
        Some(Surroundings {
            parameters: parameters.clone(),
            parameters_position,
            ledger: world.identity()?.did,
            recipient_is_active: recipient
                .is_some_and(|a| a.standing(now) == AgentStanding::Active),
        })
    }

    /// What guards and transitions read.
    pub fn context(&self) -> Context<'_> {
        Context {
            parameters: &self.parameters,
            parameters_position: self.parameters_position,
            ledger: self.ledger,
            recipient_is_active: self.recipient_is_active,
        }
    }
}
