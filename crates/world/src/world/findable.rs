//! How one subject of any machine is found.

use super::{HeldMachine, World};
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Interaction, State};
use x811_protocol::machine::Machine;

/// A machine whose subjects can be found.
pub trait Findable: Machine {
    /// The state of a subject, while it takes records.
    fn state(world: &World, id: Self::Id) -> Option<&Self::State>;

    /// The state of a subject after the last record, also when that ended it.
    fn latest(world: &World, id: Self::Id) -> Option<&Self::State>;
}

impl Findable for Interaction {
    fn state(world: &World, id: InteractionId) -> Option<&State> {
        world.watching(id).map(|live| &live.state)
    }

    fn latest(world: &World, id: InteractionId) -> Option<&State> {
        world.latest(id).map(|live| &live.state)
    }
}

impl<M: HeldMachine> Findable for M {
    fn state(world: &World, id: M::Id) -> Option<&M::State> {
        M::of(world).get(id).map(|live| &live.state)
    }

    fn latest(world: &World, id: M::Id) -> Option<&M::State> {
        M::of(world).latest(id).map(|live| &live.state)
    }
}
