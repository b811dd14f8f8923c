//! The state of a stream as STATES.md has it, read off a world.

use serde_json::{Value, json};
use x811_protocol::stream::{Stream, Subject};
use x811_world::World;

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
        Stream::Roots => return None,
    })
}
