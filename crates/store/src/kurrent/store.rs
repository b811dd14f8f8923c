//! Stream and database as one store.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use tokio::sync::{Mutex, watch};
use x811_eventlog::{AppendError, EventLog, Head, ReadError, Record, check_batch};
use x811_ledger::port::{Body, Commit, IndexCounts, LedgerStore, SpentNonce};
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use super::ahead::ReadAhead;
use super::beside::{self, OpenFault};
use super::client::Patience;
use super::error::KurrentError;
use super::lookout::Lookout;
use super::stream::Stream;
use crate::asking::asks_another;
use crate::fault::StoreFault;
use crate::log_url::LogUrl;
use crate::postgres::{CheckpointRow, PostgresStore, Quorum, StoreUrl, Wait};
use crate::purpose::Purpose;
use crate::sole::sole;

/// A log in EventStoreDB or KurrentDB, with everything else in a PostgreSQL database beside it.
///
/// There is one writer: the database's lease keeps a second process out, and the revision that an
/// append expects decides between two that think they write (stores.md section 4).
#[derive(Debug)]
pub struct KurrentStore {
    /// Shared with the commit that is being made.
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    stream: Arc<Stream>,
    ahead: ReadAhead,
    /// Absent where nothing is written.
    lookout: Option<Lookout>,
    beside: PostgresStore,
    line: Mutex<Line>,
    /// Records known to be stored.
    size: watch::Sender<u64>,
}

/// What is known of the log. Held for the length of a commit.
#[derive(Debug, Default)]
struct Line {
    /// Where it ends, as far as is sure.
    head: Option<Head>,
    /// May be in the stream, and is not beside it.
    unsettled: Option<Commit>,
}

impl KurrentStore {
    /// Becomes the writer of the log in the cluster at `log`, with the database at `url` beside it;
    /// makes good what a crash left between the two.
    pub(crate) async fn open(
        purpose: Purpose,
        log: &LogUrl,
        url: &StoreUrl,
        quorum: Option<Quorum>,
        wait: Wait,
    ) -> Result<KurrentStore, OpenFault> {
        let beside = PostgresStore::open_beside(purpose, url, quorum, wait).await?;
        KurrentStore::over(log, beside, Patience::default()).await
    }

    /// Over a database whose writer this process is.
    pub(super) async fn over(
        log: &LogUrl,
        beside: PostgresStore,
        patience: Patience,
    ) -> Result<KurrentStore, OpenFault> {
        let stream = beside::checked_stream(log, &beside, patience).await?;
        if stream.may_write_metadata().await {
            tracing::warn!(
                "the ledger's own user may write the metadata of the stream, and so may whoever takes \
                 its password: let only administrators write it (`$mw` in the stream's `$acl`, docs/scale.md)"
            );
        }
        let head = beside::catch_up(&stream, &beside).await?;
        let (stream, size) = (Arc::new(stream), watch::Sender::new(head.size));
        let lookout = Lookout::start(stream.clone(), size.subscribe());
        let store = KurrentStore::of(stream, Some(lookout), beside, size);
        store.inner.line.lock().await.head = Some(head);
        Ok(store)
    }

    /// Reads the log beside whoever writes it, and changes nothing.
    pub(crate) async fn open_read_only(
        log: &LogUrl,
        url: &StoreUrl,
    ) -> Result<KurrentStore, OpenFault> {
        let beside = PostgresStore::open_read_only(url).await?;
        let stream = beside::checked_stream(log, &beside, Patience::default()).await?;
        Ok(KurrentStore::reading(stream, beside))
    }

    /// Reads a log whose stream may hide records or have lost them, and changes nothing.
    pub(crate) async fn open_as_it_is(
        log: &LogUrl,
        url: &StoreUrl,
    ) -> Result<KurrentStore, OpenFault> {
        let beside = PostgresStore::open_read_only(url).await?;
        let stream = beside::stream(log, &beside, Patience::default()).await?;
        Ok(KurrentStore::reading(stream, beside))
    }

    /// Becomes the writer of the database, and reads a stream that ends with another record than the
    /// database. Does not store in the database what only the stream has.
    pub(crate) async fn open_unmatched(
        log: &LogUrl,
        url: &StoreUrl,
    ) -> Result<KurrentStore, OpenFault> {
        let (purpose, wait) = (Purpose::Ledger, Wait::default());
        let beside = PostgresStore::open_beside(purpose, url, None, wait).await?;
        let stream = beside::checked_stream(log, &beside, Patience::default()).await?;
        Ok(KurrentStore::reading(stream, beside))
    }

    /// Returns a sentence for the first record that the database has otherwise than the stream.
    pub(crate) async fn problems(&self) -> Vec<String> {
        let Inner { stream, beside, .. } = &*self.inner;
        match beside::difference(stream, beside).await {
            Ok(None) => Vec::new(),
            Ok(Some(position)) => vec![format!(
                "record {position} of the database beside the stream is not the one of the stream: one of \
                 the two was changed"
            )],
            Err(error) => vec![error.to_string()],
        }
    }

    fn reading(stream: Stream, beside: PostgresStore) -> KurrentStore {
        KurrentStore::of(Arc::new(stream), None, beside, watch::Sender::new(0))
    }

    fn of(
        stream: Arc<Stream>,
        lookout: Option<Lookout>,
        beside: PostgresStore,
        size: watch::Sender<u64>,
    ) -> KurrentStore {
        let inner = Inner {
            stream,
            ahead: ReadAhead::default(),
            lookout,
            beside,
            line: Mutex::default(),
            size,
        };
        KurrentStore {
            inner: Arc::new(inner),
        }
    }

    /// The database that everything but the log lies in.
    pub(crate) fn beside(&self) -> &PostgresStore {
        &self.inner.beside
    }

    /// Returns the state of the stream that keeps the ledger from acknowledging anything, if there is
    /// one.
    pub(crate) fn fault(&self) -> Option<StoreFault> {
        self.inner.lookout.as_ref()?.fault()
    }

    /// The row that holds the last signed checkpoint.
    pub(crate) fn checkpoint(&self) -> CheckpointRow {
        self.inner.beside.checkpoint()
    }

    /// Gives the log the epoch `epoch`: whoever wrote so far, this writer included, is fenced out.
    pub(crate) async fn hand_over(&self, epoch: u64) -> Result<(), AppendError> {
        self.inner.beside.hand_over(epoch).await
    }

    /// Lets go of the lease and ends the sessions.
    pub(crate) async fn close(self) {
        sole(self.inner).await.beside.close().await;
    }
}

impl Inner {
    async fn commit(&self, commit: Commit) -> Result<Head, AppendError> {
        if let Some(fault) = self.lookout.as_ref().and_then(Lookout::fault) {
            return Err(KurrentError::Suspended(fault.sentence().to_owned()).into());
        }
        let committed = self.committed(commit).await;
        self.noticed(committed)
    }

    /// Has the stream looked at where `result` is an error.
    fn noticed<T, E: Error + 'static>(&self, result: Result<T, E>) -> Result<T, E> {
        if let (Err(error), Some(lookout)) = (&result, &self.lookout) {
            let source = error
                .source()
                .and_then(|it| it.downcast_ref::<KurrentError>());
            lookout.look(matches!(source, Some(KurrentError::Denied { .. })));
        }
        result
    }

    async fn committed(&self, commit: Commit) -> Result<Head, AppendError> {
        let mut line = self.line.lock().await;
        let head = self.settled(&mut line).await?;
        let next = check_batch(&head, commit.expected_size, &commit.records)?;
        if commit.records.is_empty() {
            return self.beside.commit(commit).await;
        }
        self.beside.stage(&commit).await?;
        *line = Line {
            head: None,
            unsettled: Some(commit),
        };
        self.finish(&mut line).await?;
        line.head = Some(next);
        self.note_size(next.size);
        Ok(next)
    }

    /// Where the log ends, after what was unknown is known.
    async fn settled(&self, line: &mut Line) -> Result<Head, AppendError> {
        self.finish(line).await?;
        let head = match line.head {
            Some(head) => head,
            None => {
                let head = self.stream.head(self.known_size()).await;
                head.map_err(|error| AppendError::Backend(Box::new(ReadError::from(error))))?
            }
        };
        line.head = Some(head);
        Ok(head)
    }

    /// Stores what is not sure to be stored, in the stream and then beside it. What comes out as
    /// stored in neither is dropped; what stays unknown is tried again by the next one who asks.
    async fn finish(&self, line: &mut Line) -> Result<(), AppendError> {
        let Some(commit) = line.unsettled.take() else {
            return Ok(());
        };
        let appended = self.stream.append(commit.expected_size, &commit.records);
        if let Err(error) = appended.await {
            if matches!(error, AppendError::OutcomeUnknown { .. }) {
                line.unsettled = Some(commit);
            }
            return Err(error);
        }
        let expected_size = commit.expected_size;
        let unknown = |source| AppendError::OutcomeUnknown {
            expected_size,
            source,
        };
        let size = match self.beside.head().await {
            Ok(head) => head.size,
            Err(error) => {
                line.unsettled = Some(commit);
                return Err(unknown(Box::new(error)));
            }
        };
        if size > expected_size {
            // The database was asked before, and had done it.
            return Ok(());
        }
        match self.beside.commit(commit.clone()).await {
            Ok(_) => Ok(()),
            // The records are in the log, and whoever replaced this writer has to deal with them.
            Err(error @ AppendError::Fenced { .. }) => Err(error),
            Err(error) => {
                line.unsettled = Some(commit);
                Err(unknown(Box::new(error)))
            }
        }
    }

    fn known_size(&self) -> u64 {
        *self.size.borrow()
    }

    fn note_size(&self, size: u64) {
        self.size.send_if_modified(|known| {
            let is_longer = size > *known;
            *known = size.max(*known);
            is_longer
        });
    }
}

impl EventLog for KurrentStore {
    async fn append(&self, expected_size: u64, records: &[Record]) -> Result<Head, AppendError> {
        let commit = Commit {
            expected_size,
            records: records.to_vec(),
            ..Commit::default()
        };
        self.commit(commit).await
    }

    async fn read(&self, from: u64, limit: usize) -> Result<Vec<Record>, ReadError> {
        let Inner { stream, ahead, .. } = &*self.inner;
        let known = self.inner.known_size();
        let page = ahead.page(stream, (from, limit), known).await;
        Ok(self.inner.noticed(page)?)
    }

    /// After a commit of unknown outcome this waits until it is known.
    async fn head(&self) -> Result<Head, ReadError> {
        let mut line = self.inner.line.lock().await;
        match self.inner.finish(&mut line).await {
            Ok(()) | Err(AppendError::Conflict { .. } | AppendError::Backend(_)) => {}
            Err(error) => return Err(ReadError::Backend(Box::new(error))),
        }
        let known = self.inner.known_size();
        let head = self.inner.noticed(self.inner.stream.head(known).await)?;
        self.inner.note_size(head.size);
        Ok(head)
    }

    async fn follow(&self, seen_size: u64) -> Result<u64, ReadError> {
        let mut size = self.inner.size.subscribe();
        if *size.borrow_and_update() <= seen_size {
            self.head().await?;
        }
        match size.wait_for(|size| *size > seen_size).await {
            Ok(size) => Ok(*size),
            // The sender lives in `self`; a closed channel has no more to say than its last value.
            Err(_) => Ok(*self.inner.size.borrow()),
        }
    }
}

macro_rules! ask_beside {
    ($kurrent:expr, $store:ident => $answer:expr) => {{
        let $store = &$kurrent.inner.beside;
        $answer
    }};
}

/// Everything but the log lies in the database, which has the leaves, too: a record asked for by its
/// position would cost a call to the cluster each.
impl LedgerStore for KurrentStore {
    type Log = KurrentStore;

    fn log(&self) -> &KurrentStore {
        self
    }

    asks_another!(ask_beside);

    /// Goes on to its end when the caller gives it up: what became of it must be known.
    async fn commit(&self, commit: Commit) -> Result<Head, AppendError> {
        let expected_size = commit.expected_size;
        let inner = self.inner.clone();
        let committed = tokio::spawn(async move { inner.commit(commit).await }).await;
        committed.unwrap_or_else(|error| {
            Err(AppendError::OutcomeUnknown {
                expected_size,
                source: Box::new(error),
            })
        })
    }
}
