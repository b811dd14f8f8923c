//! The watcher on scripted endpoints: what settlement-watcher.md demands of it, rule by rule.

mod answers;
mod contract_wallets;
mod endpoints;
mod expecting;
mod lists;
mod log;
mod random;
mod reports;
mod rig;
mod rules;
mod scripted;
mod sought;
mod tail;
mod witness;

use x811_protocol::evm::TxHash;
use x811_protocol::observation::{Sweep, TransactionStatus};

/// The status of `hash`, as a depth: `None` when it is not found or nothing is said of it.
fn depth(sweep: &Sweep, hash: TxHash) -> Option<u64> {
    match sweep.transactions.get(&hash) {
        Some(TransactionStatus::Mined(mined)) => Some(sweep.depth_of(&mined.block)),
        Some(TransactionStatus::NotFound) | None => None,
    }
}
