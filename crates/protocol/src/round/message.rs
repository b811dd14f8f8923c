//! Guards of the thirteen messages that follow a proposal. What they look at is the state alone, so that
//! a stored record is held to them again ([`super::State`] evolves by nothing else).

use super::state::{Countersignature, Phase, Reported, State, StateName, VoteRecord};
use super::table::{self, Next, Office};
use super::tally::{Outcome, Poll};
use super::{Derived, Effect};
use crate::code::Code;
use crate::did::Did;
use crate::envelope::AcceptedHeader;
use crate::facts::consensus::{
    ConsensusFacts, ConsensusVerb, HumanDecision, HumanRuling, LeaderSignal, Mechanism, Ready,
    Reveal, Said, Vote, VoteRequest, Voting,
};
use crate::machine::Conclusion;
use crate::refusal::{Kind, Refusal};
use crate::time::TimestampMs;

/// How far a vote's own time may be from the record (CX-5).
const CLOCK_TOLERANCE_MS: u64 = 300_000;

/// What somebody is in a round; `is_human` says whether the parameters in force name it as one who
/// decides.
pub fn offices(state: &State, agent: Did, is_human: bool) -> Vec<Office> {
    let opening = &state.opening;
    let is_leader = opening.leading_agent() == Some(agent);
    let has = [
        (opening.proposer == agent, Office::Proposer),
        (is_leader, Office::Leader),
        (opening.seat_of(agent).is_some(), Office::Participant),
        (
            !is_leader && opening.rounds.is_leader(agent),
            Office::OtherLeader,
        ),
        (is_human, Office::Human),
    ];
    let mut offices: Vec<Office> = has
        .into_iter()
        .filter(|(has, _)| *has)
        .map(|(_, it)| it)
        .collect();
    if offices.is_empty() {
        offices.push(Office::Stranger);
    }
    offices
}

/// What becomes of a message that follows a proposal.
///
/// # Errors
/// Why it is refused.
pub(super) fn advance(
    state: &State,
    envelope: &AcceptedHeader,
    facts: &ConsensusFacts,
    now: TimestampMs,
    is_human: bool,
) -> Result<Conclusion<Derived>, Refusal> {
    let offices = offices(state, envelope.from, is_human);
    let next = permit(state, facts.verb(), &offices, now)?;
    if next == Next::Evidence {
        return evidence(state, envelope.from, Code::WrongLeader);
    }
    match facts {
        ConsensusFacts::Propose(_) => Err(unknown()),
        ConsensusFacts::VoteRequest(call) => vote_request(state, call),
        ConsensusFacts::Ready(ready) => be_ready(state, envelope.from, ready),
        ConsensusFacts::Vote(vote) => cast(state, envelope.from, vote, now),
        ConsensusFacts::Reveal(reveal) => uncover(state, envelope.from, reveal),
        ConsensusFacts::Commit(signal) => signalled(state, signal, Outcome::Commit, now),
        ConsensusFacts::Abort(signal) => signalled(state, signal, Outcome::Abort, now),
        ConsensusFacts::Suspend(_) if state.was_suspended => Err(refused(
            Code::LimitReached,
            "a round is suspended once at most",
        )),
        ConsensusFacts::Withdraw(_) if state.seats.iter().any(|seat| seat.vote.is_some()) => {
            Err(refused(
                Code::WrongState,
                "somebody has voted: a proposal is taken back before the first vote",
            ))
        }
        ConsensusFacts::Suspend(_) | ConsensusFacts::Resume(_) | ConsensusFacts::Withdraw(_) => {
            recorded()
        }
        ConsensusFacts::Escalate(_) => escalate(state, &offices),
        ConsensusFacts::HumanDecision(decision) => human(state, decision, now),
        ConsensusFacts::Executed(_) | ConsensusFacts::Failed(_) => {
            let reported = seat_of(state, envelope.from).and_then(|seat| state.seats[seat].report);
            match reported {
                None => recorded(),
                Some(Reported::Executed | Reported::Failed) => {
                    Err(refused(Code::Duplicate, "you have reported already"))
                }
            }
        }
    }
}

/// Looks the cells of the sender's offices up.
fn permit(
    state: &State,
    verb: ConsensusVerb,
    offices: &[Office],
    now: TimestampMs,
) -> Result<Next, Refusal> {
    let name = state.name();
    let cells = offices
        .iter()
        .filter_map(|office| table::transition(name, verb, *office));
    let leads = offices.contains(&Office::Leader);
    let mut cells: Vec<Next> = cells
        .filter(|next| *next != Next::Evidence || !leads)
        .collect();
    cells.sort_by_key(|next| *next == Next::Evidence);
    if let Some(next) = cells.first() {
        return Ok(*next);
    }
    let code = table::refusal(name, verb, offices);
    if offices == [Office::Stranger] {
        return Err(unknown());
    }
    let refusal = refused(code, not_taken(name, verb));
    if code == Code::TooEarly {
        let timeout = state.opening.proposal.timeout_ms;
        return Err(refusal.retry_after_ms(timeout.since(now).saturating_add(1)));
    }
    Err(refusal)
}

/// That a message is not taken from its sender, and from whom it would be.
fn not_taken(name: StateName, verb: ConsensusVerb) -> String {
    let takes = |office: &Office| {
        table::transition(name, verb, *office).is_some_and(|next| next != Next::Evidence)
    };
    let takers: Vec<&str> = Office::ALL
        .iter()
        .filter(|office| takes(office))
        .map(|office| office.as_str())
        .collect();
    match takers.is_empty() {
        true => format!("the round is {name} and takes no {verb}"),
        false => format!(
            "the round is {name} and takes {verb} from its {}, not from you",
            takers.join(" or ")
        ),
    }
}

/// What a message about a round that is not known is answered with, and a stranger's about any.
pub(super) fn unknown() -> Refusal {
    refused(
        Code::WrongState,
        "no round of yours that is not over has this id: its history says how it ended, if there was \
         one",
    )
}

fn vote_request(state: &State, call: &VoteRequest) -> Result<Conclusion<Derived>, Refusal> {
    let proposal = &state.opening.proposal;
    repeats(call.proposal_hash, proposal.proposal_hash, "proposal_hash")?;
    repeats(call.term, proposal.attempt, "term")?;
    repeats(call.weights_hash, proposal.weights_hash, "weights_hash")?;
    if proposal.mechanism == Mechanism::Weighted && !state.all_are_ready() {
        return Err(refused(
            Code::WrongState,
            "not every participant has acknowledged the weights: wait for their ready",
        ));
    }
    recorded()
}

fn be_ready(state: &State, agent: Did, ready: &Ready) -> Result<Conclusion<Derived>, Refusal> {
    let proposal = &state.opening.proposal;
    repeats(ready.proposal_hash, proposal.proposal_hash, "proposal_hash")?;
    if ready.leader != proposal.leader {
        return Err(refused(
            Code::WrongLeader,
            format!("the proposal names {} as leader (CX-21)", proposal.leader),
        ));
    }
    repeats(ready.term, proposal.attempt, "term")?;
    repeats(ready.weights_hash, proposal.weights_hash, "weights_hash")?;
    if seat_of(state, agent).is_some_and(|seat| state.seats[seat].is_ready) {
        return Err(refused(Code::Duplicate, "you are ready already"));
    }
    recorded()
}

fn cast(
    state: &State,
    agent: Did,
    vote: &Vote,
    now: TimestampMs,
) -> Result<Conclusion<Derived>, Refusal> {
    let proposal = &state.opening.proposal;
    repeats(vote.proposal_hash, proposal.proposal_hash, "proposal_hash")?;
    let said = vote.said()?;
    let is_sealed = matches!(said, Said::Sealed(_));
    if is_sealed != (proposal.voting == Voting::Sealed) {
        return Err(refused(
            Code::Schema,
            format!("votes of this round are {}", proposal.voting),
        ));
    }
    if vote.timestamp_ms > proposal.timeout_ms {
        return Err(refused(Code::Late, "timestamp is behind the timeout"));
    }
    let apart = now
        .since(vote.timestamp_ms)
        .max(vote.timestamp_ms.since(now));
    if apart > CLOCK_TOLERANCE_MS {
        return Err(refused(
            Code::Late,
            format!(
                "timestamp is {apart} ms from the ledger's clock, and at most {CLOCK_TOLERANCE_MS} ms \
                 are taken: set your clock"
            ),
        ));
    }
    match seat_of(state, agent).and_then(|seat| state.seats[seat].vote.as_ref()) {
        None => recorded(),
        Some(vote) if vote.says(said) => Ok(Conclusion::Repeat {
            first: vote.position,
        }),
        Some(_) => evidence(state, agent, Code::Duplicate),
    }
}

fn uncover(state: &State, agent: Did, reveal: &Reveal) -> Result<Conclusion<Derived>, Refusal> {
    let vote = seat_of(state, agent).and_then(|seat| state.seats[seat].vote.as_ref());
    let Some(vote) = vote else {
        return Err(refused(
            Code::Late,
            "you have committed to nothing, and the time for votes is over",
        ));
    };
    let VoteRecord {
        commitment,
        reveal: reveal_position,
        timestamp,
        ..
    } = vote;
    repeats(
        Some(reveal.commitment),
        *commitment,
        "the commitment of what you reveal",
    )?;
    repeats(reveal.timestamp_ms, *timestamp, "timestamp")?;
    if let Some(first) = *reveal_position {
        return Ok(Conclusion::Repeat { first });
    }
    recorded()
}

/// A leader's commit or abort: the decision in mechanism `leader`, a countersignature elsewhere.
fn signalled(
    state: &State,
    signal: &LeaderSignal,
    outcome: Outcome,
    now: TimestampMs,
) -> Result<Conclusion<Derived>, Refusal> {
    let Some(verdict) = &state.decided else {
        return lead(state, signal, outcome, now);
    };
    match state.countersignature {
        Countersignature::Awaited { .. } => {}
        Countersignature::NotDue {} => {
            return Err(refused(
                Code::Closed,
                "no signal is due behind this decision",
            ));
        }
        Countersignature::Given {} => {
            return Err(refused(
                Code::Duplicate,
                "you have given your signal already",
            ));
        }
        Countersignature::Silent {} => {
            return Err(refused(Code::Late, "the time for your signal has passed"));
        }
    }
    repeats(outcome, verdict.outcome, "the outcome")?;
    repeats(
        signal.tally_hash,
        Some(verdict.tally_hash()),
        "the hash of tally",
    )?;
    recorded()
}

fn lead(
    state: &State,
    signal: &LeaderSignal,
    outcome: Outcome,
    now: TimestampMs,
) -> Result<Conclusion<Derived>, Refusal> {
    if state.opening.proposal.mechanism != Mechanism::Leader {
        return Err(refused(
            Code::WrongState,
            "votes decide this round: repeat its tally once it is decided",
        ));
    }
    let casts = state.casts(now);
    let poll = state.poll(&casts);
    let advised = poll.recommendation();
    if advised.is_some_and(|advised| advised != outcome) && signal.rationale_hash.is_none() {
        return Err(refused(
            Code::TermsMismatch,
            "this is against what the votes advise: say why in rationale (CC-36)",
        ));
    }
    if signal.tally_hash.is_some() {
        let then = Poll {
            leader: Some(outcome),
            ..poll
        };
        let mut verdict = state.verdict(now);
        (verdict.tally, verdict.outcome, verdict.reason) = then.decide();
        repeats(
            signal.tally_hash,
            Some(verdict.tally_hash()),
            "the hash of tally",
        )?;
    }
    recorded()
}

fn escalate(state: &State, offices: &[Office]) -> Result<Conclusion<Derived>, Refusal> {
    if state.opening.ledger_leads || offices.contains(&Office::Leader) {
        return recorded();
    }
    Err(refused(
        Code::WrongLeader,
        "the leader of this round escalates it",
    ))
}

fn human(
    state: &State,
    decision: &HumanDecision,
    now: TimestampMs,
) -> Result<Conclusion<Derived>, Refusal> {
    let Phase::Escalated { position, .. } = state.phase else {
        return Err(refused(Code::WrongState, "nothing is escalated"));
    };
    repeats(decision.escalation, position, "escalation")?;
    let execution_ms = state.opening.rounds.execution_ms;
    let deadline = match decision.decision {
        HumanRuling::Approve => Some(now.saturating_add_ms(execution_ms)),
        HumanRuling::Reject => None,
    };
    Ok(Conclusion::Record(Derived {
        deadline_at_ms: deadline,
        ..Derived::default()
    }))
}

/// Kept once for each sender; a further one is refused (machines.md section 5).
fn evidence(state: &State, agent: Did, further: Code) -> Result<Conclusion<Derived>, Refusal> {
    if state.evidence_of.contains(&agent) {
        return Err(refused(
            further,
            "this contradicts what was said, and one such message of yours is kept already",
        ));
    }
    Ok(Conclusion::Record(Derived {
        effect: Some(Effect::Evidence),
        ..Derived::default()
    }))
}

pub(super) fn seat_of(state: &State, agent: Did) -> Option<usize> {
    state
        .opening
        .seat_of(agent)
        .filter(|seat| *seat < state.seats.len())
}

fn recorded() -> Result<Conclusion<Derived>, Refusal> {
    Ok(Conclusion::Record(Derived::default()))
}

fn repeats<T: PartialEq>(given: T, known: T, what: &str) -> Result<(), Refusal> {
    if given == known {
        return Ok(());
    }
    Err(refused(
        Code::TermsMismatch,
        format!("{what} is not that of the round: read the round and repeat it"),
    ))
}

/// A refusal of that code, with the kind that goes with it.
pub(super) fn refused(code: Code, message: impl AsRef<str>) -> Refusal {
    let of = |codes: &[Code]| codes.contains(&code);
    let kind = if code == Code::Schema {
        Kind::Shape
    } else if of(&[Code::NotEligible, Code::WrongLeader]) {
        Kind::Sender
    } else if code == Code::Duplicate {
        Kind::Conflict
    } else if code == Code::JwsInvalid {
        Kind::Authentication
    } else if of(&[Code::WrongState, Code::Closed, Code::Late, Code::Suspended]) {
        Kind::State
    } else {
        Kind::Guard
    };
    Refusal::new(code, kind, message)
}
