//! Roots of all states, computed from the worlds alone, for a forger who has to write true ones
//! (STATES.md).

use super::states::state_of;
use x811_eventlog::Record;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::stream::Stream;
use x811_world::World;

/// What the records so far add up to.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) world: World,
    /// Absent once a record could not be replayed.
    pub(crate) running: Option<Digest>,
}

impl Root {
    /// Takes the next record.
    pub(crate) fn take(&mut self, record: &Record) {
        if record.position() == 0 {
            self.running = Some(Digest::from_bytes([0; 32]));
        }
        let event = Event::from_json(record.event_json()).ok();
        let applied = event.and_then(|event| self.world.apply(record, &event).ok());
        let running = self.running.filter(|_| applied.is_some());
        self.running = running.map(|running| root(&self.world, record, running));
    }
}

fn root(world: &World, record: &Record, before: Digest) -> Digest {
    let stream: Stream = record.stream().parse().unwrap();
    let Some(state) = state_of(world, &stream) else {
        return before;
    };
    let state = Digest::of(&to_canonical(&state));
    Digest::of_parts(&[
        before.as_bytes(),
        record.stream().as_bytes(),
        state.as_bytes(),
    ])
}
