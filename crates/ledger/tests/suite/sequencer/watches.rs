//! What is watched, counted again from the interactions that a world holds.

use super::base::BASE;
use std::collections::BTreeSet;
use std::sync::Arc;
use x811_eventlog::Record;
use x811_protocol::event::Event;
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::Schedule;
use x811_protocol::settlement::{Declared, DeclaredStanding};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::{Live, World};

/// Asserts that what is kept of the watched transactions is what the held interactions come to.
pub(crate) fn assert_watches(world: &World, events: &[(Record, Event)]) {
    let held = held(world, events);
    let declared = |live: &Live| match live.state.watched() {
        Some(payment) if payment.network == BASE => hashes(payment.declared),
        Some(_) | None => BTreeSet::new(),
    };
    let watched: BTreeSet<TxHash> = held.iter().flat_map(|(_, live)| declared(live)).collect();
    assert_eq!(BTreeSet::from_iter(world.watched(BASE)), watched, "watched");
    assert_eq!(world.sizes().watched, watched.len(), "how many are watched");
    for tx_hash in watched {
        let mut declarers: Vec<InteractionId> = held
            .iter()
            .filter(|(_, live)| declared(live).contains(&tx_hash))
            .map(|(id, _)| *id)
            .collect();
        let mut known = world.declarers(BASE, tx_hash);
        declarers.sort_unstable();
        known.sort_unstable();
        assert_eq!(known, declarers, "declarers of {tx_hash}");
    }
    let undecided = held.iter().flat_map(|(_, live)| undecided(live)).collect();
    assert_eq!(world.undecided(BASE), undecided, "undecided");
    let now = TimestampMs::new(world.head().recorded_at_ms);
    for head_at in [TimestampMs::new(0), now, TimestampMs::MAX] {
        let wanted = held.iter().flat_map(|(_, live)| wanted(live, head_at));
        let wanted: BTreeSet<TxHash> = wanted.collect();
        assert_eq!(world.wanted(BASE, head_at), wanted, "wanted at {head_at:?}");
    }
}

/// Every interaction of the log that is live, or over and still watched.
fn held(world: &World, events: &[(Record, Event)]) -> Vec<(InteractionId, Arc<Live>)> {
    let ids: BTreeSet<InteractionId> = events
        .iter()
        .filter_map(|(record, _)| match record.stream().parse() {
            Ok(Stream::Of(Subject::Interaction(id))) => Some(id),
            _ => None,
        })
        .collect();
    let held = ids.into_iter();
    held.filter_map(|id| Some((id, Arc::clone(world.watching(id)?))))
        .collect()
}

fn hashes(declared: &[Declared]) -> BTreeSet<TxHash> {
    declared.iter().map(|declared| declared.tx_hash).collect()
}

fn undecided(live: &Live) -> BTreeSet<TxHash> {
    let Some(settlement) = live.state.settlement().filter(|it| it.network == BASE) else {
        return BTreeSet::new();
    };
    let mut declared = settlement.declared.clone();
    if let Schedule::Look { .. } = settlement.schedule {
        declared.retain(|declared| declared.standing != DeclaredStanding::Unseen);
    }
    hashes(&declared)
}

fn wanted(live: &Live, head_at: TimestampMs) -> BTreeSet<TxHash> {
    if let Some(settlement) = live.state.settlement() {
        return match (settlement.schedule, settlement.paused_since) {
            (Schedule::Look { due, .. }, None) if due <= head_at => hashes(&settlement.declared),
            _ => BTreeSet::new(),
        };
    }
    let aftermath = live.state.aftermath();
    aftermath.map_or_else(BTreeSet::new, |(_, aftermath)| {
        let is_gone = |it: &&Declared| matches!(it.standing, DeclaredStanding::Gone(_));
        let gone = aftermath.declared.iter().filter(is_gone);
        gone.map(|declared| declared.tx_hash).collect()
    })
}
