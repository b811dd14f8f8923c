//! Follows a log that another process writes (stores.md sections 2 and 3): keeps a world and rows of
//! its own as far as the store shows it, answers reads by them, and decides nothing. When this process
//! takes over, the sequencer goes on from that world.

use super::admission::Admission;
use super::batch::not_recorded;
use super::fair::Fair;
use super::open::{OpenError, Opening, QUEUE_ITEMS, last_up, read_event};
use super::rebuild::rebuild;
use super::together::Together;
use super::{Item, Ledger, Readiness};
use crate::clock::{Clock, LedgerClock};
use crate::figures::Figures;
use crate::port::{LedgerStore, ReadModel};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use x811_eventlog::{ChainVerifier, EventLog, ReadError};
use x811_world::World;
use x811_world::projection;
use x811_world::row::RowChange;

/// Records read at a time.
const PAGE: usize = 1_024;

/// How long a store that cannot be read, or rows that cannot be written, are left alone.
const RETRY_MS: u64 = 500;

/// What follows the log, before [`Follower::run`].
pub struct Follower<S, R, C> {
    store: Arc<S>,
    read_model: Arc<R>,
    clock: Arc<LedgerClock<C>>,
    world: World,
    chain: ChainVerifier,
    /// Changes of the rows that are not written yet, and the size that they begin at.
    unwritten: Option<(u64, Vec<RowChange>)>,
    items: mpsc::Receiver<Item>,
    published: watch::Sender<Arc<World>>,
    applied: watch::Sender<u64>,
    failing: watch::Sender<bool>,
    /// Held for the handles, which would else be told that the ledger is gone.
    _readiness: watch::Sender<Readiness>,
}

/// Reads what `store` shows of the log, and gives what follows it and the handle that answers by it.
/// Nothing is ever written to `store`.
///
/// # Errors
/// See [`OpenError`].
pub async fn follow<S, R, C>(
    store: Arc<S>,
    read_model: Arc<R>,
    clock: Arc<C>,
    opening: &Opening,
) -> Result<(Follower<S, R, C>, Ledger<S, R, C>), OpenError>
where
    S: LedgerStore,
    R: ReadModel,
    C: Clock,
{
    let world = rebuild(&*store, &*read_model, opening, None).await?.world;
    let clock = Arc::new(LedgerClock::start(clock, last_up(&*store, &world).await?));
    let (items, received) = mpsc::channel(QUEUE_ITEMS);
    let (published, world_seen) = watch::channel(Arc::new(world.clone()));
    let (applied, applied_seen) = watch::channel(world.head().size);
    let (failing, rows_failing) = watch::channel(false);
    let (readiness, readiness_seen) = watch::channel(Readiness::at_start(true));
    let figures = Arc::new(Figures::default());
    let ledger = Ledger {
        store: store.clone(),
        read_model: read_model.clone(),
        clock: clock.clone(),
        admission: Admission::new(),
        together: Together::start(figures.clone()),
        fair: Fair::new(),
        items,
        world: world_seen,
        applied: applied_seen,
        rows_wanted: Arc::new(watch::Sender::new(0)),
        rows_failing,
        watched: BTreeMap::new(),
        readiness: readiness_seen,
        figures,
    };
    let follower = Follower {
        store,
        read_model,
        clock,
        chain: ChainVerifier::from_head(world.head()),
        world,
        unwritten: None,
        items: received,
        published,
        applied,
        failing,
        _readiness: readiness,
    };
    Ok((follower, ledger))
}

impl<S: LedgerStore, R: ReadModel, C: Clock> Follower<S, R, C> {
    /// Follows until `until`, and gives the world that is reached then; `None` where the rows do not
    /// reflect it.
    ///
    /// # Errors
    /// [`OpenError`] when what is stored is no log, or breaks the rules. A store that cannot be reached
    /// is none: it is asked again.
    pub async fn run(
        mut self,
        until: impl Future<Output = ()>,
    ) -> Result<Option<World>, OpenError> {
        let mut until = pin!(until);
        loop {
            let is_there = self.catch_up().await?;
            let (clock, seen) = (self.clock.clone(), self.world.head().size);
            let store = self.store.clone();
            let next = async {
                if !is_there {
                    clock.source().sleep_ms(RETRY_MS).await;
                } else if let Err(error) = store.log().follow(seen).await {
                    tracing::warn!(%error, "the log cannot be followed");
                    clock.source().sleep_ms(RETRY_MS).await;
                }
            };
            tokio::select! {
                biased;
                () = &mut until => {
                    let is_written = self.unwritten.is_none();
                    return Ok(is_written.then_some(self.world));
                }
                Some(item) = self.items.recv() => refuse(item),
                () = next => {}
            }
        }
    }

    /// Takes in what the store shows; `false` where the store or the rows failed.
    async fn catch_up(&mut self) -> Result<bool, OpenError> {
        loop {
            if !self.write_rows().await {
                return Ok(false);
            }
            let from = self.world.head().size;
            let page = match self.store.log().read(from, PAGE).await {
                Ok(page) => page,
                Err(error @ ReadError::Damaged(_)) => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(%error, "the log cannot be followed");
                    return Ok(false);
                }
            };
            if page.is_empty() {
                self.world.forget_old(self.clock.now());
                return Ok(true);
            }
            let mut changes = Vec::new();
            for record in page {
                if let Some(broken) = self.chain.push(&record).into_iter().next() {
                    return Err(OpenError::Broken(broken));
                }
                let event = read_event(&record)?;
                let touched = self.world.apply(&record, &event)?;
                changes.extend(projection::changes(&self.world, &record, &event, &touched));
            }
            self.published.send_replace(Arc::new(self.world.clone()));
            self.unwritten = Some((from, changes));
        }
    }

    /// Writes the rows that are due; `false` where that failed.
    async fn write_rows(&mut self) -> bool {
        let Some((old_size, changes)) = self.unwritten.take() else {
            return true;
        };
        let new_size = self.world.head().size;
        if let Err(error) = self.read_model.apply(old_size, new_size, &changes).await {
            // A commit of unknown outcome may hold.
            if !matches!(self.read_model.applied_size().await, Ok(size) if size == new_size) {
                tracing::error!(%error, old_size, "rows could not be written");
                self.failing.send_replace(true);
                self.unwritten = Some((old_size, changes));
                return false;
            }
        }
        self.failing.send_if_modified(std::mem::take);
        self.applied.send_replace(new_size);
        true
    }
}

/// Whoever follows decides nothing.
fn refuse(item: Item) {
    match item {
        Item::Message { reply, .. } => drop(reply.send(Err(not_recorded()))),
        Item::Erasure { reply, .. } => drop(reply.send(Err(not_recorded()))),
        Item::Lift { reply, .. } => drop(reply.send(Err(not_recorded()))),
        Item::Observation(_) | Item::Notices(_) => {}
    }
}
