//! Limits against spam that decide: how much of the ledger one DID may take up
//! (ledger-contract.md section 3).
//!
//! What is counted is part of the world, so a restart and an audit count the same. Every limit is
//! on the sender's own account: no DID can use up what another one is allowed. A message over a
//! limit is answered X811-9001, and its nonce stays unspent.

use crate::world::World;
use x811_protocol::capability::descriptor::HOUR_MS;
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::facts::consensus::Proposal;
use x811_protocol::facts::{CapabilityFacts, ConsensusFacts, Facts, NegotiationFacts};
use x811_protocol::parameters::Limits;
use x811_protocol::payload::registry::Verb;
use x811_protocol::refusal::{OPEN_RETRY_MS, Refusal};
use x811_protocol::time::TimestampMs;

/// A day of UTC.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// What a proposal is charged for each participant.
const DELIVERIES_EACH: u64 = 5;

/// When to try again after a limit on refusals: they are forgotten by the minute.
const REFUSALS_RETRY_MS: u64 = 60_000;

/// Which day of UTC that is, counted from the Unix epoch.
pub(crate) fn day(at: TimestampMs) -> u64 {
    at.as_ms() / DAY_MS
}

/// Whether `message` may be recorded: a REQUEST opens an interaction, and every body takes room.
pub fn message(
    world: &World,
    message: &AcceptedHeader,
    facts: &Facts,
    now: TimestampMs,
) -> Result<(), Refusal> {
    let Some(limits) = limits(world) else {
        return Ok(());
    };
    match facts {
        Facts::Request(_) => opening(world, limits, message.from, message.to)?,
        Facts::Negotiation(NegotiationFacts::Offer(_)) => {
            negotiating(world, message.from, message.to)?;
        }
        Facts::Capability(CapabilityFacts::Advertise(_)) => {
            advertising(world, message.from, now)?;
        }
        Facts::Consensus(ConsensusFacts::Propose(proposal)) => {
            proposing(world, message.from, proposal, now)?;
        }
        Facts::Negotiation(_)
        | Facts::Capability(_)
        | Facts::Consensus(_)
        | Facts::Offer(_)
        | Facts::Accept(_)
        | Facts::Reject(_)
        | Facts::Result(_)
        | Facts::Verify(_)
        | Facts::Payment(_)
        | Facts::Error(_)
        | Facts::Custom(_) => {}
    }
    body(world, limits, message, now)
}

/// Whether a message to the registry may be recorded. A DID can always be revoked: its key may be in
/// foreign hands.
pub fn registry(
    world: &World,
    message: &AcceptedHeader,
    verb: Verb,
    now: TimestampMs,
) -> Result<(), Refusal> {
    match (verb, limits(world)) {
        (Verb::Revoke, _) | (_, None) => Ok(()),
        (_, Some(limits)) => body(world, limits, message, now),
    }
}

/// Open interactions, per initiator and per pair.
fn opening(world: &World, limits: &Limits, from: Did, to: Did) -> Result<(), Refusal> {
    let open = world.agent(from).map_or(0, |agent| agent.open_requests);
    Refusal::check_room(
        open,
        limits.open_per_initiator,
        "interactions of yours are open",
    )?;
    let open = world.open_between(from, to);
    Refusal::check_room(
        open,
        limits.open_per_pair,
        "interactions with this provider are open",
    )?;
    Ok(())
}

/// Open negotiations, per initiator and per pair (contract.md, "Parameters").
fn negotiating(world: &World, from: Did, to: Did) -> Result<(), Refusal> {
    let block = world.parameters().and_then(|(_, set)| set.contracts);
    let Some(block) = block else {
        return Ok(());
    };
    let open = world.contracts().open_by(from);
    Refusal::check_room(
        open,
        block.open_per_initiator,
        "negotiations of yours are open",
    )?;
    let open = world.contracts().open_between(from, to);
    Refusal::check_room(
        open,
        block.open_per_pair,
        "negotiations with this agent are open",
    )?;
    Ok(())
}

/// Adverts, per agent and hour of UTC (capability.md, "Parameters").
fn advertising(world: &World, from: Did, now: TimestampMs) -> Result<(), Refusal> {
    let block = world.parameters().and_then(|(_, set)| set.capabilities);
    let (Some(block), Some(live)) = (block, world.descriptor(from)) else {
        return Ok(());
    };
    let adverts = live.state.adverts_in_hour_of(now);
    if adverts < block.adverts_per_hour {
        return Ok(());
    }
    let why =
        format!("{adverts} descriptors of yours were published this hour, which is the limit");
    let left_ms = HOUR_MS - now.as_ms() % HOUR_MS;
    Err(Refusal::exceeded(
        &why,
        "the next hour of UTC has begun",
        left_ms,
    ))
}

/// Undecided rounds of one proposer, all participants of theirs, and what is delivered in a day (round.md, "Parameters").
fn proposing(
    world: &World,
    from: Did,
    proposal: &Proposal,
    now: TimestampMs,
) -> Result<(), Refusal> {
    let block = world.parameters().and_then(|(_, set)| set.rounds.as_ref());
    let Some(block) = block else {
        return Ok(());
    };
    let open = world.rounds().open_by(from);
    if open >= block.open_per_proposer {
        let why = format!("{open} rounds of yours are undecided, which is the limit");
        return Err(Refusal::exceeded(
            &why,
            "one of them is decided",
            OPEN_RETRY_MS,
        ));
    }
    // Few have rounds open, and nobody many.
    let mine = world.rounds().iter().map(|(_, live)| &live.state);
    let mine = mine.filter(|state| state.opening.proposer == from && state.decided.is_none());
    let taken: u64 = mine.map(|state| state.seats.len() as u64).sum();
    let seats = taken + proposal.participants.len() as u64;
    if seats > block.seats_per_proposer {
        let why = format!(
            "your undecided rounds have {taken} participants, with this one {seats}, and {} are the \
             limit",
            block.seats_per_proposer
        );
        return Err(Refusal::exceeded(
            &why,
            "one of them is decided",
            OPEN_RETRY_MS,
        ));
    }
    let taken = world.delivered_on(from, now);
    let due = deliveries_of(proposal);
    if taken.saturating_add(due) > block.deliveries_per_day {
        let why = format!(
            "your proposals of today count as {taken} deliveries, this one as {due}, and {} are the limit",
            block.deliveries_per_day
        );
        let left_ms = DAY_MS - now.as_ms() % DAY_MS;
        return Err(Refusal::exceeded(
            &why,
            "the next day of UTC has begun",
            left_ms,
        ));
    }
    Ok(())
}

/// What a proposal is charged: itself and what follows it, to each participant.
pub(crate) fn deliveries_of(proposal: &Proposal) -> u64 {
    DELIVERIES_EACH * proposal.participants.len() as u64
}

/// Bytes of bodies, per DID and day.
fn body(
    world: &World,
    limits: &Limits,
    message: &AcceptedHeader,
    now: TimestampMs,
) -> Result<(), Refusal> {
    let sender = world.agent(message.from);
    let taken = sender.map_or(0, |agent| agent.accepted_bytes_on(now));
    if taken.saturating_add(message.size) <= limits.body_bytes_per_day {
        return Ok(());
    }
    let why = format!(
        "{taken} of the {} bytes a day are used up, and this message has {}",
        limits.body_bytes_per_day, message.size
    );
    let left_ms = DAY_MS - now.as_ms() % DAY_MS;
    Err(Refusal::exceeded(
        &why,
        "the next day of UTC has begun",
        left_ms,
    ))
}

/// Whether one more message of `from` may be refused at the cost of a nonce held in memory.
pub fn refusal(world: &World, from: Did) -> Result<(), Refusal> {
    let most = limits(world).map_or(u64::MAX, |limits| limits.refusals_per_window);
    if world.refusals(from) < most {
        return Ok(());
    }
    let why = format!("{most} messages of this DID were refused or repeated lately");
    Err(Refusal::exceeded(
        &why,
        "a few minutes have passed",
        REFUSALS_RETRY_MS,
    ))
}

fn limits(world: &World) -> Option<&Limits> {
    world.parameters().map(|(_, parameters)| &parameters.limits)
}
