//! The log itself: one stream, whose revisions are the positions of the records.

use uuid::Uuid;
use x811_eventlog::{AppendError, Break, Cause, Head, ReadError, Record};

use super::client::{Attempt, Connection, Entry, From, Patience, Unread};
use super::error::KurrentError;
use super::metadata;
use super::probe::Address;
use crate::leaves::{MAX_PAGE_RECORDS, record_at};

/// Most events asked for at once.
pub(super) const MAX_PAGE: usize = MAX_PAGE_RECORDS;

/// The first position that the server cannot count to.
const UNCOUNTABLE: u64 = 1 << 63;

/// A size that no stream has.
const UNREACHED: u64 = 1 << 62;

/// The stream of one log.
#[derive(Debug)]
pub(super) struct Stream {
    connection: Connection,
    name: String,
}

impl Stream {
    pub(super) fn new(address: Address, patience: Patience, name: String) -> Stream {
        let connection = Connection::new(address, patience);
        Stream { connection, name }
    }

    /// Returns the time limits of its connection.
    pub(super) fn patience(&self) -> Patience {
        self.connection.patience()
    }

    /// Returns a page of the stream; `None` where there is no stream.
    async fn read(&self, from: From, count: usize) -> Result<Option<Vec<Entry>>, KurrentError> {
        match self.connection.read(&self.name, from, count).await {
            Ok(page) => Ok(Some(page)),
            Err(Unread::NotFound) => Ok(None),
            Err(Unread::Failed(error)) => Err(error),
        }
    }

    /// Where the log ends, as the leader knows; `at_least` records are known to be stored.
    pub(super) async fn head(&self, at_least: u64) -> Result<Head, KurrentReadError> {
        let mut attempts = self.connection.attempts();
        loop {
            match self.read(From::End, 1).await?.as_deref() {
                None if at_least == 0 => return Ok(Head::EMPTY),
                None => return Err(self.gone(at_least).await.into()),
                Some([last, ..]) => {
                    let record = record_at(last.revision, last.revision, last.bytes.clone())?;
                    return Ok(Head::after(&record));
                }
                // A stream that exists has events: the answer was ended on its way.
                Some([]) if attempts.another().await => {}
                Some([]) => return Err(ended_early().into()),
            }
        }
    }

    /// Records from `from` on, without a gap, each continuing the one before.
    pub(super) async fn page(
        &self,
        from: u64,
        limit: usize,
        at_least: u64,
    ) -> Result<Vec<Record>, KurrentReadError> {
        if limit == 0 || from >= UNCOUNTABLE {
            return Ok(Vec::new());
        }
        let mut attempts = self.connection.attempts();
        loop {
            let limit = limit.min(MAX_PAGE);
            match self.read(From::Revision(from), limit).await? {
                None if at_least == 0 => return Ok(Vec::new()),
                None => return Err(self.gone(at_least).await.into()),
                Some(page) if page.is_empty() => {
                    // Either the end of the log, or an answer that was ended on its way.
                    if self.head(at_least).await?.size <= from {
                        return Ok(Vec::new());
                    }
                    if !attempts.another().await {
                        return Err(ended_early().into());
                    }
                }
                Some(page) => return linked(from, page),
            }
        }
    }

    /// Appends `records` at position `size`. Tried again while it is unknown whether they are stored:
    /// the same records at the same revision are stored once.
    pub(super) async fn append(&self, size: u64, records: &[Record]) -> Result<(), AppendError> {
        let last = size + records.len() as u64 - 1;
        let unknown = |error: KurrentError| AppendError::OutcomeUnknown {
            expected_size: size,
            source: Box::new(error),
        };
        let (mut attempts, mut was_sent) = (self.connection.attempts(), false);
        loop {
            let events = records
                .iter()
                .map(|record| (event_id(record), record.bytes().to_vec()));
            let error = match self.connection.append(&self.name, size, events).await {
                Attempt::Stored(found) if found == last => return Ok(()),
                Attempt::Stored(found) => {
                    return Err(unknown(KurrentError::Misplaced { meant: last, found }));
                }
                Attempt::WrongRevision => return self.who_was_there(size, records).await,
                Attempt::NotStored(error) if was_sent => return Err(unknown(error)),
                Attempt::NotStored(error) => return Err(error.into()),
                Attempt::NotSent(error) => error,
                Attempt::Unknown(error) => {
                    was_sent = true;
                    error
                }
            };
            if !attempts.another().await {
                let error = self.connection.given_up(error).await;
                return Err(match was_sent {
                    true => unknown(error),
                    false => error.into(),
                });
            }
        }
    }

    /// The stream does not end at `size`: these very records may be there, or another writer's.
    async fn who_was_there(&self, size: u64, records: &[Record]) -> Result<(), AppendError> {
        let unknown = |error: KurrentReadError| AppendError::OutcomeUnknown {
            expected_size: size,
            source: Box::new(ReadError::from(error)),
        };
        let mut there = Vec::new();
        while there.len() < records.len() {
            let (from, limit) = (size + there.len() as u64, records.len() - there.len());
            let page = self.page(from, limit, 0).await.map_err(unknown)?;
            if page.is_empty() {
                break;
            }
            there.extend(page);
        }
        if there == records {
            return Ok(());
        }
        let head = self.head(0).await.map_err(unknown)?;
        if head.size == size {
            let odd = "it names another revision than the stream has";
            return Err(KurrentError::Refused(odd.to_owned()).into());
        }
        Err(AppendError::Conflict {
            expected: size,
            actual: head.size,
        })
    }

    /// Refuses a stream that does not show all of its records, or may lose them; `at_least` are known
    /// to be stored.
    pub(super) async fn check(&self, at_least: u64) -> Result<(), KurrentError> {
        if let Some(error) = self.hiding().await? {
            return Err(error);
        }
        let mut attempts = self.connection.attempts();
        let first = loop {
            match self.read(From::Revision(0), 1).await?.as_deref() {
                None if at_least > 0 => return Err(self.gone(at_least).await),
                None => return Ok(()),
                Some([first, ..]) if first.revision == 0 => return Ok(()),
                Some([first, ..]) => break first.revision,
                // A stream that exists has events: the answer was ended on its way.
                Some([]) if attempts.another().await => {}
                Some([]) => return Err(ended_early()),
            }
        };
        // The setting may have come between the two reads.
        Err(match self.hiding().await? {
            Some(error) => error,
            None => KurrentError::BeginsLate {
                stream: self.name.clone(),
                first,
            },
        })
    }

    /// Returns the setting by which records are hidden, if there is one.
    async fn hiding(&self) -> Result<Option<KurrentError>, KurrentError> {
        let page = match self.connection.read(&self.metadata(), From::End, 1).await {
            Ok(page) => page,
            Err(Unread::NotFound) => return Ok(None),
            Err(Unread::Failed(KurrentError::Tombstoned { .. })) => {
                let stream = self.name.clone();
                return Err(KurrentError::Tombstoned { stream });
            }
            Err(Unread::Failed(error)) => return Err(error),
        };
        let last = page.first();
        Ok(last.and_then(|last| metadata::hides(&self.name, &last.bytes)))
    }

    /// Returns true if the ledger's own user may write the metadata.
    pub(super) async fn may_write_metadata(&self) -> bool {
        matches!(self.tried(&self.metadata()).await, Attempt::WrongRevision)
    }

    /// Returns the error for a stream that the ledger's own user may not write.
    pub(super) async fn denied(&self) -> Option<KurrentError> {
        match self.tried(&self.name).await {
            Attempt::NotStored(error @ KurrentError::Denied { .. }) => Some(error),
            Attempt::NotStored(_)
            | Attempt::Stored(_)
            | Attempt::WrongRevision
            | Attempt::NotSent(_)
            | Attempt::Unknown(_) => None,
        }
    }

    /// Tries an append that expects a revision no stream has: rights are checked before it, and nothing is
    /// written.
    async fn tried(&self, stream: &str) -> Attempt {
        let event = (
            uuid::Builder::from_custom_bytes([1; 16]).into_uuid(),
            b"{}".to_vec(),
        );
        let once = std::iter::once(event);
        self.connection.append(stream, UNREACHED, once).await
    }

    fn metadata(&self) -> String {
        format!("$${}", self.name)
    }

    /// Returns the error for a stream that is not found though it had `records`.
    async fn gone(&self, records: u64) -> KurrentError {
        match self.hiding().await {
            Ok(Some(error)) => error,
            Ok(None) | Err(_) => KurrentError::Gone {
                stream: self.name.clone(),
                records,
            },
        }
    }
}

/// Of the record's own hash: an event that is stored already under this id is this very record.
fn event_id(record: &Record) -> Uuid {
    let mut id = [0; 16];
    id.copy_from_slice(&record.hash().as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(id).into_uuid()
}

fn ended_early() -> KurrentError {
    KurrentError::Unreachable("its answers end before all was sent".to_owned())
}

fn linked(from: u64, page: Vec<Entry>) -> Result<Vec<Record>, KurrentReadError> {
    let mut records: Vec<Record> = Vec::with_capacity(page.len());
    for (due, entry) in (from..).zip(page) {
        let record = record_at(due, entry.revision, entry.bytes)?;
        if let Some(before) = records.last()
            && record.prev() != before.hash()
        {
            let cause = Cause::LinkBroken {
                expected: before.hash(),
                found: record.prev(),
            };
            let position = due;
            return Err(KurrentReadError::Log(Break { position, cause }.into()));
        }
        records.push(record);
    }
    Ok(records)
}

/// Why nothing can be read: the cluster, or what it gave.
#[derive(Debug, thiserror::Error)]
pub(super) enum KurrentReadError {
    #[error(transparent)]
    Cluster(#[from] KurrentError),
    #[error(transparent)]
    Log(#[from] ReadError),
}

impl std::convert::From<KurrentReadError> for ReadError {
    fn from(error: KurrentReadError) -> ReadError {
        match error {
            KurrentReadError::Cluster(error) => error.into(),
            KurrentReadError::Log(error) => error,
        }
    }
}
