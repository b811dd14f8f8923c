//! The ledger's own watcher on the bench's chain, and what it says.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::observation::{Observation, Sweep, TransactionStatus};
use x811_protocol::parameters::FinalBy;
use x811_watcher::{
    Channels, Endpoint, Expected, MemoryBlockStore, RpcLimits, RpcSource, WatchedNetwork,
    WatchedSet, Watcher,
};

use super::metered::{Calls, Meter, Metered};
use super::{CHAIN_ID, CONFIRMED_DEPTH};
use crate::broken;
use x811_console::failure::Failure;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(300);

/// How often the count of answered receipts is looked at.
const GLANCE: Duration = Duration::from_millis(10);

/// How often the head is asked for.
const POLL_MS: u64 = 5;

/// A running watcher.
pub(super) struct Watch {
    meter: Arc<Meter>,
    watched: watch::Sender<WatchedSet>,
    sweeps: mpsc::Receiver<Observation>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Watch {
    pub(super) fn start(rpc_url: &str, token: EvmAddress) -> Result<Watch, Failure> {
        let source = RpcSource::new(rpc_url, RpcLimits::default()).map_err(broken)?;
        let meter = Arc::new(Meter::default());
        let endpoint = Endpoint {
            source: Metered::new(source, Arc::clone(&meter)),
            label: "anvil".to_owned(),
            jitter_seed: 0,
        };
        let network = WatchedNetwork {
            name: "base".to_owned(),
            chain_id: ChainId::new(CHAIN_ID),
            token,
            confirmed_depth: CONFIRMED_DEPTH,
            final_by: FinalBy::Tag,
            poll_ms: POLL_MS,
            block_ms: 0,
        };
        let (watched, to_watch) = watch::channel(WatchedSet::default());
        let (observations, sweeps) = mpsc::channel(16);
        let channels = Channels {
            watched: to_watch,
            expecting: Arc::new(|_| Expected::default()),
            accounts_of: Arc::new(|_| BTreeSet::new()),
            observations,
        };
        let store = MemoryBlockStore::default();
        let watcher = Watcher::new(vec![endpoint], network, store, channels);
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(watcher.run(async move {
            // Dropped is as good as told.
            let _ = stopped.await;
        }));
        Ok(Watch {
            meter,
            watched,
            sweeps,
            stop,
            task,
        })
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Watches these, and waits until the endpoint has been asked once for each that is new.
    pub(super) async fn watch(&mut self, set: &WatchedSet) -> Result<(), Failure> {
        let before = self.watched.borrow().clone();
        let new = set.iter().filter(|hash| !before.contains(*hash)).count();
        let asked = self.meter.calls().receipts + u64::try_from(new).unwrap_or(u64::MAX);
        self.watched.send_replace(set.clone());
        let settled = async {
            while self.meter.calls().receipts < asked {
                // What is said meanwhile is that they are nowhere.
                let _ = tokio::time::timeout(GLANCE, self.sweeps.recv()).await;
            }
        };
        let settled = tokio::time::timeout(PATIENCE, settled).await;
        settled.map_err(|_| broken("the pending payments were not asked for"))
    }

    /// Waits for a sweep as of this height or above.
    pub(super) async fn until_head(&mut self, number: u64) -> Result<(), Failure> {
        while self.sweep().await?.head.number < number {}
        Ok(())
    }

    /// Waits until all of these were reported at confirmed depth.
    pub(super) async fn until_deep(&mut self, hashes: &[TxHash]) -> Result<(), Failure> {
        let mut left: BTreeSet<TxHash> = hashes.iter().copied().collect();
        while !left.is_empty() {
            let sweep = self.sweep().await?;
            for (hash, status) in &sweep.transactions {
                if let TransactionStatus::Mined(mined) = status
                    && mined.succeeded
                    && !mined.transfers.is_empty()
                    && sweep.depth_of(&mined.block) >= CONFIRMED_DEPTH
                {
                    left.remove(hash);
                }
            }
        }
        Ok(())
    }

    pub(super) fn calls(&self) -> Calls {
        self.meter.calls()
    }

    pub(super) async fn stop(self) -> Result<(), Failure> {
        // Ended by itself is as good.
        let _ = self.stop.send(());
        drop(self.sweeps);
        self.task.await.map_err(broken)
    }

    async fn sweep(&mut self) -> Result<Sweep, Failure> {
        let said = tokio::time::timeout(PATIENCE, self.sweeps.recv()).await;
        match said.ok().flatten() {
            Some(Observation::Sweep(sweep)) => Ok(sweep),
            Some(Observation::Unreachable { cause, .. }) => {
                Err(broken(format_args!("Anvil is not seen: {cause:?}")))
            }
            // No block is waited for here.
            Some(Observation::Header { .. }) | None => Err(broken("the watcher says nothing")),
        }
    }
}
