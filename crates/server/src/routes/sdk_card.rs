//! `GET /api/v1/agents/{uuid}/card`: the card that the published TypeScript SDK reads, where the ledger has
//! recorded that leniency (decision 0190). Everybody else reads the A2A card.

use super::register_agent::{registered_payload, takes_reference_sdk};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::AgentOf;
use crate::openapi::Refused;
use crate::openapi::discovery::SdkCard;
use crate::openapi::schema::AgentUuid;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::envelope::PROTOCOL_VERSION;

/// 200 with what an agent registered and has earned; 404 X811-1001 when there is none, or where this
/// ledger does not take the published SDK.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/card",
    operation_id = "readSdkCard",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID")),
    responses((status = 200, description = "Its card, as the published SDK reads it", body = SdkCard), Refused),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
) -> Result<Json<Value>, ApiError> {
    if !takes_reference_sdk(&app) {
        return Err(ApiError::not_found(
            "cards of this form are for the published SDK, which this ledger does not take: read \
             agent-card.json",
        ));
    }
    let world = app.ledger.world();
    let agent = world.agent(did).ok_or_else(ApiError::no_such_agent)?;
    let payload = registered_payload(&app, agent).await?;
    let said = |name: &str| payload.get(name).and_then(Value::as_str);
    let trust = world.trust(did);
    let network = world.parameters().and_then(|(_, parameters)| {
        parameters
            .networks
            .first()
            .map(|network| network.name.clone())
    });
    let named: Vec<Value> = agent
        .capabilities
        .iter()
        .map(|name| json!({ "name": name }))
        .collect();
    Ok(Json(json!({
        "name": said("name").map_or_else(|| did.to_string(), str::to_owned),
        "description": said("description").unwrap_or_default(),
        "url": said("endpoint").unwrap_or_default(),
        "version": PROTOCOL_VERSION,
        "capabilities": named,
        "x811": {
            "did": did,
            "trust_score": f64::from(trust.score_hundredths()) / 100.0,
            "verified_since": agent.registered_at_ms.to_rfc3339(),
            "interaction_count": trust.s + trust.f + trust.d,
            "payment_address": agent.default_payee().map(|payee| payee.to_checksum()),
            "network": network,
            "status": agent.standing(app.ledger.now()).as_str(),
        },
    })))
}
