//! `GET /api/v1/agents/{uuid}/status`: whether an agent may act, and whether it is there.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::AgentOf;
use crate::openapi::Refused;
use crate::openapi::discovery::PresenceAnswer;
use crate::openapi::schema::AgentUuid;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::did::Did;

/// 200 with the status as of now, or 404 X811-1001.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/status",
    operation_id = "readAgentStatus",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID")),
    responses((status = 200, description = "How it is", body = PresenceAnswer), Refused),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
) -> Result<Json<Value>, ApiError> {
    shown(&app, did).map(Json)
}

/// What is known of an agent now.
pub(super) fn shown<C: Clock>(app: &App<C>, did: Did) -> Result<Value, ApiError> {
    let world = app.ledger.world();
    let agent = world.agent(did).ok_or_else(ApiError::no_such_agent)?;
    let (availability, last_seen) = app.presence.of(did, app.clock.monotonic_ms());
    let mut shown = json!({
        "did": did,
        "status": agent.standing(app.ledger.now()).as_str(),
        "availability": availability,
    });
    if let Some(last_seen) = last_seen {
        shown["last_seen_at_ms"] = json!(last_seen);
        shown["last_seen_at"] = json!(last_seen.to_rfc3339());
    }
    Ok(shown)
}
