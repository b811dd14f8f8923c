//! Idempotency tags between their commit and their place in the index.
//!
//! A tag is committed in order of arrival and filed in the index later, together with its
//! neighbours there: each commit files the next ones in the order of the index, from its first page
//! to its last and then from the first again. Those that wait are held in memory too.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteExecutor};
use x811_ledger::port::Commit;
use x811_protocol::digest::Digest;

use super::error::{StoreError, UniqueKey};
use super::insert::{Row, Statements, Table, insert};
use super::packed::{Packed, blob, places};

/// So many wait, which takes some 10 MB: of an index over a million tags, sixteen to a page.
pub(super) const KEPT: usize = 131_072;

/// A commit files as many as it brings and, while too many wait, so many more; so it is with those
/// that leave the table.
const CATCH_UP: usize = 256;

/// Those at and after a position.
const WAITING: &str = concat!(
    "SELECT ",
    places!("tag"),
    ", ",
    blob!("tag"),
    " FROM new_idempotency WHERE position >= ?",
);

/// Those below a position leave the table, so many of them at most.
const LEAVE: &str = "DELETE FROM new_idempotency WHERE position IN \
    (SELECT position FROM new_idempotency WHERE position < ? ORDER BY position LIMIT +?)";

/// A tag and the position of its REQUEST.
type Tag = (Digest, u64);

static NEW: Table<Tag> = Table {
    into: "new_idempotency (tag, position)",
    columns: 2,
    on_conflict: "",
    key: UniqueKey::IdempotencyTag,
    bind: bind_tag,
    statements: Statements::new(),
};

static FILED: Table<Tag> = Table {
    into: "idempotency (tag, position)",
    columns: 2,
    on_conflict: " ON CONFLICT (tag) DO NOTHING",
    key: UniqueKey::IdempotencyTag,
    bind: bind_tag,
    statements: Statements::new(),
};

fn bind_tag(row: &mut Row, (tag, position): &Tag) {
    row.push_bind(tag.as_bytes().as_slice())
        .push_bind(position.cast_signed());
}

/// What is known of the tags that wait.
#[derive(Debug)]
pub(super) struct NewTags {
    known: Mutex<Known>,
    /// Whether somebody else writes them.
    is_read_only: bool,
}

#[derive(Debug, Default)]
struct Known {
    waiting: BTreeMap<Digest, u64>,
    /// More than these are filed.
    kept: usize,
    /// Positions below were read, or written by us.
    read_to: u64,
    /// A commit may hold of which nothing is known.
    is_behind: bool,
    progress: Progress,
    /// Tags that were filed may still be in the table.
    are_leaving: bool,
}

/// How far tags have been filed, as the table `filing` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Progress {
    next: Digest,
    round_from: u64,
    filed_to: u64,
}

impl Default for Progress {
    /// Nothing has been filed.
    fn default() -> Progress {
        Progress {
            next: Digest::ZERO,
            round_from: 0,
            filed_to: 0,
        }
    }
}

/// What a commit does about tags besides adding its own.
#[derive(Debug)]
pub(super) struct Filing {
    tags: Vec<Tag>,
    progress: Progress,
    are_leaving: bool,
}

/// A commit whose outcome is not known yet; should it stay so, the tags are read again.
pub(super) struct OpenCommit<'a>(Option<&'a NewTags>);

impl NewTags {
    /// Those of a database that others write.
    pub(super) fn of_others() -> NewTags {
        NewTags {
            known: Mutex::default(),
            is_read_only: true,
        }
    }

    /// Those of a database that is ours, of which more than `kept` are filed.
    pub(super) async fn open(
        connection: &mut SqliteConnection,
        kept: usize,
    ) -> Result<NewTags, StoreError> {
        let row = sqlx::query("SELECT next, round_from, filed_to FROM filing")
            .fetch_one(&mut *connection)
            .await?;
        let progress = Progress {
            next: digest("filing", row.try_get(0)?)?,
            round_from: row.try_get::<i64, _>(1)?.cast_unsigned(),
            filed_to: row.try_get::<i64, _>(2)?.cast_unsigned(),
        };
        let known = Known {
            kept,
            read_to: progress.filed_to,
            progress,
            are_leaving: true,
            ..Known::default()
        };
        let tags = NewTags {
            known: Mutex::new(known),
            is_read_only: false,
        };
        tags.read(connection).await?;
        Ok(tags)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing panics with it half changed.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether [`NewTags::read`] has to come first.
    pub(super) fn are_behind(&self) -> bool {
        self.is_read_only || self.known().is_behind
    }

    /// Reads those that came since the last time. One that is filed meanwhile stays known: what it
    /// says is so for ever.
    pub(super) async fn read(&self, executor: impl SqliteExecutor<'_>) -> Result<(), StoreError> {
        let from = self.known().read_to;
        let row = sqlx::query(WAITING)
            .bind(from.cast_signed())
            .fetch_one(executor)
            .await?;
        let mut tags = Vec::new();
        for (position, tag) in Packed::read(&row, 0, "new_idempotency")?.iter() {
            tags.push((digest("new_idempotency", tag)?, position));
        }
        let mut known = self.known();
        known.add(&tags);
        known.is_behind = false;
        Ok(())
    }

    /// The positions of those that are known.
    pub(super) fn find(&self, tags: &[Digest]) -> HashMap<Digest, u64> {
        let known = self.known();
        let position = |tag: &Digest| Some((*tag, *known.waiting.get(tag)?));
        tags.iter().filter_map(position).collect()
    }

    /// Adds the tags of `commit`, and files some that waited.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`] when one is taken.
    pub(super) async fn write(
        &self,
        connection: &mut SqliteConnection,
        commit: &Commit,
    ) -> Result<Filing, StoreError> {
        let before = self.known().progress;
        let mut filing = self.known().plan(commit)?;
        insert(connection, &NEW, &commit.idempotency).await?;
        insert(connection, &FILED, &filing.tags).await?;
        if filing.progress != before {
            save(connection, &filing.progress).await?;
        }
        if filing.are_leaving {
            let most = commit.idempotency.len() + CATCH_UP;
            let left = sqlx::query(LEAVE)
                .bind(filing.progress.filed_to.cast_signed())
                .bind(most as i64)
                .execute(connection)
                .await?;
            filing.are_leaving = left.rows_affected() == most as u64;
        }
        Ok(filing)
    }

    /// To be held while a commit is being made durable.
    pub(super) fn unsure(&self) -> OpenCommit<'_> {
        OpenCommit(Some(self))
    }
}

impl OpenCommit<'_> {
    /// The commit is durable: its tags are known from now on.
    pub(super) fn holds(mut self, commit: &Commit, filing: &Filing) {
        if let Some(tags) = self.0.take() {
            tags.known().done(commit, filing);
        }
    }
}

impl Drop for OpenCommit<'_> {
    fn drop(&mut self) {
        if let Some(tags) = self.0 {
            tags.known().is_behind = true;
        }
    }
}

impl Known {
    fn add(&mut self, tags: &[Tag]) {
        for (tag, position) in tags {
            self.read_to = self.read_to.max(position + 1);
            if !self.progress.has_filed(tag, *position) {
                self.waiting.insert(*tag, *position);
            }
        }
    }

    fn plan(&self, commit: &Commit) -> Result<Filing, StoreError> {
        let mut new = HashSet::new();
        for (tag, _) in &commit.idempotency {
            if self.waiting.contains_key(tag) || !new.insert(tag) {
                let key = UniqueKey::IdempotencyTag;
                return Err(StoreError::Duplicate { key, source: None });
            }
        }
        let count = self.waiting.len().saturating_sub(self.kept);
        let count = count.min(new.len() + CATCH_UP);
        let next = self.waiting.range(self.progress.next..).take(count);
        let tags: Vec<Tag> = next.map(|(tag, position)| (*tag, *position)).collect();
        let mut progress = self.progress;
        if let Some((last, _)) = tags.last() {
            progress.next = *last;
        }
        let round_ends = tags.len() < count;
        if round_ends {
            progress = Progress {
                next: Digest::ZERO,
                round_from: commit.expected_size + commit.records.len() as u64,
                filed_to: self.progress.round_from,
            };
        }
        Ok(Filing {
            tags,
            progress,
            are_leaving: self.are_leaving || round_ends,
        })
    }

    fn done(&mut self, commit: &Commit, filing: &Filing) {
        for (tag, _) in &filing.tags {
            self.waiting.remove(tag);
        }
        self.progress = filing.progress;
        self.are_leaving = filing.are_leaving;
        self.add(&commit.idempotency);
    }
}

impl Progress {
    /// Whether it is certain that this one is in the index.
    fn has_filed(&self, tag: &Digest, position: u64) -> bool {
        position < self.filed_to || (position < self.round_from && *tag < self.next)
    }
}

async fn save(connection: &mut SqliteConnection, progress: &Progress) -> Result<(), StoreError> {
    sqlx::query("UPDATE filing SET next = ?, round_from = ?, filed_to = ?")
        .bind(progress.next.as_bytes().as_slice())
        .bind(progress.round_from.cast_signed())
        .bind(progress.filed_to.cast_signed())
        .execute(connection)
        .await?;
    Ok(())
}

fn digest(table: &'static str, bytes: &[u8]) -> Result<Digest, StoreError> {
    let bytes = bytes.try_into().map_err(|_| StoreError::BadValue {
        table,
        what: format!("a tag of {} bytes", bytes.len()),
    })?;
    Ok(Digest::from_bytes(bytes))
}
