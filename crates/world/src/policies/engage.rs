//! A REQUEST that names a contract engages it (contract.md, "From contract to interaction").

use x811_protocol::event::{Effect, Engaged, Event};
use x811_protocol::stream::{Stream, Subject};

/// `engaged` in the contract's stream.
pub(super) fn follow(position: u64, stream: &Stream, event: &Event) -> Option<(Stream, Event)> {
    let (Event::EnvelopeAccepted(accepted), Stream::Of(Subject::Interaction(interaction))) =
        (event, stream)
    else {
        return None;
    };
    let contract = accepted.derived.contract?;
    let engaged = Effect::Engaged(Engaged {
        cause: position,
        interaction: *interaction,
    });
    let stream = Stream::Of(Subject::Contract(contract.id));
    Some((stream, Event::Effect(engaged)))
}
