//! A stream on its way: a cursor, what is known of a page of messages, and the bodies of those that
//! come next. It reads on when its connection has taken what was read.

use super::text;
use crate::app::App;
use crate::error::ApiError;
use crate::feed::HeldRead;
use crate::routes::inbox::{Cursor, InboxPlace, Message, messages, superseded};
use crate::signed_read::Reader;
use axum::body::Bytes;
use futures_util::{Stream, stream};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_protocol::envelope::wire_json;
use x811_protocol::time::TimestampMs;
use x811_world::World;

/// Most messages of a page.
const PAGE_MESSAGES: usize = 64;

/// A page ends with the message that makes its envelopes longer than this.
const PAGE_BYTES: u64 = 262_144;

/// How long nothing is sent at most, in milliseconds (AE-131).
const KEEP_ALIVE_MS: u64 = 30_000;

/// How old a stream gets, in milliseconds: its reader then proves again who it is.
const MAX_AGE_MS: u64 = 60 * 60 * 1_000;

/// An open stream.
pub(super) struct Feed<C> {
    app: Arc<App<C>>,
    reader: Reader,
    /// When its token expires.
    until: Option<TimestampMs>,
    begun_ms: u64,
    /// From where the next page is read.
    cursor: Cursor,
    held: Option<HeldRead>,
    /// Whether it says before each message where that stands.
    has_places: bool,
    follow: watch::Receiver<Arc<World>>,
    state: State,
}

enum State {
    /// Nothing was sent.
    New,
    /// What is known of the next messages, and that of the first whose place was sent.
    Open(VecDeque<Message>, Option<Bytes>),
    /// It has been said why it ends.
    Over,
}

/// Why a stream ends. A reader that connects again is told more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Stopping,
    Superseded,
    Standing,
    TokenExpired,
    Age,
    Unreadable,
}

impl End {
    fn as_str(self) -> &'static str {
        match self {
            End::Stopping => "over: the ledger stops",
            End::Superseded => "over: a newer loop of this agent reads",
            End::Standing => "over: the reader's key or standing has gone",
            End::TokenExpired => "over: the token has expired",
            End::Age => "over: this stream is an hour old",
            End::Unreadable => "over: the ledger could not read its own records",
        }
    }
}

impl From<ApiError> for End {
    fn from(error: ApiError) -> End {
        tracing::error!(?error, "a stream was cut off");
        End::Unreadable
    }
}

impl<C: Clock> Feed<C> {
    pub(super) fn begin(
        app: Arc<App<C>>,
        reader: Reader,
        until: Option<TimestampMs>,
        cursor: Cursor,
        held: Option<HeldRead>,
    ) -> Feed<C> {
        Feed {
            begun_ms: app.clock.monotonic_ms(),
            follow: app.ledger.follow(),
            app,
            reader,
            until,
            cursor,
            held,
            has_places: true,
            state: State::New,
        }
    }

    /// With `place` events, or with those of messages alone.
    pub(super) fn with_places(self, has_places: bool) -> Feed<C> {
        Feed { has_places, ..self }
    }

    /// Everything that is sent, each piece when the one before was taken.
    pub(super) fn pieces(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
        stream::unfold(self, async |mut feed| {
            let piece = feed.next().await?;
            Some((Ok(piece), feed))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        match &self.state {
            // Said at once, so that a reader knows that it is connected.
            State::New => {
                self.state = State::Open(VecDeque::new(), None);
                return Some(Bytes::from_static(text::OPENING.as_bytes()));
            }
            State::Over => return None,
            State::Open(..) => {}
        }
        Some(self.next_open().await.unwrap_or_else(|end| {
            self.state = State::Over;
            text::comment(end.as_str())
        }))
    }

    async fn next_open(&mut self) -> Result<Bytes, End> {
        loop {
            self.check()?;
            if let State::Open(page, due) = &mut self.state {
                if let Some(message) = due.take() {
                    return Ok(message);
                }
                if let Some(message) = page.pop_front() {
                    match self.open(message).await? {
                        Some(event) => return Ok(event),
                        None => continue,
                    }
                }
            }
            if !self.read_page().await? {
                return Ok(text::comment("keepalive"));
            }
        }
    }

    /// The place of a message, which then comes, unless its body was erased; `None` where neither is
    /// to be sent.
    async fn open(&mut self, message: Message) -> Result<Option<Bytes>, End> {
        let place = event_of_place(&message.place)?;
        let position = message.place.position;
        let bodies = self.app.ledger.store().bodies(&[position]).await;
        let bodies = bodies.map_err(ApiError::from)?;
        let message = match bodies.get(&position) {
            Some(body) => {
                body.check(message.digest).map_err(ApiError::from)?;
                let envelope = wire_json(&body.bytes, &message.signature);
                Some(event_of_message(&message.place, &envelope)?)
            }
            None => None,
        };
        if !self.has_places {
            return Ok(message);
        }
        if let State::Open(_, due) = &mut self.state {
            *due = message;
        }
        Ok(Some(place))
    }

    /// Reads the next page as soon as there is one; false when nothing came for so long that something
    /// has to be sent.
    async fn read_page(&mut self) -> Result<bool, End> {
        let app = self.app.clone();
        let keep_alive = app.clock.sleep_ms(KEEP_ALIVE_MS.min(self.left_ms()));
        let stopped = app.stopped();
        tokio::pin!(keep_alive, stopped);
        loop {
            let size = app.rows_as_they_come().await;
            let Cursor {
                recipient,
                from_position,
            } = self.cursor;
            let read_model = app.ledger.read_model();
            let rows = read_model.deliveries(recipient, from_position, PAGE_MESSAGES);
            let rows = rows.await.map_err(ApiError::from)?;
            if !rows.is_empty() {
                let page = messages(&app, &rows, PAGE_BYTES).await?;
                if let Some(last) = page.back() {
                    self.cursor = last.place.cursor;
                }
                self.state = State::Open(page, None);
                return Ok(true);
            }
            tokio::select! {
                biased;
                () = &mut stopped => return Err(End::Stopping),
                () = superseded(&mut self.held) => return Err(End::Superseded),
                () = &mut keep_alive => return Ok(false),
                longer = self.follow.wait_for(|world| world.head().size > size) => {
                    longer.map_err(|_| End::Stopping)?;
                }
            }
        }
    }

    /// Whether the reader may still read.
    fn check(&self) -> Result<(), End> {
        if *self.app.stopping.borrow() {
            return Err(End::Stopping);
        }
        if self.held.as_ref().is_some_and(HeldRead::is_superseded) {
            return Err(End::Superseded);
        }
        if self.reader.check_standing(&self.app).is_err() {
            return Err(End::Standing);
        }
        if self
            .until
            .is_some_and(|until| until <= self.app.ledger.now())
        {
            return Err(End::TokenExpired);
        }
        if self.age_ms() >= MAX_AGE_MS {
            return Err(End::Age);
        }
        Ok(())
    }

    fn age_ms(&self) -> u64 {
        let now_ms = self.app.clock.monotonic_ms();
        now_ms.saturating_sub(self.begun_ms)
    }

    /// How long until it ends by itself.
    fn left_ms(&self) -> u64 {
        let of_age = MAX_AGE_MS.saturating_sub(self.age_ms());
        let of_token = self.until.map(|until| until.since(self.app.ledger.now()));
        of_token.map_or(of_age, |of_token| of_age.min(of_token))
    }
}

fn event_of_place(place: &InboxPlace) -> Result<Bytes, End> {
    let place = serde_json::to_string(place).map_err(unwritten)?;
    Ok(text::event(None, "place", &place))
}

/// The envelope is in canonical form, so it has no line feed.
fn event_of_message(place: &InboxPlace, envelope: &[u8]) -> Result<Bytes, End> {
    let envelope = str::from_utf8(envelope).map_err(unwritten)?;
    let id = place.envelope_id.to_string();
    Ok(text::event(Some(&id), "message", envelope))
}

fn unwritten(error: impl std::fmt::Display) -> End {
    tracing::error!(%error, "an event of a stream cannot be written");
    End::Unreadable
}
