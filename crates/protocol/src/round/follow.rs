//! What follows from a record of a round in the round itself (round.md, the table of effects): pure, so
//! that whoever audits a log computes it again and finds it there, or not.

use super::event::{
    Anomaly, AnomalyNoted, EscalationReason, RoundDecided, RoundEscalated, RoundEvent, RoundOpened,
    RoundWindow,
};
use super::message::seat_of;
use super::state::{State, VoteRecord};
use super::{Effect, Entry, Message};
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::consensus::ConsensusFacts;
use crate::time::TimestampMs;
use std::collections::BTreeMap;

/// The most agents and records that one finding names.
const MOST_NAMED: usize = 128;

/// How many votes at nearly one moment are noticed (CX-50).
const SYNCHRONISED_VOTES: usize = 3;

/// The events directly behind the record at `cause`, which led to `after` at `at`. Each of them may have
/// events behind it in turn, which come before the next.
pub fn follow(after: &State, entry: Entry<'_>, cause: u64, at: TimestampMs) -> Vec<RoundEvent> {
    match entry {
        Entry::Message(message) => behind_message(after, message, cause, at),
        Entry::Lapsed(RoundWindow::Signal) => {
            let leader = after.opening.leading_agent();
            vec![note(
                Anomaly::LeaderSilent,
                leader.into_iter().collect(),
                Vec::new(),
                cause,
            )]
        }
        Entry::Lapsed(_) | Entry::Drawn(_) => decision(after, cause, at).into_iter().collect(),
        Entry::Event(RoundEvent::RoundDecided(_)) => behind_decision(after, cause),
        Entry::Event(
            RoundEvent::RoundOpened(_)
            | RoundEvent::Resubmitted(_)
            | RoundEvent::RoundEscalated(_)
            | RoundEvent::AnomalyNoted(_),
        )
        | Entry::Notice => Vec::new(),
    }
}

fn behind_message(
    after: &State,
    message: &Message,
    cause: u64,
    at: TimestampMs,
) -> Vec<RoundEvent> {
    if message.derived.effect == Some(Effect::Evidence) {
        return vec![evidence(after, message, cause)];
    }
    if after.is_to_be_opened() {
        let proposal = &after.opening.proposal;
        return vec![RoundEvent::RoundOpened(RoundOpened {
            cause,
            leader: proposal.leader,
            term: proposal.attempt,
        })];
    }
    let reason = if matches!(message.facts, ConsensusFacts::Escalate(_)) {
        Some(EscalationReason::TimeCritical)
    } else if matches!(message.facts, ConsensusFacts::Failed(_)) && !after.failure_told {
        Some(EscalationReason::Execution)
    } else {
        None
    };
    match reason {
        Some(reason) => escalated(after, reason, cause).into_iter().collect(),
        None => decision(after, cause, at).into_iter().collect(),
    }
}

/// `round_decided`, if its moment has come.
pub(super) fn decision(after: &State, cause: u64, at: TimestampMs) -> Option<RoundEvent> {
    after.is_to_be_decided(at).then(|| {
        let verdict = after.verdict(at);
        RoundEvent::RoundDecided(RoundDecided::of(cause, after, &verdict))
    })
}

fn escalated(after: &State, reason: EscalationReason, cause: u64) -> Option<RoundEvent> {
    let verdict = after.decided.as_ref()?;
    Some(RoundEvent::RoundEscalated(RoundEscalated {
        cause,
        reason,
        votes_digest: verdict.votes_digest,
    }))
}

fn behind_decision(after: &State, cause: u64) -> Vec<RoundEvent> {
    let mut events = Vec::new();
    if after.is_in_deadlock() {
        events.extend(escalated(after, EscalationReason::Deadlock, cause));
    } else if after.has_no_retry_left() {
        events.extend(escalated(after, EscalationReason::Retries, cause));
    }
    let votes = votes(after);
    let sealed: Vec<_> = votes
        .iter()
        .filter(|(_, vote)| vote.choice.is_none())
        .collect();
    if !sealed.is_empty() {
        events.push(note_of(Anomaly::Unrevealed, &sealed, cause));
    }
    events.extend(equal_rationales(after, &votes, cause));
    events.extend(synchronised(after, &votes, cause));
    events
}

type Voted<'a> = (Did, &'a VoteRecord);

fn votes(state: &State) -> Vec<Voted<'_>> {
    let agents = state.opening.proposal.participants.iter().copied();
    let seats = agents.zip(&state.seats);
    seats
        .filter_map(|(agent, seat)| Some((agent, seat.vote.as_ref()?)))
        .collect()
}

fn equal_rationales(state: &State, votes: &[Voted<'_>], cause: u64) -> Vec<RoundEvent> {
    let mut by_tag: BTreeMap<Digest, Vec<&Voted<'_>>> = BTreeMap::new();
    for vote in votes {
        if let Some(tag) = vote.1.choice.and_then(|choice| choice.rationale_tag) {
            by_tag.entry(tag).or_default().push(vote);
        }
    }
    let least = state.opening.rounds.anomalies.equal_rationales;
    let groups = by_tag.into_values();
    groups
        .filter(|group| group.len() as u64 >= least)
        .map(|group| note_of(Anomaly::EqualRationales, &group, cause))
        .collect()
}

/// Votes that are one of three within a short time, by what the voters say themselves.
fn synchronised(state: &State, votes: &[Voted<'_>], cause: u64) -> Option<RoundEvent> {
    let within_ms = state.opening.rounds.anomalies.within_ms;
    let counted = votes.iter().filter(|(_, vote)| vote.choice.is_some());
    let mut by_time: Vec<&Voted<'_>> = counted.collect();
    by_time.sort_by_key(|(agent, vote)| (vote.timestamp, *agent));
    let mut is_close = vec![false; by_time.len()];
    for (first, window) in by_time.windows(SYNCHRONISED_VOTES).enumerate() {
        let (Some((_, earliest)), Some((_, latest))) = (window.first(), window.last()) else {
            continue;
        };
        if latest.timestamp.since(earliest.timestamp) <= within_ms {
            is_close[first..first + SYNCHRONISED_VOTES].fill(true);
        }
    }
    let close: Vec<_> = by_time
        .into_iter()
        .zip(is_close)
        .filter_map(|(vote, is_close)| is_close.then_some(vote))
        .collect();
    (!close.is_empty()).then(|| note_of(Anomaly::Synchronised, &close, cause))
}

fn evidence(after: &State, message: &Message, cause: u64) -> RoundEvent {
    let agent = message.envelope.from;
    if let ConsensusFacts::Vote(_) = message.facts {
        let first = seat_of(after, agent).and_then(|seat| after.seats[seat].vote.as_ref());
        let records = first.map(|vote| vote.position).into_iter().chain([cause]);
        return note(Anomaly::SecondVote, vec![agent], records.collect(), cause);
    }
    note(Anomaly::SecondLeader, vec![agent], vec![cause], cause)
}

fn note_of(kind: Anomaly, votes: &[&Voted<'_>], cause: u64) -> RoundEvent {
    let agents = votes.iter().map(|(agent, _)| *agent).collect();
    let records = votes.iter().map(|(_, vote)| vote.position).collect();
    note(kind, agents, records, cause)
}

fn note(kind: Anomaly, mut agents: Vec<Did>, mut records: Vec<u64>, cause: u64) -> RoundEvent {
    agents.sort_unstable();
    agents.truncate(MOST_NAMED);
    records.sort_unstable();
    records.truncate(MOST_NAMED);
    RoundEvent::AnomalyNoted(AnomalyNoted {
        agents,
        cause,
        kind,
        records,
    })
}
