//! The turns of messages about a session, and of a revocation.

use super::Lookups;
use super::contract::verdict_of;
use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, SubjectJournal};
use crate::submission::Submission;
use crate::watch;
use x811_protocol::capability::agreement::Agreement;
use x811_protocol::capability::session::Session;
use x811_protocol::code::Code;
use x811_protocol::facts::Facts;
use x811_protocol::id::{AgreementId, SessionId};
use x811_protocol::machine::{Input, execute};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::time::TimestampMs;
use x811_world::Fault;
use x811_world::quota;
use x811_world::reading::not_open;
use x811_world::schemas;
use x811_world::surroundings::session::Surroundings;

/// When to try again where the descriptor is being written.
const JUST_PUBLISHED_RETRY_MS: u64 = 1_000;

/// Decides a message about that session.
pub(super) fn negotiate(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    id: SessionId,
    lookups: &Lookups,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    let header = &message.header;
    if let Err(limit) = quota::message(draft.world(), header, facts, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    for named in facts.names() {
        watch::lapse_one(draft, named, now)?;
    }
    let surroundings = Surroundings::of(draft.world(), header.from, header.to, facts, now);
    let Some(surroundings) = surroundings else {
        return Ok(TurnVerdict::Refused(not_open()));
    };
    let surroundings = match surroundings.schema_due(facts) {
        None => surroundings,
        Some(hash) => match lookups.schemas.get(hash) {
            Some(schema) => surroundings.with_unfit(schemas::unfit(schema, &message.body)),
            // Published a moment ago: it is not in the store yet.
            None => return Ok(TurnVerdict::Refused(just_published())),
        },
    };
    let input = Input {
        envelope: header,
        facts,
    };
    let mut journal = SubjectJournal::<Session>::open(draft, id, Some(&message.body), now);
    let execution = execute(&mut journal, &input, &surroundings.context(), now)?;
    Ok(verdict_of(execution))
}

fn just_published() -> Refusal {
    Refusal::new(
        Code::RateLimitExceeded,
        Kind::Limit,
        "the target published another descriptor a moment ago: send the same message again",
    )
    .retry_after_ms(JUST_PUBLISHED_RETRY_MS)
}

/// Decides a revocation of that agreement.
pub(super) fn revoke(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    id: AgreementId,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    if let Err(limit) = quota::message(draft.world(), &message.header, facts, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    let input = Input {
        envelope: &message.header,
        facts,
    };
    let mut journal = SubjectJournal::<Agreement>::open(draft, id, Some(&message.body), now);
    let execution = execute(&mut journal, &input, &(), now)?;
    Ok(verdict_of(execution))
}
