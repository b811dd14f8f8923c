//! The state of a stream as STATES.md has it, read off a world.

use serde_json::{Value, json};
use x811_protocol::stream::Stream;
use x811_world::{HeldMachine as _, World, with_machine};

/// What the root of all states has of that stream after one of its records; of the roots' own stream nothing.
pub(crate) fn state_of(world: &World, stream: &Stream) -> Option<Value> {
    Some(match stream {
        Stream::Ledger => json!({
            "parameters": world.parameters().map(|(position, _)| position),
            "rules_version": world.rules_version(),
        }),
        Stream::Network(name) => {
            json!({ "blind_since_ms": world.sight(name).and_then(|sight| sight.blind_since) })
        }
        Stream::Agent(did) | Stream::Mail(did) => {
            let mut state = serde_json::to_value(&**world.agent(*did).unwrap()).unwrap();
            state["trust"] = serde_json::to_value(world.trust(*did)).unwrap();
            state
        }
        Stream::Of(subject) => with_machine!(*subject, M(id) => {
            serde_json::to_value(M::latest(world, id).unwrap()).unwrap()
        }),
        Stream::Roots => return None,
    })
}
