//! Does a receipt answer the question, and is its block one that the head descends from?
//! (settlement-watcher.md rule 11.) Flashblock endpoints give receipts before the block is sealed,
//! with a hash that changes; load balancers mix branches. Both end here.

use x811_protocol::evm::{BlockHash, TxHash};
use x811_protocol::observation::Block;

use crate::source::{Header, Receipt};
use crate::window::Window;

const NO_BLOCK: BlockHash = BlockHash::from_bytes([0; 32]);

/// Where a receipt's block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// It is a held one.
    Held(Block),
    /// It is older than the oldest held one: only the endpoint can say what is at its height.
    BelowWindow,
    /// It is above the head, on another branch or none, or the receipt is another transaction's.
    Elsewhere,
}

/// Where the block of the `receipt` that was given for `asked` stands.
pub(crate) fn place(window: &Window, asked: TxHash, receipt: &Receipt) -> Placement {
    if receipt.tx_hash != asked || receipt.block_hash == NO_BLOCK {
        return Placement::Elsewhere;
    }
    match (window.at(receipt.block_number), window.base()) {
        (Some(held), _) if held.hash == receipt.block_hash => Placement::Held(held.block()),
        (None, Some(base)) if receipt.block_number < base.number => Placement::BelowWindow,
        _ => Placement::Elsewhere,
    }
}

/// The receipt's block, when `canonical` (what the endpoint has at its height) is that block.
pub(crate) fn confirm_below(receipt: &Receipt, canonical: Option<Header>) -> Option<Block> {
    canonical
        .filter(|header| header.number == receipt.block_number && header.hash == receipt.block_hash)
        .map(|header| header.block())
}
