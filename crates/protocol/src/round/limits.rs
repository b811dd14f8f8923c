//! How many rounds, participants and deliveries one proposer may have (round.md, "Parameters").

use super::machine::Round;
use crate::did::Did;
use crate::facts::consensus::Proposal;
use crate::machine::LedgerView;
use crate::refusal::{OPEN_RETRY_MS, Refusal};

/// What a proposal is charged for each participant.
const DELIVERIES_EACH: u64 = 5;

/// What a proposal is charged: itself and what follows it, to each participant.
pub fn deliveries_of(proposal: &Proposal) -> u64 {
    DELIVERIES_EACH * proposal.participants.len() as u64
}

/// Refuses a proposal for which undecided rounds of its sender, all participants of theirs, or what is
/// delivered in a day leave no room.
pub(super) fn check<V: LedgerView>(
    view: &V,
    from: Did,
    proposal: &Proposal,
) -> Result<(), Refusal> {
    let (_, parameters) = view.parameters();
    let Some(block) = parameters.rounds.as_ref() else {
        return Ok(());
    };
    let exceeded = |why: &str| Refusal::exceeded(why, "one of them is decided", OPEN_RETRY_MS);
    let open = view.open::<Round>(from, None);
    if open >= block.open_per_proposer {
        let why = format!("{open} rounds of yours are undecided, which is the limit");
        return Err(exceeded(&why));
    }
    // Few have rounds open, and nobody many.
    let mine = view.states::<Round>();
    let mine = mine.filter(|state| state.opening.proposer == from && state.decided.is_none());
    let taken: u64 = mine.map(|state| state.seats.len() as u64).sum();
    let seats = taken + proposal.participants.len() as u64;
    if seats > block.seats_per_proposer {
        let why = format!(
            "your undecided rounds have {taken} participants, with this one {seats}, and {} are the \
             limit",
            block.seats_per_proposer
        );
        return Err(exceeded(&why));
    }
    let taken = view.deliveries_charged(from);
    let due = deliveries_of(proposal);
    if taken.saturating_add(due) > block.deliveries_per_day {
        let why = format!(
            "your proposals of today count as {taken} deliveries, this one as {due}, and {} are the limit",
            block.deliveries_per_day
        );
        return Err(Refusal::exceeded_today(&why, view.now()));
    }
    Ok(())
}
