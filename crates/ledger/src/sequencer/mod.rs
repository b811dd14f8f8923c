//! The one task that owns the order, the live state and the clock that is recorded
//! (ledger-contract.md section 1).
//!
//! [`open`] rebuilds the world from the log and returns the task and a [`Ledger`] to talk to it.
//! Each round takes what is waiting, decides it on a draft, makes the draft durable in one group
//! commit, and only then publishes the new world, answers, and wakes those who follow.

mod admission;
mod batch;
mod check;
mod commit;
mod erasure;
mod fair;
mod follower;
mod handle;
mod in_flight;
mod lift;
mod notices;
mod open;
mod pool;
mod projector;
mod rebuild;
mod repeat;
mod snapshots;
mod submit;
mod together;
mod unseen;

pub(crate) use batch::busy;
pub use commit::Stopped;
pub use fair::Origin;
pub use follower::{Follower, follow};
pub use handle::{Ledger, Readiness};
pub use lift::LiftRequest;
pub(crate) use open::read_event;
pub use open::{OpenError, Opening, OtherKey, RowsError, open, open_warm};
pub use submit::MayGoOn;

use crate::answer::Answer;
use crate::clock::{Clock, ClockState, LedgerClock};
use crate::draft::BatchDraft;
use crate::entropy::Entropy;
use crate::figures::Figures;
use crate::notice::{Notary, SignedNotice};
use crate::port::LedgerStore;
use crate::submission::Submission;
use crate::watch;
use admission::Admitted;
use batch::Reply;
use imbl::OrdSet;
use in_flight::InFlight;
use projector::Batch;
use snapshots::Saver;
use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch as channel};
pub use x811_protocol::answer::{Erased as ErasureAnswer, Lifted as LiftAnswer};
use x811_protocol::event::{Event, LedgerEvent, LedgerResumed};
use x811_protocol::evm::TxHash;
use x811_protocol::observation::Observation;
use x811_protocol::refusal::Refusal;
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;
use x811_world::World;
use x811_world::erasure::Erasure;
use x811_world::notice::Owed;

/// Items that a round takes at a time, and answers after which it takes no more.
const ROUND_ITEMS: usize = 1_024;

/// Notices that are recorded together: few enough to fit any batch.
const NOTICES_PER_ITEM: usize = 64;

/// How long time alone waits to try again after a commit that failed.
const RETRY_MS: u64 = 250;

/// While a batch is being written, so many items are decided together for the next one: each time
/// costs look-ups.
const GATHERED_ITEMS: usize = 64;

/// The longest they are gathered: a batch that takes long to write makes nobody miss their turn.
const GATHER_MS: u64 = 100;

/// How often the ledger notes that it is up, unless a record says so.
const TICK_MS: u64 = 1_000;

/// How often the journal of nonces is purged.
const PURGE_MS: u64 = 60_000;

/// The longest a message waits for its turn (ledger-contract.md section 1.2).
const PATIENCE_MS: u64 = 250;

/// What reaches the sequencer.
pub(crate) enum Item {
    /// An authentic message and where its answer goes.
    Message {
        message: Box<Submission>,
        queued_at_ms: u64,
        /// From queueing to the decision.
        turn: tracing::Span,
        reply: oneshot::Sender<Result<Answer, Refusal>>,
        admitted: Admitted,
    },
    /// What a watcher saw.
    Observation(Box<Observation>),
    /// Bodies that an operator wants erased, and where the answer goes.
    Erasure {
        erasure: Box<Erasure>,
        reply: oneshot::Sender<Result<ErasureAnswer, Refusal>>,
    },
    /// An exclusion that an operator wants lifted, and where the answer goes.
    Lift {
        request: Box<LiftRequest>,
        reply: oneshot::Sender<Result<LiftAnswer, Refusal>>,
    },
    /// Signed notices, to be recorded.
    Notices(Vec<SignedNotice>),
}

/// The sequencer, before [`Sequencer::run`].
pub struct Sequencer<S, C, E> {
    store: Arc<S>,
    clock: Arc<LedgerClock<C>>,
    entropy: Arc<E>,
    notary: Arc<Notary>,
    saver: Saver,
    /// The state after everything durable.
    world: World,
    in_flight: Option<InFlight>,
    waiting: VecDeque<Item>,
    items: mpsc::Receiver<Item>,
    /// For the notary to send back what it signed.
    own_items: mpsc::WeakSender<Item>,
    projections: mpsc::Sender<Batch>,
    published: channel::Sender<Arc<World>>,
    watched: BTreeMap<String, channel::Sender<OrdSet<TxHash>>>,
    /// Networks that endpoints are configured for.
    with_endpoints: Vec<String>,
    readiness: channel::Sender<Readiness>,
    figures: Arc<Figures>,
    last_tick_ms: u64,
    last_purge_ms: u64,
    /// Since when, as recorded, messages could not be taken: the clock was not believed, or nothing
    /// could be written. Kept until the gap is durable.
    away_since: Option<TimestampMs>,
    /// A lapse broke the rules and was dropped: the next try waits.
    lapse_failed: bool,
    /// Signed notices were dropped with a failed commit; they are still owed.
    notices_lost: bool,
}

impl<S, C, E> Sequencer<S, C, E>
where
    S: LedgerStore,
    C: Clock,
    E: Entropy,
{
    /// Runs until every [`Ledger`] handle is gone, or the log cannot be written any more.
    ///
    /// # Errors
    /// [`Stopped`] when another writer took over or the log and memory disagree: the process must
    /// end, because going on could only make it worse.
    pub async fn run(mut self) -> Result<(), Stopped> {
        let owed = self.world.owed().map(owed).collect();
        self.sign(owed);
        loop {
            if self.waiting.is_empty() && !self.wait().await {
                self.settle().await?;
                self.saver.finish(&self.world, self.clock.now()).await;
                return Ok(());
            }
            if self.in_flight.as_ref().is_some_and(InFlight::is_written) {
                self.settle().await?;
                if self.waiting.is_empty() {
                    continue;
                }
            }
            self.take_what_is_there();
            self.round().await?;
            self.saver.after_round(&self.world, self.clock.now());
            self.tick().await;
        }
    }

    /// The state after the batch that is being written, if one is: what is decided next begins there.
    fn tip(&self) -> &World {
        self.in_flight.as_ref().map_or(&self.world, InFlight::world)
    }

    /// Waits for an item, for the batch being written, or for something to be due; `false` when
    /// nobody is left to send any.
    async fn wait(&mut self) -> bool {
        let now = self.clock.now();
        let due_ms = watch::next_due(self.tip())
            .filter(|_| self.clock.is_settled())
            .map_or(u64::MAX, |due| due.since(now) + 1);
        let failing = {
            let readiness = self.readiness.borrow();
            self.lapse_failed || readiness.last_commit_failed || readiness.rows_stuck
        };
        let due_ms = due_ms.max(if failing { RETRY_MS } else { 0 });
        let tick_ms = (self.last_tick_ms + TICK_MS).saturating_sub(self.clock.monotonic_ms());
        tokio::select! {
            item = self.items.recv() => match item {
                Some(item) => {
                    self.waiting.push_back(item);
                    true
                }
                None => false,
            },
            () = in_flight::written(&mut self.in_flight) => true,
            () = self.clock.source().sleep_ms(due_ms.min(tick_ms)) => true,
        }
    }

    fn take_what_is_there(&mut self) {
        while self.waiting.len() < ROUND_ITEMS
            && let Ok(item) = self.items.try_recv()
        {
            self.waiting.push_back(item);
        }
    }

    /// One round: decide on top of what is being written, and send it off once that is durable.
    async fn round(&mut self) -> Result<(), Stopped> {
        if self.away_since.is_some() {
            self.settle().await?;
        }
        if self.rows_are_stuck() {
            self.away_since.get_or_insert(self.clock.now());
            self.refuse_waiting(&batch::busy("the rows for readers are too far behind"));
            return Ok(());
        }
        let Some(gap_ms) = self.gap() else {
            self.refuse_waiting(&batch::unsettled(self.clock.settling()));
            return Ok(());
        };
        let before = self.in_flight.as_ref().map(InFlight::unwritten);
        let mut draft = BatchDraft::on(self.tip(), before);
        if gap_ms == 0 {
            self.away_since = None;
        } else {
            let event = Event::Ledger(LedgerEvent::Resumed(LedgerResumed {
                gap_ms,
                checkpoint_adopted: false,
            }));
            draft
                .append(&Stream::Ledger, event, None, self.clock.now())
                .map_err(Stopped::Defect)?;
        }
        let mut replies = Vec::new();
        loop {
            let has_time = self.gather().await;
            self.decide_waiting(&mut draft, &mut replies).await;
            if draft.is_full() || replies.len() >= ROUND_ITEMS || !has_time {
                break;
            }
        }
        self.lapse(&mut draft);
        self.send_off(draft, replies).await
    }

    /// Decides what waits, as far as the batch has room for it.
    async fn decide_waiting(&mut self, draft: &mut BatchDraft, replies: &mut Vec<Reply>) {
        let before = self.in_flight.as_ref().map(InFlight::unwritten);
        let looked_up = batch::look_up(
            &*self.store,
            draft.world(),
            before.as_deref(),
            &self.waiting,
        )
        .await;
        let lookups = match looked_up {
            Ok(lookups) => lookups,
            Err(error) => {
                tracing::error!(%error, "the indexes cannot be read");
                self.away_since.get_or_insert(self.clock.now());
                self.refuse_waiting(&batch::busy("the ledger cannot read its indexes"));
                return;
            }
        };
        draft.make_room(self.waiting.len());
        replies.reserve(self.waiting.len());
        while !draft.is_full()
            && let Some(item) = self.waiting.pop_front()
        {
            if let Some(rest) = self.decide(draft, item, &lookups, replies) {
                self.waiting.push_front(rest);
            }
        }
    }

    /// While a batch is being written, waits for items worth deciding together; `false` once it is
    /// written.
    async fn gather(&mut self) -> bool {
        let clock = self.clock.clone();
        let mut enough = pin!(clock.source().sleep_ms(GATHER_MS));
        while let Some(in_flight) = &self.in_flight
            && !in_flight.is_written()
            && self.waiting.len() < GATHERED_ITEMS
        {
            tokio::select! {
                biased;
                () = in_flight::written(&mut self.in_flight) => {}
                () = &mut enough, if !self.waiting.is_empty() => break,
                item = self.items.recv() => match item {
                    Some(item) => self.waiting.push_back(item),
                    // Nobody is left to send any.
                    None => in_flight::written(&mut self.in_flight).await,
                },
            }
        }
        self.take_what_is_there();
        self.in_flight
            .as_ref()
            .is_some_and(|in_flight| !in_flight.is_written())
    }

    /// Whether the rows lag so far behind that one more commit would have to wait for them: then
    /// nothing is decided, so that who asks is answered, and the time counts as downtime.
    fn rows_are_stuck(&self) -> bool {
        let needed = usize::from(self.in_flight.is_some());
        let stuck = self.projections.capacity() <= needed && !self.projections.is_closed();
        if stuck && !self.readiness.borrow().rows_stuck {
            tracing::error!("the rows for readers are too far behind: nothing is taken");
        }
        self.set_readiness(|readiness| readiness.rows_stuck = stuck);
        stuck
    }

    /// How long messages could not be taken, until now; `None` while they still cannot, because
    /// the clock is not believed. Such time is downtime (ledger-contract.md section 1.4).
    fn gap(&mut self) -> Option<u64> {
        let now = self.clock.now();
        if self.clock.check() == ClockState::Unsettled {
            self.away_since.get_or_insert(now);
            self.set_readiness(|readiness| readiness.clock_settled = false);
            return None;
        }
        self.set_readiness(|readiness| readiness.clock_settled = true);
        let now = self.clock.now();
        Some(self.away_since.map_or(0, |since| now.since(since)))
    }

    fn lapse(&mut self, draft: &mut BatchDraft) {
        let savepoint = draft.savepoint();
        let lapsed = watch::lapse(draft, self.clock.now());
        self.lapse_failed = !matches!(lapsed, Ok(0));
        if let Err(fault) = lapsed {
            tracing::error!(%fault, "a network's lapse broke the rules and was dropped");
            draft.restore(savepoint);
        }
    }

    /// Answers everything that waits with `refusal`, an X811-9001; no nonce is spent.
    fn refuse_waiting(&mut self, refusal: &Refusal) {
        for item in self.waiting.drain(..) {
            match item {
                Item::Message { reply, .. } => {
                    // A sender that is gone needs no answer.
                    let _ = reply.send(Err(refusal.clone()));
                }
                Item::Erasure { reply, .. } => {
                    let _ = reply.send(Err(refusal.clone()));
                }
                Item::Lift { reply, .. } => {
                    let _ = reply.send(Err(refusal.clone()));
                }
                Item::Notices(_) => self.notices_lost = true,
                // The watcher looks again.
                Item::Observation(_) => {}
            }
        }
    }

    async fn tick(&mut self) {
        let monotonic_ms = self.clock.monotonic_ms();
        if monotonic_ms < self.last_tick_ms + TICK_MS {
            return;
        }
        self.last_tick_ms = monotonic_ms;
        if !self.clock.is_settled() || self.readiness.borrow().rows_stuck {
            return;
        }
        let now = self.clock.now();
        let is_recorded = self.world.head().recorded_at_ms.saturating_add(TICK_MS) > now.as_ms();
        // A process that dies before its time away is durable was away since that began.
        if self.away_since.is_none()
            && !is_recorded
            && let Err(error) = self.store.tick(now).await
        {
            tracing::warn!(%error, "the tick could not be written");
        }
        if monotonic_ms >= self.last_purge_ms.saturating_add(PURGE_MS) {
            self.last_purge_ms = monotonic_ms;
            let before = now.saturating_sub_ms(self.world.nonces_held_ms());
            if let Err(error) = self.store.purge_nonces(before).await {
                tracing::warn!(%error, "old nonces could not be purged");
            }
        }
        self.world.forget_old(now);
        if std::mem::take(&mut self.notices_lost) {
            self.sign(self.world.owed().map(owed).collect());
        }
    }

    /// Has notices signed off this task; they come back as an item.
    fn sign(&self, owed: Vec<Owed>) {
        let Some(items) = self.own_items.upgrade().filter(|_| !owed.is_empty()) else {
            return;
        };
        let (notary, entropy) = (self.notary.clone(), self.entropy.clone());
        let now = self.clock.now();
        tokio::spawn(async move {
            for owed in owed.chunks(NOTICES_PER_ITEM) {
                let signed = owed
                    .iter()
                    .map(|owed| notary.sign(owed, now, &*entropy))
                    .collect();
                // When the sequencer is gone the notices stay owed, and the next start signs them.
                let _ = items.send(Item::Notices(signed)).await;
            }
        });
    }

    fn set_readiness(&self, change: impl FnOnce(&mut Readiness)) {
        self.readiness.send_if_modified(|readiness| {
            let before = readiness.clone();
            change(readiness);
            *readiness != before
        });
    }
}

fn owed((cause, to, notice): (u64, x811_protocol::did::Did, &x811_world::OwedNotice)) -> Owed {
    Owed {
        cause,
        to,
        notice: notice.clone(),
    }
}
