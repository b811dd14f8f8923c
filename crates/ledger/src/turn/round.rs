//! The turns of messages about a round.

use super::contract::verdict_of;
use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, SubjectJournal};
use crate::submission::Submission;
use crate::watch;
use x811_protocol::facts::Facts;
use x811_protocol::id::RoundId;
use x811_protocol::machine::{Input, execute};
use x811_protocol::refusal::Refusal;
use x811_protocol::round::Round;
use x811_protocol::time::TimestampMs;
use x811_world::Fault;
use x811_world::quota;
use x811_world::reading::not_open;
use x811_world::surroundings::round::Surroundings;

/// Decides a message about that round.
pub(super) fn take_part(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    id: RoundId,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    let header = &message.header;
    if let Err(limit) = quota::message(draft.world(), header, facts, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    for named in facts.names() {
        watch::lapse_one(draft, named, now)?;
    }
    let Facts::Consensus(of_round) = facts else {
        return Ok(TurnVerdict::Refused(Refusal::state(
            "it is no message of a round: name the round in one that is",
        )));
    };
    let Some(surroundings) = Surroundings::of(draft.world(), header.from, of_round, now) else {
        return Ok(TurnVerdict::Refused(not_open()));
    };
    let input = Input {
        envelope: header,
        facts,
    };
    let mut journal = SubjectJournal::<Round>::open(draft, id, Some(&message.body), now);
    let execution = execute(&mut journal, &input, &surroundings.context(), now)?;
    Ok(verdict_of(execution))
}
