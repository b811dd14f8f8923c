//! A page of an inbox on its way out: which messages is known at its beginning, their envelopes are
//! read in groups as they are taken, and long ones in parts.

use super::super::round_readers;
use super::cursor::Cursor;
use crate::app::App;
use crate::error::ApiError;
use crate::stored::{self, EnvelopeParts};
use crate::streamed::{self, Items, JSON, JsonList, WHOLE_BYTES};
use axum::body::Bytes;
use axum::response::Response;
use serde::{Serialize, Serializer};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use x811_ledger::answer::Accepted;
use x811_ledger::clock::Clock;
use x811_ledger::port::{Body, LedgerStore as _, ReadModel as _};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{AcceptedHeader, wire_json};
use x811_protocol::event::Event;
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::signature::Signature;
use x811_protocol::stream::Subject;
use x811_world::row::DeliveryRow;

/// An answer ends with the message that makes its envelopes longer than this.
const MAX_ENVELOPE_BYTES: u64 = 4 * 1_048_576;

/// What follows an envelope, and ends its message.
const END: &[u8] = b"}";

/// The messages at `rows`, as many as one answer holds, and the cursor to go on with.
pub(super) async fn answer<C: Clock>(
    app: Arc<App<C>>,
    after: Cursor,
    rows: &[DeliveryRow],
) -> Result<Response, ApiError> {
    let messages = messages(&app, rows, MAX_ENVELOPE_BYTES).await?;
    let next = match messages.back() {
        Some(last) => Cursor::behind(after.recipient, last.place.position),
        None => after,
    };
    let next = format!(r#"],"next":"{next}"}}"#);
    let page = Page {
        app,
        messages,
        group: HashMap::new(),
        long: None,
    };
    let list = JsonList::new(br#"{"messages":["#.to_vec(), page, next.into_bytes());
    streamed::answer(JSON, list).await
}

/// What has to be known of a message before its envelope is read.
pub(in crate::routes) struct Message {
    pub(in crate::routes) place: InboxPlace,
    pub(in crate::routes) signature: Signature,
    /// Of the body.
    pub(in crate::routes) digest: Digest,
    /// Bytes of the body.
    pub(in crate::routes) size: u64,
}

/// Where a message stands, as its recipient is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::routes) struct InboxPlace {
    /// The `after` to go on with behind it.
    #[serde(serialize_with = "as_text")]
    pub(in crate::routes) cursor: Cursor,
    /// Place in the log.
    pub(in crate::routes) position: u64,
    pub(in crate::routes) envelope_id: EnvelopeId,
    /// The interaction that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::routes) interaction_id: Option<InteractionId>,
    /// The earlier message that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::routes) answers: Option<EnvelopeId>,
}

fn as_text<S: Serializer>(cursor: &Cursor, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(cursor)
}

/// What is known of the messages at `rows`, up to the one that makes their envelopes longer than
/// `max_bytes`.
pub(in crate::routes) async fn messages<C: Clock>(
    app: &App<C>,
    rows: &[DeliveryRow],
    max_bytes: u64,
) -> Result<VecDeque<Message>, ApiError> {
    let mut messages = VecDeque::with_capacity(rows.len());
    let mut bytes = 0;
    for row in rows {
        let record = stored::record(app, row.position).await?;
        let event = stored::event(&record)?;
        // The rows may lead astray.
        let is_listed = |header: &&AcceptedHeader| header.id == row.envelope_id;
        let header = event.envelope().filter(is_listed);
        let header = header.ok_or_else(|| ApiError::damaged(row.position))?;
        let is_theirs = header.to == row.recipient
            || is_for_member(app, &event, record.stream(), row.recipient).await?;
        if !is_theirs && matches!(event, Event::NoticeIssued(_)) {
            // It was for a human who is not named any more.
            continue;
        }
        if !is_theirs {
            return Err(ApiError::damaged(row.position));
        }
        let first = Accepted::from_record(&record, &event);
        messages.push_back(Message {
            place: InboxPlace {
                cursor: Cursor::behind(row.recipient, row.position),
                position: row.position,
                envelope_id: row.envelope_id,
                interaction_id: first.and_then(|first| first.interaction_id),
                answers: answered(&event),
            },
            signature: header.signature,
            digest: header.digest,
            size: header.size,
        });
        bytes += header.size;
        if bytes > max_bytes {
            break;
        }
    }
    Ok(messages)
}

/// Whether it is said in a round whose members get it, and the recipient is one of them.
async fn is_for_member<C: Clock>(
    app: &App<C>,
    event: &Event,
    stream: &str,
    recipient: Did,
) -> Result<bool, ApiError> {
    if let Event::NoticeIssued(notice) = event {
        return round_readers::is_told(app, notice, stream, recipient).await;
    }
    let Event::EnvelopeAccepted(accepted) = event else {
        return Ok(false);
    };
    let Facts::Consensus(facts) = &accepted.facts else {
        return Ok(false);
    };
    if matches!(facts, ConsensusFacts::Vote(_) | ConsensusFacts::Reveal(_)) {
        return Ok(false);
    }
    let round = app
        .ledger
        .read_model()
        .subject(Subject::Round(facts.round()));
    let round = round.await?;
    Ok(round.is_some_and(|round| round.members.contains(&recipient)))
}

/// The message that one names as what it follows; a notice of the ledger names none.
fn answered(event: &Event) -> Option<EnvelopeId> {
    let Event::EnvelopeAccepted(accepted) = event else {
        return None;
    };
    accepted.facts.answered()
}

struct Page<C> {
    app: Arc<App<C>>,
    /// Those that were not sent.
    messages: VecDeque<Message>,
    /// Bodies that were read together.
    group: HashMap<u64, Body>,
    /// An envelope that is sent in parts.
    long: Option<EnvelopeParts>,
}

impl<C: Clock> Items for Page<C> {
    async fn next(&mut self) -> Result<Option<(bool, Bytes)>, ApiError> {
        if let Some(long) = &mut self.long {
            if let Some(part) = long.next(&self.app).await? {
                return Ok(Some((false, part)));
            }
            self.long = None;
            return Ok(Some((false, Bytes::from_static(END))));
        }
        while let Some(message) = self.messages.front() {
            let position = message.place.position;
            let begin = begin(&message.place)?;
            if is_long(message) {
                let (digest, signature) = (message.digest, message.signature);
                self.messages.pop_front();
                let body = (digest, &signature);
                self.long = EnvelopeParts::begin(&self.app, position, body).await?;
                if self.long.is_some() {
                    return Ok(Some((true, begin.into())));
                }
                continue;
            }
            if self.group.is_empty() {
                self.group = self.read_group().await?;
            }
            let Some(message) = self.messages.pop_front() else {
                break;
            };
            // What an operator had erased is not delivered any more.
            if let Some(body) = self.group.remove(&position) {
                body.check(message.digest)?;
                let envelope = wire_json(&body.bytes, &message.signature);
                let piece = [&begin[..], &envelope, END].concat();
                return Ok(Some((true, piece.into())));
            }
        }
        Ok(None)
    }
}

impl<C: Clock> Page<C> {
    /// The bodies of the next short messages, together no longer than an answer that goes out whole.
    async fn read_group(&self) -> Result<HashMap<u64, Body>, ApiError> {
        let (mut positions, mut bytes) = (Vec::new(), 0);
        for message in self.messages.iter().take_while(|message| !is_long(message)) {
            bytes += message.size;
            if bytes > WHOLE_BYTES as u64 && !positions.is_empty() {
                break;
            }
            positions.push(message.place.position);
        }
        Ok(self.app.ledger.store().bodies(&positions).await?)
    }
}

/// A message up to its envelope.
fn begin(place: &InboxPlace) -> Result<Vec<u8>, ApiError> {
    let mut begun = streamed::json(place)?;
    begun.pop();
    begun.extend_from_slice(br#","envelope":"#);
    Ok(begun)
}

fn is_long(message: &Message) -> bool {
    message.size > WHOLE_BYTES as u64
}
