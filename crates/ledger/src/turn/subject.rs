//! The turn of a message about a subject: the same for every machine.

use super::Lookups;
use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, MessageBody, SubjectJournal};
use crate::submission::Submission;
use crate::watch;
use x811_protocol::facts::Facts;
use x811_protocol::machine::{AnswerRecord, Input, execute};
use x811_protocol::time::TimestampMs;
use x811_world::quota;
use x811_world::{Fault, HeldMachine};

/// Decides a message about the subject of that id.
pub(super) fn decide_about<M: HeldMachine>(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    id: M::Id,
    lookups: &Lookups,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    let input = Input {
        envelope: &message.header,
        facts,
    };
    if let Err(limit) = quota::message::<M>(draft.world(), id, &input, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    for named in facts.names() {
        // What is due of a subject that a message names lapses first, in a backlog too (machines.md section 3).
        watch::lapse_one(draft, named, now)?;
    }
    let body = MessageBody {
        bytes: &message.body,
        schemas: &lookups.schemas,
    };
    let mut journal = SubjectJournal::<M>::open(draft, id, Some(body), now);
    let execution = execute(&mut journal, &input, now)?;
    Ok(match execution.outcome {
        Ok(AnswerRecord::New(position)) => TurnVerdict::Recorded(position),
        Ok(AnswerRecord::Repeated(first)) => TurnVerdict::Repeats(first),
        Err(refusal) => TurnVerdict::Refused(refusal),
    })
}
