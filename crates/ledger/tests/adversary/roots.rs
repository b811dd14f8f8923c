//! Roots of all states, computed from the worlds alone, for a forger who has to write true ones
//! (STATES.md).

use serde_json::json;
use x811_eventlog::Record;
use x811_ledger::world::World;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::stream::{Stream, Subject};

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
    let state = match &stream {
        Stream::Ledger => json!({
            "parameters": world.parameters().map(|(position, _)| position),
            "rules_version": world.rules_version(),
        }),
        Stream::Network(name) => {
            json!({ "blind_since_ms": world.sight(name).and_then(|sight| sight.blind_since) })
        }
        Stream::Agent(did) | Stream::Mail(did) => {
            let mut state = serde_json::to_value(&**world.agent(*did).unwrap()).unwrap();
            if world.rules_version() >= 2 {
                state["trust"] = serde_json::to_value(world.trust(*did)).unwrap();
            }
            state
        }
        Stream::Of(Subject::Interaction(id)) => {
            serde_json::to_value(&world.latest(*id).unwrap().state).unwrap()
        }
        Stream::Of(Subject::Contract(id)) => {
            serde_json::to_value(&world.latest_contract(*id).unwrap().state).unwrap()
        }
        Stream::Of(Subject::Conduct(did)) => {
            serde_json::to_value(&world.conduct(*did).unwrap().state).unwrap()
        }
        Stream::Of(Subject::Descriptor(did)) => {
            serde_json::to_value(&world.descriptor(*did).unwrap().state).unwrap()
        }
        Stream::Of(Subject::Session(id)) => {
            serde_json::to_value(&world.latest_session(*id).unwrap().state).unwrap()
        }
        Stream::Of(Subject::Agreement(id)) => {
            serde_json::to_value(&world.latest_agreement(*id).unwrap().state).unwrap()
        }
        Stream::Of(Subject::Round(id)) => {
            serde_json::to_value(&world.latest_round(*id).unwrap().state).unwrap()
        }
        Stream::Roots => return before,
    };
    let state = Digest::of(&to_canonical(&state));
    Digest::of_parts(&[
        before.as_bytes(),
        record.stream().as_bytes(),
        state.as_bytes(),
    ])
}
