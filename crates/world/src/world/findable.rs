//! How one subject of any machine is found.

use super::{HeldMachine, World};
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Interaction, State};
use x811_protocol::kernel::{Machine, SubjectMachine};
use x811_protocol::stream::Subject;

/// A machine whose subjects can be found.
pub trait Findable: Machine {
    /// What one of its subjects is named by.
    type Name: Copy;

    /// The subject of that name.
    fn subject(name: Self::Name) -> Subject;

    /// Its state, while it takes records.
    fn state(world: &World, name: Self::Name) -> Option<&Self::State>;

    /// Its state after the last record, also when that ended it.
    fn latest(world: &World, name: Self::Name) -> Option<&Self::State>;
}

impl Findable for Interaction {
    type Name = InteractionId;

    fn subject(name: InteractionId) -> Subject {
        Subject::Interaction(name)
    }

    fn state(world: &World, name: InteractionId) -> Option<&State> {
        world.watching(name).map(|live| &live.state)
    }

    fn latest(world: &World, name: InteractionId) -> Option<&State> {
        world.latest(name).map(|live| &live.state)
    }
}

impl<M: HeldMachine> Findable for M {
    type Name = M::Id;

    fn subject(name: M::Id) -> Subject {
        <M as SubjectMachine>::subject(name)
    }

    fn state(world: &World, name: M::Id) -> Option<&M::State> {
        M::of(world).get(name).map(|live| &live.state)
    }

    fn latest(world: &World, name: M::Id) -> Option<&M::State> {
        M::of(world).latest(name).map(|live| &live.state)
    }
}
