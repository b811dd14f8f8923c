//! An agent's feed as it comes, in server-sent events (AE-125 to AE-136), and its acknowledgement
//! (agents.md section 1).

use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, Response, Url};
use serde::Deserialize;
use tokio::time::timeout;
use x811_protocol::did::Did;
use x811_protocol::id::{EnvelopeId, InteractionId};

use super::LedgerClient;
use super::error::ClientError;
use super::exchange::{READ_LIMIT_MS, Reply, cause_of};
use super::inbox::{Cursor, InboxPage, Item, Page};

/// Without a byte for this long a stream counts as lost: two keep-alives and a half.
const SILENCE: Duration = Duration::from_secs(75);

/// The same before the first byte.
const FIRST_SILENCE: Duration = Duration::from_secs(10);

/// The longest event, in bytes: an envelope of 1 MiB, and what its escapes add.
const MAX_EVENT_BYTES: usize = 8 << 20;

/// The header in which a reader says which message it had last (AE-132).
const LAST_EVENT_ID: &str = "last-event-id";

/// An open stream; ends when it is dropped.
#[derive(Debug)]
pub struct MessageStream {
    me: Did,
    url: String,
    response: Response,
    lines: Lines,
    place: Option<StreamPlace>,
}

/// Where to begin, and as whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamRequest {
    /// Messages behind this place.
    pub after: Option<Cursor>,
    /// The last message that came, for a ledger that does not know the place.
    pub last: Option<EnvelopeId>,
    /// Which loop of the agent asks: the newest ends the others.
    pub instance: Option<String>,
}

impl LedgerClient {
    /// Opens the stream of messages to `me`, and waits until the ledger says that it is open.
    ///
    /// # Errors
    /// [`ClientError::Refused`]: with HTTP status 409 when a newer loop reads, with 429 when too many
    /// do; else as [`ClientError`] says.
    pub async fn stream(
        &self,
        me: Did,
        request: &StreamRequest,
    ) -> Result<MessageStream, ClientError> {
        let uuid = me.uuid().to_string();
        let after = request.after.as_ref().map(Cursor::to_string);
        let mut query = Vec::new();
        query.extend(after.iter().map(|after| ("after", after.as_str())));
        let instance = request.instance.as_ref();
        query.extend(instance.map(|instance| ("instance", instance.as_str())));
        let url = self.url(&["api", "v1", "messages", &uuid, "stream"], &query);
        let offset_ms = self.clock_offset.ms();
        let mut opened = self.open_stream(&url, request, offset_ms).await?;
        if let Err(refused) = &opened
            && let Some(offset_ms) = self.clock_offset.corrected(offset_ms, refused)
        {
            opened = self.open_stream(&url, request, offset_ms).await?;
        }
        let response = opened.map_err(|refused| refused.refusal())?;
        let mut stream = MessageStream {
            me,
            url: self.base_url().to_owned(),
            response,
            lines: Lines::default(),
            place: None,
        };
        stream.fill(FIRST_SILENCE).await?;
        Ok(stream)
    }

    /// The answer to a request for a stream, signed by `offset_ms`: the open stream, or the refusal.
    async fn open_stream(
        &self,
        url: &Url,
        request: &StreamRequest,
        offset_ms: i64,
    ) -> Result<Result<Response, Reply>, ClientError> {
        let mut asked = self.signed(Method::GET, url, offset_ms)?;
        asked = asked.header(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = request.last {
            asked = asked.header(LAST_EVENT_ID, last.to_string());
        }
        let lost = |cause| ClientError::Unreachable {
            url: self.base_url().to_owned(),
            cause,
        };
        let answered = timeout(FIRST_SILENCE, asked.send()).await;
        let answered = answered.map_err(|_| lost("no answer in time".to_owned()))?;
        let response = answered.map_err(|error| lost(cause_of(&error)))?;
        if response.status() == 200 {
            return Ok(Ok(response));
        }
        Reply::read_of(response, url).await.map(Err)
    }

    /// The next message of a stream, verified: a page of one, set apart where it must not be believed.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] when the stream ended or nothing came for 75 seconds: open
    /// another; else as [`ClientError`] says.
    pub async fn next_of(&self, stream: &mut MessageStream) -> Result<InboxPage, ClientError> {
        loop {
            while let Some(event) = stream.lines.event() {
                if let Some(item) = stream.take(event)? {
                    return self.sort_out(stream.me, item).await;
                }
            }
            stream.fill(SILENCE).await?;
        }
    }

    /// Says that everything in the inbox of `me` up to `through` is handled.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn acknowledge(&self, me: Did, through: &Cursor) -> Result<(), ClientError> {
        let uuid = me.uuid().to_string();
        let through = through.to_string();
        let path = ["api", "v1", "messages", &uuid, "ack"];
        let query = [("through", through.as_str())];
        let reply = self.post_signed(&path, &query, READ_LIMIT_MS).await?;
        reply.bytes().map(drop)
    }
}

impl MessageStream {
    async fn fill(&mut self, silence: Duration) -> Result<(), ClientError> {
        let lost = |cause: String| ClientError::Unreachable {
            url: self.url.clone(),
            cause,
        };
        let chunk = timeout(silence, self.response.chunk()).await;
        let chunk = chunk.map_err(|_| lost("the stream is silent".to_owned()))?;
        match chunk.map_err(|error| lost(cause_of(&error)))? {
            Some(chunk) => self.lines.push(&chunk).map_err(lost),
            None => Err(lost("the stream ended".to_owned())),
        }
    }

    /// A `place` is kept for the `message` that follows; what is neither is passed over.
    fn take(&mut self, event: SentEvent) -> Result<Option<Page>, ClientError> {
        let strange = |cause: String| ClientError::NotALedger {
            url: self.url.clone(),
            cause,
        };
        match event.name.as_str() {
            "place" => {
                let place = serde_json::from_str(&event.data);
                self.place = Some(place.map_err(|error| strange(error.to_string()))?);
                Ok(None)
            }
            "message" => {
                let place = self.place.take();
                let place = place.ok_or_else(|| strange("a message without a place".to_owned()))?;
                let envelope = serde_json::value::RawValue::from_string(event.data)
                    .map_err(|error| strange(error.to_string()))?;
                Ok(Some(Page {
                    messages: vec![Item {
                        position: place.position,
                        interaction_id: place.interaction_id,
                        envelope,
                    }],
                    next: Some(place.cursor),
                }))
            }
            _ => Ok(None),
        }
    }
}

/// Where the next message stands.
#[derive(Debug, Deserialize)]
struct StreamPlace {
    cursor: Cursor,
    position: u64,
    interaction_id: Option<InteractionId>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct SentEvent {
    name: String,
    data: String,
}

/// Bytes on their way to events (WHATWG HTML, section 9.2): fields in lines, an empty line ends an
/// event, a line that begins with a colon is a comment.
#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Bytes before this were searched for the end of an event.
    searched: usize,
}

impl Lines {
    fn push(&mut self, chunk: &[u8]) -> Result<(), String> {
        if self.bytes.len() + chunk.len() > MAX_EVENT_BYTES {
            return Err(format!("an event of more than {MAX_EVENT_BYTES} bytes"));
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    /// The next whole event that has data.
    fn event(&mut self) -> Option<SentEvent> {
        loop {
            let from = self.searched.saturating_sub(1);
            let found = self.bytes[from..].windows(2).position(|two| two == b"\n\n");
            let Some(found) = found else {
                self.searched = self.bytes.len();
                return None;
            };
            let rest = self.bytes.split_off(from + found + 2);
            let block = std::mem::replace(&mut self.bytes, rest);
            self.searched = 0;
            let event = SentEvent::read(&String::from_utf8_lossy(&block));
            if event.is_some() {
                return event;
            }
        }
    }
}

impl SentEvent {
    fn read(block: &str) -> Option<SentEvent> {
        let mut event = SentEvent::default();
        let mut has_data = false;
        for line in block.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => event.name = value.to_owned(),
                "data" => {
                    if has_data {
                        event.data.push('\n');
                    }
                    has_data = true;
                    event.data.push_str(value);
                }
                // `id` and `retry` are not needed: the place says where to go on.
                _ => {}
            }
        }
        has_data.then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&str]) -> Vec<SentEvent> {
        let mut lines = Lines::default();
        let mut events = Vec::new();
        for chunk in chunks {
            lines.push(chunk.as_bytes()).unwrap();
            events.extend(std::iter::from_fn(|| lines.event()));
        }
        events
    }

    #[test]
    fn ae_129_and_ae_130_events_are_read_wherever_they_are_cut() {
        let sent = ": begun\nretry: 1000\n\nevent: place\ndata: {\"a\":1}\n\n: keepalive\n\n\
                    id: 7\nevent: message\ndata: {\"b\":\"x: y\"}\n\n";
        let expected = [
            ("place", "{\"a\":1}".to_owned()),
            ("message", "{\"b\":\"x: y\"}".to_owned()),
        ]
        .map(|(name, data)| SentEvent {
            name: name.to_owned(),
            data,
        });
        assert_eq!(events(&[sent]), expected);
        for at in 0..=sent.len() {
            let (before, after) = sent.split_at(at);
            assert_eq!(events(&[before, after]), expected, "cut at {at}");
        }
        let bytes: Vec<&str> = sent.split_inclusive(|_| true).collect();
        assert_eq!(events(&bytes), expected);
    }

    #[test]
    fn ae_130_an_event_without_an_end_does_not_fill_the_memory() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; 1 << 20];
        let pushed = (0..64).take_while(|_| lines.push(&chunk).is_ok()).count();
        assert_eq!(pushed, 8);
    }
}
