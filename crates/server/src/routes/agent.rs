//! `GET /api/v1/agents/{uuid}`: what is registered of an agent, whatever its standing.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::AgentOf;
use crate::openapi::Refused;
use crate::openapi::schema::{AgentAnswer, AgentUuid};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::wallet::Wallet;

/// 200 with the status as of now (AX-31), or 404 X811-1001.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}",
    operation_id = "readAgent",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID")),
    responses((status = 200, description = "What is registered", body = AgentAnswer), Refused),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
) -> Result<Json<Value>, ApiError> {
    let world = app.ledger.world();
    let agent = world.agent(did).ok_or_else(ApiError::no_such_agent)?;
    let wallets: Vec<Value> = agent.wallets.iter().map(wallet).collect();
    let mut shown = json!({
        "did": did,
        "status": agent.standing(app.ledger.now()).as_str(),
        "capabilities": *agent.capabilities,
        "wallets": wallets,
        "keys": *agent.keys,
        "registered_at_ms": agent.registered_at_ms,
        "position": agent.position,
    });
    if let Some(expires) = agent.expires_at_ms {
        shown["expires_at_ms"] = json!(expires);
    }
    Ok(Json(shown))
}

fn wallet(wallet: &Wallet) -> Value {
    json!({ "address": wallet.address.to_checksum(), "kind": wallet.kind })
}
