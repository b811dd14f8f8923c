//! What is known of a round. Members stand in the order of their names, in which a state is hashed
//! after every record.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::contest::Contest;
use super::event::RoundWindow;
use super::tally::{Hindrance, Outcome, Reason, TallyVerdict};
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::consensus::{Choice, Mechanism, Proposal, Said, Vote};
use crate::id::RoundId;
use crate::machine::{self, RecordRef};
use crate::parameters::{Parameters, Rounds};
use crate::time::TimestampMs;

/// The longest window for reveals in which they are kept back from whoever reads the log.
const MOST_HIDDEN_MS: u64 = 60_000;

/// Stands where parameters have not been put back.
static NOT_RESTORED: LazyLock<Arc<Rounds>> = LazyLock::new(|| Arc::new(Rounds::DEFAULT));

fn not_restored() -> Arc<Rounds> {
    NOT_RESTORED.clone()
}

named! {
    /// Names of the thirteen states.
    pub enum StateName {
        /// It waits to be opened.
        Proposed = "proposed",
        /// Votes are taken.
        Open = "open",
        /// Votes are taken, and nothing is decided.
        Suspended = "suspended",
        /// Sealed votes are revealed.
        Revealing = "revealing",
        /// It would be committed, and waits for rivals of a higher rank.
        Held = "held",
        /// It is to be done.
        Committed = "committed",
        /// It was to be done, and everybody has reported or the time for it is over.
        Done = "done",
        /// It is not to be done.
        Aborted = "aborted",
        /// Nothing was decided: a retry is possible.
        Failed = "failed",
        /// Humans are asked.
        Escalated = "escalated",
        /// A human decided that it is to be done.
        HumanApproved = "human_approved",
        /// A human decided that it is not.
        HumanRejected = "human_rejected",
        /// No human decided.
        Undecided = "undecided",
    }
}

impl StateName {
    /// Whether no other state follows.
    pub const fn is_last(self) -> bool {
        matches!(
            self,
            StateName::Done | StateName::Aborted | StateName::HumanRejected | StateName::Undecided
        )
    }
}

/// What the proposal fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// The proposer's trust in hundredths; ranks rivals.
    pub authority: u64,
    /// When the proposer made it.
    pub created_ms: TimestampMs,
    /// Whether the ledger leads.
    pub ledger_leads: bool,
    /// The parameters that it keeps to its end. Not in the stored form.
    #[serde(skip, default = "machine::not_restored")]
    pub parameters: Arc<Parameters>,
    /// The proposal itself.
    pub proposal: Proposal,
    /// Who proposed it.
    pub proposer: Did,
    /// The proposal as a message, and its record.
    pub record: RecordRef,
    /// When it was recorded.
    pub recorded_at: TimestampMs,
    /// Their block of rounds. Not in the stored form.
    #[serde(skip, default = "not_restored")]
    pub rounds: Arc<Rounds>,
}

impl Opening {
    /// Id of the round: the envelope id of its proposal.
    pub const fn id(&self) -> RoundId {
        self.proposal.proposal_id
    }

    /// Where that agent sits, if it votes.
    pub fn seat_of(&self, agent: Did) -> Option<usize> {
        let participants = &self.proposal.participants;
        participants.iter().position(|member| *member == agent)
    }

    /// The agent that leads, if one does.
    pub fn leading_agent(&self) -> Option<Did> {
        (!self.ledger_leads).then_some(self.proposal.leader)
    }

    /// Whether it waits for somebody before votes are taken.
    pub fn opens_later(&self) -> bool {
        !self.ledger_leads || self.proposal.mechanism == Mechanism::Weighted
    }

    /// How long sealed votes may be revealed, in milliseconds: as the proposal says, or its parameters.
    pub fn reveal_ms(&self) -> u64 {
        self.proposal.reveal_ms.unwrap_or(self.rounds.reveal_ms)
    }

    /// How long the proposer gave it, in milliseconds.
    pub fn life_ms(&self) -> u64 {
        self.proposal.timeout_ms.since(self.created_ms)
    }

    /// The last moment at which it may be opened, whatever moves that window.
    pub fn last_opening(&self) -> TimestampMs {
        let timeout = self.proposal.timeout_ms;
        timeout.saturating_sub_ms(self.rounds.min_timeout_ms)
    }
}

/// A vote as it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoteRecord {
    /// Rounds that it names as standing in the way.
    pub blocked_by: Vec<RoundId>,
    /// What it says, if that can be read.
    pub choice: Option<Choice>,
    /// What it committed to, if it is sealed.
    pub commitment: Option<Digest>,
    /// Its place in the log; of a sealed one the commitment's.
    pub position: u64,
    /// Place of what revealed it.
    pub reveal: Option<u64>,
    /// When, as the voter says.
    pub timestamp: TimestampMs,
}

impl VoteRecord {
    /// The vote at that place.
    pub(super) fn of(vote: &Vote, said: Said, position: u64) -> VoteRecord {
        let (choice, commitment) = match said {
            Said::Open(choice) => (Some(choice), None),
            Said::Sealed(commitment) => (None, Some(commitment)),
        };
        VoteRecord {
            blocked_by: vote.blocked_by.clone().unwrap_or_default(),
            choice,
            commitment,
            position,
            reveal: None,
            timestamp: vote.timestamp_ms,
        }
    }

    /// Whether it says the same as a further vote (CX-14).
    pub fn says(&self, said: Said) -> bool {
        match said {
            Said::Sealed(commitment) => self.commitment == Some(commitment),
            Said::Open(choice) => {
                let of = |choice: &Choice| (choice.decision, choice.rationale_hash);
                self.commitment.is_none() && self.choice.as_ref().map(of) == Some(of(&choice))
            }
        }
    }

    pub(super) fn is_unrevealed(&self) -> bool {
        self.choice.is_none()
    }
}

/// What a participant reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reported {
    /// It was done.
    Executed,
    /// It could not be done.
    Failed,
}

/// What is known of one participant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seat {
    /// When it was last heard of in the round (CX-24).
    pub heard_at: Option<TimestampMs>,
    /// It takes part, under this leader and these weights.
    pub is_ready: bool,
    /// What it reported.
    pub report: Option<Reported>,
    /// Its vote, if it has voted.
    pub vote: Option<VoteRecord>,
}

/// Where a round stands; each with its own deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// It waits to be opened.
    Proposed {
        /// Until when it can be opened.
        deadline: TimestampMs,
    },
    /// Votes are taken until the timeout.
    Open {},
    /// The same, and nothing is decided.
    Suspended {},
    /// Sealed votes are revealed.
    Revealing {
        /// Until when sealed votes can be revealed.
        deadline: TimestampMs,
    },
    /// It waits for rivals, or for a block that draws.
    Held {
        /// Until when it waits.
        deadline: TimestampMs,
        /// When its moment came: as of then its votes are counted.
        since: TimestampMs,
    },
    /// It is to be done.
    Committed {
        /// Until when reports are taken.
        deadline: TimestampMs,
    },
    /// That is over.
    Done {},
    /// It is not to be done.
    Aborted {},
    /// Nothing was decided.
    Failed {
        /// Until when a retry may be proposed.
        deadline: TimestampMs,
        /// Since when it has failed.
        since: TimestampMs,
    },
    /// Humans are asked.
    Escalated {
        /// Until when a human can decide.
        deadline: TimestampMs,
        /// Position of the escalation.
        position: u64,
    },
    /// A human decided that it is to be done.
    HumanApproved {
        /// Until when reports are taken.
        deadline: TimestampMs,
    },
    /// A human decided that it is not.
    HumanRejected {},
    /// No human decided.
    Undecided {},
}

/// What is known of the leader's signal behind the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Countersignature {
    /// None is due.
    NotDue {},
    /// It is awaited.
    Awaited {
        /// Until when it is awaited.
        deadline: TimestampMs,
    },
    /// It was given.
    Given {},
    /// It was not given in time.
    Silent {},
}

/// The state of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// What other rounds did to it.
    #[serde(default, skip_serializing_if = "Contest::is_none")]
    pub contest: Contest,
    /// What the leader signalled behind the decision.
    pub countersignature: Countersignature,
    /// The outcome, once there is one.
    pub decided: Option<TallyVerdict>,
    /// How many records of its own are still to follow from those that stand: until they do it takes
    /// nothing else, and is not over.
    pub effects_due: u64,
    /// Members of whom one message is kept as evidence.
    pub evidence_of: BTreeSet<Did>,
    /// Somebody reported that it failed, and humans were told.
    pub failure_told: bool,
    /// What keeps votes from deciding, once its moment has come.
    pub hindrance: Option<Hindrance>,
    /// Its leader has sent the vote-request.
    pub is_called: bool,
    /// The time for its phase is over: the decision follows.
    pub is_due: bool,
    /// Mechanism leader: what the leader said.
    pub leader_said: Option<Outcome>,
    /// Milliseconds of its window for votes that the ledger was away.
    pub lost_ms: u64,
    /// The ledger was away at its timeout.
    pub lost_timeout: bool,
    /// When it was opened, once it was.
    pub opened_at: Option<TimestampMs>,
    /// What the proposal fixed.
    pub opening: Opening,
    /// Where it stands.
    pub phase: Phase,
    /// The retry, once there is one.
    pub retried_by: Option<RoundId>,
    /// Each participant, in their order.
    pub seats: Vec<Seat>,
    /// The running hash over the seats, as each message left that of its sender; `None` before the first
    /// message. A hash over all seats behind each vote would cost more than anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats_run: Option<Digest>,
    /// It was suspended once.
    pub was_suspended: bool,
}

impl State {
    /// The same with that vote, before it is recorded.
    pub(super) fn with_vote(&self, by: Did, vote: &Vote, choice: Choice) -> State {
        let mut state = self.clone();
        if let Some(seat) = self
            .opening
            .seat_of(by)
            .and_then(|seat| state.seats.get_mut(seat))
        {
            seat.vote = Some(VoteRecord::of(vote, Said::Open(choice), 0));
        }
        state
    }

    /// The name of the state, as machines.md writes it.
    pub const fn name(&self) -> StateName {
        match self.phase {
            Phase::Proposed { .. } => StateName::Proposed,
            Phase::Open {} => StateName::Open,
            Phase::Suspended {} => StateName::Suspended,
            Phase::Revealing { .. } => StateName::Revealing,
            Phase::Held { .. } => StateName::Held,
            Phase::Committed { .. } => StateName::Committed,
            Phase::Done {} => StateName::Done,
            Phase::Aborted {} => StateName::Aborted,
            Phase::Failed { .. } => StateName::Failed,
            Phase::Escalated { .. } => StateName::Escalated,
            Phase::HumanApproved { .. } => StateName::HumanApproved,
            Phase::HumanRejected {} => StateName::HumanRejected,
            Phase::Undecided {} => StateName::Undecided,
        }
    }

    /// Whether nothing leads on from here.
    pub const fn is_over(&self) -> bool {
        self.name().is_last()
            && self.effects_due == 0
            && !matches!(self.countersignature, Countersignature::Awaited { .. })
    }

    /// Members of the round: who proposed, leads and votes.
    pub fn members(&self) -> BTreeSet<Did> {
        let proposal = &self.opening.proposal;
        let mut members: BTreeSet<Did> = proposal.participants.iter().copied().collect();
        members.insert(self.opening.proposer);
        members.extend(self.opening.leading_agent());
        members
    }

    /// Whether votes are taken: from the opening to the decision.
    pub const fn is_open(&self) -> bool {
        self.opened_at.is_some() && self.decided.is_none()
    }

    /// The windows that are open, each with its last moment.
    pub fn windows(&self) -> Vec<(RoundWindow, TimestampMs)> {
        let of_phase = match self.phase {
            Phase::Proposed { deadline } => Some((RoundWindow::Open, deadline)),
            Phase::Open {} | Phase::Suspended {} => {
                Some((RoundWindow::Votes, self.opening.proposal.timeout_ms))
            }
            Phase::Revealing { deadline } => Some((RoundWindow::Reveals, deadline)),
            Phase::Held { .. } if self.contest.waits.is_some() => None,
            Phase::Held { deadline, .. } => Some((RoundWindow::Hold, deadline)),
            Phase::Committed { deadline } | Phase::HumanApproved { deadline } => {
                Some((RoundWindow::Execution, deadline))
            }
            Phase::Failed { deadline, .. } => Some((RoundWindow::Resubmission, deadline)),
            Phase::Escalated { deadline, .. } => Some((RoundWindow::Human, deadline)),
            Phase::Done {} | Phase::Aborted {} | Phase::HumanRejected {} | Phase::Undecided {} => {
                None
            }
        };
        let mut windows: Vec<_> = of_phase.filter(|_| !self.is_due).into_iter().collect();
        if let Countersignature::Awaited { deadline } = self.countersignature {
            windows.push((RoundWindow::Signal, deadline));
        }
        windows.extend(self.draw().map(|draw| (RoundWindow::Draw, draw.deadline)));
        windows
    }

    /// The window that ends first, and its last moment; of two that end together, the first in the
    /// order of the enum.
    pub fn next_window(&self) -> Option<(RoundWindow, TimestampMs)> {
        let windows = self.windows().into_iter();
        windows.min_by_key(|(window, deadline)| (*deadline, *window))
    }

    /// Place of the first reveal, while others may still reveal or not: nobody is to read it till then
    /// (CX-51). Of a window that is longer than a minute nothing is kept back, so that no proposal
    /// holds up who reads the log.
    pub fn first_hidden_reveal(&self) -> Option<u64> {
        let is_revealing = matches!(self.phase, Phase::Revealing { .. });
        if !is_revealing || self.opening.reveal_ms() > MOST_HIDDEN_MS {
            return None;
        }
        let votes = self.seats.iter().filter_map(|seat| seat.vote.as_ref());
        votes.filter_map(|vote| vote.reveal).min()
    }

    /// Whether everybody acknowledged leader and weights.
    pub fn all_are_ready(&self) -> bool {
        self.seats.iter().all(|seat| seat.is_ready)
    }

    /// Whether what it waited for has come, so that it opens (CC-31, round.md "Messages and facts").
    pub fn is_to_be_opened(&self) -> bool {
        let is_acknowledged =
            self.opening.proposal.mechanism != Mechanism::Weighted || self.all_are_ready();
        matches!(self.phase, Phase::Proposed { .. })
            && !self.is_due
            && is_acknowledged
            && (self.opening.ledger_leads || self.is_called)
    }

    /// Whether it failed and no retry is left.
    pub fn has_no_retry_left(&self) -> bool {
        let is_failed = |verdict: &TallyVerdict| verdict.reason.is_failure();
        self.decided.as_ref().is_some_and(is_failed)
            && self.opening.proposal.attempt > self.opening.rounds.retries
    }

    /// Whether humans are asked about it as no round can go on: it was ended by a cycle, or the same voters
    /// were missing twice.
    pub fn is_in_deadlock(&self) -> bool {
        let is_deadlock = |verdict: &TallyVerdict| verdict.reason == Reason::Deadlock;
        self.decided.as_ref().is_some_and(is_deadlock) || self.contest.lacking_since.is_some()
    }

    /// Whether the leader signs what was decided: an agent does, unless its word was the decision or its
    /// silence the reason.
    pub(super) fn owes_a_signal(&self, verdict: &TallyVerdict) -> bool {
        !self.opening.ledger_leads
            && self.opening.proposal.mechanism != Mechanism::Leader
            && verdict.reason != Reason::LeaderSilent
    }

    /// Whether somebody reported that it could not be done.
    pub fn has_failed_report(&self) -> bool {
        let has_failed = |seat: &Seat| seat.report == Some(Reported::Failed);
        self.seats.iter().any(has_failed)
    }

    /// Why it failed, while it is [`StateName::Failed`], and since when.
    pub fn failure(&self) -> Option<(Reason, TimestampMs)> {
        let Phase::Failed { since, .. } = self.phase else {
            return None;
        };
        self.decided.map(|verdict| (verdict.reason, since))
    }

    /// Position of the escalation, while a human is waited for.
    pub const fn escalation(&self) -> Option<u64> {
        match self.phase {
            Phase::Escalated { position, .. } => Some(position),
            Phase::Proposed { .. }
            | Phase::Open {}
            | Phase::Suspended {}
            | Phase::Revealing { .. }
            | Phase::Held { .. }
            | Phase::Committed { .. }
            | Phase::Done {}
            | Phase::Aborted {}
            | Phase::Failed { .. }
            | Phase::HumanApproved { .. }
            | Phase::HumanRejected {}
            | Phase::Undecided {} => None,
        }
    }

    /// Whether downtime of the ledger means something to it: a window that moves, or votes that could
    /// not be cast.
    pub fn moves_with_downtime(&self) -> bool {
        let by_phase = match self.phase {
            Phase::Proposed { .. } => self.opening.opens_later(),
            Phase::Open {}
            | Phase::Suspended {}
            | Phase::Revealing { .. }
            | Phase::Held { .. }
            | Phase::Committed { .. }
            | Phase::HumanApproved { .. }
            | Phase::Failed { .. }
            | Phase::Escalated { .. } => true,
            Phase::Done {} | Phase::Aborted {} | Phase::HumanRejected {} | Phase::Undecided {} => {
                false
            }
        };
        by_phase || matches!(self.countersignature, Countersignature::Awaited { .. })
    }

    /// The state once the ledger was away for that long until `back_at`. Signed moments stay; of the window
    /// for votes it is known how much was lost (round.md, "When it is decided", rule 5).
    #[must_use]
    pub fn after_downtime(mut self, gap_ms: u64, back_at: TimestampMs) -> State {
        if !self.moves_with_downtime() {
            return self;
        }
        let later = |deadline: TimestampMs| deadline.saturating_add_ms(gap_ms);
        match &mut self.phase {
            Phase::Proposed { deadline } if self.opening.opens_later() => {
                *deadline = later(*deadline).min(self.opening.last_opening());
            }
            Phase::Open {} | Phase::Suspended {} => self.lose(gap_ms, back_at),
            Phase::Revealing { deadline }
            | Phase::Held { deadline, .. }
            | Phase::Committed { deadline }
            | Phase::HumanApproved { deadline }
            | Phase::Failed { deadline, .. }
            | Phase::Escalated { deadline, .. } => *deadline = later(*deadline),
            Phase::Proposed { .. }
            | Phase::Done {}
            | Phase::Aborted {}
            | Phase::HumanRejected {}
            | Phase::Undecided {} => {}
        }
        if let Countersignature::Awaited { deadline } = &mut self.countersignature {
            *deadline = later(*deadline);
        }
        if let Some(draw) = self.contest.waits.as_mut().and_then(|it| it.draw.as_mut()) {
            draw.deadline = later(draw.deadline);
        }
        self
    }

    fn lose(&mut self, gap_ms: u64, back_at: TimestampMs) {
        let timeout = self.opening.proposal.timeout_ms;
        let Some(opened_at) = self.opened_at else {
            return;
        };
        let away_from = back_at.saturating_sub_ms(gap_ms);
        let lost = back_at.min(timeout).since(away_from.max(opened_at));
        self.lost_ms = self.lost_ms.saturating_add(lost);
        self.lost_timeout |= away_from <= timeout && timeout <= back_at;
    }

    /// Whether an optimistic round lost too much of its window to the ledger's downtime.
    pub fn lost_too_much(&self) -> bool {
        let (proposal, rounds) = (&self.opening.proposal, &self.opening.rounds);
        let Some(opened_at) = self.opened_at else {
            return false;
        };
        let window_ms = u128::from(proposal.timeout_ms.since(opened_at));
        let most = window_ms * u128::from(rounds.downtime_permille);
        proposal.mechanism == Mechanism::Optimistic
            && (self.lost_timeout || u128::from(self.lost_ms) * 1_000 > most)
    }

    /// A state that was read from its stored form, under the parameters it was opened under.
    #[must_use]
    pub fn with_rounds(mut self, rounds: Arc<Rounds>) -> State {
        self.opening.rounds = rounds;
        self
    }

    /// The same under the whole of them.
    #[must_use]
    pub fn with_parameters(mut self, parameters: Arc<Parameters>) -> State {
        self.opening.rounds = parameters.rounds.clone().unwrap_or_else(not_restored);
        self.opening.parameters = parameters;
        self
    }
}
