//! A watcher on scripted endpoints, and what a test hears of it.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a harness stops the test at once"
)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use imbl::OrdSet;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use x811_protocol::evm::TxHash;
use x811_protocol::observation::{Observation, Sweep};
use x811_watcher::{Channels, Endpoint, NetworkHealth, WatchedNetwork, Watcher};

use super::expecting::expecting;
use super::scripted::{
    ACCOUNTS, BLOCK_MS, CHAIN_ID, CONFIRMED_DEPTH, POLL_MS, ScriptedChain, SharedBlocks, TOKEN,
    World,
};

/// Which transactions a look waits for.
pub(crate) enum Looks {
    /// All that are watched, at every head.
    All,
    These(BTreeSet<TxHash>),
}

/// A running watcher.
pub(crate) struct Rig {
    /// The first endpoint.
    pub(crate) chain: ScriptedChain,
    pub(crate) blocks: SharedBlocks,
    pub(crate) observations: mpsc::Receiver<Observation>,
    pub(crate) health: watch::Receiver<NetworkHealth>,
    watched: watch::Sender<OrdSet<TxHash>>,
    looks: Arc<Mutex<Looks>>,
    undecided: Arc<Mutex<BTreeSet<TxHash>>>,
    headers: Arc<Mutex<BTreeSet<u64>>>,
    missing: Arc<Mutex<BTreeSet<TxHash>>>,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Rig {
    /// Watches `hashes` on `chain` from now on, with a look for each of them at every head.
    pub(crate) fn start(chain: &ScriptedChain, hashes: &[TxHash]) -> Rig {
        Rig::resume(chain, SharedBlocks::default(), hashes)
    }

    /// The same with what an earlier watcher has stored.
    pub(crate) fn resume(chain: &ScriptedChain, blocks: SharedBlocks, hashes: &[TxHash]) -> Rig {
        Rig::on(&[("scripted", chain)], blocks, hashes, Looks::All)
    }

    /// Watches through several endpoints, and no look is due until [`Rig::look_for`].
    pub(crate) fn through(chains: &[(&str, &ScriptedChain)], hashes: &[TxHash]) -> Rig {
        Rig::resume_through(chains, SharedBlocks::default(), hashes)
    }

    /// The same with what an earlier watcher has stored.
    pub(crate) fn resume_through(
        chains: &[(&str, &ScriptedChain)],
        blocks: SharedBlocks,
        hashes: &[TxHash],
    ) -> Rig {
        Rig::on(chains, blocks, hashes, Looks::These(BTreeSet::new()))
    }

    fn on(
        chains: &[(&str, &ScriptedChain)],
        blocks: SharedBlocks,
        hashes: &[TxHash],
        looks: Looks,
    ) -> Rig {
        let network = WatchedNetwork {
            name: "base".to_owned(),
            chain_id: CHAIN_ID,
            token: TOKEN,
            confirmed_depth: CONFIRMED_DEPTH,
            final_by: chains[0].1.world().final_by,
            poll_ms: POLL_MS,
            block_ms: BLOCK_MS,
        };
        let endpoints = chains
            .iter()
            .zip(1..)
            .map(|((label, chain), jitter_seed)| Endpoint {
                source: (*chain).clone(),
                label: (*label).to_owned(),
                jitter_seed,
            })
            .collect();
        let (watched, receiver) = watch::channel(hashes.iter().copied().collect());
        let (sender, observations) = mpsc::channel(1_000);
        let looks = Arc::new(Mutex::new(looks));
        let undecided = Arc::new(Mutex::new(BTreeSet::new()));
        let headers = Arc::new(Mutex::new(BTreeSet::new()));
        let missing = Arc::new(Mutex::new(BTreeSet::new()));
        let channels = Channels {
            watched: receiver.clone(),
            expecting: expecting(&looks, (&undecided, &headers), &missing, receiver),
            accounts_of: Arc::new(|_| BTreeSet::from(ACCOUNTS)),
            observations: sender,
        };
        let watcher = Watcher::new(endpoints, network, blocks.clone(), channels);
        let health = watcher.health();
        let (shutdown, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(watcher.run(async {
            let _ended = ended.await;
        }));
        Rig {
            chain: chains[0].1.clone(),
            blocks,
            observations,
            health,
            watched,
            looks,
            undecided,
            headers,
            missing,
            shutdown,
            task,
        }
    }

    /// Looks wait for these from the next head on.
    pub(crate) fn look_for(&self, hashes: &[TxHash]) {
        *self.looks.lock().unwrap() = Looks::These(hashes.iter().copied().collect());
    }

    /// The ledger has not decided on these from the next head on.
    pub(crate) fn expect_headers(&self, heights: &[u64]) {
        *self.headers.lock().unwrap() = heights.iter().copied().collect();
    }

    pub(crate) fn expect_undecided(&self, hashes: &[TxHash]) {
        *self.undecided.lock().unwrap() = hashes.iter().copied().collect();
    }

    /// Of what the watcher was not sure at the last head that the ledger knows it to be missing.
    pub(crate) fn missing(&self) -> Vec<TxHash> {
        self.missing.lock().unwrap().iter().copied().collect()
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.chain.world()
    }

    pub(crate) fn watch(&self, hashes: &[TxHash]) {
        self.watched.send_replace(hashes.iter().copied().collect());
    }

    /// The next observation, however long it takes.
    pub(crate) async fn next(&mut self) -> Observation {
        let next = tokio::time::timeout(Duration::from_secs(600), self.observations.recv());
        next.await
            .expect("an observation within ten minutes")
            .expect("the watcher runs")
    }

    /// The next observation, which is a sweep.
    pub(crate) async fn sweep(&mut self) -> Sweep {
        match self.next().await {
            Observation::Sweep(sweep) => sweep,
            other @ (Observation::Unreachable { .. } | Observation::Header { .. }) => {
                panic!("expected a sweep, got {other:?}")
            }
        }
    }

    /// Everything that is reported within `period_ms`.
    pub(crate) async fn all_within(&mut self, period_ms: u64) -> Vec<Observation> {
        tokio::time::sleep(Duration::from_millis(period_ms)).await;
        let mut all = Vec::new();
        while let Ok(observation) = self.observations.try_recv() {
            all.push(observation);
        }
        all
    }

    /// Ends the watcher and hands back what it stored.
    pub(crate) async fn stop(self) -> SharedBlocks {
        self.shutdown.send(()).expect("the watcher runs");
        self.task.await.expect("the watcher ends well");
        self.blocks
    }

    /// Waits for the watcher to end by itself.
    pub(crate) async fn ended(self) {
        let Rig {
            observations,
            task,
            shutdown: _running,
            ..
        } = self;
        drop(observations);
        tokio::time::timeout(Duration::from_secs(600), task)
            .await
            .expect("it ends when nobody listens")
            .expect("the watcher ends well");
    }
}
