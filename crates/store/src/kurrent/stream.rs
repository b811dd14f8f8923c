//! The log itself: one stream, whose revisions are the positions of the records.

use uuid::Uuid;
use x811_eventlog::{AppendError, Break, Cause, Head, ReadError, Record};

use super::client::{Attempt, Connection, Entry, From, Patience, Settings};
use super::error::KurrentError;
use crate::leaves::record_at;

/// Most events asked for at once.
const MAX_PAGE: usize = 500;

/// Settings of a stream by which its server deletes events.
const FORGETTING: [&str; 3] = ["$maxCount", "$maxAge", "$tb"];

/// The stream of one log.
#[derive(Debug)]
pub(super) struct Stream {
    connection: Connection,
    name: String,
}

impl Stream {
    pub(super) fn new(settings: Settings, patience: Patience, name: String) -> Stream {
        let connection = Connection::new(settings, patience);
        Stream { connection, name }
    }

    /// Where the log ends, as the leader knows; `at_least` records are known to be stored.
    pub(super) async fn head(&self, at_least: u64) -> Result<Head, KurrentReadError> {
        let mut attempts = self.connection.attempts();
        loop {
            let page = self.connection.read(&self.name, From::End, 1).await?;
            match page.as_deref() {
                None if at_least == 0 => return Ok(Head::EMPTY),
                None => return Err(self.gone(at_least).into()),
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
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut attempts = self.connection.attempts();
        loop {
            let limit = limit.min(MAX_PAGE);
            let at = From::Revision(from);
            let page = self.connection.read(&self.name, at, limit).await?;
            match page {
                None if at_least == 0 => return Ok(Vec::new()),
                None => return Err(self.gone(at_least).into()),
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
                return Err(if was_sent {
                    unknown(error)
                } else {
                    error.into()
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

    /// Refuses a stream whose server may delete records.
    pub(super) async fn check_that_it_keeps_all(&self) -> Result<(), KurrentReadError> {
        let metadata = format!("$${}", self.name);
        let page = self.connection.read(&metadata, From::End, 1).await?;
        let Some(last) = page.and_then(|page| page.into_iter().next()) else {
            return Ok(());
        };
        let said: serde_json::Value = serde_json::from_slice(&last.bytes).unwrap_or_default();
        match FORGETTING.into_iter().find(|name| said.get(name).is_some()) {
            None => Ok(()),
            Some(setting) => Err(KurrentError::Forgets {
                stream: self.name.clone(),
                setting,
            }
            .into()),
        }
    }

    fn gone(&self, records: u64) -> KurrentError {
        KurrentError::Gone {
            stream: self.name.clone(),
            records,
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
