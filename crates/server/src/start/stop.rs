//! The way down: asked for, or because the ledger cannot go on.

mod displaced;
mod store_lost;

use super::StartError;
use super::follow::Unlike;
use super::listeners::Open;
use crate::app::stopped;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use x811_ledger::checkpoint::{CheckpointStopped, CheckpointStoreError};
use x811_ledger::clock::Clock;
use x811_ledger::sequencer::{OpenError, Stopped};
use x811_store::{Backend, Displaced, Lease, ReadRows};

/// How long requests that were taken may still take.
const REQUESTS_GRACE: Duration = Duration::from_secs(5);

/// How long the watcher may take to end, and the ledger to close its files.
const LEDGER_GRACE: Duration = Duration::from_secs(2);

/// How long the ledger may take for its last commits and its last snapshot.
const SNAPSHOT_GRACE: Duration = Duration::from_secs(5);

/// How often is looked whether the projection has let go of the rows.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How long the lease may take to say that it is lost, once something else says so.
const LEASE_GRACE: Duration = Duration::from_secs(1);

/// Everything that runs of a ledger that writes.
pub(super) struct Parts {
    pub(super) sequencer: JoinHandle<Result<(), Stopped>>,
    pub(super) checkpoints: JoinHandle<Result<(), CheckpointStopped>>,
    pub(super) watcher: JoinHandle<()>,
    pub(super) acks: JoinHandle<()>,
    pub(super) store: Arc<Backend>,
    pub(super) read_model: Arc<ReadRows>,
    pub(super) lease: Option<Lease>,
    /// Becomes true when this is to end.
    pub(super) phase: watch::Sender<bool>,
}

/// Why a server ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The ledger cannot go on.
    #[error(transparent)]
    Ledger(#[from] Stopped),
    /// What is signed may not be this log any more.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointStopped),
    /// The lease went by.
    #[error(
        "another process writes to this ledger by now: this one slept past its lease, or was cut off. \
         Start it again; with `--store-wait` it stands by"
    )]
    Replaced,
    /// The log cannot be followed.
    #[error(transparent)]
    Following(#[from] OpenError),
    /// What is followed is another log than was signed.
    #[error(transparent)]
    Unlike(#[from] Unlike),
    /// A file of the data directory was removed, moved or replaced while it was open.
    #[error("{0}")]
    Displaced(String),
    /// Nothing can ever be written to the store again.
    #[error("{0}")]
    StoreLost(String),
    /// This process could not stand by, or not take over.
    #[error(transparent)]
    Start(#[from] Box<StartError>),
    /// A defect of ours.
    #[error("a part of the server ended in a panic ({0}): start it again, and report this")]
    Panicked(String),
    /// HTTP cannot go on.
    #[error("HTTP cannot be served any more: {0}")]
    Http(#[from] std::io::Error),
}

impl From<JoinError> for RunError {
    fn from(error: JoinError) -> RunError {
        RunError::Panicked(error.to_string())
    }
}

/// How the time ended in which a process wrote.
pub(super) enum Ended {
    /// With the process.
    Over(Result<(), RunError>),
    /// Another one writes: this one may stand by.
    Replaced,
}

/// What ended first.
#[derive(Default)]
struct First {
    ledger: Option<Result<(), RunError>>,
    signed: Option<Result<(), RunError>>,
    served: Option<Result<(), RunError>>,
    watched: Option<Result<(), RunError>>,
    displaced: Option<Displaced>,
    /// The sentence of a store that is lost.
    store_lost: Option<String>,
    is_replaced: bool,
}

/// Waits until the server is to stop or its ledger has ended, then takes everything down: first
/// those who ask, then the watcher, then the ledger, then the files. What listens stays where another
/// process writes now and this one `may_stand_by`.
pub(super) async fn supervise<C: Clock>(
    mut parts: Parts,
    open: &mut Open<C>,
    stop: &watch::Sender<bool>,
    may_stand_by: bool,
) -> Ended {
    let mut first = first(&mut parts, open, stop).await;
    if first.store_lost.is_some() {
        // No commit can succeed any more: whoever waits for one is answered now.
        parts.sequencer.abort();
        if first.ledger.is_none() {
            first.ledger = Some(Ok(()));
        }
    }
    let stands_by = may_stand_by && first.is_replaced && first.store_lost.is_none();
    if stands_by {
        tracing::warn!("another process writes to this ledger: what was under way is dropped");
        parts.phase.send_replace(true);
    } else {
        tracing::info!("the ledger stops: what was taken is answered first");
        parts.phase.send_replace(true);
        stop.send_replace(true);
        if first.served.is_none() {
            first.served = Some(last_requests(&mut open.served).await);
        }
    }
    open.present_routes.clear();
    let ended = wind_up(parts, first).await;
    if stands_by {
        return Ended::Replaced;
    }
    match &ended {
        Ok(()) => tracing::info!("the ledger has stopped"),
        Err(error) => tracing::error!(%error, "the ledger has stopped"),
    }
    Ended::Over(ended)
}

/// In this order: when the ledger ends the others follow, and its reason is the one to tell.
async fn first<C: Clock>(
    parts: &mut Parts,
    open: &mut Open<C>,
    stop: &watch::Sender<bool>,
) -> First {
    let mut first = First::default();
    tokio::select! {
        biased;
        ended = &mut parts.sequencer => first.ledger = Some(flat(ended)),
        ended = &mut parts.checkpoints => first.signed = Some(flat_signed(ended)),
        ended = &mut open.served => first.served = Some(flat_io(ended)),
        ended = &mut parts.watcher => first.watched = Some(ended.map_err(RunError::from)),
        () = lost(parts.lease.clone()) => first.is_replaced = true,
        sentence = store_lost::noticed(&parts.store) => first.store_lost = Some(sentence),
        displaced = displaced::noticed(&parts.store, &parts.read_model) => {
            first.displaced = Some(displaced);
        }
        () = stopped(stop.subscribe()) => {}
    }
    if first.store_lost.is_none() {
        first.store_lost = store_lost::found(&parts.store);
    }
    let may_be_replaced = matches!(
        (&first.ledger, &first.signed),
        (
            Some(Err(RunError::Ledger(
                Stopped::Fenced(_) | Stopped::Unreadable(_)
            ))),
            _
        ) | (_, Some(Err(RunError::Checkpoint(_))))
    );
    if may_be_replaced && first.store_lost.is_none() && parts.lease.is_some() {
        let is_lost = tokio::time::timeout(LEASE_GRACE, lost(parts.lease.clone())).await;
        first.is_replaced = is_lost.is_ok() || is_fenced(&first);
    }
    first
}

/// Whether the store itself said that another process writes, and not only that something differs.
fn is_fenced(first: &First) -> bool {
    match &first.signed {
        Some(Err(RunError::Checkpoint(CheckpointStopped::Store(error)))) => {
            matches!(error, CheckpointStoreError::Fenced)
        }
        signed => !matches!(signed, Some(Err(_))),
    }
}

async fn lost(lease: Option<Lease>) {
    match lease {
        Some(lease) => lease.lost().await,
        None => std::future::pending().await,
    }
}

/// Ends what is left, in order.
async fn wind_up(parts: Parts, first: First) -> Result<(), RunError> {
    let watched = match first.watched {
        Some(watched) => watched,
        None => last_look(parts.watcher).await,
    };
    let is_replaced = first.is_replaced && first.ledger.is_none();
    let ledger = match first.ledger {
        Some(ledger) => ledger,
        None => last_commits(parts.sequencer).await,
    };
    // Once the ledger has ended its last state is signed.
    let signed = match first.signed {
        Some(signed) => signed,
        None => last_checkpoint(parts.checkpoints).await,
    };
    let found = || displaced::found(&parts.store, &parts.read_model);
    let displaced = match first.displaced.or_else(found) {
        Some(displaced) => Some(displaced::saved(displaced, &parts.store).await),
        None => None,
    };
    let look = || store_lost::found(&parts.store);
    let store_lost = first.store_lost.or_else(look);
    let closing = close(parts.store, parts.read_model);
    if store_lost.is_none() {
        closing.await;
    } else if tokio::time::timeout(LEDGER_GRACE, closing).await.is_err() {
        // A commit that is under way may wait for the store.
        tracing::warn!("the files are closed by the end of the process");
    }
    last_acks(parts.acks).await;
    if let Some(sentence) = store_lost {
        return Err(RunError::StoreLost(sentence));
    }
    if is_replaced {
        return Err(RunError::Replaced);
    }
    if let Some(displaced) = displaced {
        return Err(displaced);
    }
    let served = first.served.unwrap_or(Ok(()));
    ledger.and(signed).and(served).and(watched)
}

/// HTTP ends once everything that was taken is answered.
pub(super) async fn last_requests(
    http: &mut JoinHandle<std::io::Result<()>>,
) -> Result<(), RunError> {
    match tokio::time::timeout(REQUESTS_GRACE, &mut *http).await {
        Ok(ended) => flat_io(ended),
        Err(_) => {
            tracing::warn!("some requests did not end in time and are cut off");
            http.abort();
            Ok(())
        }
    }
}

/// The watcher ends at once: nothing of it is half done at any point.
async fn last_look(mut watcher: JoinHandle<()>) -> Result<(), RunError> {
    match tokio::time::timeout(LEDGER_GRACE, &mut watcher).await {
        Ok(ended) => ended.map_err(RunError::from),
        Err(_) => {
            watcher.abort();
            Ok(())
        }
    }
}

/// Acknowledgements are written once nobody can give any; those that are lost are no harm.
async fn last_acks(mut acks: JoinHandle<()>) {
    if tokio::time::timeout(LEDGER_GRACE, &mut acks).await.is_err() {
        tracing::warn!("the last acknowledgements of feeds were not written in time");
        acks.abort();
    }
}

/// The sequencer ends by itself once nobody can send it anything.
async fn last_commits(mut sequencer: JoinHandle<Result<(), Stopped>>) -> Result<(), RunError> {
    match tokio::time::timeout(SNAPSHOT_GRACE, &mut sequencer).await {
        Ok(ended) => flat(ended),
        Err(_) => {
            // What was acknowledged is durable; a snapshot half written is ignored.
            tracing::warn!("the ledger is ended with requests or its snapshot still open");
            sequencer.abort();
            Ok(())
        }
    }
}

/// The signer ends by itself once the ledger has.
async fn last_checkpoint(
    mut checkpoints: JoinHandle<Result<(), CheckpointStopped>>,
) -> Result<(), RunError> {
    match tokio::time::timeout(LEDGER_GRACE, &mut checkpoints).await {
        Ok(ended) => flat_signed(ended),
        Err(_) => {
            tracing::warn!("no last checkpoint was signed in time");
            checkpoints.abort();
            Ok(())
        }
    }
}

fn flat_signed(ended: Result<Result<(), CheckpointStopped>, JoinError>) -> Result<(), RunError> {
    Ok(ended??)
}

fn flat(ended: Result<Result<(), Stopped>, JoinError>) -> Result<(), RunError> {
    Ok(ended??)
}

fn flat_io(ended: Result<std::io::Result<()>, JoinError>) -> Result<(), RunError> {
    Ok(ended??)
}

/// Gives the directory free. The projection lets go of the rows once it has written them.
async fn close(store: Arc<Backend>, read_model: Arc<ReadRows>) {
    let alone = async {
        while Arc::strong_count(&store) > 1 || Arc::strong_count(&read_model) > 1 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    if tokio::time::timeout(LEDGER_GRACE, alone).await.is_err() {
        tracing::warn!("the files are closed by the end of the process");
    }
    if let Some(read_model) = Arc::into_inner(read_model) {
        read_model.close().await;
    }
    if let Some(store) = Arc::into_inner(store) {
        store.close().await;
    }
}
