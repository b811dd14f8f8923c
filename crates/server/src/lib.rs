//! axum HTTP, configuration, wiring.
//!
//! An edge: it opens the store, keeps the ledger's keys, starts the sequencer and the watcher, and
//! speaks HTTP. No state is decided here. What it serves is listed in [`routes`]; every answer that
//! is no success has one shape (`error`).
//!
//! | room | what is in it |
//! |---|---|
//! | [`config`] | what an operator decides |
//! | [`keys`], [`entropy`] | who the ledger is |
//! | [`mod@start`] | from a configuration to a running server, and back |
//! | [`routes`] | one file per endpoint |
//! | `feed` | what is kept for feeds: acknowledgements, the newest loop, tokens |
//! | `connections` | how long and how many connections may be open |
//! | `streamed`, `stored` | answers that may be long, and what is in them as it is stored |
//! | `openapi` | the interface, described for programs |
//! | [`limits`] | how much one address and one DID may ask |
//! | `role`, `passing`, `peers`, `present_routes` | several processes of one ledger: who writes, who stands by, what is passed on, whether another one is ahead |
//! | `metrics` | figures for operators, on an address of their own |
//! | `signed_read`, `loopback` | who reads, with a signature or without one |

mod app;
mod body;
mod cards;
pub mod config;
mod connections;
mod contract_wallets;
mod disk;
pub mod entropy;
mod error;
mod extract;
mod feed;
pub mod keys;
pub mod limits;
mod loopback;
mod metrics;
mod openapi;
mod others;
mod passing;
mod peers;
mod presence;
mod present_routes;
mod request_log;
mod role;
pub mod routes;
mod signed_read;
pub mod start;
mod stored;
mod streamed;
mod unread;

pub use config::{
    ConfigError, ConfigErrors, ConnectionLimits, EndpointConfig, LogReaders, NetworkConfig, RpcUrl,
    ServerConfig,
};
pub use limits::RateLimits;
pub use passing::{NoPeer, Peer};
pub use peers::LeftBehind;
pub use start::{CheckpointFault, ReloadError, RunError, Running, StartError, start, start_with};
