//! What a process that stands by asks the one that writes for itself, in the name of no client: how far
//! an agent has acknowledged its feed, and whether a loop of it is still the newest (stores.md section 5).
//!
//! No client gets here: what one reads is not passed on, and `take` lets in processes alone.

use super::{Asker, exchange};
use crate::app::App;
use crate::error::ApiError;
use axum::Json;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use uuid::Uuid;
use x811_ledger::clock::Clock;
use x811_protocol::did::Did;

/// Before the UUID of an agent.
const ACKNOWLEDGED: &str = "/processes/acknowledged/";

/// Before the UUID of an agent and the name of a loop.
const LOOPS: &str = "/processes/loops/";

/// The longest answer, in bytes.
const MAX_BYTES: usize = 64;

/// The position through which `recipient` has acknowledged.
pub(crate) async fn acknowledged<C: Clock>(
    app: &App<C>,
    recipient: Did,
) -> Result<Option<u64>, ApiError> {
    ask(app, &format!("{ACKNOWLEDGED}{}", recipient.uuid())).await
}

/// Whether the loop `instance` is the newest of `agent`, or becomes it.
pub(crate) async fn is_newest<C: Clock>(
    app: &App<C>,
    agent: Did,
    instance: &str,
) -> Result<bool, ApiError> {
    ask(app, &format!("{LOOPS}{}/{instance}", agent.uuid())).await
}

async fn ask<C: Clock, T: DeserializeOwned>(app: &App<C>, target: &str) -> Result<T, ApiError> {
    let nobody = Asker {
        client: SocketAddr::from(([0, 0, 0, 0], 0)),
        authorities: None,
    };
    let (none, nothing) = (HeaderMap::new(), Bytes::new());
    let answer = exchange(app, (&Method::GET, target), nobody, &none, nothing).await?;
    let unread = || ApiError::not_yet("the process that writes gave no answer: ask again");
    if !answer.status().is_success() {
        return Err(unread());
    }
    let body = axum::body::to_bytes(answer.into_body(), MAX_BYTES).await;
    let body = body.map_err(|_| unread())?;
    serde_json::from_slice(&body).map_err(|_| unread())
}

/// The answer to such a question of another process; `None` to everything else.
pub(crate) async fn answered<C: Clock>(
    app: &App<C>,
    method: &Method,
    path: &str,
) -> Option<Response> {
    // What a client sends under such a path is passed on, too, but no client's GET is.
    if method != Method::GET {
        return None;
    }
    if let Some(uuid) = path.strip_prefix(ACKNOWLEDGED) {
        let through = app.feeds.acks.through(did(uuid)?).await;
        return Some(Json(through).into_response());
    }
    let (uuid, instance) = path.strip_prefix(LOOPS)?.split_once('/')?;
    let is_newest = app.feeds.instances.claim(did(uuid)?, instance).is_ok();
    Some(Json(is_newest).into_response())
}

fn did(uuid: &str) -> Option<Did> {
    Did::from_uuid(Uuid::parse_str(uuid).ok()?).ok()
}
