//! The last signed checkpoint at the start: found, checked, and handed to those who go on with it.

use crate::config::ServerConfig;
use crate::keys::Identity;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;
use x811_eventlog::{Checkpoint, CheckpointError};
use x811_ledger::checkpoint::{
    CheckpointSigner, CheckpointStopped, CheckpointStore as _, CheckpointStoreError, Checkpoints,
};
use x811_ledger::clock::Clock;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;
use x811_store::{Backend, CheckpointPlaces, FileCheckpointStore, NoCheckpointDir};
use x811_world::World;

/// The file in a data directory that names the place where its log goes on.
const MOVED: &str = "MOVED";

/// How often a host without a checkpoint looks whether it has one. It takes 5 s, in which a writer renews
/// its lease ten times.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOKS_FOR_WRITER: u32 = 10;

/// Who signs checkpoints, and who did until this start.
pub(super) struct Signers {
    present: CheckpointSigner,
    replaced: Option<CheckpointSigner>,
}

impl Signers {
    pub(super) fn of(identity: &Identity) -> Signers {
        let signer = |key: &SecretKey| CheckpointSigner::new(&identity.opened.origin, key.clone());
        let mut replaced = identity.replaced.iter();
        let replaced = replaced.find(|replaced| replaced.role == LedgerRole::Checkpoint);
        Signers {
            present: signer(&identity.checkpoint_key),
            replaced: replaced.map(|replaced| signer(&replaced.key)),
        }
    }
}

impl Signers {
    /// Who signs now.
    pub(super) fn into_present(self) -> CheckpointSigner {
        self.present
    }
}

/// Signs what `world` shows, and stores that.
pub(super) async fn sign<C: Clock>(
    checkpoints: &mut Checkpoints<CheckpointPlaces, C>,
    world: &World,
) -> Result<(), CheckpointFault> {
    match checkpoints.catch_up(world).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(CheckpointFault::Unstored),
        Err(stopped) => Err(CheckpointFault::Stopped(stopped)),
    }
}

/// The directory of the checkpoint on this host, locked for as long as this process lives.
pub(super) fn directory(config: &ServerConfig) -> Result<FileCheckpointStore, CheckpointFault> {
    let directory = config
        .checkpoint_directory()
        .ok_or(CheckpointFault::Nowhere)?;
    Ok(FileCheckpointStore::open(&directory)?)
}

/// Refuses a host that has keys and no checkpoint, before it opens the log for writing: what was
/// acknowledged may be missing there, and others would wait for a lease that it cannot use.
pub(super) async fn check_host(config: &ServerConfig) -> Result<(), CheckpointFault> {
    // A log that was moved or reopened is closed, which its store says.
    if !Identity::exists(&config.data_dir) || config.data_dir.join(MOVED).exists() {
        return Ok(());
    }
    let directory = config
        .checkpoint_directory()
        .ok_or(CheckpointFault::Nowhere)?;
    let store = FileCheckpointStore::at(&directory);
    match store.load().await? {
        Some(_) => Ok(()),
        None => Err(lost(config, store.file())),
    }
}

/// Waits until this host has a checkpoint, which it takes from the process that writes.
pub(super) async fn wait_for_host(config: &ServerConfig) -> Result<(), CheckpointFault> {
    for _ in 0..LOOKS_FOR_WRITER {
        match check_host(config).await {
            Err(CheckpointFault::Lost(_)) => tokio::time::sleep(LOOK_EVERY).await,
            checked => return checked,
        }
    }
    check_host(config).await
}

fn lost(config: &ServerConfig, file: PathBuf) -> CheckpointFault {
    let data_dir = config.data_dir.clone();
    match &config.database {
        None if !data_dir.join("ledger.db").exists() => CheckpointFault::NoLog { data_dir },
        database => CheckpointFault::Lost(Box::new(LostCheckpoint {
            file,
            data_dir,
            is_in_database: database.is_some(),
        })),
    }
}

/// What is stored where the configuration says.
pub(super) struct Stored {
    store: Arc<CheckpointPlaces>,
    note: Option<String>,
    is_adopted: bool,
}

impl Stored {
    /// Reads the stored checkpoint of the ledger in `log`.
    pub(super) async fn load(
        file: FileCheckpointStore,
        log: &Backend,
    ) -> Result<Stored, CheckpointFault> {
        let store = Arc::new(log.checkpoints(file));
        let note = store.load().await?;
        let is_adopted = store.is_adopted().await?;
        Ok(Stored {
            store,
            note,
            is_adopted,
        })
    }

    /// Refuses a database that was left behind by a promotion of one of its standbys.
    pub(super) async fn keep_to_timeline(&self, log_id: Uuid) -> Result<(), CheckpointFault> {
        Ok(self.store.keep_to_timeline(&log_id.to_string()).await?)
    }

    pub(super) fn into_places(self) -> Arc<CheckpointPlaces> {
        self.store
    }

    /// Stores the checkpoint of the empty log of a ledger that begins, before it has keys or records:
    /// from then on a missing one is a lost one. Refuses where one was signed for records.
    pub(super) async fn begin(
        &mut self,
        config: &ServerConfig,
        identity: &Identity,
    ) -> Result<(), CheckpointFault> {
        let begun = |note: &String| Checkpoint::claimed(note).is_ok_and(|it| it.size == 0);
        if self.note.as_ref().is_some_and(|note| !begun(note)) {
            return Err(CheckpointFault::NoLedger {
                file: self.store.file(),
                data_dir: config.data_dir.clone(),
            });
        }
        let empty = Signers::of(identity).present.empty();
        let empty = empty.map_err(|error| CheckpointFault::Stopped(error.into()))?;
        let swapped = self.store.compare_and_swap(self.note.take(), empty.clone());
        swapped.await?;
        self.note = Some(empty);
        Ok(())
    }

    /// The stored checkpoint of a process that is to write, once its signature is found to be the
    /// ledger's own. Refuses where this host has none: what was acknowledged may be missing in the log.
    pub(super) fn of_writer(
        &self,
        config: &ServerConfig,
        signers: &Signers,
    ) -> Result<Option<Checkpoint>, CheckpointFault> {
        if !self.store.is_on_host() {
            return Err(lost(config, self.store.file()));
        }
        self.checked(signers)
    }

    /// The stored checkpoint, once its signature is found to be the ledger's own; `None` where there is
    /// none, as for a process that has not seen the one that writes.
    pub(super) fn checked(&self, signers: &Signers) -> Result<Option<Checkpoint>, CheckpointFault> {
        let Some(note) = &self.note else {
            return Ok(None);
        };
        let unusable = |source| CheckpointFault::Unusable {
            file: self.store.file(),
            source,
        };
        let opened = signers.present.open(note);
        let opened = match &signers.replaced {
            Some(replaced) => opened.or_else(|_| replaced.open(note)),
            None => opened,
        };
        opened.map(Some).map_err(unusable)
    }

    /// True if an operator has adopted the checkpoint in place of a lost one, and the log is to say so.
    pub(super) fn is_adopted(&self) -> bool {
        self.is_adopted
    }

    /// Notes that the log says so by now.
    pub(super) async fn adoption_is_recorded(&self) -> Result<(), CheckpointFault> {
        if self.is_adopted {
            self.store.forget_adoption().await?;
        }
        Ok(())
    }

    /// What signs the next ones.
    pub(super) fn follow<C>(
        self,
        clock: Arc<C>,
        signers: Signers,
    ) -> Checkpoints<CheckpointPlaces, C>
    where
        C: Clock,
    {
        Checkpoints::new(self.store, clock, signers.present, self.note)
    }
}

/// A ledger whose last checkpoint is not on this host.
#[derive(Debug, thiserror::Error)]
#[error(
    "the last signed checkpoint is not in {}: whether the log has all records that were acknowledged is \
     not known, and a copy that goes on beside the ledger would be a fork. If it is kept elsewhere, name \
     that directory with --checkpoint-dir.{} If nothing is missing at the end of the log and no other copy \
     of it runs, run `x811 ledger adopt-checkpoint {}` once. If the end of the log is lost, run `x811 \
     ledger reopen {} NEW --lost-checkpoint`",
    file.display(), beside_a_writer(*is_in_database), data_dir.display(), data_dir.display()
)]
pub struct LostCheckpoint {
    /// Path of the file that is missing.
    pub file: PathBuf,
    /// The data directory.
    pub data_dir: PathBuf,
    /// True if the log is in a database, where another process may write.
    pub is_in_database: bool,
}

fn beside_a_writer(is_in_database: bool) -> &'static str {
    match is_in_database {
        true => {
            " If another process writes to the same database, start this one with --store-wait while it \
             runs."
        }
        false => "",
    }
}

/// Why the stored checkpoint stops the start.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointFault {
    /// A data directory without a name has no place beside it.
    #[error("the data directory has no name to put a checkpoint beside: give --checkpoint-dir")]
    Nowhere,
    /// Its directory cannot be made.
    #[error(transparent)]
    Directory(#[from] NoCheckpointDir),
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] CheckpointStoreError),
    /// It is not this ledger's.
    #[error(
        "{} is no checkpoint by the keys in the data directory ({source}). If it belongs to another \
         ledger, choose another --checkpoint-dir; if the keys do, put the right key files back. If it \
         was damaged, move the file away; the next start says what to do without it", file.display()
    )]
    Unusable {
        /// Path of the file.
        file: PathBuf,
        /// What is wrong with it.
        source: CheckpointError,
    },
    /// This host has none, and so does not know what was acknowledged.
    #[error(transparent)]
    Lost(Box<LostCheckpoint>),
    /// Keys alone: neither their log nor its checkpoint is there.
    #[error(
        "{} has the keys of a ledger and no log: restore the newest backup with `x811 restore`, or begin a \
         new ledger in another directory", data_dir.display()
    )]
    NoLog {
        /// The data directory.
        data_dir: PathBuf,
    },
    /// It cannot be stored, and a key that is to be replaced is needed for that.
    #[error(
        "no checkpoint could be stored, and until one is the rotated keys' files stay as they are: \
         see to the checkpoint's directory, then start again"
    )]
    Unstored,
    /// Another process signs.
    #[error(transparent)]
    Stopped(CheckpointStopped),
    /// A checkpoint without its ledger.
    #[error(
        "{} is the checkpoint of a ledger, but {} holds none: is its disk mounted? To begin a new \
         ledger, choose another --checkpoint-dir or move that file away",
        file.display(), data_dir.display()
    )]
    NoLedger {
        /// The checkpoint's file.
        file: PathBuf,
        /// The data directory.
        data_dir: PathBuf,
    },
}
