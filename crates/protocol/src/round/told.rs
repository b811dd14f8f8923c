//! What the ledger tells of a round in notices of its own: of its opening, its outcome and an escalation,
//! of time that is over for reports, and of what was noticed (round.md, "Events of `round:<id>`"). Each is
//! one notice, addressed to the ledger, however many members read it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::event::RoundWindow;
use super::state::{State, VoteRecord};
use super::tally::{Outcome, Verdict};
use crate::event::{Effect, Event, LapsedWindow};
use crate::facts::ConsensusVerb;
use crate::kernel::{News, Told};

/// What the notice of a record of a round tells, if it has one.
pub fn news(event: &Event) -> Option<News> {
    if let Event::Lapsed(lapsed) = event {
        let is_told = lapsed.window == LapsedWindow::Round(RoundWindow::Execution);
        return is_told.then_some(News::Lapsed);
    }
    let Event::Effect(effect) = event else {
        return None;
    };
    match effect {
        Effect::RoundOpened(_) => Some(News::RoundOpened),
        Effect::RoundDecided(_) => Some(News::RoundDecided),
        Effect::RoundEscalated(_) => Some(News::RoundEscalated),
        Effect::AnomalyNoted(_) => Some(News::AnomalyNoted),
        Effect::Resubmitted(_)
        | Effect::Engaged(_)
        | Effect::SessionClosed(_)
        | Effect::Agreed(_)
        | Effect::Used(_)
        | Effect::BreachRecorded(_)
        | Effect::Excluded(_) => None,
    }
}

/// What is told of `event`, which led to `after`; nothing of a round that was opened before there were
/// such notices. Of what was
/// noticed humans alone get one; members find it in the history.
pub(super) fn told(event: &Event, after: &State) -> Option<Told> {
    let news = news(event).filter(|_| after.is_of_second_edition())?;
    let has_humans = !after.opening.rounds.humans.is_empty();
    if news == News::AnomalyNoted && !has_humans {
        return None;
    }
    if let Event::Lapsed(lapsed) = event {
        let related = Some(after.opening.record.envelope);
        return Some(Told::news(news, Some(lapsed.code), related));
    }
    let mut members = Map::new();
    let round = json!(after.opening.id());
    members.insert("proposal_id".to_owned(), round);
    members.extend(own_members(event, after));
    Some(Told {
        more: Some(Arc::new(members)),
        ..Told::news(news, None, None)
    })
}

/// What a notice says of that event.
fn own_members(event: &Event, after: &State) -> Map<String, Value> {
    let own = if let Event::Effect(Effect::RoundOpened(opened)) = event {
        json!({ "leader": opened.leader, "term": opened.term })
    } else if let Event::Effect(Effect::RoundDecided(decided)) = event {
        let tally = after.decided.as_ref().map(Verdict::to_value);
        json!({ "outcome": decided.outcome, "tally": tally })
    } else if let Event::Effect(Effect::RoundEscalated(escalated)) = event {
        json!({
            "proposal": after.opening.record.position,
            "reason": escalated.reason,
            "votes": votes(after),
        })
    } else if let Event::Effect(Effect::AnomalyNoted(noted)) = event {
        json!({ "agents": noted.agents, "kind": noted.kind, "records": noted.records })
    } else {
        Value::Null
    };
    own.as_object().cloned().unwrap_or_default()
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
