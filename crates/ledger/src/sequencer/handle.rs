//! What everybody else holds of the ledger: observe and read; how a message is taken is in
//! [`super::submit`].

use super::Item;
use super::admission::Admission;
use super::fair::Fair;
use super::together::Together;
use crate::clock::{Clock, LedgerClock};
use crate::figures::Figures;
use crate::port::LedgerStore;
use imbl::OrdSet;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use x811_protocol::evm::TxHash;
use x811_protocol::observation::Observation;
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;
use x811_world::World;

/// Whether the ledger takes messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// The wall clock is believed.
    pub clock_settled: bool,
    /// The last group commit failed, on a full disk say.
    pub last_commit_failed: bool,
    /// The rows for readers are so far behind that nothing is taken until they catch up.
    pub rows_stuck: bool,
}

impl Readiness {
    /// Before anything was asked of the ledger.
    pub(super) fn at_start(clock_settled: bool) -> Self {
        Self {
            clock_settled,
            last_commit_failed: false,
            rows_stuck: false,
        }
    }
}

/// A running ledger. Cloning it is cheap; the sequencer ends when the last clone is dropped.
#[derive(Debug)]
pub struct Ledger<S, R, C> {
    pub(super) store: Arc<S>,
    pub(super) read_model: Arc<R>,
    pub(super) clock: Arc<LedgerClock<C>>,
    pub(super) admission: Admission,
    pub(super) together: Together,
    pub(super) fair: Fair,
    pub(super) items: mpsc::Sender<Item>,
    pub(super) world: watch::Receiver<Arc<World>>,
    pub(super) applied: watch::Receiver<u64>,
    /// The size of the log that readers wait for the rows of.
    pub(super) rows_wanted: Arc<watch::Sender<u64>>,
    /// The last rows could not be written, and are tried again.
    pub(super) rows_failing: watch::Receiver<bool>,
    pub(super) watched: BTreeMap<String, watch::Receiver<OrdSet<TxHash>>>,
    pub(super) readiness: watch::Receiver<Readiness>,
    pub(super) figures: Arc<Figures>,
}

impl<S, R, C> Clone for Ledger<S, R, C> {
    fn clone(&self) -> Self {
        Ledger {
            store: self.store.clone(),
            read_model: self.read_model.clone(),
            clock: self.clock.clone(),
            admission: self.admission.clone(),
            together: self.together.clone(),
            fair: self.fair.clone(),
            items: self.items.clone(),
            world: self.world.clone(),
            applied: self.applied.clone(),
            rows_wanted: self.rows_wanted.clone(),
            rows_failing: self.rows_failing.clone(),
            watched: self.watched.clone(),
            readiness: self.readiness.clone(),
            figures: self.figures.clone(),
        }
    }
}

impl<S: LedgerStore, R, C: Clock> Ledger<S, R, C> {
    /// Takes in what a watcher saw; waits while the ledger is busy.
    pub async fn observe(&self, observation: Observation) {
        // A ledger that has stopped needs no observations.
        let _ = self
            .items
            .send(Item::Observation(Box::new(observation)))
            .await;
    }

    /// The state after the last durable batch.
    pub fn world(&self) -> Arc<World> {
        self.world.borrow().clone()
    }

    /// Wakes whenever a batch became durable.
    pub fn follow(&self) -> watch::Receiver<Arc<World>> {
        self.world.clone()
    }

    /// The transactions to watch on a network; `None` for a network that is not configured.
    pub fn watched(&self, network: &str) -> Option<watch::Receiver<OrdSet<TxHash>>> {
        self.watched.get(network).cloned()
    }

    /// Waits until the rows reflect the record at `position`.
    ///
    /// # Errors
    /// When the ledger has stopped.
    pub async fn rows_reflect(&self, position: u64) -> Result<(), Refusal> {
        let mut applied = self.applied.clone();
        if *applied.borrow_and_update() <= position {
            self.rows_wanted.send_if_modified(|wanted| {
                let is_more = *wanted <= position;
                *wanted = (*wanted).max(position.saturating_add(1));
                is_more
            });
        }
        applied
            .wait_for(|size| *size > position)
            .await
            .map(|_| ())
            .map_err(|_| gone())
    }

    /// Whether rows for readers cannot be written, on a full disk say; they are tried again.
    pub fn rows_failing(&self) -> watch::Receiver<bool> {
        self.rows_failing.clone()
    }

    /// Durable records that the rows for readers do not reflect yet.
    pub fn rows_lag(&self) -> u64 {
        let size = self.world.borrow().head().size;
        size.saturating_sub(*self.applied.borrow())
    }

    /// Whether the ledger takes messages.
    pub fn readiness(&self) -> Readiness {
        self.readiness.borrow().clone()
    }

    /// What has happened since the ledger was opened.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// How many items wait for the sequencer, and how many may.
    pub fn queue(&self) -> (usize, usize) {
        let room = self.items.max_capacity();
        (room - self.items.capacity(), room)
    }

    /// The clock that is recorded.
    pub fn now(&self) -> TimestampMs {
        self.clock.now()
    }

    /// The log, bodies and indexes.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The rows for readers.
    pub fn read_model(&self) -> &R {
        &self.read_model
    }
}

/// X811-9002, HTTP 503: the ledger has ended, or is ending.
pub(super) fn gone() -> Refusal {
    Refusal::not_now("the ledger is stopping: send the same message again when it is back")
}
