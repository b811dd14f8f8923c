//! What the database has of the stream, and what it lacks after a crash.

use std::collections::HashMap;

use x811_eventlog::{EventLog as _, Head, ReadError, Record};
use x811_ledger::copy::{IndexError, bodies_named, commit_of};
use x811_ledger::port::LedgerStore as _;

use super::client::Patience;
use super::error::KurrentError;
use super::probe::Address;
use super::stream::{KurrentReadError, MAX_PAGE, Stream};
use crate::log_url::LogUrl;
use crate::postgres::{PostgresError, PostgresStore};
use crate::sqlite::OpenError;

/// Most records that are made good in one commit: they stay under 1 MiB.
const PAGE: usize = 15;

/// Why a log in a stream could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenFault {
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    #[error(transparent)]
    Kurrent(#[from] KurrentError),
    #[error(transparent)]
    Log(#[from] ReadError),
}

impl From<KurrentReadError> for OpenFault {
    fn from(error: KurrentReadError) -> OpenFault {
        match error {
            KurrentReadError::Cluster(error) => error.into(),
            KurrentReadError::Log(error) => error.into(),
        }
    }
}

impl From<OpenFault> for OpenError {
    fn from(error: OpenFault) -> OpenError {
        match error {
            OpenFault::Postgres(error) => error.into(),
            OpenFault::Kurrent(error) => error.into(),
            OpenFault::Log(error) => OpenError::Log(error),
        }
    }
}

/// The stream that the database names.
pub(super) async fn stream(
    log: &LogUrl,
    beside: &PostgresStore,
    patience: Patience,
) -> Result<Stream, OpenFault> {
    let address = Address::of(log.reveal())?;
    let name = beside.stream_name().await?;
    Ok(Stream::new(address, patience, name))
}

/// Returns the stream that the database names if it shows every record from the first one on.
pub(super) async fn checked_stream(
    log: &LogUrl,
    beside: &PostgresStore,
    patience: Patience,
) -> Result<Stream, OpenFault> {
    let stream = stream(log, beside, patience).await?;
    stream.check(beside.head().await?.size).await?;
    Ok(stream)
}

/// Makes what lies beside the stream as long as it is, from its records and the bodies that were
/// staged for them; gives where the log ends.
pub(super) async fn catch_up(stream: &Stream, beside: &PostgresStore) -> Result<Head, OpenFault> {
    let mut known = beside.head().await?;
    let end = stream.head(known.size).await?;
    if end.size < known.size {
        return Err(KurrentError::Shorter {
            stream: end.size,
            beside: known.size,
        }
        .into());
    }
    if let Some(position) = known.size.checked_sub(1) {
        let same = stream.page(position, 1, end.size).await?;
        if same.first().map(Record::hash) != Some(known.hash) {
            return Err(KurrentError::Differs { position }.into());
        }
    }
    while known.size < end.size {
        let page = stream.page(known.size, PAGE, end.size).await?;
        if page.first().is_none_or(|first| first.prev() != known.hash) {
            let position = known.size;
            return Err(KurrentError::Differs { position }.into());
        }
        let named =
            bodies_named(&page).map_err(|fault| KurrentError::from(IndexError::from(fault)))?;
        let bodies = beside.staged(&named).await?;
        let missing: Vec<u64> = named
            .iter()
            .map(|(position, _)| *position)
            .filter(|position| !bodies.contains_key(position))
            .collect();
        if !missing.is_empty() {
            tracing::error!(
                ?missing,
                "the bodies of these records are not in the database, which may have been restored from \
                 an older copy: the log goes on without them, and audits of it are incomplete"
            );
        }
        let tree = beside.frontier().await?.map(|(_, frontier)| frontier);
        let commit = commit_of(tree.as_deref(), page, &bodies).map_err(KurrentError::from)?;
        tracing::warn!(
            from = known.size,
            records = commit.records.len(),
            "records that the stream has and the database beside it had not: made good"
        );
        known = beside.commit(commit).await.map_err(unwritten)?;
    }
    Ok(end)
}

/// Returns the first position at which both have a record, and not the same one.
pub(super) async fn difference(
    stream: &Stream,
    beside: &PostgresStore,
) -> Result<Option<u64>, OpenFault> {
    let size = beside.head().await?.size;
    let mut from = 0;
    while from < size {
        let page = stream.page(from, MAX_PAGE, size).await?;
        let positions: Vec<u64> = page.iter().map(Record::position).collect();
        let leaves: HashMap<u64, Record> = beside
            .records(&positions)
            .await?
            .into_iter()
            .map(|record| (record.position(), record))
            .collect();
        for record in page.iter().take_while(|record| record.position() < size) {
            if leaves.get(&record.position()) != Some(record) {
                return Ok(Some(record.position()));
            }
        }
        if page.is_empty() {
            return Ok(None);
        }
        from += page.len() as u64;
    }
    Ok(None)
}

fn unwritten(error: x811_eventlog::AppendError) -> OpenFault {
    OpenFault::Log(ReadError::Backend(Box::new(error)))
}
