//! The writer's comparison with its peers while it runs: before it goes on after a gap in which its lease
//! was not renewed, or standbys confirmed nothing, and now and then whether a peer sees a later lease
//! (stores.md section 2).

use crate::app::{RunningLedger, stopped};
use crate::peers::{LeftBehind, OwnLog, PeerLog, Peers, compare, compare_leases};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use x811_eventlog::Hash;
use x811_ledger::clock::Clock;
use x811_ledger::proof;
use x811_store::{Backend, Lease};

/// Time between two looks at the leases that peers see.
const LOOK_MS: u64 = 2_000;

/// How long a database that does not answer is left alone.
const RETRY_MS: u64 = 100;

/// How long the database may take to say how far the log is.
const PATIENCE: Duration = Duration::from_millis(2_000);

/// Begins to compare, until the server is to stop. A process whose peers are ahead loses its lease.
pub(super) fn watch_over<C: Clock>(
    store: &Arc<Backend>,
    ledger: &RunningLedger<C>,
    peers: Peers,
    clock: &Arc<C>,
    stopping: &watch::Receiver<bool>,
) {
    let Some(lease) = store.lease() else {
        return;
    };
    let watching = Watching {
        store: store.clone(),
        ledger: ledger.clone(),
        peers,
        clock: clock.clone(),
        lease,
    };
    let stop = stopped(stopping.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = watching.run() => {}
            () = stop => {}
        }
    });
}

struct Watching<C> {
    store: Arc<Backend>,
    ledger: RunningLedger<C>,
    peers: Peers,
    clock: Arc<C>,
    lease: Lease,
}

impl<C: Clock> Watching<C> {
    async fn run(self) {
        loop {
            let is_interrupted = tokio::select! {
                biased;
                () = self.lease.interrupted() => true,
                () = self.clock.sleep_ms(LOOK_MS) => false,
            };
            let compared = match is_interrupted {
                true => self.after_gap().await,
                false => self.leases().await,
            };
            match compared {
                Ok(()) if is_interrupted => self.lease.go_on(),
                Ok(()) => {}
                Err(error) => {
                    tracing::error!(%error, "this process stops writing");
                    self.lease.give_up();
                    return;
                }
            }
        }
    }

    async fn after_gap(&self) -> Result<(), LeftBehind> {
        // First: what a peer has of this very database is there when that is asked.
        let peers = self.peers.ask().await;
        let own = self.own().await;
        let roots = self.roots(&peers).await;
        compare(&own, &peers, |theirs| roots.get(&theirs.size).copied())
    }

    async fn leases(&self) -> Result<(), LeftBehind> {
        let peers = self.peers.ask().await;
        match peers.is_empty() {
            true => Ok(()),
            false => compare_leases(&self.own().await, &peers),
        }
    }

    /// How far the database is, once it answers.
    async fn own(&self) -> OwnLog {
        loop {
            let asked = async {
                let published = self.store.look().await.ok().flatten()?;
                Some(OwnLog::of(self.store.stored_size().await.ok()?, &published))
            };
            if let Ok(Some(own)) = tokio::time::timeout(PATIENCE, asked).await {
                return own;
            }
            self.clock.sleep_ms(RETRY_MS).await;
        }
    }

    /// The roots of this process's log at the sizes that `peers` have signed, as far as its rows go.
    async fn roots(&self, peers: &[PeerLog]) -> HashMap<u64, Hash> {
        let reflected = self.ledger.world().head().size;
        let reflected = reflected.saturating_sub(self.ledger.rows_lag());
        let sizes = peers.iter().filter_map(|peer| peer.checkpoint.as_ref());
        let mut roots = HashMap::new();
        for size in sizes.map(|signed| signed.size) {
            if (1..=reflected).contains(&size)
                && let Ok(root) = proof::root(self.ledger.read_model(), size).await
            {
                roots.insert(size, root);
            }
        }
        roots
    }
}
