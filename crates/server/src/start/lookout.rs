//! The watcher beside the ledger: what it watches comes from the ledger's state, and what it sees
//! goes into the log.
//!
//! Its endpoints can be exchanged while it runs: another watcher takes its place, which goes on from
//! the blocks that were kept. What is open goes on, and nothing is recorded of it.

use super::kept_blocks::KeptBlocks;
use crate::app::{RunningLedger, stopped};
use crate::config::{NetworkConfig, ServerConfig};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use x811_ledger::clock::Clock;
use x811_ledger::entropy::Entropy;
use x811_protocol::time::TimestampMs;
use x811_watcher::rpc::{EndpointError, RpcSource};
use x811_watcher::{
    AccountsOf, Channels, Endpoint, Expected, Expecting, NetworkHealth, NewHeads, Reported,
    WatchedNetwork, Watcher,
};
use x811_world::World;

/// Observations that may wait while the ledger is busy.
const OBSERVATIONS: usize = 16;

/// Everything a network is watched with.
pub(super) struct Lookout {
    network: WatchedNetwork,
    quorum: usize,
    eyes: Eyes,
    blocks: KeptBlocks,
}

/// What a network is watched through.
pub(super) struct Eyes {
    endpoints: Vec<Endpoint<RpcSource>>,
    new_heads: Vec<NewHeads>,
}

impl Eyes {
    /// The configured endpoints, each with a random number of its own that scatters its retries.
    pub(super) fn of(
        network: &NetworkConfig,
        sources: Vec<RpcSource>,
        entropy: &impl Entropy,
    ) -> Result<Eyes, EndpointError> {
        let configured = sources.into_iter().zip(&network.endpoints);
        let endpoints = configured.map(|(source, endpoint)| Endpoint {
            source,
            label: endpoint.label.clone(),
            jitter_seed: seed(entropy),
        });
        Ok(Eyes {
            endpoints: endpoints.collect(),
            new_heads: new_heads(network, entropy)?,
        })
    }
}

impl Lookout {
    /// What the configured network is watched through, and the blocks that an earlier process kept.
    pub(super) async fn new(eyes: Eyes, config: &ServerConfig) -> Lookout {
        let network = &config.network;
        Lookout {
            eyes,
            quorum: network.quorum(),
            blocks: KeptBlocks::open(&config.data_dir).await,
            network: WatchedNetwork {
                name: network.name.clone(),
                chain_id: network.chain_id,
                token: network.token,
                confirmed_depth: network.confirmed_depth,
                final_by: network.final_by,
                poll_ms: network.poll_ms,
                block_ms: network.block_ms,
            },
        }
    }

    /// Watches, and passes on what is seen, until the server is to stop; through others from when
    /// `exchanged` has them.
    pub(super) fn watch<C: Clock>(
        self,
        ledger: &RunningLedger<C>,
        stopping: watch::Receiver<bool>,
        mut exchanged: mpsc::Receiver<Eyes>,
    ) -> (watch::Receiver<NetworkHealth>, JoinHandle<()>) {
        let (observations, mut observed) = mpsc::channel(OBSERVATIONS);
        let (network, quorum) = (self.network, self.quorum);
        let channels = Channels {
            watched: ledger.watched(&network.name).unwrap_or_else(nothing),
            expecting: from_state(ledger.clone(), network.name.clone()),
            accounts_of: accounts(ledger.clone(), network.name.clone()),
            observations,
        };
        let blocks = self.blocks;
        let watcher_of = move |eyes: Eyes, channels: Channels, blocks: KeptBlocks| {
            let watcher = Watcher::new(eyes.endpoints, network.clone(), blocks, channels);
            watcher.agreeing(quorum).woken_by(eyes.new_heads)
        };
        let first = watcher_of(self.eyes, channels.clone(), blocks.clone());
        let published = watch::Sender::new(first.health().borrow().clone());
        let health = published.subscribe();
        let ledger = ledger.clone();
        let task = tokio::spawn(async move {
            let forward = async {
                while let Some(observation) = observed.recv().await {
                    ledger.observe(observation).await;
                }
            };
            let watch = async {
                let mut watcher = first;
                loop {
                    let mut next = None;
                    let until = async {
                        tokio::select! {
                            () = stopped(stopping.clone()) => {}
                            Some(eyes) = exchanged.recv() => next = Some(eyes),
                        }
                    };
                    let mirror = mirror(watcher.health(), &published);
                    tokio::join!(watcher.run(until), mirror);
                    let Some(eyes) = next else { break };
                    watcher = watcher_of(eyes, channels.clone(), blocks.clone());
                }
                drop(channels);
            };
            tokio::join!(watch, forward);
            blocks.close().await;
        });
        (health, task)
    }
}

/// Shows what one watcher publishes, until it ends.
async fn mirror(mut from: watch::Receiver<NetworkHealth>, to: &watch::Sender<NetworkHealth>) {
    while from.changed().await.is_ok() {
        to.send_replace(from.borrow_and_update().clone());
    }
}

/// Where the endpoints announce new heads, those that do.
fn new_heads(
    network: &NetworkConfig,
    entropy: &impl Entropy,
) -> Result<Vec<NewHeads>, EndpointError> {
    let announced = network.endpoints.iter().filter_map(|endpoint| {
        let url = endpoint.ws_url.as_ref()?.reveal();
        Some(NewHeads::new(url, &endpoint.label, seed(entropy)))
    });
    announced.collect()
}

fn seed(entropy: &impl Entropy) -> u64 {
    let mut seed = [0; 8];
    entropy.fill(&mut seed);
    u64::from_le_bytes(seed)
}

/// The transactions to watch on a network the ledger does not know.
fn nothing<T: Default>() -> watch::Receiver<T> {
    watch::channel(T::default()).1
}

fn from_state<C: Clock>(ledger: RunningLedger<C>, network: String) -> Expecting {
    Arc::new(move |reported| expected(&ledger.world(), &network, reported))
}

fn accounts<C: Clock>(ledger: RunningLedger<C>, network: String) -> AccountsOf {
    Arc::new(move |tx_hash| ledger.world().payment_accounts(&network, tx_hash))
}

/// What a look of the ledger's may be answered with at `head`, and what paid and disappeared
/// (ledger-contract.md section 5); and what is missing, while the ledger takes it to be in a block.
/// And what else was declared that may confirm at any block.
pub fn expected(world: &World, network: &str, reported: &Reported<'_>) -> Expected {
    let head_at = TimestampMs::new(reported.head.timestamp_s.saturating_mul(1_000));
    let mut looked_for = world.wanted(network, head_at);
    let missing = reported.missing.iter();
    looked_for.extend(missing.filter(|tx_hash| world.takes_for_mined(network, **tx_hash)));
    Expected {
        undecided: world.undecided(network),
        recorded: world.recorded_in_question(network),
        headers: world.heights_awaited(network),
        looked_for,
    }
}
