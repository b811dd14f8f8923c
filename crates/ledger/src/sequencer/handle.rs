//! What everybody else holds of the ledger: submit, observe, read.

use super::Item;
use super::admission::{Admission, Admitted};
use super::batch::busy;
use super::check::{Check, Checked, Refused};
use super::pool::on_the_pool;
use super::repeat::Sent;
use super::together::Together;
use crate::SPANS;
use crate::answer::Answer;
use crate::clock::{Clock, LedgerClock};
use crate::contract_wallets;
use crate::figures::Figures;
use crate::port::{ContractWallets, LedgerStore, NoContracts};
use crate::submission::Submission;
use crate::world::World;
use imbl::OrdSet;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::Instrument as _;
use x811_protocol::code::Code;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::evm::TxHash;
use x811_protocol::observation::Observation;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::time::TimestampMs;

/// Up to here an envelope takes little longer to check than its signature does, and handing it over
/// to another thread would cost a tenth of that.
const CHECKED_HERE_BYTES: usize = 16 * 1_024;

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
    pub(super) items: mpsc::Sender<Item>,
    pub(super) world: watch::Receiver<Arc<World>>,
    pub(super) applied: watch::Receiver<u64>,
    /// The size of the log that readers wait for the rows of.
    pub(super) rows_wanted: Arc<watch::Sender<u64>>,
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
            items: self.items.clone(),
            world: self.world.clone(),
            applied: self.applied.clone(),
            rows_wanted: self.rows_wanted.clone(),
            watched: self.watched.clone(),
            readiness: self.readiness.clone(),
            figures: self.figures.clone(),
        }
    }
}

impl<S: LedgerStore, R, C: Clock> Ledger<S, R, C> {
    /// Takes a message: `bytes` are an envelope, bare or as `{"envelope": …}`. The answer comes
    /// once it is durable.
    ///
    /// # Errors
    /// The refusal to answer with. X811-9001 when the ledger is busy and X811-9002 when it failed:
    /// neither spends the nonce, so the same bytes may be sent again.
    pub async fn submit(
        &self,
        bytes: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<Answer, Refusal> {
        self.submit_if(bytes, |_| Ok(()), &NoContracts).await
    }

    /// The same, when `may` agrees. It is asked once the signature is verified, so that nobody can
    /// use up what another one is allowed. After it `contracts` judge the contract wallets that the
    /// message brings, if any.
    ///
    /// # Errors
    /// Those of [`Ledger::submit`] and of `may`; a refusal of `may` spends no nonce. X811-9002 and
    /// X811-9001 when a contract could not be asked.
    pub async fn submit_if(
        &self,
        bytes: impl AsRef<[u8]> + Send + 'static,
        may: impl FnOnce(&AcceptedHeader) -> Result<(), Refusal> + Send,
        contracts: &impl ContractWallets,
    ) -> Result<Answer, Refusal> {
        let span = tracing::debug_span!(target: SPANS, "submit");
        let answer = self.receive(bytes, may, contracts).instrument(span).await;
        self.figures.answered(&answer);
        answer
    }

    async fn receive(
        &self,
        bytes: impl AsRef<[u8]> + Send + 'static,
        may: impl FnOnce(&AcceptedHeader) -> Result<(), Refusal> + Send,
        contracts: &impl ContractWallets,
    ) -> Result<Answer, Refusal> {
        let admitted = self.admission.admit(bytes.as_ref().len())?;
        let _taken = self.together.taken();
        let now = self.clock.now();
        let (checked, admitted) = self.checked(bytes, admitted, now).await?;
        let message = match checked {
            Ok(message) => message,
            Err(refused) => return Err(self.refusal(*refused).await),
        };
        let sent = Sent::of(&message.header);
        let id = message.header.id;
        let judged = match may(&message.header) {
            Ok(()) => contract_wallets::judge(message, &self.world(), contracts, now).await,
            Err(refusal) => Err(refusal),
        };
        let answer = match judged {
            Ok(message) => self.take_turn(message, admitted).await,
            Err(refusal) => Err(refusal),
        };
        match answer {
            Ok(answer) => Ok(answer),
            Err(refusal) => Err(self.unless_repeated(sent, refusal).await.related_to(id)),
        }
    }

    /// Checks what needs no order, on this thread or, if that may take long, on the CPU pool.
    async fn checked(
        &self,
        bytes: impl AsRef<[u8]> + Send + 'static,
        admitted: Admitted,
        now: TimestampMs,
    ) -> Result<(Checked, Admitted), Refusal> {
        let span = tracing::debug_span!(target: SPANS, "check");
        let is_small = bytes.as_ref().len() <= CHECKED_HERE_BYTES;
        let check = Check {
            bytes,
            world: self.world(),
            newest: self.world.clone(),
            now,
        };
        if is_small && self.together.is_worth_it() {
            let checked = check.together(&self.together).instrument(span).await;
            return Ok((checked, admitted));
        }
        let check = move || (span.in_scope(|| check.alone()), admitted);
        if is_small {
            return Ok(check());
        }
        on_the_pool(check).await.ok_or_else(gone)
    }

    async fn refusal(&self, Refused { refusal, sent }: Refused) -> Refusal {
        match sent {
            Some(sent) => self.unless_repeated(sent, refusal).await,
            None => refusal,
        }
    }

    /// Queues an authentic message and waits for its answer.
    async fn take_turn(&self, message: Submission, admitted: Admitted) -> Result<Answer, Refusal> {
        let (reply, answer) = oneshot::channel();
        let item = Item::Message {
            message: Box::new(message),
            queued_at_ms: self.clock.monotonic_ms(),
            turn: tracing::debug_span!(target: SPANS, "turn"),
            reply,
            admitted,
        };
        self.items.try_send(item).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => busy("the ledger has too much to do"),
            mpsc::error::TrySendError::Closed(_) => gone(),
        })?;
        answer.await.map_err(|_| gone())?
    }

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

pub(super) fn gone() -> Refusal {
    Refusal::new(
        Code::InternalError,
        Kind::Internal,
        "the ledger is stopping: send the same message again when it is back",
    )
}
