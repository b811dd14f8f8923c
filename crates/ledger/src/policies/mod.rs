//! What a record of one stream does to the subjects of others (machines.md section 4): pure, decided
//! from the record alone, recorded directly behind it in the same commit, and computed again by
//! audits.

mod engage;

use x811_protocol::event::Event;
use x811_protocol::stream::Stream;

/// How deep effects of effects may go.
pub(crate) const MOST_DEEP: usize = 4;

/// A policy: the effects of the record at a position of a stream.
type Policy = fn(u64, &Stream, &Event) -> Option<(Stream, Event)>;

/// All policies, in the order in which their effects are recorded.
const POLICIES: [Policy; 1] = [engage::follow];

/// The effects of the record at `position`, in the order in which they are recorded.
pub(crate) fn follow(position: u64, stream: &Stream, event: &Event) -> Vec<(Stream, Event)> {
    POLICIES
        .iter()
        .filter_map(|policy| policy(position, stream, event))
        .collect()
}
