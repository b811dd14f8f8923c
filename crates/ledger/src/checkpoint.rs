//! The last signed checkpoint, kept away from the log, so that a log that lost records is noticed.
//!
//! A data directory that was restored from an older copy looks whole: only something outside it
//! can tell that records are missing. Once a second at most, size and root of the log are signed
//! and put into a [`CheckpointStore`]; at the next start the log must extend what was signed, or
//! the ledger does not start. So it never signs a fork of its own history.
//!
//! Nobody waits for a checkpoint: acknowledged is what is durable in the log. What was acknowledged
//! within the last second before a crash is therefore not covered by the checkpoint. Where none can be
//! stored, [`Unstored`] says so at once, and after [`MAX_UNSTORED_MS`] no messages are taken.

use crate::clock::Clock;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use x811_audit::checkpoint_note::verifier;
use x811_eventlog::{BackendError, Checkpoint, CheckpointError, CoseReceipt, Frontier, Hash};
use x811_protocol::key::SecretKey;
use x811_world::World;
use x811_world::keys_statement::{KeysStatement, SignedKeys};

/// Time between two checkpoints, and before a failed one is tried again (ledger-contract.md
/// section 1.5).
const INTERVAL_MS: u64 = 1_000;

/// Milliseconds for which records may wait for a stored checkpoint before the ledger is not ready
/// (ledger-contract.md section 1.5).
pub const MAX_UNSTORED_MS: u64 = 10_000;

/// Milliseconds after which a store that does not answer needs attention.
const SLOW_STORE_MS: u64 = 3_000;

/// Where the last signed checkpoint lies: never in the data directory, nor restored with it.
pub trait CheckpointStore: Send + Sync + 'static {
    /// The last one, as it was signed; `None` when there never was one.
    fn load(&self) -> impl Future<Output = Result<Option<String>, CheckpointStoreError>> + Send;

    /// Replaces `previous` by `next`, durably, if `previous` is what is stored.
    fn compare_and_swap(
        &self,
        previous: Option<String>,
        next: String,
    ) -> impl Future<Output = Result<(), CheckpointStoreError>> + Send;

    /// True if that checkpoint is stored, in every place that the store has.
    fn holds(&self, note: &str) -> impl Future<Output = bool> + Send {
        async move {
            let found = self.load().await;
            found.is_ok_and(|found| found.as_deref() == Some(note))
        }
    }

    /// The path of the checkpoint for messages, or what stands for it.
    fn place(&self) -> String {
        "the checkpoint's directory".to_owned()
    }
}

/// Why a checkpoint was not read or stored.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointStoreError {
    /// Something else is stored: another process signs for this log.
    #[error(
        "the stored checkpoint is not the one this ledger stored last: another process signs for \
         the same log. Make sure that one only runs, then start"
    )]
    Conflict,
    /// Another process is the writer of the log by now, and stores its checkpoints: nothing is amiss.
    #[error("another process writes to this ledger by now: it signs the checkpoints")]
    Fenced,
    /// The place failed; whether a swap was done is unknown.
    #[error("the checkpoint could not be read or stored: {0}")]
    Backend(#[source] BackendError),
}

/// Why the log cannot be one that the last checkpoint was signed for.
#[derive(Debug, thiserror::Error)]
pub enum Misfit {
    /// Records are missing at the end.
    #[error(
        "the log ends after {log} records, but {signed} were acknowledged and signed: the data \
         directory was restored from an older copy, its disk lost writes, or another process goes \
         on with a newer copy, which then must end. Restore a copy with at least {signed} records. \
         Only if there is none: begin a new ledger behind it with `x811 ledger reopen`, and tell your \
         agents that what came after record {log} is lost"
    )]
    Behind {
        /// Records there are.
        log: u64,
        /// Records the checkpoint was signed for.
        signed: u64,
    },
    /// The records are others.
    #[error(
        "the first {size} records are not those that a checkpoint was signed for: the log was \
         forked, by two processes on two copies for instance. Find the copy whose first {size} \
         records have the signed root, and go on with that one"
    )]
    Forked {
        /// Records the checkpoint was signed for.
        size: u64,
    },
}

/// What a log must extend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard<'a>(Option<&'a Checkpoint>);

impl<'a> Guard<'a> {
    /// Refuses a log of `size` records that is too short.
    pub(crate) fn over(signed: Option<&'a Checkpoint>, size: u64) -> Result<Guard<'a>, Misfit> {
        match signed {
            Some(signed) if signed.size > size => Err(Misfit::Behind {
                log: size,
                signed: signed.size,
            }),
            _ => Ok(Guard(signed)),
        }
    }

    /// To be called for every size that the replay reaches; compares roots at the signed one.
    pub(crate) fn reached(self, world: &World) -> Result<(), Misfit> {
        match self.0 {
            Some(signed)
                if signed.size == world.head().size && signed.root != world.frontier().root() =>
            {
                Err(Misfit::Forked { size: signed.size })
            }
            _ => Ok(()),
        }
    }
}

/// Signs checkpoints of one log, and knows its own signature.
#[derive(Debug)]
pub struct CheckpointSigner {
    origin: String,
    key: SecretKey,
}

impl CheckpointSigner {
    /// Signs for the log `origin` with the secret half of `keys.checkpoint` (record.md section 2).
    pub fn new(origin: impl Into<String>, key: SecretKey) -> CheckpointSigner {
        CheckpointSigner {
            origin: origin.into(),
            key,
        }
    }

    /// Reads a stored checkpoint back.
    ///
    /// # Errors
    /// [`CheckpointError`] when it was changed, or is another log's.
    pub fn open(&self, note: &str) -> Result<Checkpoint, CheckpointError> {
        let public = self.key.public();
        Checkpoint::open(note, &self.origin, *public.as_bytes(), verifier(public))
    }

    /// The signed checkpoint of the log before its first record.
    ///
    /// # Errors
    /// [`CheckpointError`] when the origin cannot be signed under.
    pub fn empty(&self) -> Result<String, CheckpointError> {
        self.over(0, Frontier::new().root())
    }

    /// A signed checkpoint of `size` records with that root.
    ///
    /// # Errors
    /// As [`CheckpointSigner::empty`].
    pub fn over(&self, size: u64, root: Hash) -> Result<String, CheckpointError> {
        let checkpoint = Checkpoint {
            origin: self.origin.clone(),
            size,
            root,
        };
        let sign = |message: &[u8]| *self.key.sign(message).as_bytes();
        Ok(checkpoint.sign(*self.key.public().as_bytes(), sign)?)
    }

    /// A checkpoint that another process of this ledger signed with the same key and stored, seen on
    /// the monotonic clock at `monotonic_ms`. `world` must reflect at least the records that it covers,
    /// and the caller has compared its root. Nothing is signed that was not before.
    ///
    /// # Errors
    /// As [`CheckpointSigner::open`].
    pub fn stored(
        &self,
        note: &str,
        world: &World,
        monotonic_ms: u64,
    ) -> Result<Signed, CheckpointError> {
        let checkpoint = self.open(note)?;
        let public = *self.key.public().as_bytes();
        let cose = CoseReceipt::signed_bytes(&self.origin, public, checkpoint.root);
        Ok(Signed {
            cose_signature: *self.key.sign(&cose).as_bytes(),
            keys: self.keys(world, &checkpoint),
            note: note.to_owned(),
            checkpoint,
            monotonic_ms,
        })
    }

    /// What `world` shows, and that as it is signed.
    fn sign(&self, world: &World) -> Result<Made, CheckpointError> {
        let checkpoint = Checkpoint {
            origin: self.origin.clone(),
            size: world.head().size,
            root: world.frontier().root(),
        };
        let sign = |message: &[u8]| *self.key.sign(message).as_bytes();
        let public = *self.key.public().as_bytes();
        let note = checkpoint.sign(public, sign)?;
        let cose = CoseReceipt::signed_bytes(&self.origin, public, checkpoint.root);
        Ok(Made {
            cose_signature: sign(&cose),
            keys: self.keys(world, &checkpoint),
            checkpoint,
            note,
        })
    }

    /// The keys statement of that checkpoint; `None` where another key has to sign it, or nothing
    /// says which.
    fn keys(&self, world: &World, checkpoint: &Checkpoint) -> Option<SignedKeys> {
        let statement = KeysStatement::of(world.identity()?, world.keyring()?, checkpoint);
        let is_ours = statement.keys.checkpoint == self.key.public();
        is_ours.then(|| statement.sign(&self.key))
    }
}

/// A checkpoint that was signed.
struct Made {
    checkpoint: Checkpoint,
    note: String,
    cose_signature: [u8; 64],
    keys: Option<SignedKeys>,
}

/// Why checkpoints are not signed any more. The process must end, or stand by where another one is the
/// writer: the log may be forking.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointStopped {
    /// Another process signs for the same log, or has taken over.
    #[error(transparent)]
    Store(CheckpointStoreError),
    /// The origin cannot be signed under.
    #[error("no checkpoint can be signed: {0}")]
    Unsignable(#[from] CheckpointError),
}

/// A checkpoint that was signed and stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// What it says.
    pub checkpoint: Checkpoint,
    /// The signed note, as it is stored.
    pub note: String,
    /// The same key's signature over the root, for COSE receipts ([`CoseReceipt::signed_bytes`]).
    pub cose_signature: [u8; 64],
    /// The keys statement of the same records (ledger-contract.md section 8); `None` where the
    /// signer's key is not the log's checkpoint key.
    pub keys: Option<SignedKeys>,
    /// When it was stored, on the monotonic clock.
    pub monotonic_ms: u64,
}

/// Records that no stored checkpoint covers: one is being stored, or could not be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unstored {
    /// Milliseconds since the first attempt to store one began, in steps of one second. A process
    /// that was suspended counts one step, because no attempt was under way.
    pub waited_ms: u64,
    /// True once an attempt has failed.
    pub has_failed: bool,
}

impl Unstored {
    /// True if the operator has to act: an attempt failed, or the store does not answer.
    #[must_use]
    pub const fn needs_attention(&self) -> bool {
        self.has_failed || self.waited_ms >= SLOW_STORE_MS
    }

    /// True if the ledger takes no messages until a checkpoint is stored.
    #[must_use]
    pub const fn is_overdue(&self) -> bool {
        self.waited_ms >= MAX_UNSTORED_MS
    }
}

/// One more interval has passed without a stored checkpoint.
fn waited(unstored: &watch::Sender<Option<Unstored>>) {
    unstored.send_if_modified(|unstored| match unstored {
        Some(unstored) => {
            unstored.waited_ms += INTERVAL_MS;
            true
        }
        None => false,
    });
}

/// Follows a running ledger and signs.
pub struct Checkpoints<S, C> {
    store: Arc<S>,
    clock: Arc<C>,
    signer: CheckpointSigner,
    /// What is stored.
    stored: Option<String>,
    signed: watch::Sender<Option<Signed>>,
    unstored: watch::Sender<Option<Unstored>>,
}

impl<S: CheckpointStore, C: Clock> Checkpoints<S, C> {
    /// Goes on from `stored`, which [`CheckpointStore::load`] returned.
    pub fn new(
        store: Arc<S>,
        clock: Arc<C>,
        signer: CheckpointSigner,
        stored: Option<String>,
    ) -> Self {
        Checkpoints {
            store,
            clock,
            signer,
            stored,
            signed: watch::Sender::new(None),
            unstored: watch::Sender::new(None),
        }
    }

    /// The records that wait for a stored checkpoint; `None` while the last one covers all.
    pub fn unstored(&self) -> watch::Receiver<Option<Unstored>> {
        self.unstored.subscribe()
    }

    /// The last one that was stored; `None` as long as none was since [`Checkpoints::new`].
    pub fn signed(&self) -> watch::Receiver<Option<Signed>> {
        self.signed.subscribe()
    }

    /// Signs what `worlds` shows until it ends, and then its last state. A place that fails is
    /// tried again; the ledger goes on meanwhile.
    ///
    /// # Errors
    /// [`CheckpointStopped`].
    pub async fn run(
        mut self,
        mut worlds: watch::Receiver<Arc<World>>,
    ) -> Result<(), CheckpointStopped> {
        loop {
            let world = worlds.borrow_and_update().clone();
            let is_stored = self.catch_up_watched(&world).await?;
            let mut more = worlds.clone();
            let next = async {
                self.clock.sleep_ms(INTERVAL_MS).await;
                // What could not be stored is tried again, whether there is more or not.
                if !is_stored {
                    waited(&self.unstored);
                } else if more.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = next => {}
                () = ended(worlds.clone()) => break,
            }
        }
        let last = worlds.borrow().clone();
        if !self.catch_up(&last).await? {
            tracing::warn!("the last checkpoint is older than the log's last record");
        }
        Ok(())
    }

    /// Runs [`Checkpoints::catch_up`] and counts how long it takes, because a store may never answer.
    async fn catch_up_watched(&mut self, world: &World) -> Result<bool, CheckpointStopped> {
        let (clock, unstored) = (self.clock.clone(), self.unstored.clone());
        let mut attempt = pin!(self.catch_up(world));
        loop {
            tokio::select! {
                biased;
                done = &mut attempt => return done,
                () = clock.sleep_ms(INTERVAL_MS) => waited(&unstored),
            }
        }
    }

    /// Signs and stores unless that is what is stored; `false` when the place failed.
    ///
    /// # Errors
    /// [`CheckpointStopped`].
    pub async fn catch_up(&mut self, world: &World) -> Result<bool, CheckpointStopped> {
        let made = self.signer.sign(world)?;
        let next = made.note.clone();
        if self.stored.as_ref() == Some(&next) {
            return Ok(true);
        }
        self.attempt_begins();
        let size = made.checkpoint.size;
        let is_stored = match self.swap(&next).await {
            Ok(()) => true,
            Err(CheckpointStoreError::Conflict) => self.after_conflict(&next, size).await?,
            Err(error @ CheckpointStoreError::Fenced) => {
                return Err(CheckpointStopped::Store(error));
            }
            Err(error @ CheckpointStoreError::Backend(_)) => {
                tracing::error!(%error, size, "no checkpoint was stored");
                // The swap may have been done all the same.
                self.store.holds(&next).await
            }
        };
        match is_stored {
            true => self.note(made),
            false => self.attempt_failed(),
        }
        Ok(is_stored)
    }

    async fn swap(&self, next: &str) -> Result<(), CheckpointStoreError> {
        let previous = self.stored.clone();
        self.store.compare_and_swap(previous, next.to_owned()).await
    }

    /// Something else is stored than this ledger stored last. Where that is nothing, the file was
    /// removed or its disk is not mounted: it is waited for. Where it is the last one after all, it was
    /// put back. Anything else is by another process.
    ///
    /// # Errors
    /// [`CheckpointStopped`].
    async fn after_conflict(&self, next: &str, size: u64) -> Result<bool, CheckpointStopped> {
        let conflict = || CheckpointStopped::Store(CheckpointStoreError::Conflict);
        match self.store.load().await {
            Ok(None) if self.stored.is_some() => {
                let place = self.store.place();
                tracing::error!(
                    size,
                    "no checkpoint was stored: the last one is not in {place} any more. Put it back, or \
                     mount its disk; none is begun in its place"
                );
                Ok(false)
            }
            Ok(_) if self.store.holds(next).await => Ok(true),
            Ok(found) if found == self.stored => match self.swap(next).await {
                Ok(()) => Ok(true),
                Err(CheckpointStoreError::Conflict) => Err(conflict()),
                Err(error @ CheckpointStoreError::Fenced) => Err(CheckpointStopped::Store(error)),
                Err(error @ CheckpointStoreError::Backend(_)) => {
                    tracing::error!(%error, size, "no checkpoint was stored");
                    Ok(false)
                }
            },
            Ok(_) => Err(conflict()),
            Err(error) => {
                tracing::error!(%error, size, "no checkpoint was stored");
                Ok(false)
            }
        }
    }

    /// Records wait from now on, unless they do already.
    fn attempt_begins(&self) {
        self.unstored.send_if_modified(|unstored| {
            let is_first = unstored.is_none();
            if is_first {
                *unstored = Some(Unstored::default());
            }
            is_first
        });
    }

    fn attempt_failed(&self) {
        self.unstored.send_modify(|unstored| {
            if let Some(unstored) = unstored {
                unstored.has_failed = true;
            }
        });
    }

    /// Notes that `made` is what is stored.
    fn note(&mut self, made: Made) {
        self.unstored.send_replace(None);
        self.stored = Some(made.note.clone());
        self.signed.send_replace(Some(Signed {
            checkpoint: made.checkpoint,
            note: made.note,
            cose_signature: made.cose_signature,
            keys: made.keys,
            monotonic_ms: self.clock.monotonic_ms(),
        }));
    }
}

/// Ready when no further state will come.
async fn ended(mut worlds: watch::Receiver<Arc<World>>) {
    while worlds.changed().await.is_ok() {}
}

/// A [`CheckpointStore`] that forgets everything when it is dropped, for tests.
#[derive(Debug, Default)]
pub struct MemoryCheckpointStore(Mutex<Option<String>>);

impl MemoryCheckpointStore {
    /// Nothing signed yet.
    pub fn new() -> MemoryCheckpointStore {
        MemoryCheckpointStore::default()
    }

    /// What is stored.
    pub fn stored(&self) -> Option<String> {
        self.lock().clone()
    }

    /// Stores without comparing, as another process would.
    pub fn replace(&self, note: Option<String>) {
        *self.lock() = note;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckpointStore for MemoryCheckpointStore {
    async fn load(&self) -> Result<Option<String>, CheckpointStoreError> {
        Ok(self.stored())
    }

    async fn compare_and_swap(
        &self,
        previous: Option<String>,
        next: String,
    ) -> Result<(), CheckpointStoreError> {
        let mut stored = self.lock();
        if *stored != previous {
            return Err(CheckpointStoreError::Conflict);
        }
        *stored = Some(next);
        Ok(())
    }
}
