//! What follows from a record of a round (round.md, the table of effects): in the round itself, and in
//! the failed round that a proposal retries.

use x811_protocol::event::{Effect, Event};
use x811_protocol::facts::{ConsensusFacts, Facts};
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
    // One that is over waits for nothing: what was to follow has followed.
    if let Some(live) = after.round(*id) {
        let own = round::effects(&live.state, event, position, live.updated_at);
        let own = own.into_iter().map(Event::Effect);
        effects.extend(own.map(|effect| (stream.clone(), effect)));
    }
    effects
}
