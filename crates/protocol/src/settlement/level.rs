//! How sure a block is where no endpoint says which heads are `safe` and `finalized`
//! (ledger-contract.md section 5, "Depth").

use crate::event::Level;

/// So many blocks above level *confirmed* stand in for a level that no endpoint names. `finalized`
/// trails Base's head by some 20 minutes, 600 blocks of 2 s, and `safe` by less: what is deeper than
/// that is as sure as an endpoint that names heads would call it.
pub const STAND_IN_BLOCKS: u64 = 600;

/// Whether a block that is so deep, of a network that confirms at `confirmed_depth`, stands in for one
/// at or below a `safe` or `finalized` head.
pub fn stands_in(depth: u64, confirmed_depth: u64) -> bool {
    depth >= confirmed_depth.saturating_add(STAND_IN_BLOCKS)
}

/// Whether what evidence says is enough where level *safe* is asked for.
pub fn is_safe(level: Level, depth: u64, confirmed_depth: u64) -> bool {
    level >= Level::Safe || (level == Level::Confirmed && stands_in(depth, confirmed_depth))
}
