//! The `round` machine: deciding together, from a proposal to what its participants did.
//!
//! The ledger is the board: all messages stand in one log, so that there is one order, one set of votes
//! and one outcome, whoever leads.
//!
//! | file | what it decides |
//! |---|---|
//! | [`table`] | who may send what in which state; which event and which window leads where |
//! | [`tally`] | what votes come to: a pure function in integers |
//! | `hashes` | what is hashed of weights, commitments, votes and tallies |
//! | `context` | what decisions read besides the state |
//! | `opening` | guards of a proposal and of a retry |
//! | `message` | guards of the thirteen messages that follow |
//! | `state` | what is known; which windows are open; what downtime moves |
//! | `counting` | whether its moment has come, and what its votes come to |
//! | `evolve` | what a record makes of the state |
//! | `follow` | what follows from a record in the round itself |
//! | `machine` | the machine as a ledger asks it |
//! | `detail` | what its row shows besides the columns of every row |
//! | `rivals` | which rounds compete, which block each other, and which is drawn |
//! | `lasting` | whether the same voters are missing twice |
//! | `told` | what the ledger tells of it in notices |
//! | `contest` | what that does to them: who is held, who waits, who is superseded |
//!
//! Sources: round.md, machines.md, CC-1…62, CX-1…32, CX-48, CX-50, CX-51.

mod contest;
mod context;
mod counting;
mod detail;
mod event;
mod evolve;
mod follow;
mod hashes;
mod lasting;
mod limits;
mod machine;
mod message;
mod opening;
mod plausible;
mod rivals;
mod state;
pub mod table;
pub mod tally;
mod told;

pub use contest::{Board, Contest, Draw, Ending, Shown, Waiting, assumed, settle};
pub use context::{Context, RoundLedger, VoterStanding};
pub use event::{
    Anomaly, AnomalyNoted, CycleDrawn, EscalationReason, Resubmitted, RoundDecided, RoundEscalated,
    RoundEvent, RoundOpened, RoundWindow,
};
pub use follow::follow;
pub use hashes::{HashedRound, Opened, commitment, votes_digest, weights_hash};
pub use lasting::{Failed, InARow, Relation};
pub use limits::deliveries_of;
pub use machine::{Round, RoundPlace, assumed_before, effects, ended, settled};
pub use message::offices;
pub use rivals::{Rank, Walk, drawn, walk};
pub use state::{Countersignature, Opening, Phase, Reported, Seat, State, StateName, VoteRecord};
pub use tally::{Outcome, Reason, Tally, TallyVerdict};
pub use told::{is_for_humans, is_for_members, is_told, news, signal_type};

use std::sync::Arc;

use crate::code::Code;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::facts::consensus::{ConsensusFacts, Said};
use crate::machine::{Conclusion, Illegal, Input};
use crate::parameters::Rounds;
use crate::refusal::Refusal;
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What a message is recorded with besides its facts.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    /// Proposal: the proposer's trust in hundredths.
    pub authority: Option<u64>,
    /// End of the window that the message opens.
    pub deadline_at_ms: Option<TimestampMs>,
    /// It moves nothing.
    pub effect: Option<Effect>,
    /// Proposal: position of the parameters that the round is opened under.
    pub parameters: Option<u64>,
    /// Vote: the block that draws in the cycle that it closes.
    pub seed: Option<Seed>,
}

/// A block that is still to come, whose hash draws.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    /// Height of that block.
    pub height: u64,
    /// The network's name.
    pub network: String,
}

/// What a message that moves nothing is recorded as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It contradicts an earlier one of its sender, or claims another's office (machines.md section 5).
    Evidence,
}

/// A message as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What its decision used besides the facts.
    pub derived: Derived,
    /// Who, when, with which key.
    pub envelope: AcceptedHeader,
    /// What it says.
    pub facts: ConsensusFacts,
}

/// What a record of a round's stream holds.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// A message was taken.
    Message(&'a Message),
    /// A window passed.
    Lapsed(RoundWindow),
    /// A block drew in a cycle.
    Drawn(&'a CycleDrawn),
    /// An event of the round that is no message and no lapse.
    Event(&'a RoundEvent),
    /// Members were told.
    Notice,
}

impl Entry<'_> {
    /// The `type` of the record's event.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Entry::Message(_) => "envelope_accepted",
            Entry::Lapsed(_) => "lapsed",
            Entry::Drawn(_) => "cycle_drawn",
            Entry::Event(event) => event.type_name(),
            Entry::Notice => "notice_issued",
        }
    }
}

/// A record of a round's stream, and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// What it holds.
    pub entry: Entry<'a>,
    /// Hash of the record.
    pub hash: Digest,
    /// Place in the log.
    pub position: u64,
    /// The ledger's clock when it was decided.
    pub recorded_at_ms: TimestampMs,
    /// Of a proposal: the parameters in force, if they take rounds.
    pub rounds: Option<&'a Arc<Rounds>>,
}

/// What becomes of `input`.
///
/// # Errors
/// Why it is refused: CCN-3001 where it is not addressed to the ledger, CCN-4001 for an unknown round,
/// and what guards say.
pub fn decide(
    state: Option<&State>,
    input: &Input<'_, ConsensusFacts>,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Conclusion<Derived>, Refusal> {
    let Input { envelope, facts } = input;
    if envelope.to != context.ledger {
        return Err(message::refused(
            Code::NotEligible,
            format!(
                "messages of rounds are addressed to the ledger, {}",
                context.ledger
            ),
        ));
    }
    match (state, facts) {
        (None, ConsensusFacts::Propose(proposal)) => {
            opening::open(proposal, envelope, context, now).map(Conclusion::Record)
        }
        (None, _) => Err(message::unknown()),
        (Some(state), facts) => {
            let is_human = context
                .rounds
                .is_some_and(|rounds| rounds.humans.contains(&envelope.from));
            let mut taken = message::advance(state, envelope, facts, now, is_human)?;
            if let (Conclusion::Record(derived), ConsensusFacts::Vote(vote)) = (&mut taken, facts)
                && let Ok(Said::Open(choice)) = vote.said()
            {
                let blocked_by = vote.blocked_by.as_deref().unwrap_or_default();
                opening::may_be_read(blocked_by, envelope.from, context)?;
                if derived.effect.is_none() && !blocked_by.is_empty() {
                    let then = state.with_vote(envelope.from, vote, choice);
                    derived.seed = opening::closing(state, &then, context, now)?;
                }
            }
            Ok(taken)
        }
    }
}

/// The state after `recorded`.
///
/// # Errors
/// When the history is not one that [`decide`] and [`follow`] could have written.
pub fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
    evolve::evolve(state, recorded)
}
