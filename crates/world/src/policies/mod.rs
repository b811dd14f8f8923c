//! What a record of one stream does to the subjects of others (machines.md section 4): pure, decided
//! from the record and the world after it, recorded directly behind it in the same commit, and computed
//! again by audits.

mod conduct;
mod engage;
mod round;
mod session;
mod usage;

use crate::world::World;
use x811_protocol::event::Event;
use x811_protocol::stream::Stream;

/// How deep effects of effects may go.
pub const MOST_DEEP: usize = 4;

/// The effects of the record at `position`, in the order in which they are recorded; `after` is the
/// world with that record.
pub fn follow(
    after: &World,
    position: u64,
    stream: &Stream,
    event: &Event,
) -> Vec<(Stream, Event)> {
    let engaged = engage::follow(position, stream, event);
    let used = usage::follow(position, stream, event);
    let of_request = engaged.into_iter().chain(used);
    of_request
        .chain(session::follow(after, position, stream, event))
        .chain(conduct::follow(after, position, stream, event))
        .chain(round::follow(after, position, stream, event))
        .collect()
}
