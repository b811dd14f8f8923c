//! USDC transfers on Base, observed.
//!
//! A [`Watcher`] knows one network, one token and a set of transaction hashes. At every new head it
//! reports where each of them stands. It knows nothing of interactions, prices or parties: which
//! transfer pays whom is decided by the machines, from what the log holds.
//!
//! Rules that make its word worth recording (settlement-watcher.md section 2):
//! - A receipt counts only when its block is one we hold by hash, on a branch linked parent by
//!   parent to the head. Heights alone prove nothing.
//! - "Not found" is never "failed", and an endpoint that cannot be asked is never "not found".
//! - Only `Transfer` logs of the configured token count, never a transaction's input or sender.
//! - No wall clock is read here: how old a head is, the ledger judges from the block's timestamp.
//!
//! | room | what is in it |
//! |---|---|
//! | [`source`] | what an endpoint can be asked, as a trait; nothing below it knows alloy |
//! | [`rpc`] | that trait over JSON-RPC |
//! | [`checks`] | whether an endpoint serves the configured chain and token |
//! | [`window`] | headers held by hash, reorgs, gaps |
//! | [`header_store`] | the window across a restart |
//! | [`watcher`] | the task |

mod backoff;
pub mod checks;
pub mod header_store;
mod placement;
mod plan;
pub mod rpc;
pub mod source;
pub mod watcher;
pub mod window;

pub use checks::{CheckFailure, Misfit, verify_endpoint};
pub use header_store::{HeaderStore, HeaderStoreError, MemoryHeaderStore};
pub use rpc::{EndpointError, RpcLimits, RpcSource};
pub use source::{ChainSource, HeadTag, Header, Receipt, SourceError};
pub use watcher::{WatchedNetwork, Watcher};
pub use window::Window;
