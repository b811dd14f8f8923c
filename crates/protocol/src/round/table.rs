//! The transition table as data: it drives the machine, its tests and its documentation.
//!
//! Of 13 states × 13 messages × 6 offices, the rows below accept; every other cell is refused, with the
//! code that [`refusal`] says. What a message causes beside (an opening, a decision, an escalation)
//! are events of their own: [`EVENTS`]. Where silence leads: [`LAPSES`].
//!
//! Source: round.md ("Events of `round:<id>`", "When it is decided").
#![doc = include_str!("TABLE.md")]

use super::event::RoundWindow;
use super::state::StateName;
use crate::code::Code;
use crate::facts::consensus::ConsensusVerb;

named! {
    /// What somebody is in a round. One agent may be several of these, and may do what any of them may.
    pub enum Office {
        /// Who proposed it.
        Proposer = "proposer",
        /// Who leads it, where that is an agent.
        Leader = "leader",
        /// An agent that may vote.
        Participant = "participant",
        /// Another of those who may lead rounds here.
        OtherLeader = "other leader",
        /// One of those who decide what was escalated.
        Human = "human",
        /// Somebody who is none of these.
        Stranger = "anybody else",
    }
}

/// Where an accepted message leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The state stays; an event may follow.
    Same,
    /// To that state.
    To(StateName),
    /// The state stays until everybody has reported, and is then that.
    Reported(StateName),
    /// The message contradicts another, or claims another's office: it is kept, and nothing moves
    /// (machines.md section 5).
    Evidence,
}

/// One accepting cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The requirement it comes from.
    pub requirement: &'static str,
    /// State it starts from.
    pub from: StateName,
    /// Message that triggers it.
    pub message: ConsensusVerb,
    /// Who may send it.
    pub office: Office,
    /// Where it leads, once its guards hold.
    pub next: Next,
}

const fn row(
    requirement: &'static str,
    from: StateName,
    message: ConsensusVerb,
    office: Office,
    next: Next,
) -> Transition {
    Transition {
        requirement,
        from,
        message,
        office,
        next,
    }
}

/// All accepting cells but those that keep a message as evidence alone.
pub const TRANSITIONS: [Transition; 31] = {
    use ConsensusVerb as M;
    use Next::{Reported, Same, To};
    use Office::{Human, Leader, Participant, Proposer};
    use StateName as S;
    [
        row("CC-3", S::Proposed, M::VoteRequest, Leader, Same),
        row("CC-31", S::Proposed, M::Ready, Participant, Same),
        row("CX-20", S::Open, M::Ready, Participant, Same),
        row("CX-20", S::Suspended, M::Ready, Participant, Same),
        row("CC-18", S::Open, M::Vote, Participant, Same),
        row("CX-25", S::Suspended, M::Vote, Participant, Same),
        row("CX-51", S::Revealing, M::Reveal, Participant, Same),
        row("CC-35", S::Open, M::Commit, Leader, Same),
        row("CC-35", S::Open, M::Abort, Leader, Same),
        row("CC-23", S::Committed, M::Commit, Leader, Same),
        row("CC-23", S::Done, M::Commit, Leader, Same),
        row("CC-23", S::Aborted, M::Abort, Leader, Same),
        row("CC-23", S::Failed, M::Abort, Leader, Same),
        row("CC-23", S::Escalated, M::Abort, Leader, Same),
        row("CC-23", S::HumanApproved, M::Abort, Leader, Same),
        row("CC-23", S::HumanRejected, M::Abort, Leader, Same),
        row("CC-23", S::Undecided, M::Abort, Leader, Same),
        row("CC-23", S::Done, M::Abort, Leader, Same),
        row("CC-49", S::Open, M::Suspend, Leader, To(S::Suspended)),
        row("CC-49", S::Suspended, M::Resume, Leader, To(S::Open)),
        row("CC-2", S::Proposed, M::Withdraw, Proposer, Same),
        row("CC-2", S::Open, M::Withdraw, Proposer, Same),
        row("CC-2", S::Suspended, M::Withdraw, Proposer, Same),
        row("CC-46", S::Failed, M::Escalate, Leader, Same),
        row("CC-46", S::Failed, M::Escalate, Proposer, Same),
        row(
            "CC-56",
            S::Escalated,
            M::HumanDecision,
            Human,
            To(S::HumanApproved),
        ),
        row(
            "CC-56",
            S::Escalated,
            M::HumanDecision,
            Human,
            To(S::HumanRejected),
        ),
        row(
            "CC-24",
            S::Committed,
            M::Executed,
            Participant,
            Reported(S::Done),
        ),
        row(
            "CC-24",
            S::Committed,
            M::Failed,
            Participant,
            Reported(S::Done),
        ),
        row(
            "CC-24",
            S::HumanApproved,
            M::Executed,
            Participant,
            Reported(S::Done),
        ),
        row(
            "CC-24",
            S::HumanApproved,
            M::Failed,
            Participant,
            Reported(S::Done),
        ),
    ]
};

/// Whether a commit or an abort by that office is kept as evidence: of somebody who has to do with the
/// round and does not lead it, while the round is not over (CX-21).
pub const fn is_evidence(from: StateName, message: ConsensusVerb, office: Office) -> bool {
    let claims = matches!(message, ConsensusVerb::Commit | ConsensusVerb::Abort);
    let has_to_do = matches!(
        office,
        Office::Proposer | Office::Participant | Office::OtherLeader
    );
    claims && has_to_do && !from.is_last()
}

/// What the cell of (state, message, office) does, if it accepts. A human's decision has two rows; the
/// first is found.
pub fn transition(from: StateName, message: ConsensusVerb, office: Office) -> Option<Next> {
    let row = TRANSITIONS
        .iter()
        .find(|row| row.from == from && row.message == message && row.office == office);
    match row {
        Some(row) => Some(row.next),
        None if is_evidence(from, message, office) => Some(Next::Evidence),
        None => None,
    }
}

/// The code that a message of one of these offices is refused with in that state.
pub fn refusal(from: StateName, message: ConsensusVerb, offices: &[Office]) -> Code {
    use ConsensusVerb as M;
    if offices == [Office::Stranger] {
        return Code::WrongState;
    }
    let is_theirs = TRANSITIONS
        .iter()
        .any(|row| row.message == message && offices.contains(&row.office));
    if !is_theirs {
        return match message {
            M::VoteRequest | M::Commit | M::Abort | M::Suspend | M::Resume => Code::WrongLeader,
            M::Propose => Code::WrongState,
            M::Ready
            | M::Vote
            | M::Reveal
            | M::Withdraw
            | M::Escalate
            | M::HumanDecision
            | M::Executed
            | M::Failed => Code::NotEligible,
        };
    }
    match (from, message) {
        (StateName::Open | StateName::Suspended, M::Reveal) => Code::TooEarly,
        (StateName::Suspended, M::Commit | M::Abort | M::Suspend) => Code::Suspended,
        (StateName::HumanApproved | StateName::HumanRejected | StateName::Undecided, _) => {
            Code::Closed
        }
        (StateName::Done | StateName::Aborted, M::Vote | M::Reveal | M::Ready) => Code::Late,
        (StateName::Done | StateName::Aborted, _) => Code::Closed,
        (
            StateName::Revealing
            | StateName::Held
            | StateName::Committed
            | StateName::Failed
            | StateName::Escalated,
            M::Vote | M::Ready,
        )
        | (
            StateName::Held | StateName::Committed | StateName::Failed | StateName::Escalated,
            M::Reveal,
        ) => Code::Late,
        _ => Code::WrongState,
    }
}

/// Where an event leads that is no message and no lapse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Follows {
    /// The event's type.
    pub event: &'static str,
    /// States it starts from.
    pub from: &'static [StateName],
    /// States it may lead to.
    pub to: &'static [StateName],
}

/// All of them.
pub const EVENTS: [Follows; 7] = {
    use StateName as S;
    [
        Follows {
            event: "round_opened",
            from: &[S::Proposed],
            to: &[S::Open],
        },
        Follows {
            event: "round_decided",
            from: &[S::Proposed, S::Open, S::Suspended, S::Revealing, S::Held],
            to: &[S::Committed, S::Aborted, S::Failed],
        },
        Follows {
            event: "resubmitted",
            from: &[S::Failed],
            to: &[S::Aborted],
        },
        Follows {
            event: "round_escalated",
            from: &[S::Failed],
            to: &[S::Escalated, S::Undecided],
        },
        Follows {
            event: "round_escalated (deadlock)",
            from: &[S::Aborted],
            to: &[S::Escalated, S::Undecided],
        },
        Follows {
            event: "cycle_drawn",
            from: &[S::Open, S::Suspended, S::Revealing, S::Held],
            to: &[],
        },
        Follows {
            event: "round_escalated (execution)",
            from: &[S::Committed, S::HumanApproved, S::Done],
            to: &[],
        },
    ]
};

/// Where silence leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lapse {
    /// The window that passes.
    pub window: RoundWindow,
    /// State it passes in; of the signal's, any state behind the decision.
    pub from: StateName,
    /// State it leads to by itself; a decision may follow.
    pub to: StateName,
}

/// All lapses that the machine makes.
pub const LAPSES: [Lapse; 12] = {
    use RoundWindow as W;
    use StateName as S;
    const fn lapse(window: W, from: S, to: S) -> Lapse {
        Lapse { window, from, to }
    }
    [
        lapse(W::Open, S::Proposed, S::Proposed),
        lapse(W::Votes, S::Open, S::Open),
        lapse(W::Votes, S::Open, S::Revealing),
        lapse(W::Votes, S::Suspended, S::Suspended),
        lapse(W::Reveals, S::Revealing, S::Revealing),
        lapse(W::Hold, S::Held, S::Held),
        lapse(W::Draw, S::Open, S::Open),
        lapse(W::Draw, S::Held, S::Held),
        lapse(W::Resubmission, S::Failed, S::Aborted),
        lapse(W::Human, S::Escalated, S::Undecided),
        lapse(W::Execution, S::Committed, S::Done),
        lapse(W::Execution, S::HumanApproved, S::Done),
    ]
};
