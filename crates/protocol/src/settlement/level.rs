//! Level *safe*, and the depth that replaces it (ledger-contract.md section 5, "Depth").

use crate::event::Level;
use crate::parameters::{FinalBy, Network};

/// Number of blocks above level *confirmed* that replaces a `safe` or `finalized` head. `finalized` trails Base's head
/// by about 20 minutes, which is 600 blocks of 2 s, and `safe` by less.
pub const STAND_IN_BLOCKS: u64 = 600;

/// True if a block at this depth counts like one at or below a `safe` or `finalized` head of the network.
pub const fn stands_in(network: &Network, depth: u64) -> bool {
    match network.final_by {
        Some(FinalBy::Tag) => false,
        Some(FinalBy::Depth) | None => {
            depth >= network.confirmed_depth.saturating_add(STAND_IN_BLOCKS)
        }
    }
}

/// True if evidence of this level and depth satisfies level *safe*.
pub fn is_safe(network: &Network, level: Level, depth: u64) -> bool {
    let is_named = network.final_by != Some(FinalBy::Depth) && level >= Level::Safe;
    is_named || (level == Level::Confirmed && stands_in(network, depth))
}
