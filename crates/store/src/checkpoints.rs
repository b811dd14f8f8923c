//! The last signed checkpoint in all its places: a file on this host and, where the log is in a
//! database, a row there. After the database was restored from an older copy the file still refuses
//! to go back; after another host has written, the row is the newer one (stores.md section 2).

use std::path::PathBuf;
use std::sync::Mutex;

use x811_ledger::checkpoint::{CheckpointStore, CheckpointStoreError};

use crate::checkpoint::FileCheckpointStore;
use crate::postgres::{CheckpointRow, Timeline};

/// A file, and maybe a row.
#[derive(Debug)]
pub struct CheckpointPlaces {
    file: FileCheckpointStore,
    row: Option<CheckpointRow>,
    /// What each of them held when it was read or written last.
    held: Mutex<HeldCheckpoint>,
}

#[derive(Debug, Clone, Default)]
struct HeldCheckpoint {
    file: Option<String>,
    row: Option<String>,
    /// What the row may hold instead: swaps of which it is unknown whether they were done. A commit that
    /// waits for standbys is seen by nobody, and done all the same once they come.
    tried: Vec<String>,
}

/// Unknown swaps that are remembered, one a second: the first of them that is under way holds back those
/// behind it.
const MOST_TRIED: usize = 1_000;

impl HeldCheckpoint {
    /// The one of the longer log. Two of one size that differ are left to whoever compares roots:
    /// the file's is taken, which nobody restores with the log.
    fn newest(&self) -> Option<&String> {
        match (&self.file, &self.row) {
            (Some(file), Some(row)) if size_of(row) > size_of(file) => Some(row),
            (Some(file), _) => Some(file),
            (None, row) => row.as_ref(),
        }
    }
}

/// The size that a checkpoint is of: its second line. One without is no checkpoint, and smaller than
/// every one that is.
fn size_of(note: &str) -> Option<u64> {
    note.lines().nth(1)?.parse().ok()
}

impl CheckpointPlaces {
    pub(crate) fn of(file: FileCheckpointStore, row: Option<CheckpointRow>) -> CheckpointPlaces {
        CheckpointPlaces {
            file,
            row,
            held: Mutex::default(),
        }
    }

    /// The file on this host.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.file.file()
    }

    /// True if the file on this host had a checkpoint when it was read or written last.
    #[must_use]
    pub fn is_on_host(&self) -> bool {
        self.held().file.is_some()
    }

    /// True if the file's checkpoint was adopted, and the log does not say so yet.
    ///
    /// # Errors
    /// As [`FileCheckpointStore::is_adopted`].
    pub async fn is_adopted(&self) -> Result<bool, CheckpointStoreError> {
        self.file.is_adopted().await
    }

    /// Notes that the log says so.
    ///
    /// # Errors
    /// As [`FileCheckpointStore::forget_adoption`].
    pub async fn forget_adoption(&self) -> Result<(), CheckpointStoreError> {
        self.file.forget_adoption().await
    }

    /// Refuses a database on a timeline before the one that the log `log_id` was on when it was last opened from
    /// this host, and notes the timeline it is on otherwise. After `x811 ledger reopen` the log is another.
    ///
    /// # Errors
    /// [`CheckpointStoreError::Backend`], with the old timeline for a reason where that is it.
    pub async fn keep_to_timeline(&self, log_id: &str) -> Result<(), CheckpointStoreError> {
        let Some(row) = &self.row else { return Ok(()) };
        let Some(found) = row.timeline(log_id).await? else {
            return Ok(());
        };
        let noted = self.file.timeline().await?;
        match noted.as_deref().map(str::parse::<Timeline>) {
            Some(Ok(noted)) if noted == found => Ok(()),
            Some(Ok(noted)) if found.is_before(&noted) => Err(CheckpointStoreError::Backend(
                Box::new(found.refused(&noted)),
            )),
            Some(Ok(_) | Err(())) | None => self.file.note_timeline(found.to_string()).await,
        }
    }

    /// Puts a checkpoint that another process has stored in the row into the file of this host, too:
    /// after the database was restored from an older copy, this host remembers it as well.
    ///
    /// # Errors
    /// As [`CheckpointStore::compare_and_swap`].
    pub async fn note(&self, note: String) -> Result<(), CheckpointStoreError> {
        let file = self.held().file.clone();
        let is_newer = file
            .as_ref()
            .is_none_or(|file| size_of(&note) > size_of(file));
        if is_newer {
            self.file.compare_and_swap(file, note.clone()).await?;
            self.held().file = Some(note);
        }
        Ok(())
    }

    async fn load_row(&self) -> Result<Option<String>, CheckpointStoreError> {
        match &self.row {
            Some(row) => row.load().await,
            None => Ok(None),
        }
    }

    /// Swaps the row; from a checkpoint of which nothing was heard, where it turns out to be there.
    async fn swap_row(
        &self,
        row: &CheckpointRow,
        previous: Option<String>,
        next: &str,
    ) -> Result<(), CheckpointStoreError> {
        {
            let tried = &mut self.held().tried;
            if tried.len() < MOST_TRIED && !tried.iter().any(|tried| tried == next) {
                tried.push(next.to_owned());
            }
        }
        if let Err(error) = row.compare_and_swap(previous, next.to_owned()).await {
            let found = match error {
                CheckpointStoreError::Conflict => row.load().await?,
                CheckpointStoreError::Fenced | CheckpointStoreError::Backend(_) => {
                    return Err(error);
                }
            };
            let is_own = found
                .as_ref()
                .is_some_and(|it| self.held().tried.contains(it));
            match is_own {
                true => row.compare_and_swap(found, next.to_owned()).await?,
                false => return Err(error),
            }
        }
        let mut held = self.held();
        held.row = Some(next.to_owned());
        held.tried.clear();
        Ok(())
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HeldCheckpoint> {
        let held = self.held.lock();
        held.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl CheckpointStore for CheckpointPlaces {
    fn place(&self) -> String {
        self.file.file().display().to_string()
    }

    /// `None` also where the file had one and is gone: then the row alone is not believed.
    async fn load(&self) -> Result<Option<String>, CheckpointStoreError> {
        let file = self.file.load().await?;
        let row = self.load_row().await?;
        let mut held = self.held();
        held.row = row;
        if file.is_none() && held.file.is_some() {
            return Ok(None);
        }
        held.file = file;
        Ok(held.newest().cloned())
    }

    async fn holds(&self, note: &str) -> bool {
        let is_there = |found: Result<Option<String>, _>| {
            found.is_ok_and(|found: Option<String>| found.as_deref() == Some(note))
        };
        is_there(self.file.load().await) && (self.row.is_none() || is_there(self.load_row().await))
    }

    /// The row first: of two hosts it decides. A crash in between leaves the file one behind.
    async fn compare_and_swap(
        &self,
        previous: Option<String>,
        next: String,
    ) -> Result<(), CheckpointStoreError> {
        let held = self.held().clone();
        // After a swap that was half done the file is what the caller knows.
        if held.newest() != previous.as_ref() && held.file != previous {
            return Err(CheckpointStoreError::Conflict);
        }
        if let Some(row) = &self.row {
            self.swap_row(row, held.row, &next).await?;
        }
        self.file.compare_and_swap(held.file, next.clone()).await?;
        self.held().file = Some(next);
        Ok(())
    }
}
