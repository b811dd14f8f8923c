//! What a decision about a descriptor may look at.

use crate::World;
use std::sync::Arc;
use x811_protocol::capability::descriptor::Context;
use x811_protocol::did::Did;
use x811_protocol::parameters::Parameters;

/// What a decision about a descriptor may look at, held so that a context can borrow it.
pub struct Surroundings {
    parameters: Arc<Parameters>,
    parameters_position: u64,
    ledger: Did,
}

impl Surroundings {
    /// As of now; `None` before the ledger has parameters.
    pub fn of(world: &World) -> Option<Surroundings> {
        let (parameters_position, parameters) = world.parameters()?;
        Some(Surroundings {
            parameters: parameters.clone(),
            parameters_position,
            ledger: world.identity()?.did,
        })
    }

    /// What guards and transitions read.
    pub fn context(&self) -> Context<'_> {
        Context {
            parameters: &self.parameters,
            parameters_position: self.parameters_position,
            ledger: self.ledger,
        }
    }
}
