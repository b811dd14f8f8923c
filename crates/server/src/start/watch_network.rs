//! The watcher beside the ledger: what it watches comes from the ledger's state, and what it sees
//! goes into the log.

use crate::app::{RunningLedger, stopped};
use crate::config::NetworkConfig;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use x811_ledger::clock::Clock;
use x811_ledger::entropy::Entropy;
use x811_ledger::world::World;
use x811_protocol::evm::TxHash;
use x811_protocol::interaction::Schedule;
use x811_protocol::observation::Block;
use x811_protocol::time::TimestampMs;
use x811_watcher::rpc::RpcSource;
use x811_watcher::{Channels, Endpoint, LooksDue, MemoryBlockStore, WatchedNetwork, Watcher};

/// Observations that may wait while the ledger is busy.
const OBSERVATIONS: usize = 16;

/// Watches the network, and passes on what is seen.
pub(super) fn watch_network<C: Clock>(
    rpc: RpcSource,
    network: NetworkConfig,
    ledger: &RunningLedger<C>,
    jitter_seed: u64,
    stopping: watch::Receiver<bool>,
) -> JoinHandle<()> {
    let (observations, mut observed) = mpsc::channel(OBSERVATIONS);
    let channels = Channels {
        watched: ledger.watched(&network.name).unwrap_or_else(nothing),
        looks_due: from_state(ledger.clone(), network.name.clone()),
        observations,
    };
    let endpoint = Endpoint {
        source: rpc,
        label: network.endpoint_label,
        jitter_seed,
    };
    let network = WatchedNetwork {
        name: network.name,
        chain_id: network.chain_id,
        token: network.token,
        confirmed_depth: network.confirmed_depth,
        poll_ms: network.poll_ms,
        block_ms: network.block_ms,
    };
    let blocks = MemoryBlockStore::default();
    let watcher = Watcher::new(vec![endpoint], network, blocks, channels);
    let ledger = ledger.clone();
    tokio::spawn(async move {
        let forward = async {
            while let Some(observation) = observed.recv().await {
                ledger.observe(observation).await;
            }
        };
        tokio::join!(watcher.run(stopped(stopping)), forward);
    })
}

/// A random number that scatters an endpoint's retries.
pub(super) fn jitter_seed(entropy: &impl Entropy) -> u64 {
    let mut bytes = [0; 8];
    entropy.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// The transactions to watch on a network the ledger does not know.
fn nothing<T: Default>() -> watch::Receiver<T> {
    watch::channel(T::default()).1
}

fn from_state<C: Clock>(ledger: RunningLedger<C>, network: String) -> LooksDue {
    Arc::new(move |head| looks_due(&ledger.world(), &network, head))
}

/// Everything that interactions declared whose look `head` may answer (ledger-contract.md section
/// 5). A look is answered for all its transactions together.
fn looks_due(world: &World, network: &str, head: &Block) -> BTreeSet<TxHash> {
    let head_at = TimestampMs::new(head.timestamp_s.saturating_mul(1_000));
    let watching = world
        .interactions()
        .filter_map(|(_, live)| live.state.settlement());
    let due = watching.filter(|settlement| {
        let is_due = match settlement.schedule {
            Schedule::Look { due, .. } => due <= head_at,
            Schedule::Confirmation { .. } => false,
        };
        is_due && settlement.network == network && settlement.paused_since.is_none()
    });
    due.flat_map(|settlement| &settlement.declared)
        .map(|declared| declared.tx_hash)
        .collect()
}
