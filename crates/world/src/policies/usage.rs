//! A REQUEST under an agreement uses it (capability.md, "Use").

use x811_protocol::event::{Effect, Event, Used};
use x811_protocol::stream::{Stream, Subject};

/// `used` in the agreement's stream.
pub(super) fn follow(position: u64, stream: &Stream, event: &Event) -> Option<(Stream, Event)> {
    let (Event::EnvelopeAccepted(accepted), Stream::Of(Subject::Interaction(interaction))) =
        (event, stream)
    else {
        return None;
    };
    let agreement = accepted.derived.agreement?;
    let used = Effect::Used(Used {
        cause: position,
        interaction: *interaction,
    });
    let stream = Stream::Of(Subject::Agreement(agreement.id));
    Some((stream, Event::Effect(used)))
}
