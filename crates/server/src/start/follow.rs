//! A process that stands by (stores.md sections 2, 3 and 5): it follows the log that another one
//! writes, with rows and a world of its own, answers reads by them as far as the log is published, and
//! passes on what is sent to it.

use super::checkpoint::{CheckpointFault, Signers, Stored};
use super::raise::Addresses;
use super::rows::{Warm, open_rows};
use super::stop::RunError;
use super::{StartError, cards, opening, signed_reads};
use crate::app::{App, RunningLedger};
use crate::config::{NetworkConfig, ServerConfig};
use crate::contract_wallets::AskedContracts;
use crate::feed::Feeds;
use crate::keys::{Identity, KeyError};
use crate::limits::Limiter;
use crate::metrics::HttpFigures;
use crate::others;
use crate::passing::Passing;
use crate::presence::Presence;
use crate::role::{Role, Seen, StandbyLog};
use crate::start::blindness::BlindnessBound;
use crate::start::log_check::LogCheck;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, oneshot, watch};
use tokio::task::JoinHandle;
use x811_ledger::checkpoint::{CheckpointSigner, CheckpointStoreError, Signed};
use x811_ledger::clock::Clock;
use x811_ledger::entropy::Entropy;
use x811_ledger::port::ReadModel as _;
use x811_ledger::proof;
use x811_ledger::sequencer::{self, Follower, OpenError, RowsError};
use x811_store::{
    Backend, CheckpointPlaces, Database, FileCheckpointStore, PostgresError, Published, ReadRows,
};
use x811_watcher::NetworkHealth;
use x811_world::World;

/// Time between two looks at the published head, in milliseconds.
const LOOK_MS: u64 = 100;

/// Looks after which this process says again how far it is.
const LOOKS_TO_TELL: u64 = 10;

/// Looks after which it is looked again on which timeline the database is.
const LOOKS_AT_TIMELINE: u64 = 50;

/// How long the database may take to say on which timeline it is: a take-over waits for that.
const TIMELINE_PATIENCE: Duration = Duration::from_millis(500);

/// How long the database may take to say what is published.
const LOOK_PATIENCE: Duration = Duration::from_millis(2_000);

/// What follows a log, before it is served.
pub(super) struct Begun<C> {
    pub(super) identity: Identity,
    store: Arc<Backend>,
    rows: Arc<ReadRows>,
    signer: CheckpointSigner,
    places: Arc<CheckpointPlaces>,
    follower: Follower<Backend, ReadRows, C>,
    ledger: RunningLedger<C>,
}

/// What runs of a process that follows.
pub(super) struct Following {
    pub(super) follower: JoinHandle<Result<Option<World>, OpenError>>,
    pub(super) looks: JoinHandle<Result<(), RunError>>,
    rows: Arc<ReadRows>,
    notes: Notes,
    enough: oneshot::Sender<()>,
    pub(super) phase: watch::Sender<bool>,
}

/// The stored checkpoint is none of the log that is followed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the first {size} records in the database are not those that the ledger signed a checkpoint for: the \
     log was forked. Find the copy that has the signed root, and go on with that one"
)]
pub struct Unlike {
    /// Records that the checkpoint covers.
    pub size: u64,
}

impl<C: Clock> Begun<C> {
    /// Reads the log in `database` as far as it is published; `None` where there is none yet.
    pub(super) async fn of(
        config: &ServerConfig,
        (database, file): (&Database, &FileCheckpointStore),
        clock: &Arc<C>,
    ) -> Result<Option<Begun<C>>, StartError> {
        let store = match Backend::open_following(database).await {
            Ok(store) => Arc::new(store),
            Err(error) if error.is_no_ledger() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if store.stored_size().await? == 0 {
            return Ok(None);
        }
        let Some(identity) = Identity::load(&config.data_dir)? else {
            return Err(StartError::Keys(KeyError::Missing {
                data_dir: config.data_dir.clone(),
            }));
        };
        Backend::note_address(&config.data_dir, database)?;
        let signers = Signers::of(&identity);
        let stored = Stored::load(file.clone(), &store).await?;
        stored.keep_to_timeline(identity.opened.log_id).await?;
        others::set_clock(&store, &**clock).await;
        let checkpoint = stored.checked(&signers)?;
        let rows = Arc::new(open_rows(&config.data_dir).await?);
        let reflected = rows.applied_size().await.map_err(RowsError::Read);
        let reflected = reflected.map_err(OpenError::from)?;
        let signed = checkpoint.as_ref().map_or(0, |signed| signed.size);
        published_to(&store, reflected.max(signed), &**clock).await?;
        let opening = opening(config, &identity, checkpoint);
        let followed = sequencer::follow(store.clone(), rows.clone(), clock.clone(), &opening);
        let (follower, ledger) = followed.await?;
        Ok(Some(Begun {
            signer: signers.into_present(),
            places: stored.into_places(),
            identity,
            store,
            rows,
            follower,
            ledger,
        }))
    }

    /// Begins to follow, and gives what answers meanwhile.
    pub(super) async fn run<E: Entropy>(
        self,
        config: &ServerConfig,
        (clock, entropy): (&Arc<C>, &Arc<E>),
        at: &Addresses,
    ) -> Result<(Following, Arc<App<C>>), StartError> {
        let (phase, stopping) = watch::channel(false);
        let (told, seen) = watch::channel(None);
        let (signed, signed_seen) = watch::channel(None);
        let notes = Notes::of(self.places);
        let looks = Looks {
            store: self.store.clone(),
            ledger: self.ledger.clone(),
            signer: self.signer,
            notes: notes.clone(),
            clock: clock.clone(),
            name: at.name(config),
            log_id: self.identity.opened.log_id.to_string(),
            told,
            signed,
        };
        let (enough, until) = oneshot::channel();
        let until = async {
            // Who could say so is gone: the same.
            let _ = until.await;
        };
        let identity = self.identity;
        let log = (identity.opened.log_id, self.ledger.world().head().size);
        // Acknowledgements are the writer's; here they are only read.
        let (feeds, acks) = Feeds::open(&config.data_dir, log, clock, &identity.envelope_key).await;
        let records = log.1;
        tracing::info!(address = %at.local_addr, records, "another process writes: this one stands by");
        let app = Arc::new(App {
            connections: at.figures.clone(),
            log_check: watch::channel(LogCheck::default()).1,
            parameters: config.parameters(),
            signed_reads: signed_reads(config, at.local_addr, self.ledger.now()),
            ledger: self.ledger,
            clock: clock.clone(),
            data_dir: config.data_dir.clone(),
            http: HttpFigures::default(),
            cards: cards(config, at.local_addr, &identity),
            passing: Passing::new(&identity.envelope_key, config.peers.clone(), &**entropy),
            role: Role::Standby(StandbyLog {
                store: self.store.clone(),
                seen,
            }),
            others: others::look_around(&self.store, clock, at.name(config), &stopping),
            identity: identity.opened,
            receipt_key: identity.receipt_key,
            checkpoint_key: identity.checkpoint_key,
            open_reads: config.open_reads,
            log_readers: config.log_readers,
            blindness: BlindnessBound::of(&config.network),
            body_read_ms: config.connections.body_read_ms,
            limiter: Limiter::new(
                config.rate_limits.clone(),
                !config.public_authorities.is_empty(),
            ),
            contracts: contracts(&config.network)?,
            presence: Presence::default(),
            feeds,
            signed: signed_seen,
            unstored: watch::channel(None).1,
            watching: watch::channel(NetworkHealth::default()).1,
            stopping: stopping.clone(),
        });
        let looking = async move {
            let looked = tokio::select! {
                looked = looks.run() => looked,
                () = crate::app::stopped(stopping) => Ok(()),
            };
            drop(acks);
            looked
        };
        let following = Following {
            follower: tokio::spawn(self.follower.run(until)),
            looks: tokio::spawn(looking),
            rows: self.rows,
            notes,
            enough,
            phase,
        };
        Ok((following, app))
    }
}

fn contracts(network: &NetworkConfig) -> Result<Arc<AskedContracts>, StartError> {
    Ok(Arc::new(AskedContracts::new(&[network])?))
}

impl Following {
    /// Ends it, and gives what it has of the log. Looks go on, for those who still read by them.
    pub(super) async fn end(self) -> Warm {
        self.notes.end().await;
        // It may have ended by itself.
        let _ = self.enough.send(());
        let world = match self.follower.await {
            Ok(Ok(world)) => world,
            Ok(Err(_)) | Err(_) => None,
        };
        Warm {
            world,
            rows: Some(self.rows),
        }
    }
}

/// Whether the database is on a timeline that was left behind by a promotion.
fn is_left_behind(error: &CheckpointStoreError) -> bool {
    let CheckpointStoreError::Backend(source) = error else {
        return false;
    };
    let source = source.downcast_ref::<PostgresError>();
    matches!(source, Some(PostgresError::OldTimeline { .. }))
}

/// Waits, for a while, until so many records are published. Where the log has fewer at all, or nobody
/// publishes, that is for others to find.
async fn published_to<C: Clock>(store: &Backend, size: u64, clock: &C) -> Result<(), StartError> {
    loop {
        let published = store.look().await.map_err(x811_store::OpenError::from)?;
        let reached = published.is_none_or(|published| published.size >= size);
        if reached || store.stored_size().await? < size {
            return Ok(());
        }
        clock.sleep_ms(LOOK_MS).await;
    }
}

/// Puts the checkpoints that another process stored into the file of this host, for as long as this one
/// stands by. Who takes over signs on from what that file held when it was read: nobody else may touch
/// it from then on.
#[derive(Clone)]
struct Notes(Arc<Mutex<Option<Arc<CheckpointPlaces>>>>);

impl Notes {
    fn of(places: Arc<CheckpointPlaces>) -> Notes {
        Notes(Arc::new(Mutex::new(Some(places))))
    }

    /// Notes it, unless that has ended.
    async fn note(&self, note: &str) {
        let places = self.0.lock().await;
        let Some(places) = &*places else { return };
        if let Err(error) = places.note(note.to_owned()).await {
            tracing::warn!(%error, "the checkpoint is not noted on this host");
        }
    }

    /// Notes the timeline that the database is on by now, unless noting has ended; refuses one before that
    /// which was noted.
    async fn keep_to_timeline(&self, log_id: &str) -> Result<(), CheckpointStoreError> {
        let places = self.0.lock().await;
        let Some(places) = &*places else {
            return Ok(());
        };
        let kept = tokio::time::timeout(TIMELINE_PATIENCE, places.keep_to_timeline(log_id));
        kept.await.unwrap_or(Ok(()))
    }

    /// True if this host has a checkpoint. The first is taken from a writer that is seen to live.
    async fn are_begun(&self) -> bool {
        let places = self.0.lock().await;
        places.as_ref().is_some_and(|places| places.is_on_host())
    }

    /// Ends it, once what is under way is done.
    async fn end(&self) {
        *self.0.lock().await = None;
    }
}

/// Looks at the published head, again and again.
struct Looks<C> {
    store: Arc<Backend>,
    ledger: RunningLedger<C>,
    signer: CheckpointSigner,
    notes: Notes,
    clock: Arc<C>,
    name: String,
    log_id: String,
    told: watch::Sender<Option<Seen>>,
    signed: watch::Sender<Option<Signed>>,
}

impl<C: Clock> Looks<C> {
    async fn run(self) -> Result<(), RunError> {
        let (mut looks, mut renewed_at_ms, mut lives) = (0_u64, None, false);
        loop {
            let monotonic_ms = self.clock.monotonic_ms();
            match tokio::time::timeout(LOOK_PATIENCE, self.store.look()).await {
                Ok(Ok(Some(published))) => {
                    // A copy of a database names a writer, and nobody renews its lease.
                    let before_ms = renewed_at_ms.replace(published.at_ms);
                    lives |= before_ms.is_some_and(|before_ms| before_ms != published.at_ms);
                    self.is_still_there(&published).await?;
                    let is_shown = self.is_shown(published.size).await;
                    if lives || self.notes.are_begun().await {
                        self.sign_as(&published).await?;
                    }
                    let seen = Seen {
                        published,
                        monotonic_ms,
                    };
                    if is_shown {
                        self.told.send_replace(Some(seen));
                    }
                }
                Ok(Ok(None)) => {}
                Ok(Err(error)) => tracing::debug!(%error, "the published head cannot be looked at"),
                Err(_) => tracing::debug!("the database does not say what is published"),
            }
            if looks.is_multiple_of(LOOKS_TO_TELL) {
                let size = self.ledger.world().head().size;
                if let Err(error) = self.store.note_follower(&self.name, size).await {
                    tracing::debug!(%error, "it is not noted how far this process follows");
                }
            }
            if looks.is_multiple_of(LOOKS_AT_TIMELINE) {
                self.keep_to_timeline().await?;
            }
            looks += 1;
            self.clock.sleep_ms(LOOK_MS).await;
        }
    }

    /// Keeps the file `timeline` of this host as new as what it follows: after a promotion the server that was
    /// left behind is refused, also by a process that only ever stood by.
    async fn keep_to_timeline(&self) -> Result<(), RunError> {
        let Err(error) = self.notes.keep_to_timeline(&self.log_id).await else {
            return Ok(());
        };
        if is_left_behind(&error) {
            let refused = StartError::Checkpoint(CheckpointFault::Store(error));
            return Err(Box::new(refused).into());
        }
        tracing::debug!(%error, "it is not known on which timeline the database is");
        Ok(())
    }

    /// What is shown must not vanish: a database that has less was restored from an older copy, or the
    /// wrong one of its standbys was promoted.
    async fn is_still_there(&self, published: &Published) -> Result<(), RunError> {
        let shown = self.ledger.world().head().size;
        if published.size >= shown {
            return Ok(());
        }
        match self.store.stored_size().await {
            Ok(stored) if stored < shown => {
                let (rows, log) = (shown, stored);
                Err(OpenError::RowsAhead { rows, log }.into())
            }
            // How far it is published is told a little later than the records come.
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::debug!(%error, "the log cannot be looked at");
                Ok(())
            }
        }
    }

    /// Waits until world and rows reflect so many records: what was published before they do is no
    /// news of what is shown.
    async fn is_shown(&self, size: u64) -> bool {
        let Some(last) = size.checked_sub(1) else {
            return true;
        };
        let mut worlds = self.ledger.follow();
        let shown = async {
            let world = worlds
                .wait_for(|world| world.head().size >= size)
                .await
                .is_ok();
            world && self.ledger.rows_reflect(last).await.is_ok()
        };
        tokio::time::timeout(LOOK_PATIENCE, shown)
            .await
            .unwrap_or(false)
    }

    /// Shows the checkpoint that the writer stored, once the rows reflect what it covers and have its
    /// root. One that is not the ledger's own is not shown.
    async fn sign_as(&self, published: &Published) -> Result<(), RunError> {
        let Some(note) = &published.checkpoint else {
            return Ok(());
        };
        let is_known = self
            .signed
            .borrow()
            .as_ref()
            .is_some_and(|signed| signed.note == *note);
        if is_known {
            return Ok(());
        }
        let Ok(checkpoint) = self.signer.open(note) else {
            tracing::debug!("the stored checkpoint is not by this ledger's present key");
            return Ok(());
        };
        let world = self.ledger.world();
        let reflected = world.head().size.saturating_sub(self.ledger.rows_lag());
        if checkpoint.size > reflected {
            return Ok(());
        }
        let root = match proof::root(self.ledger.read_model(), checkpoint.size).await {
            Ok(root) => root,
            Err(error) => {
                tracing::warn!(%error, "the stored checkpoint cannot be compared");
                return Ok(());
            }
        };
        if root != checkpoint.root {
            let size = checkpoint.size;
            return Err(Unlike { size }.into());
        }
        self.notes.note(note).await;
        if let Ok(signed) = self.signer.stored(note, &world, self.clock.monotonic_ms()) {
            self.signed.send_replace(Some(signed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use x811_ledger::checkpoint::CheckpointStore as _;

    fn checkpoint(size: u64) -> String {
        format!("x811/test\n{size}\nroot\n")
    }

    /// The race of a take-over: the checkpoint that the other process stored last is seen while this one
    /// reads its file and signs on from there.
    #[tokio::test]
    async fn reliability_whoever_takes_over_has_the_checkpoint_file_to_itself() {
        let dir = tempfile::tempdir().unwrap();
        let (data, kept) = (dir.path().join("data"), dir.path().join("kept"));
        let log = Backend::open(&data, None).await.unwrap();
        let file = FileCheckpointStore::open(&kept).unwrap();
        let places = |log: &Backend| Arc::new(log.checkpoints(file.clone()));
        let notes = Notes::of(places(&log));
        notes.note(&checkpoint(1)).await;
        // A note that waits for another one.
        let under_way = notes.0.lock().await;
        let slow = tokio::spawn({
            let notes = notes.clone();
            async move { notes.note(&checkpoint(2)).await }
        });
        tokio::task::yield_now().await;
        let mut end = pin!(notes.end());
        tokio::select! {
            biased;
            () = &mut end => panic!("it waits for the note under way"),
            () = tokio::task::yield_now() => {}
        }
        drop(under_way);
        slow.await.unwrap();
        end.await;

        let writer = places(&log);
        let read = writer.load().await.unwrap();
        assert_eq!(read, Some(checkpoint(2)));
        notes.note(&checkpoint(3)).await;
        let next = checkpoint(4);
        writer.compare_and_swap(read, next).await.unwrap();
    }
}
