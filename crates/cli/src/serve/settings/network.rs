//! `[network]`, and its options.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::serve::value::{Address, Finality, Preset, Secret, Usdc};

/// `[network]`: where payments are made.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Network")]
pub(in crate::serve) struct Network {
    /// Base (base), its public test network, or a chain of your own such as Anvil's
    #[arg(
        long = "network",
        env = "X811_NETWORK",
        value_name = "NETWORK",
        value_enum
    )]
    pub(in crate::serve) preset: Option<Preset>,
    /// JSON-RPC endpoint; it may hold a key, so it is never printed
    #[arg(
        long = "rpc",
        alias = "rpc-url",
        env = "X811_RPC_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "rpc_url_file"
    )]
    pub(in crate::serve) rpc_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(
        long = "rpc-file",
        alias = "rpc-url-file",
        env = "X811_RPC_URL_FILE",
        value_name = "FILE"
    )]
    pub(in crate::serve) rpc_url_file: Option<PathBuf>,
    /// WebSocket of that endpoint, which announces new heads: payments are then seen sooner, and
    /// as before when it fails. It may hold a key, so it is never printed
    #[arg(
        long,
        env = "X811_WS_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "ws_url_file"
    )]
    pub(in crate::serve) ws_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(long, env = "X811_WS_URL_FILE", value_name = "FILE")]
    pub(in crate::serve) ws_url_file: Option<PathBuf>,
    #[arg(skip)]
    pub(in crate::serve) name: Option<String>,
    /// Another chain id than the network's own
    #[arg(long, env = "X811_CHAIN_ID", value_name = "ID")]
    pub(in crate::serve) chain_id: Option<u64>,
    /// The USDC contract; must be given for `local`
    #[arg(long, env = "X811_TOKEN", value_name = "ADDRESS")]
    pub(in crate::serve) token: Option<Address>,
    /// Where protocol fees may go; without it they go to the payee with the price
    #[arg(long, env = "X811_TREASURY", value_name = "ADDRESS")]
    pub(in crate::serve) treasury: Option<Address>,
    /// Blocks, the transfer's own included, at which a transfer is confirmed (12; local 3)
    #[arg(long, env = "X811_CONFIRMED_DEPTH", value_name = "BLOCKS")]
    pub(in crate::serve) confirmed_depth: Option<u64>,
    /// RPC endpoints that must agree before anything is concluded, 1 or 2 (as many as there are)
    #[arg(long, env = "X811_ENDPOINT_QUORUM", value_name = "COUNT")]
    pub(in crate::serve) endpoint_quorum: Option<u64>,
    /// Totals above this many USDC wait until their block is `safe`
    #[arg(long = "safe-above", env = "X811_SAFE_ABOVE", value_name = "USDC")]
    pub(in crate::serve) safe_above_usdc: Option<Usdc>,
    /// Condition for safe and final blocks: heads that the endpoints name (tag), or 600 blocks above the confirmed
    /// depth (depth), for a private chain whose nodes name no such heads (tag)
    #[arg(long, env = "X811_FINAL_BY", value_name = "WAY", value_enum)]
    pub(in crate::serve) final_by: Option<Finality>,
    #[arg(skip)]
    pub(in crate::serve) poll_ms: Option<u64>,
    #[arg(skip)]
    pub(in crate::serve) block_ms: Option<u64>,
    /// A network that was blind for so long calls the operator, in /ready, /metrics and the log;
    /// payments wait on (86400000)
    #[arg(long, env = "X811_BLIND_PAGE_AFTER_MS", value_name = "MS")]
    pub(in crate::serve) blind_page_after_ms: Option<u64>,
    #[arg(skip)]
    pub(in crate::serve) endpoint_label: Option<String>,
    /// A second JSON-RPC endpoint, of another provider: a payment is then confirmed only when both
    /// say the same
    #[arg(
        long = "second-rpc",
        alias = "second-rpc-url",
        env = "X811_SECOND_RPC_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "second_rpc_url_file"
    )]
    pub(in crate::serve) second_rpc_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(
        long = "second-rpc-file",
        alias = "second-rpc-url-file",
        env = "X811_SECOND_RPC_URL_FILE",
        value_name = "FILE"
    )]
    pub(in crate::serve) second_rpc_url_file: Option<PathBuf>,
    /// WebSocket of the second endpoint
    #[arg(
        long,
        env = "X811_SECOND_WS_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "second_ws_url_file"
    )]
    pub(in crate::serve) second_ws_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(long, env = "X811_SECOND_WS_URL_FILE", value_name = "FILE")]
    pub(in crate::serve) second_ws_url_file: Option<PathBuf>,
    #[arg(skip)]
    pub(in crate::serve) second_endpoint_label: Option<String>,
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::serve) further: Option<Vec<Further>>,
}

/// `[[network.further]]`: a third or fourth endpoint, in the file alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::serve) struct Further {
    pub(in crate::serve) rpc_url: Option<Secret>,
    pub(in crate::serve) rpc_url_file: Option<PathBuf>,
    pub(in crate::serve) ws_url: Option<Secret>,
    pub(in crate::serve) ws_url_file: Option<PathBuf>,
    pub(in crate::serve) endpoint_label: Option<String>,
}
