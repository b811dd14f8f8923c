//! How sure a block is: level *safe*, and the depth that stands in for it (ledger-contract.md section 5, "Depth").

use crate::event::Level;
use crate::parameters::{FinalBy, Network};

/// So many blocks above level *confirmed* stand in for a `safe` or `finalized` head. `finalized` trails Base's head by
/// some 20 minutes, 600 blocks of 2 s, and `safe` by less.
pub const STAND_IN_BLOCKS: u64 = 600;

/// Whether a block that is so deep is as sure, on that network, as one at or below a `safe` or `finalized` head.
pub const fn stands_in(network: &Network, depth: u64) -> bool {
    match network.final_by {
        Some(FinalBy::Tag) => false,
        Some(FinalBy::Depth) | None => {
            depth >= network.confirmed_depth.saturating_add(STAND_IN_BLOCKS)
        }
    }
}

/// Whether what evidence says is enough where level *safe* is asked for.
pub fn is_safe(network: &Network, level: Level, depth: u64) -> bool {
    let is_named = network.final_by != Some(FinalBy::Depth) && level >= Level::Safe;
    is_named || (level == Level::Confirmed && stands_in(network, depth))
}
