//! The turn of a message about a negotiation.

use crate::agent::AgentStanding;
use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, Findable, SubjectJournal};
use crate::quota;
use crate::submission::{Submission, not_open};
use crate::world::{Fault, World};
use std::sync::Arc;
use x811_protocol::contract::{Context, Contract, Input};
use x811_protocol::did::Did;
use x811_protocol::facts::Facts;
use x811_protocol::id::ContractId;
use x811_protocol::kernel::{Execution, execute};
use x811_protocol::parameters::Parameters;
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

/// What a decision about a negotiation may look at, held so that a context can borrow it.
pub(crate) struct Surroundings {
    parameters: Arc<Parameters>,
    parameters_position: u64,
    ledger: Did,
    recipient_is_active: bool,
}

impl Surroundings {
    /// Of a message to `recipient`; `None` before the ledger has parameters.
    pub(crate) fn of(world: &World, recipient: Did, now: TimestampMs) -> Option<Surroundings> {
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

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            parameters: &self.parameters,
            parameters_position: self.parameters_position,
            ledger: self.ledger,
            recipient_is_active: self.recipient_is_active,
        }
    }
}

/// Decides a message about that negotiation.
pub(super) fn negotiate(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    id: ContractId,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    if let Err(limit) = quota::message(draft.world(), &message.header, facts, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    let Some(surroundings) = Surroundings::of(draft.world(), message.header.to, now) else {
        return Ok(TurnVerdict::Refused(not_open()));
    };
    let input = Input {
        envelope: &message.header,
        facts,
    };
    let mut journal = SubjectJournal::<Contract>::open(draft, id, Some(&message.body), now);
    let execution = execute(&mut journal, &input, &surroundings.context(), now)?;
    outcome_of(journal, execution)
}

/// What a message about a machine's subject came to.
pub(super) fn outcome_of<M: Findable>(
    journal: SubjectJournal<'_, M>,
    execution: Execution,
) -> Result<TurnVerdict, Fault> {
    if let Some(fault) = journal.fault {
        return Err(fault);
    }
    Ok(match (execution.outcome, journal.accepted) {
        (Ok(_), Some(accepted)) => TurnVerdict::Recorded(accepted.position),
        (Ok(_), None) => TurnVerdict::Refused(Refusal::state("the message changes nothing")),
        (Err(refusal), _) => TurnVerdict::Refused(refusal),
    })
}
