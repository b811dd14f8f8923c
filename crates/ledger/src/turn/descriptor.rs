//! The turn of an advert: what an agent says that it can do.

use super::contract::verdict_of;
use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, SubjectJournal};
use crate::submission::Submission;
use x811_protocol::capability::descriptor::Descriptor;
use x811_protocol::did::Did;
use x811_protocol::facts::Facts;
use x811_protocol::machine::{Input, execute};
use x811_protocol::time::TimestampMs;
use x811_world::Fault;
use x811_world::quota;
use x811_world::reading::not_open;
use x811_world::surroundings::descriptor::Surroundings;

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
    Ok(verdict_of(execution))
}
