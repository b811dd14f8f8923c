//! What an operator decides, checked before anything is opened.
//!
//! Whatever a decision depends on becomes an event of the log ([`ServerConfig::parameters`]); the
//! rest (addresses, directories, URLs) stays here. Nothing here reads the environment.

mod machines;

use crate::limits::RateLimits;
use crate::passing::Peer;
use axum::http::uri::Authority;
use machines::{MAX_AGREEMENT_S, MAX_CONTRACT_MS, MAX_COUNTERS, MAX_TURNS};
use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use x811_ledger::snapshot::DEFAULT_EVERY_RECORDS;
use x811_protocol::did::Did;
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::{
    AEEP_LOOKS_MS, Capabilities, Contracts, FinalBy, Leniency, Limits, Network, Parameters,
    PayerBindingRule, Rounds, Windows,
};
use x811_store::{Database, FileCheckpointStore};
use x811_watcher::quorum_of;

/// Where a ledger listens unless told otherwise.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8811);

/// USDC on Base (settlement-watcher.md section 1).
pub const BASE_USDC: EvmAddress = EvmAddress::from_bytes([
    0x83, 0x35, 0x89, 0xfc, 0xd6, 0xed, 0xb6, 0xe0, 0x8f, 0x4c, 0x7c, 0x32, 0xd4, 0xf7, 0x1b, 0x54,
    0xbd, 0xa0, 0x29, 0x13,
]);

/// Circle's test USDC on Base Sepolia, which is worth nothing.
pub const BASE_SEPOLIA_USDC: EvmAddress = EvmAddress::from_bytes([
    0x03, 0x6c, 0xbd, 0x53, 0x84, 0x2c, 0x54, 0x26, 0x63, 0x4e, 0x79, 0x29, 0x54, 0x1e, 0xc2, 0x31,
    0x8f, 0x3d, 0xcf, 0x7e,
]);

/// The shortest window or look: block times are whole seconds, so anything shorter could pass
/// between two blocks (ledger-contract.md section 5).
pub const MIN_WINDOW_MS: u64 = 2_000;

/// Envelope ids are held in memory for 25 minutes: a repeat comes within twice this and 10 minutes.
const MAX_CLOCK_TOLERANCE_MS: u64 = 5 * 60_000;

/// Endpoints of one network: each costs a request a block.
const MAX_ENDPOINTS: usize = 4;

/// A head younger than this is fresh.
const FRESH_MS: u64 = 10_000;

/// Without a head younger than this a network is blind.
const BLIND_AFTER_MS: u64 = 30_000;

/// A network that was blind for so long calls the operator, unless configured otherwise: a day.
pub const DEFAULT_BLIND_PAGE_AFTER_MS: u64 = 24 * 60 * 60 * 1_000;

/// For so long after a dispute a late transfer is still recorded.
const LATE_MS: u64 = 24 * 60 * 60 * 1_000;

/// Everything a server is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Where log, rows and keys lie; made when it does not exist.
    pub data_dir: PathBuf,
    /// The PostgreSQL database that has the log; in the data directory when absent.
    pub database: Option<Database>,
    /// Other processes of this ledger, over the same database: what is sent to this one while it stands
    /// by goes on to the one of them that writes.
    pub peers: Vec<Peer>,
    /// Where the last signed checkpoint lies; beside the data directory when absent. Never inside
    /// it, and never restored with it: it is what tells that a restored copy is older.
    pub checkpoint_dir: Option<PathBuf>,
    /// Where HTTP is served; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Where `/metrics` is served, apart from everything else; nowhere unless given.
    pub metrics_listen: Option<SocketAddr>,
    /// How long and how many connections may be open.
    pub connections: ConnectionLimits,
    /// Whether inboxes and interactions are served unsigned, on loopback only.
    pub open_reads: bool,
    /// Hosts and ports that lead clients to this ledger and to no other, as they write them and
    /// without the port when it is the scheme's own; signed reads are made for one of them. The first
    /// is in the ledger's cards. A loopback name beside a public one is for this machine only. Without
    /// any, signed reads may name the address listened on and the loopback names.
    pub public_authorities: Vec<String>,
    /// Agents that may read every inbox and interaction, once they are registered.
    pub auditors: Vec<Did>,
    /// Agents that may have bodies erased, once they are registered.
    pub operators: Vec<Did>,
    /// Who reads the log as a whole, in tiles.
    pub log_readers: LogReaders,
    /// Where payments are made.
    pub network: NetworkConfig,
    /// How long each message is waited for.
    pub windows: Windows,
    /// Time between one look for a payment and the next, in milliseconds.
    pub looks_ms: [u64; 4],
    /// Whether a payer must be a wallet bound to the initiator.
    pub payer_binding: PayerBindingRule,
    /// Checks that are relaxed.
    pub lenient: Vec<Leniency>,
    /// What negotiations of contracts are held to; `None` opens none.
    pub contracts: Option<Contracts>,
    /// What descriptors of capabilities are held to; `None` takes none.
    pub capabilities: Option<Capabilities>,
    /// What rounds are held to; `None` opens none.
    pub rounds: Option<Rounds>,
    /// Limits that decide.
    pub limits: Limits,
    /// Records between two snapshots; at least 1. A start replays at most about as many.
    pub snapshot_every_records: u64,
    /// Limits of this process, which decide nothing that is recorded.
    pub rate_limits: RateLimits,
}

/// Who reads the log as a whole, in tiles. The checkpoint is everybody's, and the records of an
/// interaction are its parties' whatever stands here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogReaders {
    /// The agents in [`ServerConfig::auditors`], by signed reads.
    #[default]
    Auditors,
    /// Anybody: all leaves are public then. Bodies never are.
    Public,
}

/// How long and how many connections may be open. They bound what a stranger can hold: a slow
/// request costs a connection, and a connection costs memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// How long a request's head may take, in milliseconds, counted from the moment it is waited
    /// for; an idle connection is closed after the same time.
    pub header_read_ms: u64,
    /// How long a request's body may take, in milliseconds.
    pub body_read_ms: u64,
    /// How long an answer may wait for its reader to take the next part of it, in milliseconds.
    pub write_stall_ms: u64,
    /// Connections that are served at the same time; for further ones those give way that are idle
    /// longest. One address may have a quarter of them, a /48 of IPv6 half.
    pub max_connections: usize,
}

impl ConnectionLimits {
    /// 30 s for a head, as for idling, for a body, and for a reader that stalls; 1024 connections.
    pub const DEFAULT: ConnectionLimits = ConnectionLimits {
        header_read_ms: 30_000,
        body_read_ms: 30_000,
        write_stall_ms: 30_000,
        max_connections: 1_024,
    };

    fn is_usable(&self) -> bool {
        let times_ms = [self.header_read_ms, self.body_read_ms, self.write_stall_ms];
        !times_ms.contains(&0) && self.max_connections != 0
    }
}

/// The network that payments are made on, and how it is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkConfig {
    /// The name a PAYMENT uses: 1 to 32 of `[a-z0-9-]`.
    pub name: String,
    /// EIP-155 chain id.
    pub chain_id: ChainId,
    /// The USDC contract.
    pub token: EvmAddress,
    /// Where protocol fees may go; absent when fees go to the payee.
    pub treasury: Option<EvmAddress>,
    /// Blocks, the transfer's own included, at which a transfer counts as confirmed; at least 1.
    pub confirmed_depth: u64,
    /// Endpoints, 1 or 2, that must agree before anything is concluded; without it as many as there
    /// are, at most 2.
    pub endpoint_quorum: Option<u64>,
    /// Totals above this wait for level *safe*.
    pub safe_above: Option<MicroUsdc>,
    /// Condition for *safe* and *final* blocks.
    pub final_by: FinalBy,
    /// The JSON-RPC endpoints, 1 to 4. Where there are more than one, two must agree on whatever is
    /// concluded.
    pub endpoints: Vec<EndpointConfig>,
    /// Pause between two requests for the head while a block is due, in milliseconds.
    pub poll_ms: u64,
    /// Time between two blocks, in milliseconds: so long the head is not asked for after a new one.
    /// 0 where it is not known.
    pub block_ms: u64,
    /// How long the network may be blind before the operator is called, in milliseconds; 0 when nobody
    /// is to be. It changes no state (ledger-contract.md section 5).
    pub blind_page_after_ms: u64,
}

/// One JSON-RPC endpoint of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointConfig {
    /// Where its JSON-RPC is served; may hold a key, so it is never shown.
    pub rpc_url: RpcUrl,
    /// Where it announces new heads over a WebSocket. They only make the ledger look sooner: it
    /// looks all the same without.
    pub ws_url: Option<RpcUrl>,
    /// What evidence calls it, at most 32 characters; never its URL.
    pub label: String,
}

/// The address of a JSON-RPC endpoint, or of its announcements. It may hold an API key, so it is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct RpcUrl(String);

impl RpcUrl {
    /// An address as the operator gave it; whether it can be used shows at the start.
    pub fn new(url: impl Into<String>) -> RpcUrl {
        RpcUrl(url.into())
    }

    /// The address itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RpcUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RpcUrl(hidden)")
    }
}

impl NetworkConfig {
    /// Base: chain 8453, Circle's USDC, confirmed at 12 blocks (24 seconds).
    pub fn base(rpc_url: RpcUrl) -> NetworkConfig {
        NetworkConfig {
            name: "base".to_owned(),
            chain_id: ChainId::new(8_453),
            token: BASE_USDC,
            treasury: None,
            confirmed_depth: 12,
            endpoint_quorum: None,
            safe_above: None,
            final_by: FinalBy::Tag,
            endpoints: vec![EndpointConfig::first(rpc_url)],
            poll_ms: 250,
            block_ms: 2_000,
            blind_page_after_ms: DEFAULT_BLIND_PAGE_AFTER_MS,
        }
    }

    /// Base Sepolia, the public test network: chain 84532, Circle's test USDC, confirmed at 12 blocks.
    ///
    /// A PAYMENT names it `base-sepolia`. The constant `base` (AX-16) stays Base alone, so that a
    /// payment of test money can never be read as one of money.
    pub fn base_sepolia(rpc_url: RpcUrl) -> NetworkConfig {
        NetworkConfig {
            name: "base-sepolia".to_owned(),
            chain_id: ChainId::new(84_532),
            token: BASE_SEPOLIA_USDC,
            ..NetworkConfig::base(rpc_url)
        }
    }

    /// A chain of one's own, such as Anvil's: chain 31337, confirmed at 3 blocks. The token is
    /// whatever was deployed there.
    pub fn local(rpc_url: RpcUrl, token: EvmAddress) -> NetworkConfig {
        NetworkConfig {
            name: "local".to_owned(),
            chain_id: ChainId::new(31_337),
            token,
            treasury: None,
            confirmed_depth: 3,
            endpoint_quorum: None,
            safe_above: None,
            final_by: FinalBy::Tag,
            endpoints: vec![EndpointConfig::first(rpc_url)],
            poll_ms: 250,
            block_ms: 0,
            blind_page_after_ms: DEFAULT_BLIND_PAGE_AFTER_MS,
        }
    }
}

impl ServerConfig {
    /// A ledger in `data_dir` on `network` with the specification's windows.
    pub fn new(data_dir: impl Into<PathBuf>, network: NetworkConfig) -> ServerConfig {
        ServerConfig {
            data_dir: data_dir.into(),
            database: None,
            peers: Vec::new(),
            checkpoint_dir: None,
            listen: DEFAULT_LISTEN,
            metrics_listen: None,
            connections: ConnectionLimits::DEFAULT,
            open_reads: false,
            public_authorities: Vec::new(),
            auditors: Vec::new(),
            operators: Vec::new(),
            log_readers: LogReaders::default(),
            network,
            windows: Windows::AEEP,
            looks_ms: AEEP_LOOKS_MS,
            payer_binding: PayerBindingRule::Wallet,
            lenient: Vec::new(),
            limits: Limits::DEFAULT,
            contracts: Some(Contracts::DEFAULT),
            capabilities: Some(Capabilities::DEFAULT),
            rounds: None,
            snapshot_every_records: DEFAULT_EVERY_RECORDS,
            rate_limits: RateLimits::default(),
        }
    }

    /// Where the last signed checkpoint lies: as configured, or else `<data_dir>-checkpoint`. `None`
    /// when the data directory's path does not end in a name.
    pub fn checkpoint_directory(&self) -> Option<PathBuf> {
        match &self.checkpoint_dir {
            Some(directory) => Some(directory.clone()),
            None => FileCheckpointStore::beside(&self.data_dir),
        }
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// Every [`ConfigError`] that there is.
    pub fn validate(&self) -> Result<(), ConfigErrors> {
        let is_proxied = !self.public_authorities.is_empty();
        let listens_locally = self.listen.ip().is_loopback();
        let listen = self.listen;
        let ms = self.limits.clock_tolerance_ms;
        let mut faults = found([
            (
                self.open_reads && !listens_locally,
                ConfigError::OpenReads { listen },
            ),
            (
                self.open_reads && is_proxied,
                ConfigError::OpenReadsInPublic,
            ),
            (
                ms > MAX_CLOCK_TOLERANCE_MS,
                ConfigError::ClockTolerance { ms },
            ),
            (!self.connections.is_usable(), ConfigError::NoConnections),
            (self.snapshot_every_records == 0, ConfigError::SnapshotEvery),
        ]);
        faults.extend(self.unusable_authorities());
        faults.extend(self.short_waits());
        faults.extend(self.faults_of_machines());
        faults.extend(self.network.faults());
        if faults.is_empty() {
            Ok(())
        } else {
            Err(ConfigErrors(faults))
        }
    }

    /// Public authorities that no client could sign for.
    fn unusable_authorities(&self) -> impl Iterator<Item = ConfigError> {
        let unusable = self
            .public_authorities
            .iter()
            .filter(|it| !is_authority(it));
        unusable.map(|given| ConfigError::PublicAuthority {
            given: given.clone(),
        })
    }

    /// Windows and looks that could pass between two blocks.
    fn short_waits(&self) -> impl Iterator<Item = ConfigError> {
        let windows = &self.windows;
        let [first, second, third, fourth] = self.looks_ms;
        let waits = [
            ("offer window", windows.offer_ms),
            ("accept window", windows.accept_ms),
            ("result window", windows.result_ms),
            ("verify window", windows.verify_ms),
            ("payment window", windows.payment_ms),
            ("confirmation window", windows.confirmation_ms),
            ("first look", first),
            ("second look", second),
            ("third look", third),
            ("fourth look", fourth),
        ];
        let short = waits.into_iter().filter(|(_, ms)| *ms < MIN_WINDOW_MS);
        short.map(|(name, ms)| ConfigError::TooShort { name, ms })
    }

    /// What the log records of this configuration (record.md section 2).
    pub fn parameters(&self) -> Parameters {
        let network = &self.network;
        Parameters {
            windows: self.windows,
            looks_ms: self.looks_ms,
            networks: vec![Network {
                name: network.name.clone(),
                chain_id: network.chain_id,
                token: network.token,
                treasury: network.treasury,
                confirmed_depth: network.confirmed_depth,
                endpoint_quorum: Some(network.quorum() as u64),
                safe_above: network.safe_above,
                final_by: Some(network.final_by),
                fresh_ms: FRESH_MS,
                blind_after_ms: BLIND_AFTER_MS,
                late_ms: LATE_MS,
            }],
            payer_binding: self.payer_binding,
            limits: Limits {
                // A shortened window must leave an OFFER that can still be taken.
                offer_min_live_ms: self
                    .limits
                    .offer_min_live_ms
                    .min(self.windows.accept_ms / 2),
                ..self.limits
            },
            lenient: self.lenient.clone(),
            contracts: self.contracts,
            capabilities: self.capabilities,
            rounds: self.rounds.clone().map(Arc::new),
        }
    }
}

/// Those of `checks` that hold: each a fault.
fn found<const N: usize>(checks: [(bool, ConfigError); N]) -> Vec<ConfigError> {
    let found = checks.into_iter().filter(|(is_so, _)| *is_so);
    found.map(|(_, fault)| fault).collect()
}

impl NetworkConfig {
    fn faults(&self) -> Vec<ConfigError> {
        let labels: BTreeSet<&str> = self.endpoints.iter().map(|e| e.label.as_str()).collect();
        let is_apart = labels.len() == self.endpoints.len();
        let has_quorum = self.endpoint_quorum.is_none_or(|quorum| {
            (1..=2).contains(&quorum) && self.endpoints.len() >= self.quorum()
        });
        let has_zero = self.token == EvmAddress::ZERO || self.treasury == Some(EvmAddress::ZERO);
        found([
            (!self.has_usable_name(), ConfigError::NetworkName),
            (self.chain_id.as_u64() == 0, ConfigError::NoChain),
            (self.confirmed_depth == 0, ConfigError::NoDepth),
            (!has_quorum, ConfigError::Quorum),
            (
                self.final_by == FinalBy::Depth && self.chain_id.is_base(),
                ConfigError::FinalByDepth,
            ),
            (self.poll_ms == 0, ConfigError::NoPause),
            (
                !is_apart || !(1..=MAX_ENDPOINTS).contains(&self.endpoints.len()),
                ConfigError::Endpoints,
            ),
            (
                !self.endpoints.iter().all(EndpointConfig::has_usable_label),
                ConfigError::EndpointLabel,
            ),
            (has_zero, ConfigError::ZeroAddress),
        ])
    }

    /// Endpoints that must agree before anything is concluded.
    #[must_use]
    pub fn quorum(&self) -> usize {
        match self.endpoint_quorum {
            Some(1) => 1,
            Some(_) => 2,
            None => quorum_of(self.endpoints.len()),
        }
    }

    /// The form that a PAYMENT's `network` must have (record.md section 1).
    fn has_usable_name(&self) -> bool {
        let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        (1..=32).contains(&self.name.len()) && self.name.bytes().all(allowed)
    }
}

impl EndpointConfig {
    /// The endpoint at `rpc_url`, called `rpc`.
    pub fn first(rpc_url: RpcUrl) -> EndpointConfig {
        EndpointConfig {
            rpc_url,
            ws_url: None,
            label: "rpc".to_owned(),
        }
    }

    /// Another one at `rpc_url`, called `rpc-2`.
    pub fn second(rpc_url: RpcUrl) -> EndpointConfig {
        EndpointConfig {
            rpc_url,
            ws_url: None,
            label: "rpc-2".to_owned(),
        }
    }

    fn has_usable_label(&self) -> bool {
        let is_plain = self.label.chars().all(|c| c.is_ascii_graphic());
        let is_short = (1..=32).contains(&self.label.chars().count());
        is_plain && is_short && !self.label.contains("://")
    }
}

/// Whether it is a host, with a port unless that is the scheme's own (RFC 9421 section 2.2.3).
fn is_authority(text: &str) -> bool {
    let parsed = text.parse::<Authority>();
    parsed.is_ok_and(|authority| {
        let is_plain = !text.contains(['@', ',']) && !authority.host().is_empty();
        let port = text.strip_prefix(authority.host());
        let has_good_port = match port.map(|port| port.strip_prefix(':')) {
            Some(None) => true,
            Some(Some(port)) => port.parse::<u16>().is_ok() && !matches!(port, "80" | "443"),
            None => false,
        };
        is_plain && has_good_port
    })
}

/// All that is wrong in a configuration: at least one fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", together(.0))]
pub struct ConfigErrors(Vec<ConfigError>);

/// The sentences of `faults`.
fn together(faults: &[ConfigError]) -> String {
    let sentences: Vec<String> = faults.iter().map(ConfigError::to_string).collect();
    sentences.join(" · ")
}

/// Why a configuration cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Unsigned reads on an address that others can reach.
    #[error(
        "open reads show every inbox to whoever can connect, and {listen} is not a loopback \
         address: listen on 127.0.0.1, or leave open reads off"
    )]
    OpenReads {
        /// The configured address.
        listen: SocketAddr,
    },
    /// Unsigned reads of a ledger that others reach, through a proxy on this machine say.
    #[error(
        "open reads show every inbox to whoever can connect, and a public authority says that \
         others do, through a proxy for instance: leave one of the two out"
    )]
    OpenReadsInPublic,
    /// A name that no client could sign for.
    #[error(
        "public_authority is {given:?}: give the host and port that clients use, such as \
         ledger.example.org or ledger.example.org:8811, without scheme, path, :80 or :443"
    )]
    PublicAuthority {
        /// The configured text.
        given: String,
    },
    /// A window or a look that could pass between two blocks.
    #[error(
        "the {name} is {ms} ms; give it at least {MIN_WINDOW_MS} ms, as block times are whole seconds"
    )]
    TooShort {
        /// Which window or look it is.
        name: &'static str,
        /// How long it was to be, in milliseconds.
        ms: u64,
    },
    /// A tolerance under which a repeat could come after its envelope's id is forgotten.
    #[error(
        "the clock tolerance is {ms} ms; give it at most {MAX_CLOCK_TOLERANCE_MS} ms, because a \
         repeat that comes later would not be known"
    )]
    ClockTolerance {
        /// How much it was to be, in milliseconds.
        ms: u64,
    },
    /// Limits under which no request could be served.
    #[error("a connection limit is 0, so nothing could be served: give 1 or more")]
    NoConnections,
    /// Negotiations without a bound.
    #[error(
        "[contracts] needs max_turns from 1 to {MAX_TURNS}, min_life_ms up to max_life_ms, and \
         max_life_ms and engagement_ms up to {MAX_CONTRACT_MS} (366 days)"
    )]
    Contracts,
    /// Descriptors that nobody could publish, or sessions that come to nothing.
    #[error(
        "[capabilities] needs numbers of at least 1, session_ms from session_min_ms to \
         session_max_ms, times up to {MAX_CONTRACT_MS} ms, agreement_max_s up to {MAX_AGREEMENT_S} \
         (ten years) and counters up to {MAX_COUNTERS}; write enabled = false to take none"
    )]
    Capabilities,
    /// Rounds that come to nothing.
    #[error("[rounds] {0}; write enabled = false to open none")]
    Rounds(&'static str),
    /// A snapshot for no record at all.
    #[error("a snapshot every 0 records would never end; give 1000 or more")]
    SnapshotEvery,
    /// A name no PAYMENT could use.
    #[error("the network's name must be 1 to 32 of [a-z0-9-], such as base")]
    NetworkName,
    /// No chain has this id (EIP-155).
    #[error("the chain id is 0, which no chain has: give the network's, 8453 for Base")]
    NoChain,
    /// Depth zero would confirm what nobody has seen.
    #[error("the confirmed depth is 0; a transfer counts from its own block on: give 1 or more")]
    NoDepth,
    /// More than are asked, or none.
    #[error(
        "endpoint_quorum must be 1 or 2, and no more than there are RPC endpoints: configure a second \
         endpoint, or give 1"
    )]
    Quorum,
    /// Depth on Base, whose nodes name `safe` and `finalized` heads.
    #[error(
        "final_by = \"depth\" is for chains whose nodes name no `finalized` head, and those of Base name one: \
         write \"tag\", or leave it out"
    )]
    FinalByDepth,
    /// Polling without a pause.
    #[error("the pause between two polls is 0 ms; give 100 ms or more")]
    NoPause,
    /// None, too many, or two that evidence could not tell apart.
    #[error("a network takes 1 to {MAX_ENDPOINTS} RPC endpoints, each with a label of its own")]
    Endpoints,
    /// A label that is no label.
    #[error(
        "the endpoint's label goes into evidence: give 1 to 32 printable characters without \
         spaces, and never the URL, which may hold a key"
    )]
    EndpointLabel,
    /// Token or treasury is the zero address.
    #[error("token and treasury must not be the zero address: give the contract and account meant")]
    ZeroAddress,
}

#[cfg(test)]
mod tests;
