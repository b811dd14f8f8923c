//! What may be set, in the shape of the configuration file: every key optional, unknown ones
//! refused. A layer is one value of [`Settings`]; the command line and the environment make one
//! too.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use x811_protocol::did::Did;

use x811_protocol::parameters::Leniency;

use super::value::{Address, Binding, Block, LogFormat, Preset, Readers, Secret, Usdc};

/// One layer of configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    pub(super) server: Server,
    pub(super) data: Data,
    pub(super) store: Store,
    pub(super) network: Network,
    pub(super) windows: Windows,
    pub(super) rules: Rules,
    pub(super) limits: Limits,
    pub(super) contracts: Contracts,
    pub(super) capabilities: Capabilities,
    pub(super) rounds: Rounds,
    pub(super) rates: Rates,
    pub(super) log: Log,
    pub(super) metrics: Metrics,
    pub(super) telemetry: Telemetry,
}

/// `[server]`: HTTP.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Server {
    pub(super) listen: Option<SocketAddr>,
    pub(super) open_reads: Option<bool>,
    pub(super) header_read_ms: Option<u64>,
    pub(super) body_read_ms: Option<u64>,
    pub(super) write_stall_ms: Option<u64>,
    pub(super) max_connections: Option<usize>,
    pub(super) public_authority: Option<String>,
    pub(super) auditors: Option<Vec<Did>>,
    pub(super) operators: Option<Vec<Did>>,
}

/// `[data]`: where everything lies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Data {
    pub(super) dir: Option<PathBuf>,
    pub(super) snapshot_every_records: Option<u64>,
    pub(super) checkpoint_dir: Option<PathBuf>,
}

/// `[store]`: a PostgreSQL database for the log, or for what lies beside one in EventStoreDB.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Store {
    pub(super) url: Option<Secret>,
    pub(super) url_file: Option<PathBuf>,
    pub(super) log_url: Option<Secret>,
    pub(super) log_url_file: Option<PathBuf>,
    pub(super) wait: Option<bool>,
    pub(super) peers: Option<Vec<String>>,
    pub(super) quorum: Option<u64>,
    pub(super) standbys: Option<Vec<String>>,
}

/// `[network]`: where payments are made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Network {
    pub(super) preset: Option<Preset>,
    pub(super) rpc_url: Option<Secret>,
    pub(super) rpc_url_file: Option<PathBuf>,
    pub(super) ws_url: Option<Secret>,
    pub(super) ws_url_file: Option<PathBuf>,
    pub(super) name: Option<String>,
    pub(super) chain_id: Option<u64>,
    pub(super) token: Option<Address>,
    pub(super) treasury: Option<Address>,
    pub(super) confirmed_depth: Option<u64>,
    pub(super) endpoint_quorum: Option<u64>,
    pub(super) safe_above_usdc: Option<Usdc>,
    pub(super) poll_ms: Option<u64>,
    pub(super) block_ms: Option<u64>,
    pub(super) blind_page_after_ms: Option<u64>,
    pub(super) endpoint_label: Option<String>,
    pub(super) second_rpc_url: Option<Secret>,
    pub(super) second_rpc_url_file: Option<PathBuf>,
    pub(super) second_ws_url: Option<Secret>,
    pub(super) second_ws_url_file: Option<PathBuf>,
    pub(super) second_endpoint_label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) further: Option<Vec<Further>>,
}

/// `[[network.further]]`: a third or fourth endpoint, in the file alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Further {
    pub(super) rpc_url: Option<Secret>,
    pub(super) rpc_url_file: Option<PathBuf>,
    pub(super) ws_url: Option<Secret>,
    pub(super) ws_url_file: Option<PathBuf>,
    pub(super) endpoint_label: Option<String>,
}

/// `[windows]`: how long each message is waited for, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Windows {
    pub(super) offer_ms: Option<u64>,
    pub(super) accept_ms: Option<u64>,
    pub(super) result_ms: Option<u64>,
    pub(super) verify_ms: Option<u64>,
    pub(super) payment_ms: Option<u64>,
    pub(super) confirmation_ms: Option<u64>,
    pub(super) looks_ms: Option<[u64; 4]>,
}

/// `[rules]`: checks that may be relaxed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Rules {
    pub(super) payer_binding: Option<Binding>,
    pub(super) lenient: Option<Vec<Leniency>>,
}

/// `[limits]`: limits that decide.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) envelope_bytes: Option<u64>,
    pub(super) inline_content_bytes: Option<u64>,
    pub(super) clock_tolerance_ms: Option<u64>,
    pub(super) nonce_window_ms: Option<u64>,
    pub(super) offer_min_live_ms: Option<u64>,
    pub(super) hashes_per_interaction: Option<u64>,
    pub(super) pending_look_ms: Option<u64>,
    pub(super) open_per_initiator: Option<u64>,
    pub(super) open_per_pair: Option<u64>,
    pub(super) body_bytes_per_day: Option<u64>,
    pub(super) refusals_per_window: Option<u64>,
}

/// `[contracts]`: what negotiations of contracts are held to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Contracts {
    pub(super) enabled: Option<bool>,
    pub(super) max_turns: Option<u64>,
    pub(super) min_life_ms: Option<u64>,
    pub(super) max_life_ms: Option<u64>,
    pub(super) engagement_ms: Option<u64>,
    pub(super) open_per_initiator: Option<u64>,
    pub(super) open_per_pair: Option<u64>,
}

/// `[capabilities]`: what descriptors, sessions and agreements are held to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Capabilities {
    pub(super) enabled: Option<bool>,
    pub(super) active_agreements_per_pair: Option<u64>,
    pub(super) adverts_per_hour: Option<u64>,
    pub(super) agree_ms: Option<u64>,
    pub(super) agreement_max_s: Option<u64>,
    pub(super) counters: Option<u64>,
    pub(super) exclusion: Option<bool>,
    pub(super) exclusion_breaches: Option<u64>,
    pub(super) exclusion_within_ms: Option<u64>,
    pub(super) exclusion_for_ms: Option<u64>,
    pub(super) open_sessions_per_initiator: Option<u64>,
    pub(super) open_sessions_per_pair: Option<u64>,
    pub(super) response_ms: Option<u64>,
    pub(super) session_max_ms: Option<u64>,
    pub(super) session_min_ms: Option<u64>,
    pub(super) session_ms: Option<u64>,
}

/// `[rounds]`: what rounds are held to, by the names of the recorded parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Rounds {
    pub(super) enabled: Option<bool>,
    #[serde(flatten)]
    pub(super) given: serde_json::Map<String, serde_json::Value>,
}

/// `[rates]`: limits of this process, which decide nothing that is recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Rates {
    pub(super) requests_per_second_per_address: Option<u32>,
    pub(super) burst_per_address: Option<u32>,
    pub(super) requests_per_second_per_did: Option<u32>,
    pub(super) burst_per_did: Option<u32>,
    pub(super) registrations_per_address_per_hour: Option<u32>,
    pub(super) registrations_per_hour: Option<u32>,
    pub(super) long_polls_per_address: Option<u32>,
    pub(super) long_polls_per_did: Option<u32>,
    pub(super) streams_per_did: Option<u32>,
    pub(super) streams: Option<u32>,
    pub(super) body_bytes_per_address: Option<u64>,
    pub(super) trusted_proxies: Option<Vec<Block>>,
    pub(super) limit_loopback: Option<bool>,
}

/// `[log]`: who reads the ledger's log, and the lines on standard error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Log {
    pub(super) readers: Option<Readers>,
    pub(super) format: Option<LogFormat>,
    pub(super) filter: Option<String>,
}

/// `[metrics]`: figures for operators.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Metrics {
    pub(super) listen: Option<SocketAddr>,
}

/// `[telemetry]`: spans for a collector.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Telemetry {
    pub(super) otlp_endpoint: Option<Secret>,
}
