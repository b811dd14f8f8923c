//! Guards of a proposal: what opens a round, and a retry of one that failed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::contest::{self, Board};
use super::lasting::{Failed, Relation};
use super::message::refused;
use super::rivals::Walk;
use super::state::State;
use super::{Context, Derived, RoundLedger, Seed, VoterStanding};
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::facts::consensus::{Mechanism, Proposal, Risk};
use crate::id::RoundId;
use crate::parameters::Rounds;
use crate::refusal::Refusal;
use crate::time::TimestampMs;

/// What accepting a proposal rests on besides its facts.
///
/// # Errors
/// Why it is refused.
pub(super) fn open(
    proposal: &Proposal,
    envelope: &AcceptedHeader,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Derived, Refusal> {
    let Some(rounds) = context.rounds else {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            "this ledger runs no rounds: agree in another way",
        ));
    };
    let deadline = fits(proposal, envelope, rounds, now)?;
    take_part(proposal, envelope.from, rounds, context)?;
    may_be_read(&proposal.blocked_by, envelope.from, context)?;
    if let Some(failed) = proposal.resubmission_of {
        let failed = context.view.round(failed);
        retries(failed, proposal, envelope, now)?;
    }
    Ok(Derived {
        authority: Some(context.view.standing(envelope.from).trust_hundredths),
        deadline_at_ms: Some(deadline),
        effect: None,
        parameters: Some(context.parameters_position),
        seed: None,
    })
}

/// What the proposal and the parameters alone say: returns until when it waits, for its opening or for
/// votes.
pub(super) fn fits(
    proposal: &Proposal,
    envelope: &AcceptedHeader,
    rounds: &Rounds,
    now: TimestampMs,
) -> Result<TimestampMs, Refusal> {
    if proposal.proposal_id != RoundId::from(envelope.id) {
        return Err(refused(
            Code::Schema,
            "proposal_id must be the id of the envelope",
        ));
    }
    let seats = proposal.participants.len() as u64;
    if seats > rounds.participants {
        return Err(refused(
            Code::LimitReached,
            format!(
                "this ledger takes {} participants at most",
                rounds.participants
            ),
        ));
    }
    let ledger = envelope.to;
    let ledger_leads = proposal.leader == ledger;
    if !ledger_leads && !rounds.is_leader(proposal.leader) {
        return Err(refused(
            Code::NotEligible,
            format!("leader must be the ledger, {ledger}, or one of those it lists (CX-21)"),
        ));
    }
    if ledger_leads && proposal.mechanism == Mechanism::Leader {
        return Err(refused(
            Code::NotEligible,
            "mechanism leader needs an agent that leads: the ledger decides nothing by itself",
        ));
    }
    let is_harmless = proposal.risk == Risk::Low && proposal.reversible;
    if proposal.mechanism == Mechanism::Optimistic && !is_harmless && !rounds.optimistic_any_risk {
        return Err(refused(
            Code::NotEligible,
            "mechanism optimistic takes actions of low risk that can be undone: say so in action.risk and \
             action.reversible, or take another mechanism (CX-19)",
        ));
    }
    if let Some(reveal_ms) = proposal.reveal_ms
        && !(rounds.reveal_ms..=rounds.max_timeout_ms).contains(&reveal_ms)
    {
        return Err(refused(
            Code::LimitReached,
            format!(
                "reveal_ms must be {} to {}",
                rounds.reveal_ms, rounds.max_timeout_ms
            ),
        ));
    }
    let opens_later = !ledger_leads || proposal.mechanism == Mechanism::Weighted;
    let wait_ms = if opens_later { rounds.open_ms } else { 0 };
    let least_ms = wait_ms.saturating_add(rounds.min_timeout_ms);
    let left_ms = proposal.timeout_ms.since(now);
    if !(least_ms..=rounds.max_timeout_ms).contains(&left_ms) {
        return Err(refused(
            Code::LimitReached,
            format!(
                "timeout is {left_ms} ms from now; it must be {least_ms} to {} ms",
                rounds.max_timeout_ms
            ),
        ));
    }
    Ok(if opens_later {
        now.saturating_add_ms(wait_ms)
    } else {
        proposal.timeout_ms
    })
}

/// The proposer and all who vote must be able to take part, and have said that they do: without that
/// anybody could address 512 strangers with one message.
fn take_part(
    proposal: &Proposal,
    proposer: Did,
    rounds: &Rounds,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    let everybody = std::iter::once(&proposer).chain(&proposal.participants);
    for agent in everybody {
        let VoterStanding {
            age_ms,
            is_active,
            is_excluded,
            takes_part,
            trust_hundredths,
        } = context.view.standing(*agent);
        if is_excluded {
            let message = format!("{agent} is excluded for now: leave it out");
            return Err(refused(Code::Excluded, message));
        }
        let why = if !is_active {
            "is not registered here, or not active"
        } else if !takes_part {
            "has not registered the capability x811.consensus"
        } else if age_ms < rounds.min_age_ms {
            "was registered too short a time ago"
        } else if trust_hundredths < rounds.min_trust {
            "has not earned enough trust here"
        } else {
            continue;
        };
        return Err(refused(
            Code::NotEligible,
            format!("{agent} {why}: leave it out"),
        ));
    }
    Ok(())
}

/// What a vote is recorded with that closes a cycle: the block that draws in it.
///
/// # Errors
/// CCN-4009 where more rounds stand in each other's way than are looked at.
pub(super) fn closing(
    before: &State,
    after: &State,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Option<Seed>, Refusal> {
    struct RoundBoard<'a>(&'a dyn RoundLedger);
    impl Board for RoundBoard<'_> {
        fn round(&self, id: RoundId) -> Option<&State> {
            self.0.round(id)
        }
        fn about(&self, _: &[Digest]) -> BTreeSet<RoundId> {
            BTreeSet::new()
        }
        /// Nothing is decided here.
        fn failed(&self, _: Did, _: &[Relation], _: TimestampMs) -> Vec<Arc<Failed>> {
            Vec::new()
        }
    }
    let way = contest::closes(before, after, &RoundBoard(context.view), now);
    if way == Walk::TooLong {
        return Err(refused(
            Code::LimitReached,
            "more than 64 rounds stand in each other's way: leave blocked_by out",
        ));
    }
    Ok(contest::seed(&way, after, context.head))
}

/// Rounds that are named as blocking are open, and the sender may read them.
pub(super) fn may_be_read(
    named: &[RoundId],
    agent: Did,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    for id in named {
        let round = context.view.round(*id);
        if !round.is_some_and(|round| round.is_open() && round.members().contains(&agent)) {
            return Err(refused(
                Code::NotEligible,
                format!("blocked_by names {id}, which is no open round of yours"),
            ));
        }
    }
    Ok(())
}

/// Holds a retry to the round that failed (CC-45, CC-47, CX-22, CX-23).
fn retries(
    failed: Option<&State>,
    proposal: &Proposal,
    envelope: &AcceptedHeader,
    now: TimestampMs,
) -> Result<(), Refusal> {
    let failure = failed.and_then(|failed| Some((failed, failed.failure()?)));
    let Some((failed, (reason, since))) = failure else {
        return Err(refused(
            Code::WrongState,
            "resubmission_of names no round that failed and waits for a retry: propose anew",
        ));
    };
    let (first, rounds) = (&failed.opening.proposal, &failed.opening.rounds);
    if failed.opening.proposer != envelope.from {
        return Err(refused(
            Code::NotEligible,
            "who proposed a round retries it",
        ));
    }
    let is_same = first.participants == proposal.participants
        && first.mechanism == proposal.mechanism
        && first.action_hash == proposal.action_hash;
    if !is_same {
        return Err(refused(
            Code::TermsMismatch,
            "a retry has the participants, the mechanism and the action of the round that failed",
        ));
    }
    if proposal.attempt != first.attempt + 1 {
        return Err(refused(
            Code::TermsMismatch,
            format!("attempt must be {}", first.attempt + 1),
        ));
    }
    if proposal.attempt > rounds.retries + 1 {
        return Err(refused(
            Code::LimitReached,
            format!("{} retries are all there are", rounds.retries),
        ));
    }
    let not_before = since.saturating_add_ms(rounds.retry_delay_ms(first.attempt));
    if now < not_before {
        let wait_ms = not_before.since(now);
        let message = format!("the next attempt may be made in {wait_ms} ms");
        return Err(refused(Code::TooEarly, message).retry_after_ms(wait_ms));
    }
    let life_ms = proposal.timeout_ms.since(envelope.created_ms);
    let gives_more = life_ms > failed.opening.life_ms() || asks_less(first, proposal);
    if gives_more || reason.is_no_fault_of_voters() {
        return Ok(());
    }
    Err(refused(
        Code::TermsMismatch,
        "a retry has a longer timeout or a smaller quorum (CC-45)",
    ))
}

/// Whether the quorum is smaller; of a majority, in what it comes to: it never goes below one half.
fn asks_less(first: &Proposal, then: &Proposal) -> bool {
    let least = |proposal: &Proposal| match proposal.mechanism {
        Mechanism::Majority => {
            let half = (proposal.participants.len() as u64).div_ceil(2);
            proposal.quorum.max(half)
        }
        Mechanism::Weighted => proposal.quorum,
        Mechanism::Leader | Mechanism::Optimistic => 0,
    };
    least(then) < least(first)
}
