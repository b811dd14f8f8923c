//! `GET /api/v1/agents/{uuid}/did`: an agent's DID document.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::AgentOf;
use crate::openapi::Refused;
use crate::openapi::schema::{self, AgentUuid};
use crate::stored;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde_json::Value;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::canonical::to_canonical;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::document::DidDocument;
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::refusal::{Kind, Refusal};
use x811_world::agent::{Agent, Status};

/// The present document as the agent gave it; one written from its keys where no body holds it.
/// 404 X811-1001 when there is no such agent, 410 X811-1002 when it is revoked and 410 X811-1003
/// when it is deactivated (AX-30). Past its expiry it still resolves: its keys made what it signed,
/// and its status says the rest.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/did",
    operation_id = "readAgentDid",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID")),
    responses(
        (
            status = 200,
            description = "The DID document",
            body = schema::DidDocument,
            content_type = "application/did+json",
        ),
        Refused,
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
) -> Result<impl IntoResponse, ApiError> {
    let agent = app.ledger.world().agent(did).cloned();
    let agent = agent.ok_or_else(ApiError::no_such_agent)?;
    resolvable(&agent)?;
    let given = given(&app, &agent).await?;
    Ok(document(given.unwrap_or_else(|| written(did, &agent))))
}

/// Refuses what is out of use: 410.
pub(super) fn resolvable(agent: &Agent) -> Result<(), ApiError> {
    let (code, message) = match agent.status {
        Status::Active => return Ok(()),
        Status::Deactivated => (
            Code::DidDeactivated,
            "this DID is deactivated: it may come back, so ask again later",
        ),
        Status::Revoked => (
            Code::DidRevoked,
            "this DID is revoked, and that is for ever: deal with another agent",
        ),
    };
    Err(Refusal::new(code, Kind::State, message).into())
}

/// A DID document as an answer.
pub(super) fn document(document: Value) -> impl IntoResponse {
    let did_json = HeaderValue::from_static("application/did+json");
    ([(CONTENT_TYPE, did_json)], Json(document))
}

/// A document from what the log knows: every key, no services.
pub(super) fn written(did: Did, agent: &Agent) -> Value {
    DidDocument::build(did, &agent.keys, None)
}

async fn given<C: Clock>(app: &App<C>, agent: &Agent) -> Result<Option<Value>, ApiError> {
    let position = agent.document_position;
    let bodies = app.ledger.store().bodies(&[position]).await?;
    if let Some(body) = bodies.get(&position) {
        let event = stored::event(&stored::record(app, position).await?)?;
        let header = event.envelope();
        body.check(header.ok_or_else(|| ApiError::damaged(position))?.digest)?;
    }
    let document = bodies.get(&position).and_then(|body| {
        let mut envelope = parse_strict(&body.bytes, &Limits::bytes(usize::MAX)).ok()?;
        Some(envelope.get_mut("payload")?.get_mut("document")?.take())
    });
    let is_current =
        |document: &Value| Digest::of(&to_canonical(document)) == agent.document_digest;
    Ok(document.filter(is_current))
}
