//! USDC transfers on Base, observed.
//!
//! A [`Watcher`] knows one network, one token and a set of transaction hashes. It follows the
//! network block by block up to the head that enough endpoints carry, and reports where each
//! transaction stands, once as many say the same. It knows nothing of interactions, prices or parties: which transfer pays whom
//! is decided by the machines, from what the log holds.
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
//! | [`source`] | what an endpoint can be asked, as a trait; nothing above it knows alloy |
//! | [`rpc`] | that trait over JSON-RPC |
//! | [`checks`] | whether an endpoint serves the configured chain and token |
//! | [`new_heads`] | announcements of heads, which only wake |
//! | [`contract_wallet`] | whether a contract takes a signature for its own (ERC-1271) |
//! | [`endpoint`] | one endpoint: its checks, its retries, how it behaves |
//! | [`window`] | headers held by hash, reorgs, gaps |
//! | `index` | what moved in the blocks of the last 75 minutes |
//! | [`block_store`] | both across a restart |
//! | `watchlist`, `verdict` | what is asked and said of each transaction |
//! | `orphans` | headers of branches that were given up |
//! | `hindrance` | why one of them reverted |
//! | [`witness`] | evidence held against the chain again, for auditors |
//! | [`watcher`] | the task |
//! | [`health`] | what an operator sees of it |

mod backoff;
pub mod block_store;
pub mod checks;
pub mod contract_wallet;
pub mod endpoint;
pub mod health;
mod hindrance;
mod index;
pub mod new_heads;
mod orphans;
mod pace;
mod placement;
pub mod rpc;
pub mod source;
mod verdict;
pub mod watcher;
mod watchlist;
pub mod window;
pub mod witness;

pub use block_store::{BlockStore, BlockStoreError, MemoryBlockStore, TailBlock, TailChange};
pub use checks::{CheckFailure, Misfit, verify_endpoint};
pub use endpoint::Endpoint;
pub use health::{EndpointHealth, EndpointState, NetworkHealth};
pub use new_heads::{AnnouncementLimits, NewHeads};
pub use rpc::{EndpointError, RpcLimits, RpcSource};
pub use source::{
    CallAnswer, ChainSource, HeadTag, Header, Receipt, ReceiptAnswer, SourceError, TokenTransaction,
};
pub use watcher::{
    AccountsOf, Channels, Expected, Expecting, Reported, WatchedNetwork, WatchedSet, Watcher,
    quorum_of,
};
pub use window::Window;
pub use witness::{Difference, Shown, Sought, Testimony, Witness};
