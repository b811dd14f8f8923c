//! A ledger in this process, on a directory of its own, as `x811 serve` would run it but without
//! HTTP and without a chain.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet};
use x811_ledger::answer::Answer;
use x811_ledger::clock::{Clock as _, SystemClock};
use x811_ledger::sequencer::{self, Ledger, Opening, Stopped};
use x811_ledger::snapshot::Snapshots;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::evm::EvmAddress;
use x811_protocol::parameters::PayerBindingRule;
use x811_server::entropy::SystemEntropy;
use x811_server::keys::Identity;
use x811_server::{NetworkConfig, RpcUrl, ServerConfig};
use x811_store::{FileSnapshots, SqliteReadModel, SqliteStore};

use super::broken;
use super::cpu::now;
use super::traffic::{Conversation, Message};
use crate::failure::Failure;

/// A running ledger.
pub(super) struct BenchLedger {
    ledger: Ledger<SqliteStore, SqliteReadModel, SystemClock>,
    task: JoinHandle<Result<(), Stopped>>,
    did: Did,
}

/// The network payments name; nobody is asked about it.
pub(super) const NETWORK: &str = "local";

/// What a server in `directory` would be started with.
pub(super) fn config(directory: &Path) -> ServerConfig {
    let token = EvmAddress::from_bytes([0x33; 20]);
    let network = NetworkConfig::local(RpcUrl::new("http://127.0.0.1:9/"), token);
    ServerConfig {
        payer_binding: PayerBindingRule::Unchecked,
        ..ServerConfig::new(directory, network)
    }
}

impl BenchLedger {
    /// Opens the ledger in `directory`, or makes one there.
    pub(super) async fn open(directory: &Path) -> Result<BenchLedger, Failure> {
        let entropy = SystemEntropy::open().map_err(broken)?;
        let clock = Arc::new(SystemClock::new());
        let store = Arc::new(SqliteStore::open(directory).await.map_err(broken)?);
        let rows = Arc::new(SqliteReadModel::open(directory).await.map_err(broken)?);
        let identity = match Identity::load(directory).map_err(broken)? {
            Some(identity) => identity,
            None => Identity::create(directory, clock.wall(), &entropy).map_err(broken)?,
        };
        let did = identity.opened.did;
        let opening = Opening {
            identity: identity.opened,
            parameters: config(directory).parameters(),
            envelope_key: identity.envelope_key,
            snapshots: Some(Snapshots::new(Arc::new(FileSnapshots::of(directory)))),
            checkpoint: None,
        };
        let (sequencer, ledger) = sequencer::open(store, rows, clock, Arc::new(entropy), opening)
            .await
            .map_err(broken)?;
        Ok(BenchLedger {
            ledger,
            task: tokio::spawn(sequencer.run()),
            did,
        })
    }

    /// Who it is.
    pub(super) fn did(&self) -> Did {
        self.did
    }

    /// Records stored.
    pub(super) fn size(&self) -> u64 {
        self.ledger.world().head().size
    }

    /// Has every message accepted, all at once.
    pub(super) async fn accept_all(&self, messages: Vec<Message>) -> Result<(), Failure> {
        let apart = messages.into_iter().map(|message| vec![message]).collect();
        self.converse(apart, REGISTERING).await.map(|_| ())
    }

    /// Carries on all conversations, `at_once` of them at a time, each message sent when the one
    /// before is answered. Gives the times from sending to the answer, in microseconds.
    pub(super) async fn converse(
        &self,
        conversations: Vec<Conversation>,
        at_once: usize,
    ) -> Result<Vec<u32>, Failure> {
        let waiting = Arc::new(Mutex::new(conversations));
        let mut clients = JoinSet::new();
        for _ in 0..at_once {
            clients.spawn(client(self.ledger.clone(), waiting.clone()));
        }
        let mut latencies_us = Vec::new();
        while let Some(ended) = clients.join_next().await {
            latencies_us.extend(ended.map_err(broken)??);
        }
        Ok(latencies_us)
    }

    /// Waits until the rows for readers reflect everything.
    pub(super) async fn rows_caught_up(&self) -> Result<(), Failure> {
        let last = self.size().saturating_sub(1);
        self.ledger.rows_reflect(last).await.map_err(Failure::from)
    }

    /// Ends in order.
    pub(super) async fn close(self) -> Result<(), Failure> {
        self.rows_caught_up().await?;
        drop(self.ledger);
        self.task.await.map_err(broken)?.map_err(broken)
    }
}

/// How long a client waits that was told that the ledger is busy.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Registrations that wait at the same time.
const REGISTERING: usize = 64;

async fn client(
    ledger: Ledger<SqliteStore, SqliteReadModel, SystemClock>,
    waiting: Arc<Mutex<Vec<Conversation>>>,
) -> Result<Vec<u32>, Failure> {
    let mut latencies_us = Vec::new();
    loop {
        let next = waiting.lock().map_err(|_| broken("a client died"))?.pop();
        let Some(conversation) = next else {
            return Ok(latencies_us);
        };
        for message in conversation {
            let sent = now();
            loop {
                match ledger.submit(message.bytes.clone()).await {
                    Ok(Answer::Accepted(_)) => break,
                    Ok(Answer::Repeated(_)) => return Err(broken("a new message was a repeat")),
                    // What a client does: wait, and send the same bytes again.
                    Err(refusal) if refusal.code == Code::RateLimitExceeded => {
                        tokio::time::sleep(RETRY_AFTER).await;
                    }
                    Err(refusal) => return Err(broken(refusal.message)),
                }
            }
            let us = u32::try_from(sent.elapsed().as_micros());
            latencies_us.push(us.unwrap_or(u32::MAX));
        }
    }
}
