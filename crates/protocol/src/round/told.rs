//! What the ledger tells of a round in notices of its own: of its opening, its outcome and an escalation,
//! of time that is over for reports, and of what was noticed (round.md, "Events of `round:<id>`"). Each is
//! one notice, addressed to the ledger, however many members read it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::event::{RoundEvent, RoundWindow};
use super::state::{State, VoteRecord};
use super::tally::{Outcome, TallyVerdict};
use crate::event::{Event, LapsedWindow};
use crate::facts::ConsensusVerb;
use crate::machine::{News, Told};
use crate::parameters::Rounds;

/// What the notice of a record of a round tells, if it has one.
pub fn news(event: &Event) -> Option<News> {
    if let Event::Lapsed(lapsed) = event {
        let is_told = lapsed.window == LapsedWindow::Round(RoundWindow::Execution);
        return is_told.then_some(News::Lapsed);
    }
    let Event::Effect(effect) = event else {
        return None;
    };
    match effect.of_round()? {
        RoundEvent::RoundOpened(_) => Some(News::RoundOpened),
        RoundEvent::RoundDecided(_) => Some(News::RoundDecided),
        RoundEvent::RoundEscalated(_) => Some(News::RoundEscalated),
        RoundEvent::AnomalyNoted(_) => Some(News::AnomalyNoted),
        RoundEvent::Resubmitted(_) => None,
    }
}

/// Whether the ledger tells that of a round that was opened under these parameters: what was noticed only
/// where humans are named, who alone get it. Members find that in the history.
pub fn is_told(news: News, rounds: &Rounds) -> bool {
    is_for_members(news) || !rounds.humans.is_empty()
}

/// Whether members of a round get a notice that tells that.
pub const fn is_for_members(news: News) -> bool {
    !matches!(news, News::AnomalyNoted)
}

/// Whether the humans get it whom the parameters name.
pub const fn is_for_humans(news: News) -> bool {
    matches!(news, News::RoundEscalated | News::AnomalyNoted)
}

/// What is told of `event`, which led to `after`.
pub(super) fn told(event: &Event, after: &State) -> Option<Told> {
    let news = news(event).filter(|news| is_told(*news, &after.opening.rounds))?;
    if let Event::Lapsed(lapsed) = event {
        let related = Some(after.opening.record.envelope);
        return Some(Told::news(news, Some(lapsed.code), related));
    }
    let mut members = Map::new();
    let round = json!(after.opening.id());
    members.insert("proposal_id".to_owned(), round);
    if let Event::Effect(effect) = event
        && let Value::Object(own) = own_members(&effect.of_round()?, after)
    {
        members.extend(own);
    }
    Some(Told {
        more: Some(Arc::new(members)),
        ..Told::news(news, None, None)
    })
}

/// What a notice says of that event.
fn own_members(event: &RoundEvent, after: &State) -> Value {
    match event {
        RoundEvent::RoundOpened(opened) => json!({ "leader": opened.leader, "term": opened.term }),
        RoundEvent::RoundDecided(decided) => {
            let tally = after.decided.as_ref().map(TallyVerdict::to_value);
            json!({ "outcome": decided.outcome, "tally": tally })
        }
        RoundEvent::RoundEscalated(escalated) => json!({
            "proposal": after.opening.record.position,
            "reason": escalated.reason,
            "votes": votes(after),
        }),
        RoundEvent::AnomalyNoted(noted) => {
            json!({ "agents": noted.agents, "kind": noted.kind, "records": noted.records })
        }
        RoundEvent::Resubmitted(_) => Value::Null,
    }
}

/// Positions of all votes, of sealed ones that were revealed those of their reveals, in the order of the log
/// (CC-55).
fn votes(state: &State) -> Vec<u64> {
    let votes = state.seats.iter().filter_map(|seat| seat.vote.as_ref());
    let place = |vote: &VoteRecord| vote.reveal.unwrap_or(vote.position);
    let mut positions: Vec<u64> = votes.map(place).collect();
    positions.sort_unstable();
    positions
}

/// The `typ` of the signature inside the notice of an outcome, which is the ledger's signal (CC-23): that of
/// a leader's commit or abort.
pub fn signal_type(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Commit => ConsensusVerb::Commit.jws_type(),
        Outcome::Abort => ConsensusVerb::Abort.jws_type(),
    }
}
