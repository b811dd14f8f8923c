//! What a decision about a session may look at.

use crate::agent::AgentStanding;
use crate::{Live, World, quota};
use std::sync::Arc;
use x811_protocol::capability::agreement;
use x811_protocol::capability::descriptor;
use x811_protocol::capability::session::Context;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::facts::{CapabilityFacts, Facts};
use x811_protocol::parameters::Parameters;
use x811_protocol::refusal::Refusal;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// What a decision about a session may look at, held so that a context can borrow it.
pub struct Surroundings {
    parameters: Arc<Parameters>,
    parameters_position: u64,
    recipient_is_active: bool,
    excluded: Option<Did>,
    descriptor: Option<Arc<Live<descriptor::State>>>,
    agreement: Option<Arc<Live<agreement::State>>>,
    parameters_unfit: Option<Refusal>,
    no_room: Option<Refusal>,
}

impl Surroundings {
    /// Of a message with these facts; `None` before the ledger has parameters.
    pub fn of(
        world: &World,
        from: Did,
        to: Did,
        facts: &Facts,
        now: TimestampMs,
    ) -> Option<Surroundings> {
        let agreement = facts.names().find_map(Subject::agreement);
        let agreement = agreement.and_then(|id| world.agreement(id)).cloned();
        let provider = agreement.as_ref().map_or(to, |live| live.state.provider);
        let recipient = world.agent(to);
        let is_renewal = facts.names().next().is_some();
        let is_request = matches!(facts, Facts::Capability(CapabilityFacts::Request(_)));
        let no_room = is_request
            .then(|| quota::sessions(world, from, to, is_renewal).err())
            .flatten();
        Some(Surroundings {
            recipient_is_active: recipient
                .is_some_and(|a| a.standing(now) == AgentStanding::Active),
            excluded: [from, to]
                .into_iter()
                .find(|did| world.is_excluded(*did, now)),
            descriptor: world.descriptor(provider).cloned(),
            agreement,
            no_room,
            ..Surroundings::bare(world)?
        })
    }

    /// Where time alone acts.
    pub fn bare(world: &World) -> Option<Surroundings> {
        let (parameters_position, parameters) = world.parameters()?;
        Some(Surroundings {
            parameters: parameters.clone(),
            parameters_position,
            recipient_is_active: false,
            excluded: None,
            descriptor: None,
            agreement: None,
            parameters_unfit: None,
            no_room: None,
        })
    }

    /// The hash of the schema that the parameters of a request must fit, if there is one.
    pub fn schema_due(&self, facts: &Facts) -> Option<Digest> {
        let Facts::Capability(CapabilityFacts::Request(request)) = facts else {
            return None;
        };
        let capabilities = &self.descriptor.as_ref()?.state.descriptor.capabilities;
        let mut offered = capabilities.iter();
        offered
            .find(|offered| offered.capability == request.capability)?
            .schema_hash
    }

    /// With what is wrong with the parameters.
    pub fn with_unfit(self, parameters_unfit: Option<Refusal>) -> Surroundings {
        Surroundings {
            parameters_unfit,
            ..self
        }
    }

    /// What guards and transitions read.
    pub fn context(&self) -> Context<'_> {
        Context {
            parameters: &self.parameters,
            parameters_position: self.parameters_position,
            recipient_is_active: self.recipient_is_active,
            excluded: self.excluded,
            descriptor: self.descriptor.as_ref().map(|live| &live.state),
            agreement: self.agreement.as_ref().map(|live| &live.state),
            parameters_unfit: self.parameters_unfit.as_ref(),
            no_room: self.no_room.as_ref(),
        }
    }
}
