//! What was nowhere to be found is asked for again, much later.
//!
//! Blocks do not show everything: an endpoint can leave a transfer out of what it says moved, and a
//! transaction that failed moves nothing. While a payment is waited for, the ledger's looks find
//! it. Once the interaction is over there are no more looks, and what is still paid into it has to
//! be booked (settlement-watcher.md rules 21, 22 and 26).

use std::collections::BTreeSet;

use x811_protocol::evm::TxHash;

use super::{BlockPlace, LAST};
use crate::source::Header;

/// So many blocks after it was asked for last: five minutes on Base.
const AFTER_BLOCKS: u64 = 150;
/// Asked for at one time, so that it costs the same whatever is missing.
const MOST: usize = 10;
/// Number of transactions requested after a block whose transfers are unknown: two batches.
const MOST_AFTER_HOLE: usize = 98;

/// Missing transactions, by the height of the head they were asked for at.
#[derive(Debug, Default)]
pub(super) struct Again(BTreeSet<BlockPlace>);

impl Again {
    pub(super) fn insert(&mut self, asked_at_number: u64, tx: TxHash) {
        self.0.insert((asked_at_number, tx));
    }

    pub(super) fn remove(&mut self, asked_at_number: u64, tx: TxHash) {
        self.0.remove(&(asked_at_number, tx));
    }

    /// The transactions that were requested last, at most [`MOST_AFTER_HOLE`].
    pub(super) fn newest(&self) -> Vec<TxHash> {
        let newest = self.0.iter().rev().take(MOST_AFTER_HOLE);
        newest.map(|(_, tx)| *tx).collect()
    }

    /// Those that it is time for at `head`, the one that waited longest first.
    pub(super) fn due(&self, head: &Header) -> impl Iterator<Item = TxHash> {
        let last = head.number.checked_sub(AFTER_BLOCKS);
        let due = last.map(|last| self.0.range(..=(last, LAST)));
        due.into_iter().flatten().take(MOST).map(|(_, tx)| *tx)
    }
}
