//! `GET /api/v1/messages/{uuid}/stream`: what is sent to an agent, as it comes, in server-sent events
//! (AE-125 to AE-136, agents.md section 1).
//!
//! Of each message two events: `place`, which says where it stands, and `message`, whose id is that of
//! the envelope and whose data is the envelope. The log is the source: a stream reads on from a cursor
//! and holds nothing that is not on its way.

mod feed;
mod text;

use super::inbox::{Cursor, InstanceName, check_named, hold};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked};
use crate::limits::Client;
use crate::openapi::Refused;
use crate::openapi::schema::AgentUuid;
use crate::passing::between;
use crate::signed_read::{FeedReader, ReadRefusal};
use crate::stored;
use crate::unread::sliced;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse as _, Response};
use feed::Feed;
use serde::Deserialize;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::did::Did;
use x811_protocol::id::EnvelopeId;

/// Where a browser or a client says which message it had last.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Tells a proxy to pass on what comes at once (AE-135).
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What may be asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// Messages behind this cursor, whatever else was read or acknowledged.
    after: Option<String>,
    /// Which loop of the agent asks.
    instance: Option<InstanceName>,
    /// Read by [`FeedReader`].
    #[expect(dead_code, reason = "named, so that it is no unknown parameter")]
    token: Option<String>,
    /// The recipient once more: the stream of the published SDK, which has no places.
    did: Option<Did>,
}

/// 200 and then events; 403 for anybody else's; 404 X811-1001 when there is no such agent; 409 for a
/// loop that is not the newest; 429 for one stream too many.
#[utoipa::path(
    get,
    path = "/api/v1/messages/{uuid}/stream",
    operation_id = "streamMessages",
    tag = "messages",
    params(
        ("uuid" = AgentUuid, Path, description = "UUID of the recipient's DID"),
        (
            "after" = Option<String>,
            Query,
            description = "Messages behind this cursor; without it those behind Last-Event-ID, or \
                           behind what was acknowledged"
        ),
        (
            "instance" = Option<String>,
            Query,
            pattern = "^[A-Za-z0-9._~-]{1,64}$",
            description = "Which loop of the agent asks: the newest ends the reads of the others"
        ),
        (
            "token" = Option<String>,
            Query,
            description = "A token with scope `feed`, for an EventSource, which cannot set headers"
        ),
        (
            "did" = Option<String>,
            Query,
            description = "The recipient's DID: unsigned, from the ledger's own machine and where \
                           parameters have the leniency `reference_sdk`, `message` events alone"
        ),
        (
            "Last-Event-ID" = Option<String>,
            Header,
            description = "Id of the last envelope that came"
        ),
    ),
    responses(
        (
            status = 200,
            description = "Oldest first, without end. Of each message `event: place` with \
                           `{cursor, position, envelope_id, interaction_id?, answers?}`, then \
                           `event: message` with the envelope on one line and its id",
            body = String,
            content_type = "text/event-stream"
        ),
        Refused,
    ),
    security(("signature" = [], "signature_input" = []), ("feed_token" = []), ("bearer" = [])),
)]
pub(super) async fn handle<C: Clock>(
    FeedReader { reader, until }: FeedReader,
    State(app): State<Arc<App<C>>>,
    Extension(client): Extension<Client>,
    AgentOf(recipient): AgentOf,
    Asked(question): Asked<Question>,
    headers: HeaderMap,
) -> Result<Response, ReadRefusal> {
    if !reader.may_read(&[recipient]) {
        return Err(ApiError::other_inbox().into());
    }
    if app.ledger.world().agent(recipient).is_none() {
        return Err(ApiError::no_such_agent().into());
    }
    if let Some(named) = question.did {
        check_named(&app, &reader, recipient, named)?;
    }
    let after = match &question.after {
        Some(text) => Cursor::read("after", text, recipient)?,
        None => beginning(&app, recipient, &headers).await?,
    };
    let held = hold(&app, &reader, recipient, question.instance.as_ref()).await?;
    let place = app.limiter.stream(client, reader.counts_as(recipient))?;
    let has_places = question.did.is_none();
    let feed = Feed::begin(app, reader, until, after, held).with_places(has_places);
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store, no-transform"),
        (X_ACCEL_BUFFERING, "no"),
    ];
    // Its connection copies what it is given: no more than a slice of a long message.
    let body = sliced(Body::from_stream(feed.pieces()), place);
    Ok((headers, body).into_response())
}

/// Behind the message that came last, if it was to this agent; else behind what it has acknowledged.
async fn beginning<C: Clock>(
    app: &App<C>,
    recipient: Did,
    headers: &HeaderMap,
) -> Result<Cursor, ApiError> {
    let last = headers.get(LAST_EVENT_ID);
    let last = last.and_then(|last| EnvelopeId::lenient(last.to_str().ok()?).ok());
    let seen = match last {
        Some(id) => delivered_at(app, recipient, id).await?,
        None => None,
    };
    let through = match seen {
        Some(position) => Some(position),
        // Acknowledgements are passed on, so the one that writes has them.
        None if app.role.standing().is_some() => between::acknowledged(app, recipient).await?,
        None => app.feeds.acks.through(recipient).await,
    };
    Ok(through.map_or(Cursor::beginning(recipient), |position| {
        Cursor::behind(recipient, position)
    }))
}

/// Where the envelope `id` was delivered to `recipient`; `None` when it was not.
async fn delivered_at<C: Clock>(
    app: &App<C>,
    recipient: Did,
    id: EnvelopeId,
) -> Result<Option<u64>, ApiError> {
    let positions = app.ledger.store().envelope_positions(&[id]).await?;
    let Some(position) = positions.get(&id).copied() else {
        return Ok(None);
    };
    let event = stored::event(&stored::record(app, position).await?)?;
    let is_delivered = event
        .envelope()
        .is_some_and(|header| (header.to, header.id) == (recipient, id));
    Ok(is_delivered.then_some(position))
}
