//! The vendor's client, and the one place that names it: EventStoreDB's own, under its present name.
//!
//! Known of it (eventstore.md section 1.4), and the reason for all that is done here:
//!
//! - It does not find the new leader when the old one dies, and one that once failed to connect never
//!   connects again. So after every failure a new one is made, with a growing pause.
//! - It waits without end for a server that hangs. So every answer has a time limit.
//! - Its subscriptions may spin when a proxy ends them. So there are none: the log is read in pages.
//! - Each new call takes some 44 ms, because small packets wait for each other. So appends share one
//!   batch-append session, which is one call that stays open, and pages of the log are large.
//! - Every error of a session ends it, and an append that was under way is then of unknown outcome. A
//!   session that is given up lives on in the client's own tasks until its connection ends.
//! - It does not say why no node could be used. So `probe` looks at the nodes itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eventstore::{
    BatchAppendClient, BatchAppendOptions, Client, Error, EventData, ReadStreamOptions,
    StreamPosition, StreamState,
};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use uuid::Uuid;

use super::error::KurrentError;
use super::probe::{self, Address};

/// Time limits for calls to the cluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Longest wait for the next part of an answer.
    pub(super) call: Duration,
    /// Longest time for all attempts at one call.
    pub(super) all: Duration,
    /// Time between two looks at the stream's settings.
    pub(super) look: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            call: Duration::from_secs(4),
            all: Duration::from_secs(12),
            look: Duration::from_secs(5),
        }
    }
}

/// The type of every event. The server counts two bytes for each of its characters, beside the record, to
/// the most that one append may have.
const EVENT_TYPE: &str = "record";

/// First pause between two attempts; it doubles up to a second, and varies by half.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its place in the stream.
    pub(super) revision: u64,
    pub(super) bytes: Vec<u8>,
}

/// Where a page begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum From {
    /// At this revision, forwards.
    Revision(u64),
    /// At the end, backwards.
    End,
}

/// The outcome of one attempt to append.
#[derive(Debug)]
pub(super) enum Attempt {
    /// It is stored, and the last event has this revision.
    Stored(u64),
    /// The stream does not end where it was expected to.
    WrongRevision,
    /// It was refused: nothing is stored.
    NotStored(KurrentError),
    /// Nothing was sent. The same again does no harm and may succeed.
    NotSent(KurrentError),
    /// It may be stored, now or a little later.
    Unknown(KurrentError),
}

/// A page that could not be read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The stream does not exist, or all of it is hidden.
    NotFound,
    /// The cluster refused, or could not be used.
    Failed(KurrentError),
}

/// The connection to a cluster. Calls may be made at the same time.
pub(super) struct Connection {
    address: Address,
    patience: Patience,
    held: Mutex<Held>,
    /// True once any call was answered.
    was_answered: AtomicBool,
}

/// The client in use; both are absent before the first call and after a failure.
#[derive(Default)]
struct Held {
    client: Option<Client>,
    session: Option<Arc<BatchAppendClient>>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection")
    }
}

impl Connection {
    pub(super) fn new(address: Address, patience: Patience) -> Connection {
        Connection {
            address,
            patience,
            held: Mutex::default(),
            was_answered: AtomicBool::new(false),
        }
    }

    /// Returns the time limits of this connection.
    pub(super) fn patience(&self) -> Patience {
        self.patience
    }

    /// Returns attempts at one thing, each after a pause.
    pub(super) fn attempts(&self) -> Attempts {
        Attempts {
            until: Instant::now() + self.patience.all,
            pause: FIRST_PAUSE,
        }
    }

    /// Returns the last error of attempts that were given up. The error for a call that got no answer
    /// gets the cause that the nodes show.
    pub(super) async fn given_up(&self, error: KurrentError) -> KurrentError {
        let KurrentError::Unreachable(said) = &error else {
            return error;
        };
        KurrentError::Unreachable(probe::cause(&self.address, said).await.to_string())
    }

    /// Returns an error that no later attempt can resolve, if this cluster was never reached and its
    /// nodes show one.
    async fn misconfigured(&self, said: &str) -> Option<KurrentError> {
        if self.was_answered.load(Ordering::Relaxed) {
            return None;
        }
        let cause = probe::cause(&self.address, said).await;
        (!cause.passes_by_itself()).then(|| KurrentError::Misconfigured(cause.to_string()))
    }

    /// Returns the error for a denied access: a cluster of one node denies it for a wrong password, too.
    async fn denied(&self, stream: &str) -> KurrentError {
        if !self.address.has_user() {
            return KurrentError::NoUser;
        }
        let cause = probe::cause(&self.address, "access denied").await;
        match cause.passes_by_itself() {
            true => KurrentError::Denied {
                stream: stream.to_owned(),
            },
            false => KurrentError::Misconfigured(cause.to_string()),
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self) -> Result<Client, Error> {
        let mut held = self.held();
        if let Some(client) = &held.client {
            return Ok(client.clone());
        }
        let made = Client::new(self.address.settings().clone());
        let client = made.map_err(|error| Error::InitializationError(error.to_string()))?;
        held.client = Some(client.clone());
        Ok(client)
    }

    async fn session(&self) -> Result<Arc<BatchAppendClient>, Error> {
        if let Some(session) = &self.held().session {
            return Ok(session.clone());
        }
        // Without a deadline: that of the options ends the whole session.
        let options = BatchAppendOptions::default().requires_leader(true);
        let session = Arc::new(self.client()?.batch_append(&options).await?);
        self.held().session = Some(session.clone());
        Ok(session)
    }

    fn forget(&self) {
        *self.held() = Held::default();
    }

    fn answered(&self) {
        self.was_answered.store(true, Ordering::Relaxed);
    }

    /// Appends `events` in one piece to `stream`, which must have `size` events.
    pub(super) async fn append(
        &self,
        stream: &str,
        size: u64,
        events: impl Iterator<Item = (Uuid, Vec<u8>)>,
    ) -> Attempt {
        let session = match timeout(self.patience.call, self.session()).await {
            Ok(Ok(session)) => session,
            Ok(Err(Error::UnsupportedFeature)) => return Attempt::NotStored(KurrentError::TooOld),
            Ok(Err(error)) => return self.unsent(&error.to_string()).await,
            Err(_) => return self.unsent(NO_ANSWER).await,
        };
        let state = match size.checked_sub(1) {
            Some(last) => StreamState::StreamRevision(last),
            None => StreamState::NoStream,
        };
        let events: Vec<EventData> = events
            .map(|(id, bytes)| EventData::binary(EVENT_TYPE, bytes.into()).id(id))
            .collect();
        let append = session.append_to_stream(stream, state, events);
        let Ok(appended) = timeout(self.patience.call, append).await else {
            self.forget();
            return Attempt::Unknown(KurrentError::Unreachable(NO_ANSWER.to_owned()));
        };
        match appended {
            Ok(written) => {
                self.answered();
                match written.current_revision() {
                    Some(revision) => Attempt::Stored(revision),
                    None => Attempt::Unknown(KurrentError::Refused("no revision".to_owned())),
                }
            }
            Err(error) => {
                self.forget();
                match not_appended(stream, &error) {
                    None => Attempt::NotStored(self.denied(stream).await),
                    Some(attempt) => attempt,
                }
            }
        }
    }

    async fn unsent(&self, said: &str) -> Attempt {
        self.forget();
        match self.misconfigured(said).await {
            Some(error) => Attempt::NotStored(error),
            None => Attempt::NotSent(KurrentError::Unreachable(said.to_owned())),
        }
    }

    /// Returns at most `count` events of `stream`, as the leader has them. Fewer prove nothing: a proxy
    /// may have ended the answer early.
    pub(super) async fn read(
        &self,
        stream: &str,
        from: From,
        count: usize,
    ) -> Result<Vec<Entry>, Unread> {
        let mut attempts = self.attempts();
        loop {
            let said = match self.read_once(stream, from, count).await {
                Ok(page) => {
                    self.answered();
                    return Ok(page);
                }
                Err(Error::ResourceNotFound) => {
                    self.answered();
                    return Err(Unread::NotFound);
                }
                Err(Error::AccessDenied) => {
                    return Err(Unread::Failed(self.denied(stream).await));
                }
                Err(error) if may_pass(&error) => error.to_string(),
                Err(error) => {
                    // Whatever answered before any node did may be no node.
                    let other = self.misconfigured(&error.to_string()).await;
                    let error = other.unwrap_or_else(|| refused(stream, &error));
                    return Err(Unread::Failed(error));
                }
            };
            self.forget();
            if let Some(error) = self.misconfigured(&said).await {
                return Err(Unread::Failed(error));
            }
            if !attempts.another().await {
                let error = KurrentError::Unreachable(said);
                return Err(Unread::Failed(self.given_up(error).await));
            }
        }
    }

    async fn read_once(&self, stream: &str, from: From, count: usize) -> Result<Vec<Entry>, Error> {
        let client = self.client()?;
        let position = match from {
            From::Revision(revision) => StreamPosition::Position(revision),
            From::End => StreamPosition::End,
        };
        let options = ReadStreamOptions::default()
            .position(position)
            .max_count(count)
            .requires_leader(true)
            .deadline(self.patience.all);
        let until = Instant::now() + self.patience.all;
        let late = |_| Error::ServerError(NO_ANSWER.to_owned());
        let call = self.patience.call;
        let read = timeout(call, client.read_stream(stream, &options));
        let mut events = read.await.map_err(late)??;
        let mut page = Vec::new();
        loop {
            let by = until.min(Instant::now() + call);
            let Some(event) = timeout_at(by, events.next()).await.map_err(late)?? else {
                return Ok(page);
            };
            let event = event.get_original_event();
            page.push(Entry {
                revision: event.revision,
                bytes: event.data.to_vec(),
            });
        }
    }
}

/// The text of an error for a call that got no answer.
const NO_ANSWER: &str = "no answer in time";

/// Codes of an answer to one append of a session, as gRPC numbers them.
mod code {
    pub(super) const INVALID_ARGUMENT: i32 = 3;
    pub(super) const NOT_FOUND: i32 = 5;
    pub(super) const ALREADY_EXISTS: i32 = 6;
    pub(super) const PERMISSION_DENIED: i32 = 7;
}

/// Sorts the error of an append that was sent; `None` if access was denied.
fn not_appended(stream: &str, error: &Error) -> Option<Attempt> {
    let unknown = || Attempt::Unknown(KurrentError::Unreachable(error.to_string()));
    if matches!(error, Error::AccessDenied) {
        return None;
    }
    let Error::Grpc { code, .. } = error else {
        return Some(match may_pass(error) {
            true => unknown(),
            false => Attempt::NotStored(refused(stream, error)),
        });
    };
    Some(match i32::from(*code) {
        code::ALREADY_EXISTS => Attempt::WrongRevision,
        code::NOT_FOUND => Attempt::NotStored(refused(stream, &Error::ResourceDeleted)),
        code::PERMISSION_DENIED => return None,
        code::INVALID_ARGUMENT => Attempt::NotStored(refused(stream, error)),
        _ => unknown(),
    })
}

/// Returns the error for an answer that nobody can wait out.
fn refused(stream: &str, error: &Error) -> KurrentError {
    if matches!(error, Error::ResourceDeleted) {
        let stream = stream.to_owned();
        return KurrentError::Tombstoned { stream };
    }
    KurrentError::Refused(error.to_string())
}

/// Returns true if another attempt, by a new client, may succeed without anybody's help.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::ServerError(_)
        | Error::NotLeaderException(_)
        | Error::ConnectionClosed
        | Error::Grpc { .. }
        | Error::GrpcConnectionError(_)
        | Error::DeadlineExceeded
        | Error::InitializationError(_)
        | Error::InternalClientError => true,
        Error::InternalParsingError(_)
        | Error::AccessDenied
        | Error::ResourceAlreadyExists
        | Error::ResourceNotFound
        | Error::ResourceDeleted
        | Error::UnsupportedFeature
        | Error::IllegalStateError(_)
        | Error::WrongExpectedVersion { .. } => false,
    }
}

/// Attempts at one thing.
#[derive(Debug)]
pub(super) struct Attempts {
    until: Instant,
    pause: Duration,
}

impl Attempts {
    /// Waits, then says whether there is time for one more.
    pub(super) async fn another(&mut self) -> bool {
        sleep(self.pause.mul_f64(0.5 + fastrand::f64())).await;
        self.pause = (self.pause * 2).min(Duration::from_secs(1));
        Instant::now() < self.until
    }
}
