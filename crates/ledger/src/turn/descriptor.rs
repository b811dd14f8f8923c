//! The turn of an advert: what an agent says that it can do.

use super::contract::outcome_of;
use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, SubjectJournal};
use crate::quota;
use crate::submission::{Submission, not_open};
use crate::world::{Fault, World};
use std::sync::Arc;
use x811_protocol::capability::descriptor::{Context, Descriptor, Input};
use x811_protocol::did::Did;
use x811_protocol::facts::Facts;
use x811_protocol::kernel::execute;
use x811_protocol::parameters::Parameters;
use x811_protocol::time::TimestampMs;

/// What a decision about a descriptor may look at, held so that a context can borrow it.
pub(crate) struct Surroundings {
    parameters: Arc<Parameters>,
    parameters_position: u64,
    ledger: Did,
}

impl Surroundings {
    /// As of now; `None` before the ledger has parameters.
    pub(crate) fn of(world: &World) -> Option<Surroundings> {
        let (parameters_position, parameters) = world.parameters()?;
        Some(Surroundings {
            parameters: parameters.clone(),
            parameters_position,
            ledger: world.identity()?.did,
        })
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            parameters: &self.parameters,
            parameters_position: self.parameters_position,
            ledger: self.ledger,
        }
    }
}

/// Decides an advert of that agent.
pub(super) fn advertise(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    agent: Did,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    if let Err(limit) = quota::message(draft.world(), &message.header, facts, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    let Some(surroundings) = Surroundings::of(draft.world()) else {
        return Ok(TurnVerdict::Refused(not_open()));
    };
    let input = Input {
        envelope: &message.header,
        facts,
    };
    let mut journal = SubjectJournal::<Descriptor>::open(draft, agent, Some(&message.body), now);
    let execution = execute(&mut journal, &input, &surroundings.context(), now)?;
    outcome_of(journal, execution)
}
