//! The options of `x811 serve`, each of which may also stand in the environment.
//!
//! None has a default here: an option that is not given must not hide what the file says.

use std::net::SocketAddr;
use std::path::PathBuf;

use x811_protocol::did::Did;
use x811_protocol::parameters::Leniency;

use super::settings::{
    Capabilities, Contracts, Data, Limits, Log, Metrics, Network, Rates, Rounds, Rules, Server,
    Settings, Store, Telemetry, Windows,
};
use super::value::{
    Address, Binding, Block, LogFormat, Preset, Readers, Secret, Usdc, leniency, looks,
};

/// Options of `x811 serve`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// TOML file with settings; environment and options win over it. None is read unless named
    #[arg(long, env = "X811_CONFIG", value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print what would be in force, without secrets, and end
    #[arg(long)]
    pub(super) check: bool,
    /// Where log, rows and keys lie; made when it does not exist (./x811-data)
    #[arg(long, env = "X811_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Records between two snapshots, of which a start replays the rest
    #[arg(long, env = "X811_SNAPSHOT_EVERY_RECORDS", value_name = "RECORDS")]
    snapshot_every_records: Option<u64>,
    /// Where the last signed checkpoint lies (the data directory's path and -checkpoint). Put it on
    /// another disk and never restore it with the data directory: it tells that a copy is older
    #[arg(long, env = "X811_CHECKPOINT_DIR", value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    http: HttpArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    windows: WindowArgs,
    /// Whether a payer must be a wallet bound to the initiator (wallet); `unchecked` is for tests
    #[arg(long, env = "X811_PAYER_BINDING", help_heading = "Rules", value_enum)]
    payer_binding: Option<Binding>,
    /// A check that is relaxed: uuids (any UUID as id and nonce), addresses (no EIP-55 checksum);
    /// once for each, or with commas
    #[arg(long, env = "X811_LENIENT", help_heading = "Rules", value_name = "CHECK", value_delimiter = ',', value_parser = leniency)]
    lenient: Option<Vec<Leniency>>,
    /// Who reads the ledger's log as a whole, in tiles (auditors); `public` shows every leaf
    #[arg(
        long,
        env = "X811_LOG_READERS",
        help_heading = "Log and traces",
        value_enum
    )]
    log_readers: Option<Readers>,
    /// How log lines look (text); with json all that is said is JSON, one object a line
    #[arg(
        long,
        env = "X811_LOG_FORMAT",
        help_heading = "Log and traces",
        value_enum
    )]
    log_format: Option<LogFormat>,
    /// Which log lines are written, such as `info,x811_watcher=debug` (info)
    #[arg(
        long,
        env = "RUST_LOG",
        help_heading = "Log and traces",
        value_name = "FILTER"
    )]
    log_filter: Option<String>,
    /// OpenTelemetry collector that is sent spans over HTTP, such as http://127.0.0.1:4318; without
    /// it there are none. It may hold a key, so it is never printed
    #[arg(
        long,
        env = "X811_OTLP_ENDPOINT",
        help_heading = "Log and traces",
        value_name = "URL",
        hide_env_values = true
    )]
    otlp_endpoint: Option<Secret>,
}

/// Who is served.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "HTTP")]
struct HttpArgs {
    /// Address to listen on; port 0 takes any free one (127.0.0.1:8811)
    #[arg(long, env = "X811_LISTEN", value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Serve inboxes and interactions unsigned, to this computer only
    #[arg(
        long,
        env = "X811_OPEN_READS",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    open_reads: Option<bool>,
    /// Proxy, or network of proxies, whose X-Forwarded-For is believed (this machine); once for
    /// each, or with commas
    #[arg(
        long = "trusted-proxy",
        env = "X811_TRUSTED_PROXIES",
        value_name = "ADDR[/BITS]",
        value_delimiter = ','
    )]
    trusted_proxies: Option<Vec<Block>>,
    /// Limit requests from this machine too
    #[arg(
        long,
        env = "X811_LIMIT_LOOPBACK",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    limit_loopback: Option<bool>,
    /// Address for GET /metrics alone; without it there are none
    #[arg(long, env = "X811_METRICS_LISTEN", value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
    /// How long a request's head may take, and a connection idle (30000)
    #[arg(long, env = "X811_HEADER_READ_MS", value_name = "MS")]
    header_read_ms: Option<u64>,
    /// How long a request's body may take (30000)
    #[arg(long, env = "X811_BODY_READ_MS", value_name = "MS")]
    body_read_ms: Option<u64>,
    /// How long an answer may wait for its reader to take the next part (30000)
    #[arg(long, env = "X811_WRITE_STALL_MS", value_name = "MS")]
    write_stall_ms: Option<u64>,
    /// Connections served at the same time; for further ones idle ones give way (1024)
    #[arg(long, env = "X811_MAX_CONNECTIONS", value_name = "NUMBER")]
    max_connections: Option<usize>,
    /// Streams of feeds that one agent may have open (3)
    #[arg(long, env = "X811_STREAMS_PER_DID", value_name = "NUMBER")]
    streams_per_did: Option<u32>,
    /// Streams of feeds in all, of which one address may have a quarter; further agents poll (100)
    #[arg(long, env = "X811_STREAMS", value_name = "NUMBER")]
    streams: Option<u32>,
    /// Host and port that clients know this ledger by; signed reads are made for it
    #[arg(long, env = "X811_PUBLIC_AUTHORITY", value_name = "HOST[:PORT]")]
    public_authority: Option<String>,
    /// Agent that may read every inbox and interaction; may be given again
    #[arg(
        long = "auditor",
        env = "X811_AUDITORS",
        value_name = "DID",
        value_delimiter = ','
    )]
    auditors: Option<Vec<Did>>,
    /// Agent that may have bodies erased; may be given again
    #[arg(
        long = "operator",
        env = "X811_OPERATORS",
        value_name = "DID",
        value_delimiter = ','
    )]
    operators: Option<Vec<Did>>,
}

/// A database for the log.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Store")]
struct StoreArgs {
    /// PostgreSQL database that has the log, instead of the data directory; it may hold a password,
    /// so it is never printed
    #[arg(
        long,
        env = "X811_STORE_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "store_url_file"
    )]
    store_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(long, env = "X811_STORE_URL_FILE", value_name = "FILE")]
    store_url_file: Option<PathBuf>,
    /// Cluster of EventStoreDB or KurrentDB that has the log, with all its nodes; the database of
    /// --store-url then has what lies beside it. It may hold a password, so it is never printed
    #[arg(
        long,
        env = "X811_STORE_LOG_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "store_log_url_file"
    )]
    store_log_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(long, env = "X811_STORE_LOG_URL_FILE", value_name = "FILE")]
    store_log_url_file: Option<PathBuf>,
    /// While another process writes to this log, stand by: follow it, answer reads, and take over once
    /// it has stopped or died
    #[arg(
        long,
        env = "X811_STORE_WAIT",
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    store_wait: Option<bool>,
    /// Another process of this ledger, as http://HOST:PORT, that takes what this one is sent while it
    /// stands by; may be given again
    #[arg(
        long = "store-peer",
        env = "X811_STORE_PEERS",
        value_name = "URL",
        value_delimiter = ','
    )]
    store_peers: Option<Vec<String>>,
    /// How many of the standbys must have what is acknowledged
    #[arg(long, env = "X811_STORE_QUORUM", value_name = "NUMBER")]
    store_quorum: Option<u64>,
    /// Name of a standby (its application_name) that counts; may be given again
    #[arg(
        long = "store-standby",
        env = "X811_STORE_STANDBYS",
        value_name = "NAME",
        value_delimiter = ','
    )]
    store_standbys: Option<Vec<String>>,
}

impl From<StoreArgs> for Store {
    fn from(args: StoreArgs) -> Store {
        Store {
            url: args.store_url,
            url_file: args.store_url_file,
            log_url: args.store_log_url,
            log_url_file: args.store_log_url_file,
            wait: args.store_wait,
            peers: args.store_peers,
            quorum: args.store_quorum,
            standbys: args.store_standbys,
        }
    }
}

/// Where payments are made.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Network")]
struct NetworkArgs {
    /// Base (base), its public test network, or a chain of your own such as Anvil's
    #[arg(long, env = "X811_NETWORK", value_enum)]
    network: Option<Preset>,
    /// JSON-RPC endpoint; it may hold a key, so it is never printed
    #[arg(
        long = "rpc",
        alias = "rpc-url",
        env = "X811_RPC_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "rpc_url_file"
    )]
    rpc_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(
        long = "rpc-file",
        alias = "rpc-url-file",
        env = "X811_RPC_URL_FILE",
        value_name = "FILE"
    )]
    rpc_url_file: Option<PathBuf>,
    /// WebSocket of that endpoint, which announces new heads: payments are then seen sooner, and
    /// as before when it fails. It may hold a key, so it is never printed
    #[arg(
        long,
        env = "X811_WS_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "ws_url_file"
    )]
    ws_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(long, env = "X811_WS_URL_FILE", value_name = "FILE")]
    ws_url_file: Option<PathBuf>,
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
    second_rpc_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(
        long = "second-rpc-file",
        alias = "second-rpc-url-file",
        env = "X811_SECOND_RPC_URL_FILE",
        value_name = "FILE"
    )]
    second_rpc_url_file: Option<PathBuf>,
    /// WebSocket of the second endpoint
    #[arg(
        long,
        env = "X811_SECOND_WS_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "second_ws_url_file"
    )]
    second_ws_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(long, env = "X811_SECOND_WS_URL_FILE", value_name = "FILE")]
    second_ws_url_file: Option<PathBuf>,
    /// Another chain id than the network's own
    #[arg(long, env = "X811_CHAIN_ID", value_name = "ID")]
    chain_id: Option<u64>,
    /// The USDC contract; must be given for `local`
    #[arg(long, env = "X811_TOKEN", value_name = "ADDRESS")]
    token: Option<Address>,
    /// Where protocol fees may go; without it they go to the payee with the price
    #[arg(long, env = "X811_TREASURY", value_name = "ADDRESS")]
    treasury: Option<Address>,
    /// Blocks, the transfer's own included, at which a transfer is confirmed (12; local 3)
    #[arg(long, env = "X811_CONFIRMED_DEPTH", value_name = "BLOCKS")]
    confirmed_depth: Option<u64>,
    /// RPC endpoints that must agree before anything is concluded, 1 or 2 (as many as there are)
    #[arg(long, env = "X811_ENDPOINT_QUORUM", value_name = "COUNT")]
    endpoint_quorum: Option<u64>,
    /// Totals above this many USDC wait until their block is `safe`
    #[arg(long, env = "X811_SAFE_ABOVE", value_name = "USDC")]
    safe_above: Option<Usdc>,
    /// A network that was blind for so long calls the operator, in /ready, /metrics and the log;
    /// payments wait on (86400000)
    #[arg(long, env = "X811_BLIND_PAGE_AFTER_MS", value_name = "MS")]
    blind_page_after_ms: Option<u64>,
}

/// How long each message is waited for.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Windows (milliseconds, at least 2000; AEEP's own unless given)")]
struct WindowArgs {
    /// REQUEST to OFFER (60000)
    #[arg(long, env = "X811_OFFER_MS", value_name = "MS")]
    offer_ms: Option<u64>,
    /// OFFER to ACCEPT or REJECT (300000)
    #[arg(long, env = "X811_ACCEPT_MS", value_name = "MS")]
    accept_ms: Option<u64>,
    /// ACCEPT to RESULT (3600000)
    #[arg(long, env = "X811_RESULT_MS", value_name = "MS")]
    result_ms: Option<u64>,
    /// RESULT to VERIFY (30000)
    #[arg(long, env = "X811_VERIFY_MS", value_name = "MS")]
    verify_ms: Option<u64>,
    /// VERIFY to PAYMENT (60000)
    #[arg(long, env = "X811_PAYMENT_MS", value_name = "MS")]
    payment_ms: Option<u64>,
    /// PAYMENT to its confirmation (30000)
    #[arg(long, env = "X811_CONFIRMATION_MS", value_name = "MS")]
    confirmation_ms: Option<u64>,
    /// The four looks after that, each from the one before (5000,15000,60000,300000)
    #[arg(long, env = "X811_LOOKS_MS", value_name = "MS,MS,MS,MS", value_parser = looks)]
    looks_ms: Option<[u64; 4]>,
}

impl Args {
    /// Whether a program reads all that is said, as far as options and environment tell.
    pub(super) fn logs_json(&self) -> bool {
        self.log_format == Some(LogFormat::Json) && !self.check
    }
}

impl From<Args> for Settings {
    fn from(args: Args) -> Settings {
        Settings {
            server: Server {
                listen: args.http.listen,
                open_reads: args.http.open_reads,
                header_read_ms: args.http.header_read_ms,
                body_read_ms: args.http.body_read_ms,
                write_stall_ms: args.http.write_stall_ms,
                max_connections: args.http.max_connections,
                public_authority: args.http.public_authority,
                auditors: args.http.auditors,
                operators: args.http.operators,
            },
            data: Data {
                dir: args.data_dir,
                snapshot_every_records: args.snapshot_every_records,
                checkpoint_dir: args.checkpoint_dir,
            },
            store: args.store.into(),
            network: args.network.into(),
            windows: args.windows.into(),
            rules: Rules {
                payer_binding: args.payer_binding,
                lenient: args.lenient,
            },
            limits: Limits::default(),
            contracts: Contracts::default(),
            capabilities: Capabilities::default(),
            rounds: Rounds::default(),
            rates: Rates {
                trusted_proxies: args.http.trusted_proxies,
                limit_loopback: args.http.limit_loopback,
                streams_per_did: args.http.streams_per_did,
                streams: args.http.streams,
                ..Rates::default()
            },
            log: Log {
                readers: args.log_readers,
                format: args.log_format,
                filter: args.log_filter,
            },
            metrics: Metrics {
                listen: args.http.metrics_listen,
            },
            telemetry: Telemetry {
                otlp_endpoint: args.otlp_endpoint,
            },
        }
    }
}

impl From<NetworkArgs> for Network {
    fn from(args: NetworkArgs) -> Network {
        Network {
            preset: args.network,
            rpc_url: args.rpc_url,
            rpc_url_file: args.rpc_url_file,
            ws_url: args.ws_url,
            ws_url_file: args.ws_url_file,
            second_rpc_url: args.second_rpc_url,
            second_rpc_url_file: args.second_rpc_url_file,
            second_ws_url: args.second_ws_url,
            second_ws_url_file: args.second_ws_url_file,
            chain_id: args.chain_id,
            token: args.token,
            treasury: args.treasury,
            confirmed_depth: args.confirmed_depth,
            endpoint_quorum: args.endpoint_quorum,
            safe_above_usdc: args.safe_above,
            blind_page_after_ms: args.blind_page_after_ms,
            ..Network::default()
        }
    }
}

impl From<WindowArgs> for Windows {
    fn from(args: WindowArgs) -> Windows {
        Windows {
            offer_ms: args.offer_ms,
            accept_ms: args.accept_ms,
            result_ms: args.result_ms,
            verify_ms: args.verify_ms,
            payment_ms: args.payment_ms,
            confirmation_ms: args.confirmation_ms,
            looks_ms: args.looks_ms,
        }
    }
}
