//! A log and all that lies beside it, copied from one store into another (stores.md section 6).
//!
//! Nothing is believed on the way: each record must continue the hash chain, each body must have the
//! digest that its record names, the tree must have the signed root at the size of the checkpoint,
//! and both stores must say the same tree at the end. Index entries are made from the records.

use crate::port::{Commit, DamagedBody, LedgerStore};
use crate::sequencer::read_event;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use x811_eventlog::{
    AppendError, Break, ChainVerifier, Checkpoint, EventLog as _, Frontier, FrontierError, Hash,
    Head, MAX_BATCH_BYTES, ReadError, Record,
};
use x811_protocol::digest::Digest;
use x811_protocol::time::TimestampMs;
use x811_world::Fault;

/// Records read at a time.
const PAGE: usize = 1_024;

/// Why a log was not copied whole. What was copied stays; the same copy may be made again and goes on
/// there.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// One of the two stores cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The new store did not take a batch.
    #[error("the copy could not be written: {0}")]
    Write(#[from] AppendError),
    /// A record does not continue the one before.
    #[error("the log to be copied is damaged: {0}. Run `x811 doctor` on it")]
    Broken(Break),
    /// A record says nothing that this program knows.
    #[error("a record of the log to be copied cannot be read: {0}")]
    Unreadable(#[from] Fault),
    /// A body is another one than was signed.
    #[error(transparent)]
    Body(#[from] DamagedBody),
    /// A body is missing and was not erased.
    #[error("the record at {position} has no body, and none erased it: run `x811 doctor`")]
    NoBody {
        /// Position of the record.
        position: u64,
    },
    /// The log became shorter while it was read.
    #[error("the log ends at record {position}, but it had {size}: it was changed meanwhile")]
    CutShort {
        /// The first record that is not there.
        position: u64,
        /// Records when the copy began.
        size: u64,
    },
    /// The new store holds records of another log.
    #[error(
        "the {size} records in the new place are not the first {size} of this log: name an empty place"
    )]
    OtherLog {
        /// How many records there are in the new place.
        size: u64,
    },
    /// The running state of a tree is not that over the records.
    #[error("the tree stored {place} is not the one over {size} records: run `x811 doctor` there")]
    Tree {
        /// Which store: `in the old place` or `in the new place`.
        place: &'static str,
        /// Records that it must be over.
        size: u64,
    },
    /// The checkpoint was signed over other records, or more.
    #[error(
        "the last signed checkpoint is over {signed} records, which the log of {size} records does \
         not begin with: records are lost or exchanged. Nothing may be moved; restore a copy that fits"
    )]
    Checkpoint {
        /// Size that was signed.
        signed: u64,
        /// Records in the log.
        size: u64,
    },
}

/// A log that was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Where it ends.
    pub head: Head,
    /// Root of its tree.
    pub root: Hash,
    /// Records that were there already, from a copy that was interrupted.
    pub found: u64,
}

/// Copies the log of `from`, as it ends now, into `to`, which holds nothing, or the beginning of the
/// same log. `signed` is the last checkpoint: its root must be that of the records. Tells after each
/// page how many records are done.
///
/// # Errors
/// [`CopyError`]; nothing in `from` is changed.
pub async fn copy<F: LedgerStore, T: LedgerStore>(
    from: &F,
    to: &T,
    signed: Option<&Checkpoint>,
    mut tell: impl FnMut(u64),
) -> Result<Copied, CopyError> {
    let end = from.log().head().await?;
    let found = to.log().head().await?;
    let mut copy = Copy {
        from,
        to,
        signed,
        end,
        found,
        chain: ChainVerifier::new(),
        frontier: Frontier::new(),
        head: Head::EMPTY,
    };
    copy.check_start()?;
    while copy.head.size < end.size {
        copy.page().await?;
        tell(copy.head.size);
    }
    copy.beside().await?;
    copy.check_trees().await?;
    Ok(Copied {
        head: copy.head,
        root: copy.frontier.root(),
        found: found.size,
    })
}

/// The bodies that `records` name: position and digest of each.
///
/// # Errors
/// [`Fault`] where a record says nothing that this program knows.
pub fn bodies_named(records: &[Record]) -> Result<Vec<(u64, Digest)>, Fault> {
    let mut named = Vec::with_capacity(records.len());
    for record in records {
        if let Some(envelope) = read_event(record)?.envelope() {
            named.push((record.position(), envelope.digest));
        }
    }
    Ok(named)
}

/// Why what lies beside a log cannot be made from it.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// A record says nothing that this program knows.
    #[error(transparent)]
    Unreadable(#[from] Fault),
    /// The tree before these records is not one.
    #[error(transparent)]
    Tree(#[from] FrontierError),
}

/// The commit that wrote `records` behind a log whose tree is `tree`, made from the records again:
/// index entries, what they erase, and the tree. Nonces that left no record are not in it. A body
/// that is not among `bodies` is left out.
///
/// # Errors
/// See [`IndexError`].
pub fn commit_of(
    tree: Option<&[u8]>,
    records: Vec<Record>,
    bodies: &HashMap<u64, Arc<[u8]>>,
) -> Result<Commit, IndexError> {
    let mut frontier = match tree {
        Some(bytes) => Frontier::from_bytes(bytes)?,
        None => Frontier::new(),
    };
    let mut commit = Commit {
        expected_size: records.first().map_or(0, Record::position),
        ..Commit::default()
    };
    for record in &records {
        let event = read_event(record)?;
        commit.index(record.position(), &event, bodies.get(&record.position()));
        frontier.push(record.hash());
    }
    commit.frontier = frontier.to_bytes();
    commit.records = records;
    Ok(commit)
}

/// A copy that is being made.
struct Copy<'a, F, T> {
    from: &'a F,
    to: &'a T,
    signed: Option<&'a Checkpoint>,
    /// Where the log ended when the copy began.
    end: Head,
    /// What an interrupted copy left.
    found: Head,
    chain: ChainVerifier,
    frontier: Frontier,
    /// How far the copy has come.
    head: Head,
}

impl<F: LedgerStore, T: LedgerStore> Copy<'_, F, T> {
    fn check_start(&self) -> Result<(), CopyError> {
        if self.found.size > self.end.size {
            let size = self.found.size;
            return Err(CopyError::OtherLog { size });
        }
        match self.signed {
            Some(signed) if signed.size > self.end.size => Err(self.not_signed(signed)),
            Some(_) | None => Ok(()),
        }
    }

    fn not_signed(&self, signed: &Checkpoint) -> CopyError {
        CopyError::Checkpoint {
            signed: signed.size,
            size: self.end.size,
        }
    }

    /// One page of records, with what lies beside them. A page ends where the copy before it ended.
    async fn page(&mut self) -> Result<(), CopyError> {
        let position = self.head.size;
        let goal = match position < self.found.size {
            true => self.found.size,
            false => self.end.size,
        };
        let most = usize::try_from(goal - position).unwrap_or(PAGE).min(PAGE);
        let page = self.from.log().read(position, most).await?;
        if page.is_empty() {
            let size = self.end.size;
            return Err(CopyError::CutShort { position, size });
        }
        let is_new = position >= self.found.size;
        let mut bodies = match is_new {
            true => self.bodies(&page).await?,
            false => HashMap::new(),
        };
        let mut batch = Batch::behind(position);
        for record in page {
            self.check(&record)?;
            if !is_new {
                continue;
            }
            let event = read_event(&record)?;
            let body = bodies.remove(&record.position());
            if batch.is_full_for(&record) {
                self.write(&mut batch).await?;
            }
            batch.commit.index(record.position(), &event, body.as_ref());
            batch.take(record, &self.frontier);
        }
        self.write(&mut batch).await?;
        if self.head.size == self.found.size && self.head.hash != self.found.hash {
            let size = self.found.size;
            return Err(CopyError::OtherLog { size });
        }
        Ok(())
    }

    /// Takes one more record into chain and tree.
    fn check(&mut self, record: &Record) -> Result<(), CopyError> {
        if let Some(broken) = self.chain.push(record).into_iter().next() {
            return Err(CopyError::Broken(broken));
        }
        self.frontier.push(record.hash());
        self.head = Head::after(record);
        match self.signed {
            Some(signed) if signed.size == self.head.size => {
                match signed.root == self.frontier.root() {
                    true => Ok(()),
                    false => Err(self.not_signed(signed)),
                }
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The bodies of a page, each as its record names it; those that were erased are left out.
    async fn bodies(&self, page: &[Record]) -> Result<HashMap<u64, Arc<[u8]>>, CopyError> {
        let due = bodies_named(page)?;
        let positions: Vec<u64> = due.iter().map(|(position, _)| *position).collect();
        let mut stored = self.from.bodies(&positions).await?;
        let mut missing = Vec::new();
        let mut bodies = HashMap::with_capacity(due.len());
        for (position, digest) in due {
            match stored.remove(&position) {
                Some(body) => {
                    body.check(digest)?;
                    bodies.insert(position, body.bytes);
                }
                None => missing.push(position),
            }
        }
        let erased = self.from.erased(&missing).await?;
        match missing.iter().find(|missing| !erased.contains_key(missing)) {
            Some(position) => Err(CopyError::NoBody {
                position: *position,
            }),
            None => Ok(bodies),
        }
    }

    async fn write(&self, batch: &mut Batch) -> Result<(), CopyError> {
        let behind = batch.commit.expected_size + batch.commit.records.len() as u64;
        let written = std::mem::replace(batch, Batch::behind(behind));
        if !written.commit.records.is_empty() {
            self.to.commit(written.commit).await?;
        }
        Ok(())
    }

    /// What no record says: nonces whose answer left none, and when the ledger was last up.
    async fn beside(&self) -> Result<(), CopyError> {
        let always = TimestampMs::new(0);
        let known = self.to.spent_nonces(always).await?;
        let known: HashSet<Digest> = known.iter().map(|spent| spent.tag).collect();
        let mut nonces = self.from.spent_nonces(always).await?;
        nonces.retain(|spent| !known.contains(&spent.tag));
        if !nonces.is_empty() {
            let commit = Commit {
                expected_size: self.end.size,
                nonces,
                ..Commit::default()
            };
            self.to.commit(commit).await?;
        }
        if let Some(at) = self.from.last_tick().await? {
            self.to.tick(at).await?;
        }
        Ok(())
    }

    /// Both places must say the tree over all records.
    async fn check_trees(&self) -> Result<(), CopyError> {
        let due = (self.end.size > 0).then(|| (self.end.size, self.frontier.to_bytes()));
        let stored = self.to.frontier().await?;
        if stored != due || self.to.log().head().await? != self.head {
            return Err(self.not_the_tree("in the new place"));
        }
        // A log that others write to has gone on: its tree is of more records.
        let stored = self.from.frontier().await?;
        let size = stored.as_ref().map_or(0, |(size, _)| *size);
        if size < self.end.size || (size == self.end.size && stored != due) {
            return Err(self.not_the_tree("in the old place"));
        }
        Ok(())
    }

    fn not_the_tree(&self, place: &'static str) -> CopyError {
        CopyError::Tree {
            place,
            size: self.end.size,
        }
    }
}

/// Records that are written together.
struct Batch {
    commit: Commit,
    bytes: usize,
}

impl Batch {
    fn behind(expected_size: u64) -> Batch {
        let commit = Commit {
            expected_size,
            ..Commit::default()
        };
        Batch { commit, bytes: 0 }
    }

    fn is_full_for(&self, record: &Record) -> bool {
        self.bytes + record.bytes().len() > MAX_BATCH_BYTES
    }

    fn take(&mut self, record: Record, frontier: &Frontier) {
        self.bytes += record.bytes().len();
        self.commit.records.push(record);
        self.commit.frontier = frontier.to_bytes();
    }
}
