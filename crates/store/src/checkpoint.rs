//! The last signed checkpoint as a file in a directory of its own.
//!
//! The directory must not be copied or restored together with the data directory: then it could
//! not tell that the copy is older. A swap writes a second file, syncs it, renames it over the
//! first and syncs the directory, under an exclusive lock.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use x811_ledger::checkpoint::{CheckpointStore, CheckpointStoreError};

const CHECKPOINT: &str = "checkpoint";
const UNFINISHED: &str = "checkpoint.unfinished";
const LOCK: &str = "LOCK";
const TIMELINE: &str = "timeline";
const UNFINISHED_TIMELINE: &str = "timeline.unfinished";

/// The file `checkpoint`, mode 0600, in a directory of its own, made with mode 0700.
#[derive(Debug, Clone)]
pub struct FileCheckpointStore {
    directory: PathBuf,
}

/// The directory for the checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "the checkpoint's directory {} could not be made ({source}): make it and give it to the \
     ledger's user, or choose another one with --checkpoint-dir", directory.display()
)]
pub struct NoCheckpointDir {
    directory: PathBuf,
    source: io::Error,
}

impl FileCheckpointStore {
    /// Makes the directory unless it exists.
    ///
    /// # Errors
    /// [`NoCheckpointDir`].
    pub fn open(directory: &Path) -> Result<FileCheckpointStore, NoCheckpointDir> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let directory = directory.to_owned();
        match builder.create(&directory) {
            Ok(()) => Ok(FileCheckpointStore { directory }),
            Err(source) => Err(NoCheckpointDir { directory, source }),
        }
    }

    /// Names the directory; nothing is made, so only loading is sure to work.
    #[must_use]
    pub fn at(directory: &Path) -> FileCheckpointStore {
        FileCheckpointStore {
            directory: directory.to_owned(),
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
        match fs::read_to_string(self.directory.join(name)) {
            Ok(note) => Ok(Some(note)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    fn swap(&self, previous: Option<&str>, next: &str) -> Result<(), CheckpointStoreError> {
        let lock = self.private(LOCK).map_err(failed)?;
        wait_for(&lock).map_err(failed)?;
        if self.read(CHECKPOINT)?.as_deref() != previous {
            return Err(CheckpointStoreError::Conflict);
        }
        self.write((UNFINISHED, CHECKPOINT), next).map_err(failed)
    }

    /// The timeline of the database that was noted here last, as it was written.
    pub(crate) async fn timeline(&self) -> Result<Option<String>, CheckpointStoreError> {
        let store = self.clone();
        blocking(move || store.read(TIMELINE)).await
    }

    /// Notes that timeline in place of the one before.
    pub(crate) async fn note_timeline(&self, timeline: String) -> Result<(), CheckpointStoreError> {
        let store = self.clone();
        blocking(move || {
            let lock = store.private(LOCK).map_err(failed)?;
            wait_for(&lock).map_err(failed)?;
            let names = (UNFINISHED_TIMELINE, TIMELINE);
            store.write(names, &timeline).map_err(failed)
        })
        .await
    }

    fn write(&self, (unfinished, name): (&str, &str), next: &str) -> io::Result<()> {
        let mut file = self.private(unfinished)?;
        file.set_len(0)?;
        file.write_all(next.as_bytes())?;
        file.sync_all()?;
        fs::rename(self.directory.join(unfinished), self.directory.join(name))?;
        #[cfg(unix)]
        File::open(&self.directory)?.sync_all()?;
        Ok(())
    }

    fn private(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(self.directory.join(name))
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

/// Waits for a lock, whatever signals come meanwhile.
fn wait_for(lock: &File) -> io::Result<()> {
    loop {
        match lock.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CheckpointStoreError> + Send + 'static,
) -> Result<T, CheckpointStoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|ended| Err(CheckpointStoreError::Backend(Box::new(ended))))
}

fn failed(error: io::Error) -> CheckpointStoreError {
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

    #[tokio::test]
    async fn of_two_processes_one_swaps() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..20_u32 {
            let swaps = ["left", "right"].map(|side| {
                let store = FileCheckpointStore::open(dir.path()).unwrap();
                async move {
                    let before = store.load().await.unwrap();
                    let before = before.filter(|_| round > 0);
                    store
                        .compare_and_swap(before, format!("{side} {round}"))
                        .await
                }
            });
            let [left, right] = swaps.map(tokio::spawn);
            let done = [left.await.unwrap(), right.await.unwrap()];
            let swapped = done.iter().filter(|swap| swap.is_ok()).count();
            assert!(swapped >= 1, "round {round}: {done:?}");
            let store = FileCheckpointStore::open(dir.path()).unwrap();
            let stored = store.load().await.unwrap().unwrap();
            assert!(stored.ends_with(&format!(" {round}")));
        }
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
