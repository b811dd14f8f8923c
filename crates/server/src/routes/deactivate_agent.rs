//! `DELETE /api/v1/agents/{uuid}`: how the published TypeScript SDK leaves, where the ledger has recorded
//! that leniency (decision 0190). Everybody else sends `x811.registry/deactivate`.
//!
//! The method is not signed: the empty payload of a REQUEST to oneself says it.

use super::post_message;
use super::register_agent::takes_reference_sdk;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, WholeBody};
use crate::limits;
use crate::openapi::Refused;
use crate::openapi::discovery::{DeactivatedAgent, SdkDeactivation};
use crate::openapi::schema::AgentUuid;
use axum::Json;
use axum::extract::{FromRequest as _, Request, State};
use serde_json::{Value, json};
use std::sync::Arc;
use x811_ledger::answer::Answer;
use x811_ledger::clock::Clock;
use x811_protocol::did::Did;
use x811_protocol::json::{Limits, parse_strict};

/// 200 once it is durable; 404 where this ledger takes no deactivation in this form; 403 for everybody
/// but the agent.
#[utoipa::path(
    delete,
    path = "/api/v1/agents/{uuid}",
    operation_id = "deactivateAgent",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID")),
    request_body = SdkDeactivation,
    responses(
        (status = 200, description = "Deactivated and durable", body = DeactivatedAgent),
        (status = 409, description = "A nonce or id that was used", body = crate::openapi::schema::ErrorPayload),
        (status = 413, description = "Longer than anything that is taken", body = crate::openapi::schema::ErrorPayload),
        Refused,
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    if !takes_reference_sdk(&app) {
        return Err(ApiError::not_found(
            "this ledger deactivates nobody in this form: send x811.registry/deactivate to POST \
             /api/v1/messages",
        ));
    }
    let client = limits::noted(&request);
    let WholeBody(body) = WholeBody::from_request(request, &app).await?;
    if leaving(&body)? != did {
        return Err(ApiError::not_itself());
    }
    let answer = post_message::submit_body(&app, client, body).await?;
    let (Answer::Accepted(_) | Answer::Repeated(_)) = answer;
    let message = "Agent has been deactivated";
    Ok(Json(
        json!({ "id": did.uuid(), "status": "deactivated", "message": message }),
    ))
}

/// Who leaves. Only a REQUEST to oneself without a payload is let through here: any other message of the
/// sender would be taken as what it says.
fn leaving(body: &[u8]) -> Result<Did, ApiError> {
    let form = || {
        ApiError::malformed(
            "write {envelope}: a REQUEST of the agent to itself whose payload is empty",
        )
    };
    let parsed = parse_strict(body, &Limits::bytes(body.len())).map_err(|_| form())?;
    let envelope = &parsed["envelope"];
    let is_empty = envelope["payload"]
        .as_object()
        .is_some_and(serde_json::Map::is_empty);
    let from = envelope["from"].as_str().and_then(|from| from.parse().ok());
    let is_own = envelope["to"] == envelope["from"] && envelope["type"] == "x811/request";
    from.filter(|_| is_empty && is_own).ok_or_else(form)
}
