//! The last signed checkpoint as a file in a directory of its own.
//!
//! The directory must not be copied or restored together with the data directory: then it could
//! not tell that the copy is older. A swap writes a second file, syncs it, renames it over the
//! first and syncs the directory. Who may swap has locked the directory for as long as it lives, so
//! that two processes on two copies of one log never sign in turn.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use x811_ledger::checkpoint::{CheckpointStore, CheckpointStoreError};

use crate::file_fault::{FileFault, next_step};

const CHECKPOINT: &str = "checkpoint";
const UNFINISHED: &str = "checkpoint.unfinished";
const LOCK: &str = "LOCK";
const TIMELINE: &str = "timeline";
const UNFINISHED_TIMELINE: &str = "timeline.unfinished";
const ADOPTED: &str = "adopted";
const UNFINISHED_ADOPTED: &str = "adopted.unfinished";

/// The file `checkpoint`, mode 0600, in a directory of its own, made with mode 0700.
#[derive(Debug, Clone)]
pub struct FileCheckpointStore {
    directory: PathBuf,
    /// Absent where the directory is only read.
    lock: Option<Arc<DirectoryLock>>,
}

/// The lock on a checkpoint directory, held until the last clone of its store is dropped.
#[derive(Debug)]
struct DirectoryLock {
    _file: File,
    turn: Mutex<()>,
}

/// The directory for the checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NoCheckpointDir {
    /// It cannot be made, or written to.
    #[error(
        "the checkpoint's directory {} could not be used ({source}): {}. Or choose another one with \
         --checkpoint-dir", directory.display(), next_step(directory, source)
    )]
    Unusable {
        /// The directory.
        directory: PathBuf,
        /// What the system reported.
        source: io::Error,
    },
    /// Another process keeps its checkpoint there.
    #[error(
        "another process keeps its checkpoint in {}: two ledgers over copies of one log would sign in \
         turn. End the other process, or give each ledger a directory of its own with --checkpoint-dir",
        directory.display()
    )]
    InUse {
        /// The directory.
        directory: PathBuf,
    },
}

impl FileCheckpointStore {
    /// Makes the directory unless it exists, and locks it against other processes.
    ///
    /// # Errors
    /// [`NoCheckpointDir`].
    pub fn open(directory: &Path) -> Result<FileCheckpointStore, NoCheckpointDir> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let directory = directory.to_owned();
        let file = builder
            .create(&directory)
            .and_then(|()| private(&directory.join(LOCK)));
        let file = match file {
            Ok(file) => file,
            Err(source) => return Err(NoCheckpointDir::Unusable { directory, source }),
        };
        match try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(NoCheckpointDir::InUse { directory }),
            Err(TryLockError::Error(source)) => {
                return Err(NoCheckpointDir::Unusable { directory, source });
            }
        }
        let turn = Mutex::new(());
        let lock = Some(Arc::new(DirectoryLock { _file: file, turn }));
        Ok(FileCheckpointStore { directory, lock })
    }

    /// Names the directory; nothing is made or locked, so only reading is possible.
    #[must_use]
    pub fn at(directory: &Path) -> FileCheckpointStore {
        FileCheckpointStore {
            directory: directory.to_owned(),
            lock: None,
        }
    }

    /// Where the checkpoint of the ledger in `data_dir` lies unless another place is chosen:
    /// `<data_dir>-checkpoint`. `None` when that path does not end in a name.
    #[must_use]
    pub fn beside(data_dir: &Path) -> Option<PathBuf> {
        // The name it is called by, not what a link leads to: whoever turns a link to an older
        // copy is found out.
        let data_dir = std::path::absolute(data_dir).ok()?;
        let mut name = data_dir.file_name()?.to_owned();
        name.push("-checkpoint");
        Some(data_dir.with_file_name(name))
    }

    /// The file that holds the last checkpoint.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.directory.join(CHECKPOINT)
    }

    fn read(&self, name: &str) -> Result<Option<String>, CheckpointStoreError> {
        let path = self.directory.join(name);
        match fs::read_to_string(&path) {
            Ok(note) => Ok(Some(note)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(FileFault::new(&path, error))),
        }
    }

    fn swap(&self, previous: Option<&str>, next: &str) -> Result<(), CheckpointStoreError> {
        self.in_turn(|| {
            if self.read(CHECKPOINT)?.as_deref() != previous {
                return Err(CheckpointStoreError::Conflict);
            }
            self.write((UNFINISHED, CHECKPOINT), next)
        })
    }

    /// Changes the directory while no other clone of this store does.
    fn in_turn(
        &self,
        change: impl FnOnce() -> Result<(), CheckpointStoreError>,
    ) -> Result<(), CheckpointStoreError> {
        let Some(lock) = &self.lock else {
            let source = io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "opened for reading");
            return Err(failed(FileFault::new(&self.directory, source)));
        };
        let _turn = lock.turn.lock().unwrap_or_else(PoisonError::into_inner);
        change()
    }

    /// The timeline of the database that was noted here last, as it was written.
    pub(crate) async fn timeline(&self) -> Result<Option<String>, CheckpointStoreError> {
        let store = self.clone();
        blocking(move || store.read(TIMELINE)).await
    }

    /// Notes that timeline in place of the one before.
    pub(crate) async fn note_timeline(&self, timeline: String) -> Result<(), CheckpointStoreError> {
        let store = self.clone();
        blocking(move || store.in_turn(|| store.write((UNFINISHED_TIMELINE, TIMELINE), &timeline)))
            .await
    }

    /// Stores `note` where there is no checkpoint, and notes that it was signed over the log as it was
    /// found: the last checkpoint is lost, and an operator says that the log is whole.
    ///
    /// # Errors
    /// [`CheckpointStoreError::Conflict`] where there is one; [`CheckpointStoreError::Backend`].
    pub async fn adopt(&self, note: String) -> Result<(), CheckpointStoreError> {
        let store = self.clone();
        blocking(move || {
            store.in_turn(|| match store.read(CHECKPOINT)? {
                Some(_) => Err(CheckpointStoreError::Conflict),
                None => {
                    store.write((UNFINISHED_ADOPTED, ADOPTED), &note)?;
                    store.write((UNFINISHED, CHECKPOINT), &note)
                }
            })
        })
        .await
    }

    /// Notes that the stored checkpoint was adopted, where the log moves to this place.
    ///
    /// # Errors
    /// [`CheckpointStoreError::Backend`].
    pub async fn note_adoption(&self) -> Result<(), CheckpointStoreError> {
        let store = self.clone();
        blocking(move || {
            store.in_turn(|| match store.read(CHECKPOINT)? {
                Some(note) => store.write((UNFINISHED_ADOPTED, ADOPTED), &note),
                None => Ok(()),
            })
        })
        .await
    }

    /// True if the stored checkpoint was adopted, and no start has recorded that. Whoever puts another
    /// one there has found the lost one.
    ///
    /// # Errors
    /// [`CheckpointStoreError::Backend`].
    pub async fn is_adopted(&self) -> Result<bool, CheckpointStoreError> {
        let store = self.clone();
        blocking(move || {
            let adopted = store.read(ADOPTED)?;
            Ok(adopted.is_some() && adopted == store.read(CHECKPOINT)?)
        })
        .await
    }

    /// Notes that the log says so.
    ///
    /// # Errors
    /// [`CheckpointStoreError::Backend`].
    pub async fn forget_adoption(&self) -> Result<(), CheckpointStoreError> {
        let store = self.clone();
        blocking(move || {
            store.in_turn(|| {
                let path = store.directory.join(ADOPTED);
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        Err(failed(FileFault::new(&path, error)))
                    }
                    Ok(()) | Err(_) => Ok(()),
                }
            })
        })
        .await
    }

    fn write(
        &self,
        (unfinished, name): (&str, &str),
        next: &str,
    ) -> Result<(), CheckpointStoreError> {
        let (unfinished, path) = (self.directory.join(unfinished), self.directory.join(name));
        let written = private(&unfinished).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(next.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| failed(FileFault::new(&unfinished, error)))?;
        let renamed = fs::rename(&unfinished, &path);
        #[cfg(unix)]
        let renamed = renamed.and_then(|()| File::open(&self.directory)?.sync_all());
        renamed.map_err(|error| failed(FileFault::new(&path, error)))
    }
}

/// Opens a file that only its owner may use, and makes it unless it exists.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Locks the file unless another process has, whatever signals come meanwhile.
fn try_lock(lock: &File) -> Result<(), TryLockError> {
    loop {
        match lock.try_lock() {
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl CheckpointStore for FileCheckpointStore {
    async fn load(&self) -> Result<Option<String>, CheckpointStoreError> {
        let store = self.clone();
        blocking(move || store.read(CHECKPOINT)).await
    }

    async fn compare_and_swap(
        &self,
        previous: Option<String>,
        next: String,
    ) -> Result<(), CheckpointStoreError> {
        let store = self.clone();
        blocking(move || store.swap(previous.as_deref(), &next)).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CheckpointStoreError> + Send + 'static,
) -> Result<T, CheckpointStoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|ended| Err(CheckpointStoreError::Backend(Box::new(ended))))
}

fn failed(error: FileFault) -> CheckpointStoreError {
    CheckpointStoreError::Backend(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_swap_that_was_cut_off_leaves_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileCheckpointStore::open(dir.path()).unwrap();
        store
            .compare_and_swap(None, "one".to_owned())
            .await
            .unwrap();
        fs::write(dir.path().join(UNFINISHED), "a longer half of a next one").unwrap();
        assert_eq!(store.load().await.unwrap().as_deref(), Some("one"));
        let next = store.compare_and_swap(Some("one".to_owned()), "two".to_owned());
        next.await.unwrap();
        assert_eq!(fs::read_to_string(store.file()).unwrap(), "two");
    }

    /// Locks belong to open files, so this process stands for two.
    #[tokio::test]
    async fn stores_2_a_directory_has_one_process_until_that_ends() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileCheckpointStore::open(dir.path()).unwrap();
        let clone = store.clone();
        drop(store);
        let refused = FileCheckpointStore::open(dir.path()).unwrap_err();
        assert!(
            matches!(refused, NoCheckpointDir::InUse { .. }),
            "{refused}"
        );
        // Who only reads is not kept out.
        let reader = FileCheckpointStore::at(dir.path());
        assert_eq!(reader.load().await.unwrap(), None);
        let swapped = reader.compare_and_swap(None, "one".to_owned()).await;
        assert!(swapped.is_err());
        drop(clone);
        FileCheckpointStore::open(dir.path()).unwrap();
    }

    #[tokio::test]
    async fn of_two_swaps_of_one_process_one_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileCheckpointStore::open(dir.path()).unwrap();
        for round in 0..20_u32 {
            let before = store.load().await.unwrap();
            let swaps = ["left", "right"].map(|side| {
                let (store, before) = (store.clone(), before.clone());
                async move {
                    store
                        .compare_and_swap(before, format!("{side} {round}"))
                        .await
                }
            });
            let [left, right] = swaps.map(tokio::spawn);
            let done = [left.await.unwrap(), right.await.unwrap()];
            let swapped = done.iter().filter(|swap| swap.is_ok()).count();
            assert_eq!(swapped, 1, "round {round}: {done:?}");
        }
    }

    #[tokio::test]
    async fn stores_2_a_checkpoint_is_adopted_where_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileCheckpointStore::open(dir.path()).unwrap();
        store.adopt("one".to_owned()).await.unwrap();
        assert!(store.is_adopted().await.unwrap());
        let again = store.adopt("two".to_owned()).await;
        assert!(matches!(again, Err(CheckpointStoreError::Conflict)));
        assert_eq!(store.load().await.unwrap().as_deref(), Some("one"));
        store.forget_adoption().await.unwrap();
        store.forget_adoption().await.unwrap();
        assert!(!store.is_adopted().await.unwrap());
    }

    #[tokio::test]
    async fn reliability_an_error_names_the_file_and_the_next_step() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("checkpoint");
        let store = FileCheckpointStore::open(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let error = store.compare_and_swap(None, "one".to_owned()).await;
        let text = error.unwrap_err().to_string();
        assert!(text.contains("does not exist"), "{text}");
        assert!(text.contains(folder.to_str().unwrap()), "{text}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn nobody_else_may_write_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("checkpoint");
        let store = FileCheckpointStore::open(&folder).unwrap();
        store
            .compare_and_swap(None, "one".to_owned())
            .await
            .unwrap();
        for (path, mode) in [(folder, 0o700), (store.file(), 0o600)] {
            assert_eq!(
                fs::metadata(path).unwrap().permissions().mode() & 0o777,
                mode
            );
        }
    }
}
