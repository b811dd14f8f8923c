//! What may be set, in the shape of the configuration file: every key optional, unknown ones
//! refused. A layer is one value of [`Settings`]; the command line and the environment make one
//! too, of the keys that have an option. None has a default here: an option that is not given must not hide
//! what the file says.

mod network;
mod store;

pub(super) use network::{Further, Network};
pub(super) use store::Store;

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use x811_protocol::did::Did;
use x811_protocol::parameters::{self, Leniency};
use x811_server::{ConnectionLimits, RateLimits};

use super::value::{Binding, Block, LogFormat, Readers, Secret, leniency, looks, one_or_several};

/// Declares a section whose keys are members of what the server is started with, under one name: the
/// section, what puts it there, and what shows it again. Keys that mean more stand `beside`.
macro_rules! section {
    (
        $(#[$about:meta])*
        $section:ident of $target:ty {
            $($(#[$about_key:meta])* $key:ident: $value:ty,)+
        }
        $(beside { $($(#[$about_beside:meta])* $beside:ident: $other:ty,)+ })?
    ) => {
        #[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
        $(#[$about])*
        #[serde(deny_unknown_fields, default)]
        pub(super) struct $section {
            $($($(#[$about_beside])* pub(super) $beside: Option<$other>,)+)?
            $($(#[$about_key])* pub(super) $key: Option<$value>,)+
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
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    #[command(flatten)]
    pub(super) server: Server,
    #[command(flatten)]
    pub(super) data: Data,
    #[command(flatten)]
    pub(super) store: Store,
    #[command(flatten)]
    pub(super) network: Network,
    #[command(flatten)]
    pub(super) windows: Windows,
    #[command(flatten)]
    pub(super) rules: Rules,
    #[arg(skip)]
    pub(super) limits: Limits,
    #[arg(skip)]
    pub(super) contracts: Contracts,
    #[arg(skip)]
    pub(super) capabilities: Capabilities,
    #[arg(skip)]
    pub(super) rounds: Rounds,
    #[command(flatten)]
    pub(super) rates: Rates,
    #[command(flatten)]
    pub(super) log: Log,
    #[command(flatten)]
    pub(super) metrics: Metrics,
    #[command(flatten)]
    pub(super) telemetry: Telemetry,
}

section! {
    /// `[server]`: HTTP.
    #[command(next_help_heading = "HTTP")]
    Server of ConnectionLimits {
        /// How long a request's head may take, and a connection idle (30000)
        #[arg(long, env = "X811_HEADER_READ_MS", value_name = "MS")]
        header_read_ms: u64,
        /// How long a request's body may take (30000)
        #[arg(long, env = "X811_BODY_READ_MS", value_name = "MS")]
        body_read_ms: u64,
        /// How long an answer may wait for its reader to take the next part (30000)
        #[arg(long, env = "X811_WRITE_STALL_MS", value_name = "MS")]
        write_stall_ms: u64,
        /// Connections served at the same time; for further ones idle ones give way (1024)
        #[arg(long, env = "X811_MAX_CONNECTIONS", value_name = "NUMBER")]
        max_connections: usize,
    }
    beside {
        /// Address to listen on; port 0 takes any free one (127.0.0.1:8811)
        #[arg(long, env = "X811_LISTEN", value_name = "ADDR")]
        listen: SocketAddr,
        /// Serve inboxes and interactions unsigned, to this computer only
        #[arg(
            long,
            env = "X811_OPEN_READS",
            value_name = "BOOL",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "true"
        )]
        open_reads: bool,
        /// Host and port that clients know this ledger by, for which signed reads are made; once for
        /// each, or with commas
        #[arg(
            long,
            env = "X811_PUBLIC_AUTHORITY",
            value_name = "HOST[:PORT]",
            value_delimiter = ','
        )]
        #[serde(deserialize_with = "one_or_several")]
        public_authority: Vec<String>,
        /// Agent that may read every inbox and interaction; may be given again
        #[arg(
            long = "auditor",
            env = "X811_AUDITORS",
            value_name = "DID",
            value_delimiter = ','
        )]
        auditors: Vec<Did>,
        /// Agent that may have bodies erased; may be given again
        #[arg(
            long = "operator",
            env = "X811_OPERATORS",
            value_name = "DID",
            value_delimiter = ','
        )]
        operators: Vec<Did>,
    }
}

/// `[data]`: where everything lies.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Data")]
pub(super) struct Data {
    /// Where log, rows and keys lie; made when it does not exist (./x811-data)
    #[arg(long = "data-dir", env = "X811_DATA_DIR", value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// Records between two snapshots, of which a start replays the rest
    #[arg(long, env = "X811_SNAPSHOT_EVERY_RECORDS", value_name = "RECORDS")]
    pub(super) snapshot_every_records: Option<u64>,
    /// Where the last signed checkpoint lies (the data directory's path and -checkpoint). Put it on
    /// another disk and never restore it with the data directory: it tells that a copy is older
    #[arg(long, env = "X811_CHECKPOINT_DIR", value_name = "DIR")]
    pub(super) checkpoint_dir: Option<PathBuf>,
}

section! {
    /// `[windows]`: how long each message is waited for, in milliseconds.
    #[command(next_help_heading = "Windows (milliseconds, at least 2000; AEEP's own unless given)")]
    Windows of parameters::Windows {
        /// REQUEST to OFFER (60000)
        #[arg(long, env = "X811_OFFER_MS", value_name = "MS")]
        offer_ms: u64,
        /// OFFER to ACCEPT or REJECT (300000)
        #[arg(long, env = "X811_ACCEPT_MS", value_name = "MS")]
        accept_ms: u64,
        /// ACCEPT to RESULT (3600000)
        #[arg(long, env = "X811_RESULT_MS", value_name = "MS")]
        result_ms: u64,
        /// RESULT to VERIFY (30000)
        #[arg(long, env = "X811_VERIFY_MS", value_name = "MS")]
        verify_ms: u64,
        /// VERIFY to PAYMENT (60000)
        #[arg(long, env = "X811_PAYMENT_MS", value_name = "MS")]
        payment_ms: u64,
        /// PAYMENT to its confirmation (30000)
        #[arg(long, env = "X811_CONFIRMATION_MS", value_name = "MS")]
        confirmation_ms: u64,
    }
    beside {
        /// The four looks after that, each from the one before (5000,15000,60000,300000)
        #[arg(long, env = "X811_LOOKS_MS", value_name = "MS,MS,MS,MS", value_parser = looks)]
        looks_ms: [u64; 4],
    }
}

/// `[rules]`: checks that may be relaxed.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Rules")]
pub(super) struct Rules {
    /// Whether a payer must be a wallet bound to the initiator (wallet); `unchecked` is for tests
    #[arg(long, env = "X811_PAYER_BINDING", value_enum)]
    pub(super) payer_binding: Option<Binding>,
    /// A check that is relaxed: uuids (any UUID as id and nonce), addresses (no EIP-55 checksum);
    /// once for each, or with commas
    #[arg(long, env = "X811_LENIENT", value_name = "CHECK", value_delimiter = ',', value_parser = leniency)]
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
    #[command(next_help_heading = "HTTP")]
    Rates of RateLimits {
        #[arg(skip)]
        requests_per_second_per_address: u32,
        #[arg(skip)]
        burst_per_address: u32,
        #[arg(skip)]
        requests_per_second_per_did: u32,
        #[arg(skip)]
        burst_per_did: u32,
        #[arg(skip)]
        registrations_per_address_per_hour: u32,
        #[arg(skip)]
        registrations_per_hour: u32,
        #[arg(skip)]
        long_polls_per_address: u32,
        #[arg(skip)]
        long_polls_per_did: u32,
        /// Streams of feeds that one agent may have open (3)
        #[arg(long, env = "X811_STREAMS_PER_DID", value_name = "NUMBER")]
        streams_per_did: u32,
        /// Streams of feeds in all, of which one address may have a quarter; further agents poll (100)
        #[arg(long, env = "X811_STREAMS", value_name = "NUMBER")]
        streams: u32,
        #[arg(skip)]
        body_bytes_per_address: u64,
        /// Limit requests from this machine too
        #[arg(
            long,
            env = "X811_LIMIT_LOOPBACK",
            value_name = "BOOL",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "true"
        )]
        limit_loopback: bool,
    }
    beside {
        /// Proxy, or network of proxies, whose X-Forwarded-For is believed (this machine); once for
        /// each, or with commas
        #[arg(
            long = "trusted-proxy",
            env = "X811_TRUSTED_PROXIES",
            value_name = "ADDR[/BITS]",
            value_delimiter = ','
        )]
        trusted_proxies: Vec<Block>,
    }
}

/// `[log]`: who reads the ledger's log, and the lines on standard error.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Log and traces")]
pub(super) struct Log {
    /// Who reads the ledger's log as a whole, in tiles (auditors); `public` shows every leaf
    #[arg(
        value_name = "LOG_READERS",
        long = "log-readers",
        env = "X811_LOG_READERS",
        value_enum
    )]
    pub(super) readers: Option<Readers>,
    /// How log lines look (text); with json all that is said is JSON, one object a line
    #[arg(
        value_name = "LOG_FORMAT",
        long = "log-format",
        env = "X811_LOG_FORMAT",
        value_enum
    )]
    pub(super) format: Option<LogFormat>,
    /// Which log lines are written, such as `info,x811_watcher=debug` (info)
    #[arg(long = "log-filter", env = "RUST_LOG", value_name = "FILTER")]
    pub(super) filter: Option<String>,
}

/// `[metrics]`: figures for operators.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "HTTP")]
pub(super) struct Metrics {
    /// Address for GET /metrics alone; without it there are none
    #[arg(
        id = "metrics_listen",
        long = "metrics-listen",
        env = "X811_METRICS_LISTEN",
        value_name = "ADDR"
    )]
    pub(super) listen: Option<SocketAddr>,
}

/// `[telemetry]`: spans for a collector.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Log and traces")]
pub(super) struct Telemetry {
    /// OpenTelemetry collector that is sent spans over HTTP, such as http://127.0.0.1:4318; without
    /// it there are none. It may hold a key, so it is never printed
    #[arg(
        long,
        env = "X811_OTLP_ENDPOINT",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(super) otlp_endpoint: Option<Secret>,
}
