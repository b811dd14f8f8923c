//! A message's turn: the second half of its way, in the one order there is. A pure function of the
//! draft, the message, what was looked up for it and the moment.
//!
//! Order (AX-28): times again, key again, nonce, then the rules. From the nonce on, every answer
//! spends it.

mod repeats;
mod subject;

use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, FirstRequest};
use crate::port::NonceOutcome;
use crate::submission::{MessageContent, Submission};
use repeats::{decide_about_paid, requested_before};
use std::collections::{BTreeSet, HashMap, HashSet};
use subject::decide_about;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Claim, Derived, EnvelopeAccepted, Event};
use x811_protocol::facts::Facts;
use x811_protocol::id::EnvelopeId;
use x811_protocol::interaction::Interaction;
use x811_protocol::payload::registry::{Operation, Verb};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::agent::Agent;
use x811_world::quota;
use x811_world::registry;
use x811_world::route::{Reference, Route, route};
use x811_world::schemas::Schemas;
use x811_world::sender::{registered, sender};
use x811_world::{Fault, FirstAnswer, World, with_machine};

/// What was read from the indexes before the batch was decided.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    /// First REQUESTs under the idempotency tags of the batch.
    pub(crate) requests: HashMap<Digest, FirstRequest>,
    /// Envelope ids of the batch, own and referred to, that were accepted long ago.
    pub(crate) known_envelopes: HashSet<EnvelopeId>,
    /// Envelopes that ERRORs of the batch refer to and that belong to no interaction.
    pub(crate) outside_interactions: HashSet<EnvelopeId>,
    /// Claims on the transactions that the batch's sweeps show.
    pub(crate) claims: BTreeSet<Claim>,
    /// Schemas that requests of the batch are held to.
    pub(crate) schemas: Schemas,
    /// Records that erased bodies, by the positions of those.
    pub(crate) erased: HashMap<u64, u64>,
}

/// The subject that `message` is about, if it is about one.
pub(crate) fn subject_of(
    world: &World,
    message: &Submission,
    lookups: &Lookups,
) -> Option<Subject> {
    let Ok(MessageContent::Facts(facts)) = &message.content else {
        return None;
    };
    let known = |reference| referred(world, lookups, reference);
    match route(world, &message.header, facts, known) {
        Route::Subject(subject) => Some(subject),
        Route::Mail | Route::Finished | Route::Nowhere => None,
    }
}

/// Takes `message`'s turn, behind the lapses that are due; `ended` is the code of the one that ended the
/// subject of the message.
///
/// # Errors
/// A [`Fault`] is a defect of ours: the draft must go back to where it stood before.
pub(crate) fn take(
    draft: &mut BatchDraft,
    message: &Submission,
    lookups: &Lookups,
    ended: Option<Code>,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    let from = message.header.from;
    if let Err(refusal) = authentic_still(draft.world(), message, now) {
        return Ok(TurnVerdict::Refused(refusal.related_to(message.header.id)));
    }
    if let Some(first) = draft.world().first_answer(&message.header.nonce_tag) {
        return Ok(match first {
            FirstAnswer::Record(position) => TurnVerdict::Replays(position),
            FirstAnswer::Refused(code) => TurnVerdict::Refused(replayed(code)),
        });
    }
    let verdict = match fresh_id(draft.world(), message, lookups) {
        Ok(()) => match ended {
            Some(code) => TurnVerdict::Refused(Refusal::lapsed(code)),
            None => decide(draft, message, lookups, now)?,
        },
        Err(refusal) => TurnVerdict::Refused(refusal),
    };
    let outcome = match &verdict {
        // A limit leaves the nonce unspent, and so does a fault of the ledger: the same message is taken
        // when there is room, or the fault has passed.
        TurnVerdict::Refused(refusal)
            if matches!(refusal.code, Code::RateLimitExceeded | Code::InternalError) =>
        {
            None
        }
        TurnVerdict::Refused(refusal) => Some(NonceOutcome::Refused(refusal.code)),
        TurnVerdict::Repeats(position) => Some(NonceOutcome::Repeated {
            position: *position,
        }),
        TurnVerdict::Recorded(_) | TurnVerdict::Replays(_) => None,
    };
    let verdict = match outcome.map(|outcome| (outcome, quota::refusal(draft.world(), from))) {
        Some((_, Err(limit))) => TurnVerdict::Refused(limit),
        Some((outcome, Ok(()))) => {
            draft.spend_nonce(&message.header, outcome, now);
            verdict
        }
        None => verdict,
    };
    Ok(match verdict {
        TurnVerdict::Refused(refusal) => {
            TurnVerdict::Refused(refusal.related_to(message.header.id))
        }
        TurnVerdict::Recorded(_) | TurnVerdict::Repeats(_) | TurnVerdict::Replays(_) => verdict,
    })
}

/// X811-2001, with the code of the first answer.
fn replayed(first: Code) -> Refusal {
    nonce_replay().with_details(serde_json::json!({ "first": { "code": first } }))
}

/// X811-2001 without the first outcome.
pub(crate) fn nonce_replay() -> Refusal {
    Refusal::new(
        Code::NonceReplay,
        Kind::Conflict,
        "this nonce was used before: `details.first` says how that message was answered",
    )
}

/// Times with the clock that is recorded, and the key as of now.
fn authentic_still(world: &World, message: &Submission, now: TimestampMs) -> Result<(), Refusal> {
    let tolerance_ms = world
        .parameters()
        .map_or(0, |(_, parameters)| parameters.limits.clock_tolerance_ms);
    message.header.check_times(now, tolerance_ms)?;
    let from = message.header.from;
    let agent = match verb(message)? {
        // Signed by a key of the DID it is a replay, or refused at its turn like any message;
        // signed by another it must not spend the DID's nonces.
        Some(Verb::Register) => {
            return match world.agent(from) {
                Some(agent) if !has_key(agent, message) => Err(registry::taken()),
                Some(_) | None => Ok(()),
            };
        }
        Some(_) => registered(world, from)?,
        None => sender(world, from, now)?,
    };
    if has_key(agent, message) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::SignatureInvalid,
        Kind::Authentication,
        "the key was replaced while the message waited: sign it with the present key",
    ))
}

/// What is asked of the registry, where that is asked: the published SDK registers by a REQUEST.
fn verb(message: &Submission) -> Result<Option<Verb>, Refusal> {
    match &message.content {
        Ok(MessageContent::Registry(operation)) => Ok(Some(operation.verb())),
        Ok(MessageContent::Facts(_)) | Err(_) => Verb::of(&message.header.message_type),
    }
}

/// Whether the key that signed `message` is the agent's now.
fn has_key(agent: &Agent, message: &Submission) -> bool {
    agent
        .key(&message.header.key.key)
        .is_some_and(|known| known.profile == message.header.profile)
}

/// Envelope ids are unique for ever.
fn fresh_id(world: &World, message: &Submission, lookups: &Lookups) -> Result<(), Refusal> {
    let id = message.header.id;
    if world.recent_envelope(&id).is_none() && !lookups.known_envelopes.contains(&id) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::InvalidStateTransition,
        Kind::Conflict,
        "an accepted envelope has this id: every envelope needs a new one",
    ))
}

fn decide(
    draft: &mut BatchDraft,
    message: &Submission,
    lookups: &Lookups,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    let facts = match &message.content {
        Err(refusal) => return Ok(TurnVerdict::Refused(refusal.clone())),
        Ok(MessageContent::Registry(operation)) => {
            return ask_registry(draft, message, operation, now);
        }
        Ok(MessageContent::Facts(facts)) => facts,
    };
    if draft.world().agent(message.header.to).is_none() {
        return Ok(TurnVerdict::Refused(Refusal::new(
            Code::AgentNotFound,
            Kind::NotFound,
            "the recipient is not registered here",
        )));
    }
    if let Facts::Request(request) = facts
        && let Some(verdict) = requested_before(draft, message, request, lookups)
    {
        return Ok(verdict);
    }
    let world = draft.world();
    let known = |reference| referred(world, lookups, reference);
    match route(world, &message.header, facts, known) {
        Route::Subject(Subject::Interaction(id)) => {
            decide_about_paid::<Interaction>(draft, message, facts, id, lookups, now)
        }
        Route::Subject(subject) => with_machine!(subject, M(id) => {
            decide_about::<M>(draft, message, facts, id, lookups, now)
        }),
        Route::Nowhere => Ok(TurnVerdict::Refused(Refusal::state(
            "no open interaction is known by this reference: check request_id and offer_id",
        ))),
        Route::Mail => mail(draft, message, facts, now),
        Route::Finished => Ok(TurnVerdict::Refused(Refusal::state(
            "the interaction it refers to is finished: its history says how it ended",
        ))),
    }
}

/// What the world and the indexes know of the envelope that a message refers to.
fn referred(world: &World, lookups: &Lookups, reference: EnvelopeId) -> Reference {
    if let Some(id) = world.route(reference) {
        return Reference::Open(id);
    }
    let is_accepted =
        world.recent_envelope(&reference).is_some() || lookups.known_envelopes.contains(&reference);
    if !is_accepted {
        Reference::Unknown
    } else if lookups.outside_interactions.contains(&reference) {
        Reference::Outside
    } else {
        Reference::Closed
    }
}

/// A custom message, or an error that belongs to no interaction.
fn mail(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    if let Err(limit) = quota::body(draft.world(), &message.header, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    let event = Event::EnvelopeAccepted(EnvelopeAccepted {
        envelope: message.header.clone(),
        facts: facts.clone(),
        derived: Derived::default(),
    });
    let stream = Stream::Mail(message.header.to);
    let appended = draft.append(&stream, event, Some(&message.body), now)?;
    Ok(TurnVerdict::Recorded(appended.position))
}

/// A message to the registry.
fn ask_registry(
    draft: &mut BatchDraft,
    message: &Submission,
    operation: &Operation,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    let (from, verb) = (message.header.from, operation.verb());
    if let Err(limit) = quota::registry(draft.world(), &message.header, verb, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    let agent = draft.world().agent(from).map(|agent| &**agent);
    let event = match registry::decide(agent, &message.header, operation, now) {
        Ok(event) => event,
        Err(refusal) => return Ok(TurnVerdict::Refused(refusal)),
    };
    let appended = draft.append(&Stream::Agent(from), event, Some(&message.body), now)?;
    Ok(TurnVerdict::Recorded(appended.position))
}

#[cfg(test)]
pub(crate) mod tests;
