//! `GET /api/v1/messages/{uuid}`: what was sent to an agent, oldest first, with a long poll.

mod consumed;
mod cursor;
mod named;
mod page;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked, Bounded};
use crate::limits::Client;
use crate::openapi::Refused;
use crate::openapi::schema::{AgentUuid, InboxAnswer};
use crate::signed_read::{ReadRefusal, Reader};
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
pub(super) use consumed::check_named;
pub(super) use cursor::Cursor;
pub(super) use named::{InstanceName, hold, superseded};
pub(super) use page::{InboxPlace, Message, messages};

use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::did::Did;
use x811_world::row::DeliveryRow;

/// Most messages in one answer.
const MAX_MESSAGES: u64 = 100;

/// The longest wait for a first message, in milliseconds.
const MAX_WAIT_MS: u64 = 30_000;

/// What may be asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// Messages behind this cursor; from the first without it.
    after: Option<String>,
    /// How many at most; 100 without it.
    limit: Option<Bounded<1, MAX_MESSAGES>>,
    /// How long to wait for the first; no time without it.
    wait_ms: Option<Bounded<0, MAX_WAIT_MS>>,
    /// Which loop of the agent asks.
    instance: Option<InstanceName>,
    /// The recipient once more: the poll of the published SDK.
    did: Option<Did>,
}

/// 200, also when there is nothing; 403 for anybody else's; 404 X811-1001 when there is no such
/// agent; 409 for a loop that is not the newest.
#[utoipa::path(
    get,
    path = "/api/v1/messages/{uuid}",
    operation_id = "readInbox",
    tag = "messages",
    params(
        ("uuid" = AgentUuid, Path, description = "UUID of the recipient's DID"),
        ("after" = Option<String>, Query, description = "Messages behind this cursor"),
        (
            "limit" = Option<u64>,
            Query,
            minimum = 1,
            maximum = 100,
            description = "How many at most; 100 without it"
        ),
        (
            "wait_ms" = Option<u64>,
            Query,
            maximum = 30_000,
            description = "How long to wait for the first; no time without it"
        ),
        (
            "instance" = Option<String>,
            Query,
            pattern = "^[A-Za-z0-9._~-]{1,64}$",
            description = "Which loop of the agent asks: the newest ends the reads of the others"
        ),
        (
            "did" = Option<String>,
            Query,
            description = "The recipient's DID: unsigned, from the ledger's own machine and where \
                           parameters have the leniency `reference_sdk`, bare envelopes, each given \
                           out once"
        ),
    ),
    responses((status = 200, description = "Oldest first", body = InboxAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Extension(client): Extension<Client>,
    AgentOf(recipient): AgentOf,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    if !reader.may_read(&[recipient]) {
        return Err(ApiError::other_inbox().into());
    }
    if app.ledger.world().agent(recipient).is_none() {
        return Err(ApiError::no_such_agent().into());
    }
    if let Some(named) = question.did {
        let limit = question.limit.map_or(MAX_MESSAGES, |limit| limit.0);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        return Ok(consumed::answer(&app, &reader, recipient, named, limit).await?);
    }
    let after = match &question.after {
        Some(text) => Cursor::read("after", text, recipient)?,
        None => Cursor::beginning(recipient),
    };
    let limit = question.limit.map_or(MAX_MESSAGES, |limit| limit.0);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let wait = Duration::from_millis(question.wait_ms.map_or(0, |wait_ms| wait_ms.0));
    let wait = app.role.wait(wait);
    let _place = if wait.is_zero() {
        None
    } else {
        Some(app.limiter.long_poll(client, recipient)?)
    };
    let mut held = hold(&app, &reader, recipient, question.instance.as_ref()).await?;
    let rows = tokio::select! {
        biased;
        () = superseded(&mut held) => return Err(ApiError::superseded().into()),
        rows = deliveries(&app, after, limit, wait) => rows?,
    };
    reader.check_standing(&app)?;
    Ok(page::answer(app, after, &rows).await?)
}

/// The rows behind `after`; when there are none, those that come within `wait`.
async fn deliveries<C: Clock>(
    app: &App<C>,
    after: Cursor,
    limit: usize,
    wait: Duration,
) -> Result<Vec<DeliveryRow>, ApiError> {
    let patience = tokio::time::sleep(wait);
    let stopped = app.stopped();
    tokio::pin!(patience, stopped);
    let mut follow = app.ledger.follow();
    loop {
        let size = app.rows_as_they_come().await;
        let read_model = app.ledger.read_model();
        let rows = read_model
            .deliveries(after.recipient, after.from_position, limit)
            .await?;
        if !rows.is_empty() {
            return Ok(rows);
        }
        tokio::select! {
            biased;
            () = &mut stopped => return Ok(rows),
            () = &mut patience => return Ok(rows),
            longer = follow.wait_for(|world| world.head().size > size) => {
                if longer.is_err() {
                    return Ok(rows);
                }
            }
        }
    }
}
