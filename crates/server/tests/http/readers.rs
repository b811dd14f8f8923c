//! Who may want to read what, on a ledger without open reads.

use crate::world::{Agent, World};

/// A ledger that serves signed reads alone. All are registered, and nothing is between them yet: initiator,
/// provider, somebody who is neither, and an auditor whom the ledger was told of.
pub(crate) async fn readers() -> (World, [Agent; 4]) {
    let auditor = Agent::new();
    let world = World::start_with(|config| {
        config.open_reads = false;
        config.auditors = vec![auditor.did];
    })
    .await;
    world.accept(&auditor.registration(&world)).await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let stranger = world.agent().await;
    (world, [initiator, provider, stranger, auditor])
}
