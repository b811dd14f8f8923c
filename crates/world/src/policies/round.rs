//! What follows from a record of a round (round.md, the table of effects): in the round itself, and in
//! the failed round that a proposal retries, and in those that a cycle ends.

use x811_protocol::event::{Effect, Event};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::RoundId;
use x811_protocol::round::{self, Resubmitted};
use x811_protocol::stream::{Stream, Subject};

use crate::world::World;

/// `resubmitted` in the failed round, then what follows in this one.
pub(super) fn follow(
    after: &World,
    position: u64,
    stream: &Stream,
    event: &Event,
) -> Vec<(Stream, Event)> {
    let Stream::Of(Subject::Round(id)) = stream else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    if let Event::EnvelopeAccepted(accepted) = event
        && let Facts::Consensus(ConsensusFacts::Propose(proposal)) = &accepted.facts
        && let Some(failed) = proposal.resubmission_of
    {
        let resubmitted = Effect::Resubmitted(Resubmitted {
            cause: position,
            round: *id,
        });
        let stream = Stream::Of(Subject::Round(failed));
        effects.push((stream, Event::Effect(resubmitted)));
    }
    effects.extend(losers(after, *id, position));
    // One that is over waits for nothing: what was to follow has followed.
    if let Some(live) = after.round(*id) {
        let own = round::effects(&live.state, event, position, live.updated_at);
        let own = own.into_iter().map(Event::Effect);
        effects.extend(own.map(|effect| (stream.clone(), effect)));
    }
    effects
}

/// `round_decided` in every round that the record of this one ended.
fn losers(after: &World, id: RoundId, position: u64) -> Vec<(Stream, Event)> {
    let Some(own) = after.latest_round(id) else {
        return Vec::new();
    };
    let moved = after.rounds_moved().iter();
    let ended = moved.filter_map(|loser| {
        let state = &after.round(*loser)?.state;
        let decided = round::ended(state, position, own.updated_at)?;
        let stream = Stream::Of(Subject::Round(*loser));
        Some((stream, Event::Effect(decided)))
    });
    ended.collect()
}
