//! From a configuration to a running server, and back.
//!
//! Order matters: the data directory is owned before a key is made, the address is bound before the
//! log says that the ledger is back, and everything that can refuse to start does so before that.

mod advice;
pub(crate) mod blindness;
mod checkpoint;
mod course;
mod files;
mod follow;
mod interrupted;
mod kept_blocks;
mod lead;
mod listeners;
pub(crate) mod log_check;
mod lookout;
mod raise;
mod reload;
mod rows;
mod stop;

use crate::app::RunningLedger;
use crate::cards::Cards;
use crate::config::{ConfigErrors, NetworkConfig, ServerConfig};
use crate::contract_wallets::AskedContracts;
use crate::entropy::{NoEntropy, SystemEntropy};
use crate::keys::{Identity, KeyError, NewIdentity, Replaced, finish_rotations};
use crate::others;
use crate::peers::{LeftBehind, OwnLog, Peers, compare};
use crate::signed_read::{Privileges, SignedReads};
use checkpoint::{Signers, Stored};
use lookout::{Eyes, Lookout};
use reload::Exchange;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use x811_eventlog::{Checkpoint, EventLog as _, ReadError};
use x811_ledger::checkpoint::Checkpoints;
use x811_ledger::clock::{Clock, ReferenceClock, SystemClock};
use x811_ledger::entropy::Entropy;
use x811_ledger::port::LedgerStore as _;
use x811_ledger::sequencer::{self, Opening};
use x811_ledger::snapshot::Snapshots;
use x811_protocol::event::{LedgerKeyRotated, LedgerOpened};
use x811_protocol::parameters::FinalBy;
use x811_protocol::time::TimestampMs;
use x811_store::{Backend, CheckpointPlaces, FileCheckpointStore, FileSnapshots};
use x811_watcher::checks::{CheckFailure, Misfit, verify_endpoint};
use x811_watcher::rpc::{EndpointError, RpcLimits, RpcSource};
use x811_watcher::{ChainSource as _, HeadTag, SourceError};
use x811_world::World;

pub use checkpoint::CheckpointFault;
pub use files::TooFewFiles;
pub use lookout::expected;
pub use reload::ReloadError;
pub use stop::RunError;

/// Connections that the system holds until they are taken, as far as it lets us.
const BACKLOG: u32 = 1_024;

/// A running server. Dropping it asks it to stop, without waiting.
#[derive(Debug)]
pub struct Running {
    /// Where HTTP is served.
    pub local_addr: SocketAddr,
    /// Where `/metrics` is served.
    pub metrics_addr: Option<SocketAddr>,
    /// Who the ledger is.
    pub identity: LedgerOpened,
    /// The data directory held no ledger: this start opened a new one there.
    pub is_new: bool,
    /// Why the RPC endpoint could not be asked at the start; the ledger is blind until it can be.
    pub starts_blind: Option<String>,
    /// Absent while this process stands by.
    exchange: watch::Receiver<Option<Exchange>>,
    stop: watch::Sender<bool>,
    ended: JoinHandle<Result<(), RunError>>,
}

impl Running {
    /// Asks the server to stop: no new connections, what was taken is answered, then the end.
    pub fn shutdown(&self) {
        self.stop.send_replace(true);
    }

    /// Waits for the end; to be called again only when it was cancelled.
    ///
    /// # Errors
    /// Why the server ended without being asked to.
    pub async fn wait(&mut self) -> Result<(), RunError> {
        match (&mut self.ended).await {
            Ok(ended) => ended,
            Err(panicked) => Err(RunError::Panicked(panicked.to_string())),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown();
    }
}

/// Starts a server on the machine's own clock and random numbers.
///
/// # Errors
/// See [`StartError`].
pub async fn start(config: ServerConfig) -> Result<Running, StartError> {
    let entropy = SystemEntropy::open()?;
    start_with(config, Arc::new(SystemClock::new()), Arc::new(entropy)).await
}

/// Starts a server on a clock and random numbers of the caller's.
///
/// # Errors
/// See [`StartError`].
pub async fn start_with<C: Clock, E: Entropy>(
    config: ServerConfig,
    clock: Arc<C>,
    entropy: Arc<E>,
) -> Result<Running, StartError> {
    config.validate()?;
    advice::give(&config);
    files::allow(config.connections.max_connections)?;
    let clock = ReferenceClock::over(clock, course::noted(&config.data_dir));
    // Each step lies on the heap: together they are more than a thread's stack should bear.
    Box::pin(lead::begin(config, Arc::new(clock), entropy)).await
}

/// A ledger that has been opened: what runs it, and the handle to talk to it.
type Opened<C, E> = (sequencer::Sequencer<Backend, C, E>, RunningLedger<C>);

/// What a ledger stands on: all that can refuse to start before the log says that it is back.
struct Ground {
    store: Arc<Backend>,
    stored: Stored,
    identity: Identity,
    /// Its log holds nothing yet.
    is_new: bool,
    contracts: Arc<AskedContracts>,
    lookout: Lookout,
    starts_blind: Option<String>,
}

impl Ground {
    /// On `store`, which this process owns. Endpoints that were `asked` already are not asked again: a
    /// take-over has no time for it.
    async fn prepare<C: Clock, E: Entropy>(
        config: &ServerConfig,
        clock: &C,
        entropy: &E,
        (store, checkpoint): (Arc<Backend>, FileCheckpointStore),
        asked: bool,
    ) -> Result<Ground, StartError> {
        let sources = sources_of(&config.network)?;
        let contracts = Arc::new(AskedContracts::new(&[&config.network])?);
        let mut stored = Stored::load(checkpoint, &store).await?;
        // The database says what time it is, before anything is recorded.
        others::set_clock(&store, clock).await;
        let identity = identity(config, &store, &mut stored, clock, entropy).await?;
        stored.keep_to_timeline(identity.opened.log_id).await?;
        let is_new = store.log().head().await?.size == 0;
        if is_new {
            let (data_dir, did) = (config.data_dir.display(), identity.opened.did);
            tracing::warn!(%data_dir, %did, "no ledger was here: a NEW one is opened");
        }
        let starts_blind = match asked {
            true => None,
            false => check_endpoints(&sources, &config.network).await?,
        };
        let eyes = Eyes::of(&config.network, sources, entropy)?;
        let lookout = Lookout::new(eyes, config).await;
        Ok(Ground {
            store,
            stored,
            identity,
            is_new,
            contracts,
            lookout,
            starts_blind,
        })
    }

    /// What the log is opened by.
    async fn opening(
        &self,
        config: &ServerConfig,
        signers: &Signers,
    ) -> Result<Opening, StartError> {
        let size = self.store.log().head().await?.size;
        let checkpoint = self.stored.of_writer(config, signers)?;
        let checkpoint = match checkpoint {
            // Refused for what this host itself has signed.
            Some(signed) if signed.size > size => Some(signed),
            own => self.checked_by_peers(config, size, own).await?,
        };
        Ok(Opening {
            checkpoint_adopted: self.stored.is_adopted(),
            ..opening(config, &self.identity, checkpoint)
        })
    }

    /// The newest checkpoint that the log must extend, of this host's `own` and those of its peers;
    /// refuses a log that a peer is ahead of. Where the log lies in a data directory there are no peers.
    async fn checked_by_peers(
        &self,
        config: &ServerConfig,
        size: u64,
        own: Option<Checkpoint>,
    ) -> Result<Option<Checkpoint>, StartError> {
        if self.store.lease().is_none() {
            return Ok(own);
        }
        let peers = Peers::of(config, &self.identity).ask().await;
        // After the answers: a process that slept meanwhile sees who has the lease by now.
        let published = self.store.look().await;
        let Some(published) = published.map_err(x811_store::OpenError::from)? else {
            return Ok(own);
        };
        let root = |theirs: &Checkpoint| {
            let own = own.as_ref().filter(|own| own.size == theirs.size);
            own.map(|own| own.root)
        };
        compare(&OwnLog::of(size, &published), &peers, root)?;
        let theirs = peers.into_iter().filter_map(|peer| peer.checkpoint);
        Ok(theirs.chain(own).max_by_key(|signed| signed.size))
    }
}

/// What a log is opened by, or followed.
fn opening(config: &ServerConfig, identity: &Identity, checkpoint: Option<Checkpoint>) -> Opening {
    Opening {
        identity: identity.opened.clone(),
        rotations: rotations(&identity.replaced),
        parameters: config.parameters(),
        envelope_key: identity.envelope_key.clone(),
        snapshots: Some(snapshots(config)),
        checkpoint,
        checkpoint_adopted: false,
        with_endpoints: with_endpoints(config),
    }
}

/// A line by which every start is found in the log.
fn tell_of_start(identity: &Identity, world: &World, address: SocketAddr, is_new: bool) {
    let records = world.head().size;
    let version = env!("CARGO_PKG_VERSION");
    let ledger = identity.opened.did;
    if is_new {
        tracing::info!(version, %ledger, %address, records, "the ledger runs: it is new");
    } else {
        tracing::info!(version, %ledger, %address, records, "the ledger runs: it was found here");
    }
}

/// Cards name this server as clients reach it: past a proxy with TLS under its public name, else as it
/// listens.
fn cards(config: &ServerConfig, local_addr: SocketAddr, identity: &Identity) -> Cards {
    let base_url = match config.public_authorities.first() {
        Some(authority) => format!("https://{authority}"),
        None => format!("http://{local_addr}"),
    };
    let key = identity.envelope_key.clone();
    Cards::new(identity.opened.did, key, &base_url)
}

/// Who may read what, by its signature.
fn signed_reads(config: &ServerConfig, local_addr: SocketAddr, now: TimestampMs) -> SignedReads {
    let privileges = Privileges {
        auditors: config.auditors.clone(),
        operators: config.operators.clone(),
    };
    SignedReads::new(&config.public_authorities, local_addr, privileges, now)
}

/// Networks that somebody can be asked about.
fn with_endpoints(config: &ServerConfig) -> Vec<String> {
    let network = Some(&config.network).filter(|network| !network.endpoints.is_empty());
    network
        .into_iter()
        .map(|network| network.name.clone())
        .collect()
}

/// What the log is to say of the keys that end.
fn rotations(replaced: &[Replaced]) -> Vec<LedgerKeyRotated> {
    let rotations = replaced.iter().map(|replaced| replaced.rotation.clone());
    rotations.collect()
}

/// Nothing is signed by the keys that the log has just replaced: their files go. Not before a
/// checkpoint by the new key is stored, or the next start could not read the one that is.
async fn end_rotations<C: Clock>(
    config: &ServerConfig,
    replaced: &[Replaced],
    checkpoints: &mut Checkpoints<CheckpointPlaces, C>,
    world: &World,
) -> Result<(), StartError> {
    if replaced.is_empty() {
        return Ok(());
    }
    checkpoint::sign(checkpoints, world).await?;
    finish_rotations(&config.data_dir, replaced)?;
    for Replaced { role, rotation, .. } in replaced {
        tracing::info!(%role, key = %rotation.new_key, "a key of the ledger was replaced");
    }
    Ok(())
}

fn snapshots(config: &ServerConfig) -> Snapshots {
    Snapshots {
        store: Arc::new(FileSnapshots::of(&config.data_dir)),
        every_records: config.snapshot_every_records,
        max_size: None,
    }
}

/// The identity of the data directory; made with the first record, never after it.
async fn identity<C: Clock, E: Entropy>(
    config: &ServerConfig,
    store: &Backend,
    stored: &mut Stored,
    clock: &C,
    entropy: &E,
) -> Result<Identity, StartError> {
    let known = Identity::load(&config.data_dir)?;
    if let Some(identity) = known {
        return Ok(identity);
    }
    if store.log().head().await?.size > 0 {
        return Err(StartError::Keys(KeyError::Missing {
            data_dir: config.data_dir.clone(),
        }));
    }
    let made = NewIdentity::make(&config.data_dir, clock.wall(), entropy, None)?;
    stored.begin(config, made.identity()).await?;
    Ok(made.keep()?)
}

/// How the chain is asked.
fn sources_of(network: &NetworkConfig) -> Result<Vec<RpcSource>, EndpointError> {
    let configured = network.endpoints.iter();
    configured
        .map(|endpoint| RpcSource::new(endpoint.rpc_url.reveal(), RpcLimits::default()))
        .collect()
}

/// Stops the start when every endpoint is *proven* not to fit; one that does not counts as silent.
/// Where fewer answer than must agree the ledger only starts blind (ledger-contract.md section 5): then
/// it is returned why each of the others does not. It also stops the start if totals wait for `safe` heads and too many
/// endpoints refuse to name one. Null is no refusal, because nodes answer so after a start.
async fn check_endpoints(
    sources: &[RpcSource],
    network: &NetworkConfig,
) -> Result<Option<String>, StartError> {
    let (name, mut silent, mut misfits) = (&network.name, Vec::new(), Vec::new());
    let waits_for_safe = network.safe_above.is_some() && network.final_by == FinalBy::Tag;
    let mut refusing = Vec::new();
    for (source, endpoint) in sources.iter().zip(&network.endpoints) {
        let endpoint = &endpoint.label;
        match verify_endpoint(source, network.chain_id, network.token).await {
            Ok(()) if !waits_for_safe => {}
            Ok(()) => {
                if let Err(error @ SourceError::Refused { .. }) = source.head(HeadTag::Safe).await {
                    tracing::error!(network = name, endpoint, %error, "an RPC endpoint names no `safe` head");
                    refusing.push(endpoint.clone());
                }
            }
            Err(CheckFailure::Misfit(misfit)) => {
                tracing::error!(network = name, endpoint, error = %misfit, "an RPC endpoint does not fit");
                silent.push(format!("{endpoint}: {misfit}"));
                misfits.push(misfit);
            }
            Err(CheckFailure::Unreachable(error)) => {
                tracing::warn!(network = name, endpoint, %error, "an RPC endpoint is silent");
                silent.push(format!("{endpoint}: {error}"));
            }
        }
    }
    if misfits.len() == sources.len()
        && let Some(misfit) = misfits.into_iter().next()
    {
        return Err(StartError::Misfit(misfit));
    }
    if sources.len() - refusing.len() < network.quorum() {
        return Err(StartError::NoSafeHead(refusing.join(", ")));
    }
    let answering = sources.len() - silent.len();
    if answering >= network.quorum() {
        return Ok(None);
    }
    tracing::warn!(
        network = name,
        "starts blind: payments wait until as many endpoints answer as must agree"
    );
    Ok(Some(silent.join("; ")))
}

async fn bind(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { listen, source };
    let listener = listening(listen).map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    Ok((listener, addr))
}

fn listening(listen: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match listen {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A start need not wait until the system has forgotten the connections of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(listen)?;
    socket.listen(BACKLOG)
}

async fn bind_metrics(
    listen: Option<SocketAddr>,
) -> Result<(Option<TcpListener>, Option<SocketAddr>), StartError> {
    match listen {
        Some(listen) => bind(listen).await.map(|(l, addr)| (Some(l), Some(addr))),
        None => Ok((None, None)),
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration cannot work.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// No random numbers.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The ledger's keys.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The data directory, or another process in it.
    #[error(transparent)]
    Store(#[from] x811_store::OpenError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] ReadError),
    /// The log does not make a ledger.
    #[error(transparent)]
    Ledger(#[from] sequencer::OpenError),
    /// The last signed checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointFault),
    /// Another process of the ledger is ahead.
    #[error(transparent)]
    LeftBehind(#[from] LeftBehind),
    /// The RPC address.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The RPC endpoint serves another chain or token.
    #[error(transparent)]
    Misfit(Misfit),
    /// Totals above the limit would wait for a `safe` head for ever.
    #[error(
        "safe_above_usdc makes totals wait for a `safe` head, and too few RPC endpoints name one (these refuse: \
         {0}): use endpoints that do, leave safe_above_usdc out, or on a chain of your own write final_by = \
         \"depth\""
    )]
    NoSafeHead(String),
    /// Fewer files may be open than connections.
    #[error(transparent)]
    Files(#[from] TooFewFiles),
    /// A defect of ours.
    #[error("a part of the start ended in a panic ({0}): start again, and report this")]
    Panicked(String),
    /// The address cannot be listened on.
    #[error("{listen} cannot be listened on ({source}): choose another address or free that one")]
    Listen {
        /// The configured address.
        listen: SocketAddr,
        /// What the system reported.
        source: std::io::Error,
    },
}
