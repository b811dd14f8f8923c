//! A ledger in this process, on a directory of its own, as `x811 serve` would run it but without
//! HTTP and without a chain.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use x811_ledger::answer::Answer;
use x811_ledger::clock::{Clock, SystemClock};
use x811_ledger::sequencer::{self, Ledger, Opening, Stopped};
use x811_ledger::snapshot::Snapshots;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::observation::Observation;
use x811_protocol::parameters::{PayerBindingRule, Rounds};
use x811_server::entropy::SystemEntropy;
use x811_server::keys::{Identity, NewIdentity};
use x811_server::{NetworkConfig, RpcUrl, ServerConfig};
use x811_store::{Backend, Database, FileSnapshots, ReadRows};
use x811_world::Sizes;

use super::broken;
use super::clients::{self, Answered, Outcome, Sender};
use super::cpu::now;
use super::traffic::{Conversation, Message};
use x811_console::failure::Failure;

/// A running ledger.
pub(super) struct BenchLedger<C = SystemClock> {
    ledger: Ledger<Backend, ReadRows, C>,
    /// Ends when it is dropped.
    task: JoinSet<Result<(), Stopped>>,
    did: Did,
    store: Arc<Backend>,
    rows: Arc<ReadRows>,
    start: StartTimes,
}

/// How long the steps of a start took.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartTimes {
    /// How long it took to open `ledger.db`.
    pub(super) store: Duration,
    /// How long it took to open `read.db`.
    pub(super) rows: Duration,
    /// From there to a sequencer: reading a snapshot, replaying, writing rows that are missing.
    pub(super) world: Duration,
}

/// More than any run comes to, and a number that a record can hold.
const NO_LIMIT: u64 = 1_000_000_000;

/// What a start may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartFrom {
    /// The newest snapshot, if there is any; more are taken.
    Snapshots,
    /// The log alone; no snapshot is taken.
    WholeLog,
}

/// The network payments name; nobody is asked about it.
pub(super) const NETWORK: &str = "local";

/// Registrations that wait at the same time.
const REGISTERING: usize = 64;

/// What a server in `directory` would be started with.
fn config(directory: &Path) -> ServerConfig {
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
        let clock = Arc::new(SystemClock::new());
        BenchLedger::open_at(directory, clock, StartFrom::Snapshots).await
    }

    /// The same, with its log in `database` where there is one, in which nothing is yet.
    pub(super) async fn open_in(
        directory: &Path,
        database: Option<&Database>,
    ) -> Result<BenchLedger, Failure> {
        let clock = Arc::new(SystemClock::new());
        BenchLedger::open_under(directory, database, clock, StartFrom::Snapshots, None).await
    }

    /// The same, which takes rounds without a limit on how many.
    pub(super) async fn open_with_rounds(directory: &Path) -> Result<BenchLedger, Failure> {
        let clock = Arc::new(SystemClock::new());
        let rounds = Rounds {
            deliveries_per_day: NO_LIMIT,
            open_per_proposer: NO_LIMIT,
            seats_per_proposer: NO_LIMIT,
            ..Rounds::DEFAULT
        };
        BenchLedger::open_under(directory, None, clock, StartFrom::Snapshots, Some(rounds)).await
    }
}

impl<C: Clock> BenchLedger<C> {
    /// The same, with that clock.
    pub(super) async fn open_at(
        directory: &Path,
        clock: Arc<C>,
        from: StartFrom,
    ) -> Result<BenchLedger<C>, Failure> {
        BenchLedger::open_under(directory, None, clock, from, None).await
    }

    async fn open_under(
        directory: &Path,
        database: Option<&Database>,
        clock: Arc<C>,
        from: StartFrom,
        rounds: Option<Rounds>,
    ) -> Result<BenchLedger<C>, Failure> {
        let entropy = SystemEntropy::open().map_err(broken)?;
        let begin = now();
        let store = Arc::new(Backend::open(directory, database).await.map_err(broken)?);
        let store_opened = begin.elapsed();
        let rows = Arc::new(ReadRows::open(directory).await.map_err(broken)?);
        let rows_opened = begin.elapsed();
        let identity = match Identity::load(directory).map_err(broken)? {
            Some(identity) => identity,
            None => {
                let made = NewIdentity::make(directory, clock.wall(), &entropy, None);
                made.and_then(NewIdentity::keep).map_err(broken)?
            }
        };
        let did = identity.opened.did;
        let snapshots = || Snapshots::new(Arc::new(FileSnapshots::of(directory)));
        let opening = Opening {
            identity: identity.opened,
            rotations: Vec::new(),
            parameters: ServerConfig {
                rounds,
                ..config(directory)
            }
            .parameters(),
            envelope_key: identity.envelope_key,
            snapshots: (from == StartFrom::Snapshots).then(snapshots),
            checkpoint: None,
            checkpoint_adopted: false,
            with_endpoints: Vec::new(),
        };
        let entropy = Arc::new(entropy);
        let (sequencer, ledger) =
            sequencer::open(store.clone(), rows.clone(), clock, entropy, opening)
                .await
                .map_err(broken)?;
        let start = StartTimes {
            store: store_opened,
            rows: rows_opened - store_opened,
            world: begin.elapsed() - rows_opened,
        };
        let mut task = JoinSet::new();
        task.spawn(sequencer.run());
        Ok(BenchLedger {
            ledger,
            task,
            did,
            store,
            rows,
            start,
        })
    }

    /// Who it is.
    pub(super) fn did(&self) -> Did {
        self.did
    }

    /// The ledger itself.
    pub(super) fn running(&self) -> &Ledger<Backend, ReadRows, C> {
        &self.ledger
    }

    /// Bytes of its tables in a database, and of what the server wrote of them.
    pub(super) async fn bytes(&self) -> Result<Option<(u64, u64)>, Failure> {
        self.store.bytes().await.map_err(broken)
    }

    pub(super) fn size(&self) -> u64 {
        self.ledger.world().head().size
    }

    /// What it holds in memory.
    pub(super) fn held(&self) -> Sizes {
        self.ledger.world().sizes()
    }

    /// How long it took to start.
    pub(super) fn start_times(&self) -> StartTimes {
        self.start
    }

    /// Tells it what a watcher would.
    pub(super) async fn observe(&self, observation: Observation) {
        self.ledger.observe(observation).await;
    }

    /// Transactions that it waits for, on the network there is.
    pub(super) fn watched(&self) -> Vec<TxHash> {
        let watched = self.ledger.watched(NETWORK);
        watched.map_or_else(Vec::new, |watched| {
            watched.borrow().iter().copied().collect()
        })
    }

    /// Has every message accepted, all at once.
    pub(super) async fn accept_all(&self, messages: Vec<Message>) -> Result<(), Failure> {
        let apart = messages.into_iter().map(|message| vec![message]).collect();
        self.converse(apart, REGISTERING).await.map(|_| ())
    }

    /// Carries on all conversations, `at_once` of them at a time.
    pub(super) async fn converse(
        &self,
        conversations: Vec<Conversation>,
        at_once: usize,
    ) -> Result<Answered, Failure> {
        let senders = (0..at_once).map(|_| InProcess(self.ledger.clone()));
        let (answered, _) = clients::converse(senders.collect(), conversations).await?;
        Ok(answered)
    }

    /// Waits until the rows for readers reflect everything.
    pub(super) async fn rows_caught_up(&self) -> Result<(), Failure> {
        let last = self.size().saturating_sub(1);
        self.ledger.rows_reflect(last).await.map_err(Failure::from)
    }

    /// Ends in order, with a snapshot if there are any.
    pub(super) async fn close(mut self) -> Result<(), Failure> {
        self.rows_caught_up().await?;
        drop(self.ledger);
        while let Some(ended) = self.task.join_next().await {
            ended.map_err(broken)?.map_err(broken)?;
        }
        closed(self.store, self.rows).await
    }

    /// Ends as a crash would: without a last snapshot.
    pub(super) async fn crash(mut self) -> Result<(), Failure> {
        self.rows_caught_up().await?;
        self.task.shutdown().await;
        drop(self.ledger);
        closed(self.store, self.rows).await
    }
}

/// Gives the directory free, once nobody uses it any more.
async fn closed(store: Arc<Backend>, rows: Arc<ReadRows>) -> Result<(), Failure> {
    while Arc::strong_count(&rows) > 1 || Arc::strong_count(&store) > 1 {
        tokio::task::yield_now().await;
    }
    let in_use = || broken("the ledger is still in use");
    Arc::into_inner(rows).ok_or_else(in_use)?.close().await;
    Arc::into_inner(store).ok_or_else(in_use)?.close().await;
    Ok(())
}

/// A client in the ledger's own process.
struct InProcess<C>(Ledger<Backend, ReadRows, C>);

impl<C: Clock> Sender for InProcess<C> {
    type Message = Message;

    async fn send(&mut self, message: &Message) -> Result<Outcome, Failure> {
        match self.0.submit(message.bytes.clone()).await {
            Ok(Answer::Accepted(_)) => Ok(Outcome::Accepted),
            Ok(Answer::Repeated(_)) => Err(broken("a new message was a repeat")),
            Err(refusal) if refusal.code == Code::RateLimitExceeded => {
                Ok(Outcome::Busy(refusal.message.to_string()))
            }
            Err(refusal) => Err(broken(refusal.message)),
        }
    }
}
