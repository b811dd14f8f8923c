//! From what a ledger stands on to one that runs: the log says that it is back.

use super::checkpoint::Signers;
use super::listeners::Listeners;
use super::reload::Exchange;
use super::rows::Warm;
use super::stop::Parts;
use super::{
    Ground, StartError, blindness, cards, course, end_rotations, interrupted, log_check, rows,
    signed_reads,
};
use crate::app::App;
use crate::config::ServerConfig;
use crate::connections::ConnectionFigures;
use crate::feed::Feeds;
use crate::limits::Limiter;
use crate::metrics::HttpFigures;
use crate::others;
use crate::passing::Passing;
use crate::peers::Peers;
use crate::presence::Presence;
use crate::role::Role;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, watch};
use x811_ledger::clock::Clock;
use x811_ledger::entropy::Entropy;

/// Where a process listens, for those who tell of it.
#[derive(Clone)]
pub(super) struct Addresses {
    pub(super) local_addr: SocketAddr,
    pub(super) figures: Arc<ConnectionFigures>,
}

impl Addresses {
    pub(super) fn of(listeners: &Listeners) -> Addresses {
        Addresses {
            local_addr: listeners.local_addr,
            figures: listeners.figures(),
        }
    }

    /// What this process calls itself to others.
    pub(super) fn name(&self, config: &ServerConfig) -> String {
        match config.public_authorities.first() {
            Some(authority) => format!("{} ({authority})", self.local_addr),
            None => self.local_addr.to_string(),
        }
    }
}

/// A ledger that runs, and is not served yet.
pub(super) struct Raised<C> {
    pub(super) app: Arc<App<C>>,
    pub(super) parts: Parts,
    pub(super) exchange: Exchange,
}

/// Opens the log on `ground` and begins to run it.
pub(super) async fn raise<C: Clock, E: Entropy>(
    ground: Ground,
    config: &ServerConfig,
    (clock, entropy): (&Arc<C>, &Arc<E>),
    at: &Addresses,
    warm: Warm,
) -> Result<Raised<C>, StartError> {
    let signers = Signers::of(&ground.identity);
    let opened = rows::open_ledger(&ground, config, &signers, clock, entropy, warm);
    let ((sequencer, ledger), read_model) = Box::pin(opened).await?;
    let (identity, store) = (ground.identity, ground.store);
    ground.stored.adoption_is_recorded().await?;
    let mut checkpoints = ground.stored.follow(clock.clone(), signers);
    let world = ledger.world();
    super::tell_of_start(&identity, &world, at.local_addr, ground.is_new);
    end_rotations(config, &identity.replaced, &mut checkpoints, &world).await?;
    let (worlds, (phase, stopping)) = (ledger.follow(), watch::channel(false));
    let signed_reads = signed_reads(config, at.local_addr, ledger.now());
    let (eyes, exchanged) = mpsc::channel(1);
    let exchange = Exchange {
        endpoints: Arc::new(Mutex::new(config.network.endpoints.clone())),
        network: config.network.clone(),
        contracts: ground.contracts.clone(),
        eyes,
    };
    let (watching, watcher) = ground.lookout.watch(&ledger, stopping.clone(), exchanged);
    let blindness = blindness::watch_over(&config.network, &ledger, clock, &stopping);
    let log_check = log_check::begin(&store, world.head().size, &stopping);
    let log = (identity.opened.log_id, world.head().size);
    let (feeds, acks) = Feeds::open(&config.data_dir, log, clock, &identity.envelope_key).await;
    let lease = store.lease();
    match &lease {
        Some(_) => {
            let peers = Peers::of(config, &identity);
            interrupted::watch_over(&store, &ledger, peers, clock, &stopping);
        }
        None => course::keep(&config.data_dir, &ledger, clock, &stopping),
    }
    let app = Arc::new(App {
        connections: at.figures.clone(),
        log_check,
        parameters: config.parameters(),
        ledger,
        clock: clock.clone(),
        data_dir: config.data_dir.clone(),
        http: HttpFigures::default(),
        cards: cards(config, at.local_addr, &identity),
        passing: Passing::new(&identity.envelope_key, config.peers.clone(), &**entropy),
        role: lease.clone().map_or(Role::Alone, Role::Writer),
        others: others::look_around(&store, clock, at.name(config), &stopping),
        identity: identity.opened,
        receipt_key: identity.receipt_key,
        checkpoint_key: identity.checkpoint_key,
        open_reads: config.open_reads,
        log_readers: config.log_readers,
        blindness,
        body_read_ms: config.connections.body_read_ms,
        limiter: Limiter::new(
            config.rate_limits.clone(),
            !config.public_authorities.is_empty(),
        ),
        contracts: ground.contracts,
        signed_reads,
        presence: Presence::default(),
        feeds,
        signed: checkpoints.signed(),
        unstored: checkpoints.unstored(),
        watching,
        stopping,
    });
    let parts = Parts {
        checkpoints: tokio::spawn(checkpoints.run(worlds)),
        sequencer: tokio::spawn(sequencer.run()),
        watcher,
        acks,
        store,
        read_model,
        lease,
        phase,
    };
    Ok(Raised {
        app,
        parts,
        exchange,
    })
}
