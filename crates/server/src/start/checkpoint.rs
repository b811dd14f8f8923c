//! The last signed checkpoint at the start: found, checked, and handed to those who go on with it.

use super::StartError;
use crate::config::ServerConfig;
use crate::keys::Identity;
use std::path::PathBuf;
use std::sync::Arc;
use uuid::Uuid;
use x811_eventlog::{Checkpoint, CheckpointError};
use x811_ledger::checkpoint::{
    CheckpointSigner, CheckpointStopped, CheckpointStore as _, CheckpointStoreError, Checkpoints,
};
use x811_ledger::clock::Clock;
use x811_ledger::world::World;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;
use x811_store::{Backend, CheckpointPlaces, FileCheckpointStore, NoCheckpointDir};

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

/// What is stored where the configuration says.
pub(super) struct Stored {
    store: Arc<CheckpointPlaces>,
    note: Option<String>,
}

impl Stored {
    /// Reads the stored checkpoint; makes its directory when there is none.
    pub(super) async fn load(
        config: &ServerConfig,
        log: &Backend,
    ) -> Result<Stored, CheckpointFault> {
        let directory = config
            .checkpoint_directory()
            .ok_or(CheckpointFault::Nowhere)?;
        let store = Arc::new(log.checkpoints(FileCheckpointStore::open(&directory)?));
        let note = store.load().await?;
        Ok(Stored { store, note })
    }

    /// Refuses a database that was left behind by a promotion of one of its standbys.
    pub(super) async fn keep_to_timeline(&self, log_id: Uuid) -> Result<(), CheckpointFault> {
        Ok(self.store.keep_to_timeline(&log_id.to_string()).await?)
    }

    pub(super) fn into_places(self) -> Arc<CheckpointPlaces> {
        self.store
    }

    /// Refuses to begin a new ledger where one was signed for.
    pub(super) fn none_for(&self, config: &ServerConfig) -> Result<(), StartError> {
        if self.note.is_none() {
            return Ok(());
        }
        Err(StartError::Checkpoint(CheckpointFault::NoLedger {
            file: self.store.file(),
            data_dir: config.data_dir.clone(),
        }))
    }

    /// The stored checkpoint, once its signature is found to be the ledger's own.
    pub(super) fn checked(
        &self,
        signers: &Signers,
        log_size: u64,
    ) -> Result<Option<Checkpoint>, CheckpointFault> {
        let Some(note) = &self.note else {
            if log_size > 0 {
                let file = self.store.file();
                tracing::warn!(file = %file.display(), log_size, "there is no signed checkpoint: \
                    whether the log lost records cannot be known; one is begun now");
            }
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
         was damaged, make sure that the data directory is the newest copy there is, then move the \
         file away", file.display()
    )]
    Unusable {
        /// Path of the file.
        file: PathBuf,
        /// What is wrong with it.
        source: CheckpointError,
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
