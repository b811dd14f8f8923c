//! The watcher on a real Anvil, through endpoints that fail, lag and lie (settlement-watcher.md
//! sections 2 and 5). Each test is named after its rule.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and says where"
)]

mod announced;
mod batches;
mod broken;
mod budget;
mod contract_answers;
mod lies;
mod pool;
mod rig;
