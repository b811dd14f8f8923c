//! The way down: asked for, or because the ledger cannot go on.

use crate::app::stopped;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use x811_ledger::checkpoint::CheckpointStopped;
use x811_ledger::sequencer::Stopped;
use x811_store::{Backend, SqliteReadModel};

/// How long requests that were taken may still take.
const REQUESTS_GRACE: Duration = Duration::from_secs(5);

/// How long the watcher may take to end, and the ledger to close its files.
const LEDGER_GRACE: Duration = Duration::from_secs(2);

/// How long the ledger may take for its last commits and its last snapshot.
const SNAPSHOT_GRACE: Duration = Duration::from_secs(5);

/// How often is looked whether the projection has let go of the rows.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Everything that runs.
pub(super) struct Parts {
    pub(super) sequencer: JoinHandle<Result<(), Stopped>>,
    pub(super) checkpoints: JoinHandle<Result<(), CheckpointStopped>>,
    pub(super) http: JoinHandle<std::io::Result<()>>,
    pub(super) watcher: JoinHandle<()>,
    pub(super) acks: JoinHandle<()>,
    pub(super) store: Arc<Backend>,
    pub(super) read_model: Arc<SqliteReadModel>,
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

/// Waits until the server is to stop or its ledger has ended, then takes everything down: first
/// those who ask, then the watcher, then the ledger, then the files.
pub(super) async fn supervise(parts: Parts, stop: watch::Sender<bool>) -> Result<(), RunError> {
    let Parts {
        mut sequencer,
        mut checkpoints,
        mut http,
        mut watcher,
        acks,
        store,
        read_model,
    } = parts;
    let (mut ledger, mut signed, mut served, mut watched) = (None, None, None, None);
    // In this order: when the ledger ends the others follow, and its reason is the one to tell.
    tokio::select! {
        biased;
        ended = &mut sequencer => ledger = Some(flat(ended)),
        ended = &mut checkpoints => signed = Some(flat_signed(ended)),
        ended = &mut http => served = Some(flat_io(ended)),
        ended = &mut watcher => watched = Some(ended.map_err(RunError::from)),
        () = stopped(stop.subscribe()) => {}
    }
    tracing::info!("the ledger stops: what was taken is answered first");
    stop.send_replace(true);
    let served = match served {
        Some(served) => served,
        None => last_requests(http).await,
    };
    let watched = match watched {
        Some(watched) => watched,
        None => last_look(watcher).await,
    };
    let ledger = match ledger {
        Some(ledger) => ledger,
        None => last_commits(sequencer).await,
    };
    // Once the ledger has ended its last state is signed.
    let signed = match signed {
        Some(signed) => signed,
        None => last_checkpoint(checkpoints).await,
    };
    close(store, read_model).await;
    last_acks(acks).await;
    let ended = ledger.and(signed).and(served).and(watched);
    match &ended {
        Ok(()) => tracing::info!("the ledger has stopped"),
        Err(error) => tracing::error!(%error, "the ledger has stopped"),
    }
    ended
}

/// HTTP ends once everything that was taken is answered.
async fn last_requests(mut http: JoinHandle<std::io::Result<()>>) -> Result<(), RunError> {
    match tokio::time::timeout(REQUESTS_GRACE, &mut http).await {
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
async fn close(store: Arc<Backend>, read_model: Arc<SqliteReadModel>) {
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
