//! Who may want to read what, on a ledger without open reads.

use crate::world::{Agent, World};

/// A ledger that serves signed reads alone, with two parties, somebody who is neither, and an
/// auditor whom it was told of.
pub(crate) struct Readers {
    pub(crate) world: World,
    pub(crate) initiator: Agent,
    pub(crate) provider: Agent,
    pub(crate) stranger: Agent,
    pub(crate) auditor: Agent,
}

impl Readers {
    /// All registered; nothing between them yet.
    pub(crate) async fn registered() -> Readers {
        let auditor = Agent::new();
        let world = World::start_with(|config| {
            config.open_reads = false;
            config.auditors = vec![auditor.did];
        })
        .await;
        world.accept(&auditor.registration(&world)).await;
        let (initiator, provider) = (world.agent().await, world.agent().await);
        let stranger = world.agent().await;
        Readers {
            world,
            initiator,
            provider,
            stranger,
            auditor,
        }
    }
}
