//! Limits against spam that decide: how much of the ledger one DID may take up
//! (ledger-contract.md section 3).
//!
//! What is counted is part of the world, so a restart and an audit count the same. Every limit is
//! on the sender's own account: no DID can use up what another one is allowed. A message over a
//! limit is answered X811-9001, and its nonce stays unspent.

use crate::as_of::AsOf;
use crate::world::{HeldMachine, World};
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::machine::Input;
use x811_protocol::parameters::Limits;
use x811_protocol::payload::registry::Verb;
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

/// When to try again after a limit on refusals: they are forgotten by the minute.
const REFUSALS_RETRY_MS: u64 = 60_000;

/// Checks the limits on a message about the subject of that id: those of its machine, then those of every body.
///
/// # Errors
/// X811-9001.
pub fn message<M: HeldMachine>(
    world: &World,
    id: M::Id,
    input: &Input<'_>,
    now: TimestampMs,
) -> Result<(), Refusal> {
    if let Some(view) = AsOf::at(world, now) {
        M::limits(&view, M::state(world, id), input)?;
    }
    body(world, input.envelope, now)
}

/// Whether a message to the registry may be recorded. A DID can always be revoked: its key may be in
/// foreign hands.
pub fn registry(
    world: &World,
    message: &AcceptedHeader,
    verb: Verb,
    now: TimestampMs,
) -> Result<(), Refusal> {
    if verb == Verb::Revoke {
        return Ok(());
    }
    body(world, message, now)
}

/// Checks the bytes of bodies of a DID in a day.
///
/// # Errors
/// X811-9001.
pub fn body(world: &World, message: &AcceptedHeader, now: TimestampMs) -> Result<(), Refusal> {
    let Some(limits) = limits(world) else {
        return Ok(());
    };
    let sender = world.agent(message.from);
    let taken = sender.map_or(0, |agent| agent.accepted_bytes_on(now));
    if taken.saturating_add(message.size) <= limits.body_bytes_per_day {
        return Ok(());
    }
    let why = format!(
        "{taken} of the {} bytes a day are used up, and this message has {}",
        limits.body_bytes_per_day, message.size
    );
    Err(Refusal::exceeded_today(&why, now))
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
