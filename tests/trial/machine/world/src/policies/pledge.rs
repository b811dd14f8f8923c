//! A pledge that is due stands in the conduct of who gave it.

use x811_protocol::event::{Effect, Event, PledgeDue};
use x811_protocol::pledge::Pledge;
use x811_protocol::stream::{Stream, Subject};

use crate::world::{HeldMachine, World};

/// The effect of a lapse: `pledge_due` in the giver's conduct.
pub(super) fn follow(
    after: &World,
    position: u64,
    stream: &Stream,
    event: &Event,
) -> Option<(Stream, Event)> {
    let (Stream::Of(Subject::Pledge(id)), Event::Lapsed(_)) = (stream, event) else {
        return None;
    };
    let giver = Pledge::of(after).get(*id)?.state.from;
    let due = PledgeDue {
        cause: position,
        giver,
        pledge: *id,
    };
    let stream = Stream::Of(Subject::Conduct(giver));
    Some((stream, Event::Effect(Effect::PledgeDue(due))))
}
