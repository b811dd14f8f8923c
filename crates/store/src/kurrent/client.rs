//! The vendor's client, and the one place that names it: EventStoreDB's own, under its present name.
//!
//! Known of it (eventstore.md section 1.4), and the reason for all that is done here:
//!
//! - It does not find the new leader when the old one dies, and one that once failed to connect never
//!   connects again. So after every failure a new one is made, with a growing pause.
//! - It waits without end for a server that hangs. So every call has a time limit.
//! - Its subscriptions may spin when a proxy ends them. So there are none: the log is read in pages.
//! - Each call takes some 44 ms, because small packets wait for each other. A commit is one append
//!   and one statement, whatever the number of its records.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use eventstore::{
    AppendToStreamOptions, Client, ClientSettings, Error, EventData, ReadStreamOptions,
    StreamPosition, StreamState,
};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::error::KurrentError;

/// How long the client is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For one call.
    pub(super) call: Duration,
    /// For all attempts at one thing.
    pub(super) all: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            call: Duration::from_secs(4),
            all: Duration::from_secs(12),
        }
    }
}

/// First pause between two attempts; it doubles up to a second, and varies by half.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// A parsed address.
#[derive(Debug, Clone)]
pub(super) struct Settings(ClientSettings);

impl Settings {
    /// Of an address; the leader is asked, whatever the address prefers.
    pub(super) fn of(url: &str) -> Option<Settings> {
        let joint = if url.contains('?') { '&' } else { '?' };
        // Of two settings the last one counts. The first attempt only finds out whom to ask.
        let ours = "nodePreference=leader&maxDiscoverAttempts=3&discoveryInterval=20";
        let url = format!("{url}{joint}{ours}");
        url.parse().ok().map(Settings)
    }
}

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

/// What became of one attempt to append.
#[derive(Debug)]
pub(super) enum Attempt {
    /// It is stored, and the last event has this revision.
    Stored(u64),
    /// The stream does not end where it was expected to.
    WrongRevision,
    /// It was not sent, or not taken: nothing is stored.
    NotStored(KurrentError),
    /// The same again does no harm and may succeed: nothing was sent.
    NotSent(KurrentError),
    /// It may be stored, now or a little later.
    Unknown(KurrentError),
}

/// The connection to a cluster. Calls may be made at the same time.
pub(super) struct Connection {
    settings: ClientSettings,
    patience: Patience,
    /// Absent before the first call and after a failure.
    client: Mutex<Option<Client>>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection")
    }
}

impl Connection {
    pub(super) fn new(Settings(settings): Settings, patience: Patience) -> Connection {
        Connection {
            settings,
            patience,
            client: Mutex::new(None),
        }
    }

    /// Attempts at one thing, each after a pause.
    pub(super) fn attempts(&self) -> Attempts {
        Attempts {
            until: Instant::now() + self.patience.all,
            pause: FIRST_PAUSE,
        }
    }

    fn client(&self) -> Result<Client, KurrentError> {
        let mut held = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &*held {
            return Ok(client.clone());
        }
        let made = Client::new(self.settings.clone());
        let client = made.map_err(|error| KurrentError::Unreachable(error.to_string()))?;
        *held = Some(client.clone());
        Ok(client)
    }

    fn forget(&self) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Appends `events` in one piece to `stream`, which must have `size` events.
    pub(super) async fn append(
        &self,
        stream: &str,
        size: u64,
        events: impl Iterator<Item = (Uuid, Vec<u8>)>,
    ) -> Attempt {
        let client = match self.client() {
            Ok(client) => client,
            Err(error) => return Attempt::NotSent(error),
        };
        let state = match size.checked_sub(1) {
            Some(last) => StreamState::StreamRevision(last),
            None => StreamState::NoStream,
        };
        let options = AppendToStreamOptions::default()
            .stream_state(state)
            .requires_leader(true)
            .deadline(self.patience.call);
        let events: Vec<EventData> = events
            .map(|(id, bytes)| EventData::binary("x811.record", bytes.into()).id(id))
            .collect();
        let append = client.append_to_stream(stream, &options, events);
        let Ok(appended) = timeout(self.patience.call, append).await else {
            self.forget();
            return Attempt::Unknown(KurrentError::Unreachable("no answer in time".to_owned()));
        };
        match appended {
            Ok(written) => Attempt::Stored(written.next_expected_version),
            Err(Error::WrongExpectedVersion { .. }) => Attempt::WrongRevision,
            Err(error @ Error::GrpcConnectionError(_)) => {
                self.forget();
                Attempt::NotSent(KurrentError::Unreachable(error.to_string()))
            }
            Err(error) if may_pass(&error) => {
                self.forget();
                Attempt::Unknown(KurrentError::Unreachable(error.to_string()))
            }
            Err(error) => Attempt::NotStored(KurrentError::Refused(error.to_string())),
        }
    }

    /// At most `count` events of `stream`, as the leader has them; `None` where there is no stream.
    /// Fewer prove nothing: a proxy may have ended the answer early.
    pub(super) async fn read(
        &self,
        stream: &str,
        from: From,
        count: usize,
    ) -> Result<Option<Vec<Entry>>, KurrentError> {
        let mut attempts = self.attempts();
        loop {
            let error = match timeout(self.patience.call, self.read_once(stream, from, count)).await
            {
                Ok(Ok(page)) => return Ok(Some(page)),
                Ok(Err(Error::ResourceNotFound)) => return Ok(None),
                Ok(Err(error)) if may_pass(&error) => error.to_string(),
                Ok(Err(error)) => return Err(KurrentError::Refused(error.to_string())),
                Err(_) => "no answer in time".to_owned(),
            };
            self.forget();
            if !attempts.another().await {
                return Err(KurrentError::Unreachable(error));
            }
        }
    }

    async fn read_once(&self, stream: &str, from: From, count: usize) -> Result<Vec<Entry>, Error> {
        let client = self
            .client()
            .map_err(|error| Error::ServerError(error.to_string()))?;
        let position = match from {
            From::Revision(revision) => StreamPosition::Position(revision),
            From::End => StreamPosition::End,
        };
        let options = ReadStreamOptions::default()
            .position(position)
            .max_count(count)
            .requires_leader(true)
            .deadline(self.patience.call);
        let mut events = client.read_stream(stream, &options).await?;
        let mut page = Vec::new();
        while let Some(event) = events.next().await? {
            let event = event.get_original_event();
            page.push(Entry {
                revision: event.revision,
                bytes: event.data.to_vec(),
            });
        }
        Ok(page)
    }
}

/// Whether another attempt, by a new client, may succeed: nothing that somebody must mend first.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::ServerError(_)
        | Error::NotLeaderException(_)
        | Error::ConnectionClosed
        | Error::Grpc { .. }
        | Error::GrpcConnectionError(_)
        | Error::DeadlineExceeded
        | Error::InternalClientError => true,
        Error::InternalParsingError(_)
        | Error::AccessDenied
        | Error::ResourceAlreadyExists
        | Error::ResourceNotFound
        | Error::ResourceDeleted
        | Error::UnsupportedFeature
        | Error::InitializationError(_)
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
