//! What breaks an agreement is recorded against its provider, and enough of it excludes from new sessions and rounds
//! (capability.md, "Breach and exclusion"). Nobody reports a breach: it follows from what the ledger saw.

use x811_protocol::event::{
    BreachKind, BreachRecorded, Effect, Event, Lapsed, LapsedWindow, Window,
};
use x811_protocol::stream::{Stream, Subject};

use crate::world::World;

/// `breach_recorded`, and `excluded` behind it.
pub(super) fn follow(
    after: &World,
    position: u64,
    stream: &Stream,
    event: &Event,
) -> Option<(Stream, Event)> {
    match (stream, event) {
        (Stream::Of(Subject::Interaction(id)), Event::Lapsed(lapsed)) => {
            let of = after.latest(*id)?.state.opening();
            let agreement = of.agreement.filter(|_| is_of_result(lapsed))?;
            let breach = BreachRecorded {
                agreement: agreement.id,
                cause: position,
                consumer: of.initiator,
                kind: BreachKind::ResultLapsed,
                provider: of.provider,
            };
            let stream = Stream::Of(Subject::Conduct(of.provider));
            Some((stream, Event::Effect(Effect::BreachRecorded(breach))))
        }
        (Stream::Of(Subject::Conduct(did)), Event::Effect(Effect::BreachRecorded(_))) => {
            let live = after.conduct(*did)?;
            let excluded = live.state.due(position, live.updated_at)?;
            Some((stream.clone(), Event::Effect(Effect::Excluded(excluded))))
        }
        (_, _) => None,
    }
}

fn is_of_result(lapsed: &Lapsed) -> bool {
    lapsed.window == LapsedWindow::Interaction(Window::Result)
}
