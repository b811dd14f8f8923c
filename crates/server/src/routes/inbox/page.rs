//! A page of an inbox on its way out: which messages is known at its beginning, their envelopes are
//! read in groups as they are taken, and long ones in parts.

use super::behind;
use super::cursor::Cursor;
use crate::app::App;
use crate::error::ApiError;
use crate::stored::{self, EnvelopeParts};
use crate::streamed::{self, Items, JSON, JsonList, WHOLE_BYTES};
use axum::body::Bytes;
use axum::response::Response;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::{Body, LedgerStore as _};
use x811_ledger::row::DeliveryRow;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{AcceptedHeader, wire_json};
use x811_protocol::signature::Signature;

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
    let messages = messages(&app, rows).await?;
    let next = match messages.back() {
        Some(last) => behind(after.recipient, last.position),
        None => after.to_string(),
    };
    let next = format!(r#"],"next":"{next}"}}"#);
    let page = Page {
        app,
        recipient: after.recipient,
        messages,
        group: HashMap::new(),
        long: None,
    };
    let list = JsonList::new(br#"{"messages":["#.to_vec(), page, next.into_bytes());
    streamed::answer(JSON, list).await
}

/// What has to be known of a message before its envelope is read.
struct Message {
    position: u64,
    signature: Signature,
    /// Of the body.
    digest: Digest,
    /// Bytes of the body.
    size: u64,
}

async fn messages<C: Clock>(
    app: &App<C>,
    rows: &[DeliveryRow],
) -> Result<VecDeque<Message>, ApiError> {
    let mut messages = VecDeque::with_capacity(rows.len());
    let mut bytes = 0;
    for row in rows {
        let event = stored::event(&stored::record(app, row.position).await?)?;
        let is_listed =
            |header: &&AcceptedHeader| (header.to, header.id) == (row.recipient, row.envelope_id);
        // The rows may lead astray.
        let header = event.envelope().filter(is_listed);
        let header = header.ok_or_else(|| ApiError::damaged(row.position))?;
        messages.push_back(Message {
            position: row.position,
            signature: header.signature,
            digest: header.digest,
            size: header.size,
        });
        bytes += header.size;
        if bytes > MAX_ENVELOPE_BYTES {
            break;
        }
    }
    Ok(messages)
}

struct Page<C> {
    app: Arc<App<C>>,
    recipient: Did,
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
            let position = message.position;
            let begin = self.begin(position);
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
                let piece = [begin.as_bytes(), &envelope, END].concat();
                return Ok(Some((true, piece.into())));
            }
        }
        Ok(None)
    }
}

impl<C: Clock> Page<C> {
    /// A message up to its envelope.
    fn begin(&self, position: u64) -> String {
        let cursor = behind(self.recipient, position);
        format!(r#"{{"cursor":"{cursor}","position":{position},"envelope":"#)
    }

    /// The bodies of the next short messages, together no longer than an answer that goes out whole.
    async fn read_group(&self) -> Result<HashMap<u64, Body>, ApiError> {
        let (mut positions, mut bytes) = (Vec::new(), 0);
        for message in self.messages.iter().take_while(|message| !is_long(message)) {
            bytes += message.size;
            if bytes > WHOLE_BYTES as u64 && !positions.is_empty() {
                break;
            }
            positions.push(message.position);
        }
        Ok(self.app.ledger.store().bodies(&positions).await?)
    }
}

fn is_long(message: &Message) -> bool {
    message.size > WHOLE_BYTES as u64
}
