//! The turn of a message about a negotiation.

use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, SubjectJournal};
use crate::submission::Submission;
use x811_protocol::contract::Contract;
use x811_protocol::facts::Facts;
use x811_protocol::id::ContractId;
use x811_protocol::machine::{AnswerRecord, Execution, Input, execute};
use x811_protocol::time::TimestampMs;
use x811_world::Fault;
use x811_world::quota;
use x811_world::reading::not_open;
use x811_world::surroundings::contract::Surroundings;

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
    Ok(verdict_of(execution))
}

/// What a message about a machine's subject came to.
pub(super) fn verdict_of(execution: Execution) -> TurnVerdict {
    match execution.outcome {
        Ok(AnswerRecord::New(position)) => TurnVerdict::Recorded(position),
        Ok(AnswerRecord::Repeated(first)) => TurnVerdict::Repeats(first),
        Err(refusal) => TurnVerdict::Refused(refusal),
    }
}
