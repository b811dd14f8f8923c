//! Messages that are answered from an earlier record: a REQUEST under a used idempotency key (AX-12), and
//! a PAYMENT that is sent again.

use super::Lookups;
use super::subject::decide_about;
use crate::answer::TurnVerdict;
use crate::draft::BatchDraft;
use crate::submission::Submission;
use x811_protocol::code::Code;
use x811_protocol::facts::{Facts, RequestFacts};
use x811_protocol::machine::Input;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::settlement::SettlingMachine;
use x811_protocol::time::TimestampMs;
use x811_world::{Fault, HeldMachine};

/// The answer to a REQUEST whose idempotency key was used before.
pub(super) fn requested_before(
    draft: &BatchDraft,
    message: &Submission,
    request: &RequestFacts,
    lookups: &Lookups,
) -> Option<TurnVerdict> {
    let tag = &request.idempotency_tag;
    let first = draft
        .first_request(tag)
        .or_else(|| lookups.requests.get(tag).copied())?;
    let same = first.to == message.header.to && first.payload_hash == request.payload_hash;
    Some(if same {
        TurnVerdict::Repeats(first.position)
    } else {
        TurnVerdict::Refused(Refusal::new(
            Code::InvalidStateTransition,
            Kind::Conflict,
            "this idempotency_key was used for another request: choose a new one",
        ))
    })
}

/// Decides a message about a subject that is paid. A PAYMENT that is repeated in time is answered before
/// its limits are checked. A late one may find the lapse of the confirmation window, which does not end the
/// subject: it is answered from the first record as well.
pub(super) fn decide_about_paid<M: SettlingMachine + HeldMachine>(
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
    if let Some(state) = M::state(draft.world(), id)
        && M::deadline(state).is_none_or(|deadline| now <= deadline)
        && let Some(first) = M::repeated(state, &input)
    {
        return Ok(TurnVerdict::Repeats(first));
    }
    let size = draft.world().head().size;
    let verdict = decide_about::<M>(draft, message, facts, id, lookups, now)?;
    let has_lapsed = draft.world().head().size > size;
    if let TurnVerdict::Refused(_) = verdict
        && has_lapsed
        && let Some(state) = M::state(draft.world(), id)
        && let Some(first) = M::repeated(state, &input)
    {
        return Ok(TurnVerdict::Repeats(first));
    }
    Ok(verdict)
}
