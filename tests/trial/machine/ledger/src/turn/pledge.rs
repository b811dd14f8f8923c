//! The turn of a pledge.

use super::contract::outcome_of;
use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, SubjectJournal};
use x811_world::quota;
use crate::submission::Submission;
use x811_world::reading::not_open;
use x811_world::Fault;
use x811_protocol::facts::Facts;
use x811_protocol::id::PledgeId;
use x811_protocol::machine::{Input, execute};
use x811_protocol::pledge::Pledge;
use x811_protocol::time::TimestampMs;

/// Decides whether it is given.
pub(super) fn give(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    id: PledgeId,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    if let Err(limit) = quota::message(draft.world(), &message.header, facts, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    let Some((parameters, _)) = draft.world().parameters() else {
        return Ok(TurnVerdict::Refused(not_open()));
    };
    let input = Input {
        envelope: &message.header,
        facts,
    };
    let mut journal = SubjectJournal::<Pledge>::open(draft, id, Some(&message.body), now);
    let execution = execute(&mut journal, &input, &parameters, now)?;
    outcome_of(journal, execution)
}
