//! What may be set, in the shape of the configuration file: every key optional, unknown ones
//! refused. A layer is one value of [`Settings`]; the command line and the environment make one
//! too.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use x811_protocol::did::Did;
use x811_protocol::parameters::{self, Leniency};
use x811_server::{ConnectionLimits, RateLimits};

use super::value::{Address, Binding, Block, LogFormat, Preset, Readers, Secret, Usdc};

/// Declares a section whose keys are members of what the server is started with, under one name: the
/// section, what puts it there, and what shows it again. Keys that mean more stand `beside`.
macro_rules! section {
    (
        $(#[$about:meta])*
        $section:ident of $target:ty {
            $($key:ident: $value:ty,)+
        }
        $(beside { $($beside:ident: $other:ty,)+ })?
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(super) struct $section {
            $($(pub(super) $beside: Option<$other>,)+)?
            $(pub(super) $key: Option<$value>,)+
        }

        impl $section {
            /// Puts what is given in place of what was there.
            pub(super) fn put_into(&self, target: &mut $target) {
                $(if let Some(given) = self.$key {
                    target.$key = given;
                })+
            }

            /// As a file would have to say it, but for the keys beside.
            pub(super) fn of(target: &$target) -> Self {
                Self {
                    $($($beside: None,)+)?
                    $($key: Some(target.$key),)+
                }
            }
        }
    };
}

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

section! {
    /// `[server]`: HTTP.
    Server of ConnectionLimits {
        header_read_ms: u64,
        body_read_ms: u64,
        write_stall_ms: u64,
        max_connections: usize,
    }
    beside {
        listen: SocketAddr,
        open_reads: bool,
        public_authority: String,
        auditors: Vec<Did>,
        operators: Vec<Did>,
    }
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

section! {
    /// `[windows]`: how long each message is waited for, in milliseconds.
    Windows of parameters::Windows {
        offer_ms: u64,
        accept_ms: u64,
        result_ms: u64,
        verify_ms: u64,
        payment_ms: u64,
        confirmation_ms: u64,
    }
    beside {
        looks_ms: [u64; 4],
    }
}

/// `[rules]`: checks that may be relaxed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Rules {
    pub(super) payer_binding: Option<Binding>,
    pub(super) lenient: Option<Vec<Leniency>>,
}

section! {
    /// `[limits]`: limits that decide.
    Limits of parameters::Limits {
        envelope_bytes: u64,
        inline_content_bytes: u64,
        clock_tolerance_ms: u64,
        nonce_window_ms: u64,
        offer_min_live_ms: u64,
        hashes_per_interaction: u64,
        pending_look_ms: u64,
        open_per_initiator: u64,
        open_per_pair: u64,
        body_bytes_per_day: u64,
        refusals_per_window: u64,
    }
}

section! {
    /// `[contracts]`: what negotiations of contracts are held to.
    Contracts of parameters::Contracts {
        max_turns: u64,
        min_life_ms: u64,
        max_life_ms: u64,
        engagement_ms: u64,
        open_per_initiator: u64,
        open_per_pair: u64,
    }
    beside {
        enabled: bool,
    }
}

section! {
    /// `[capabilities]`: what descriptors, sessions and agreements are held to.
    Capabilities of parameters::Capabilities {
        active_agreements_per_pair: u64,
        adverts_per_hour: u64,
        agree_ms: u64,
        agreement_max_s: u64,
        counters: u64,
        open_sessions_per_initiator: u64,
        open_sessions_per_pair: u64,
        response_ms: u64,
        session_max_ms: u64,
        session_min_ms: u64,
        session_ms: u64,
    }
    beside {
        enabled: bool,
        exclusion: bool,
        exclusion_breaches: u64,
        exclusion_within_ms: u64,
        exclusion_for_ms: u64,
    }
}

/// `[rounds]`: what rounds are held to, by the names of the recorded parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Rounds {
    pub(super) enabled: Option<bool>,
    #[serde(flatten)]
    pub(super) given: serde_json::Map<String, serde_json::Value>,
}

section! {
    /// `[rates]`: limits of this process, which decide nothing that is recorded.
    Rates of RateLimits {
        requests_per_second_per_address: u32,
        burst_per_address: u32,
        requests_per_second_per_did: u32,
        burst_per_did: u32,
        registrations_per_address_per_hour: u32,
        registrations_per_hour: u32,
        long_polls_per_address: u32,
        long_polls_per_did: u32,
        streams_per_did: u32,
        streams: u32,
        body_bytes_per_address: u64,
        limit_loopback: bool,
    }
    beside {
        trusted_proxies: Vec<Block>,
    }
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
