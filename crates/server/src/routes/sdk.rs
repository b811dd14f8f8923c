//! What the published TypeScript SDK asks otherwise than everybody else, where the ledger has recorded that leniency
//! (decision 0190): `POST` and `DELETE /api/v1/agents`, which others do by `x811.registry/register` and
//! `/deactivate`, and `GET /api/v1/agents/{uuid}/card`, for which they read the A2A card.

use super::post_message;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, WholeBody};
use crate::limits;
use crate::openapi::Refused;
use crate::openapi::discovery::{SdkCard, SdkDeactivation, SdkRegistration};
use crate::openapi::schema::AgentUuid;
use axum::Json;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;
use x811_ledger::answer::Answer;
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::answer::AgentStatus;
use x811_protocol::did::Did;
use x811_protocol::envelope::PROTOCOL_VERSION;
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::parameters::Leniency;
use x811_world::agent::Agent;

/// Who was registered.
#[derive(Serialize, ToSchema)]
pub(super) struct RegisteredAgent {
    /// UUID of its DID.
    #[schema(value_type = AgentUuid)]
    id: Uuid,
    /// DID of the agent.
    did: Did,
    /// What it calls itself.
    name: String,
    /// `active`: it was registered just now.
    status: AgentStatus,
    /// From 0 to 1; 0.5 without history.
    trust_score: f64,
    /// Task types it offers.
    #[schema(max_items = 64)]
    capabilities: Vec<String>,
    /// When it registered, in RFC 3339.
    created_at: String,
}

/// 201 once it is durable; 404 where this ledger takes no registrations in this form; 409 X811-1005 for
/// a DID that exists.
#[utoipa::path(
    post,
    path = "/api/v1/agents",
    operation_id = "registerAgent",
    tag = "agents",
    request_body = SdkRegistration,
    responses(
        (status = 201, description = "Registered and durable", body = RegisteredAgent),
        (status = 409, description = "A nonce, id or DID that was used", body = crate::openapi::schema::ErrorPayload),
        (status = 413, description = "Longer than anything that is taken", body = crate::openapi::schema::ErrorPayload),
        Refused,
    ),
)]
pub(super) async fn register<C: Clock>(
    State(app): State<Arc<App<C>>>,
    request: Request,
) -> Result<(StatusCode, Json<RegisteredAgent>), ApiError> {
    if !takes_reference_sdk(&app) {
        return Err(ApiError::not_found(
            "this ledger takes no registrations in this form: send x811.registry/register to POST \
             /api/v1/messages",
        ));
    }
    let client = limits::noted(&request);
    let WholeBody(body) = WholeBody::from_request(request, &app).await?;
    let (did, name) = registering(&body)?;
    // What has no such form would be taken as any other message.
    let answer = post_message::submit_body(&app, client, body).await?;
    let (Answer::Accepted(_) | Answer::Repeated(_)) = answer;
    let world = app.ledger.world();
    let agent = world.agent(did).ok_or_else(ApiError::no_such_agent)?;
    let trust = f64::from(world.trust(did).score_hundredths()) / 100.0;
    let registered = RegisteredAgent {
        id: did.uuid(),
        did,
        name,
        status: agent.standing(app.ledger.now()),
        trust_score: trust,
        capabilities: agent.capabilities.to_vec(),
        created_at: agent.registered_at_ms.to_rfc3339(),
    };
    Ok((StatusCode::CREATED, Json(registered)))
}

/// Whether the forms of the published SDK are taken, by the parameters in force.
pub(super) fn takes_reference_sdk<C: Clock>(app: &App<C>) -> bool {
    let world = app.ledger.world();
    let parameters = world.parameters();
    parameters.is_some_and(|(_, parameters)| parameters.is_lenient(Leniency::ReferenceSdk))
}

/// What an agent said of itself when it registered in the form of the published SDK; nothing of any
/// other, or where that was erased.
pub(super) async fn registered_payload<C: Clock>(
    app: &App<C>,
    agent: &Agent,
) -> Result<Map<String, Value>, ApiError> {
    if agent.reference_sdk.is_none() {
        return Ok(Map::new());
    }
    let bodies = app.ledger.store().bodies(&[agent.position]).await?;
    let body = bodies.get(&agent.position);
    let body = body.and_then(|body| parse_strict(&body.bytes, &Limits::bytes(usize::MAX)).ok());
    match body.map(|mut body| body["payload"].take()) {
        Some(Value::Object(payload)) => Ok(payload),
        Some(_) | None => Ok(Map::new()),
    }
}

/// Who registers, by which name; the ledger reads the rest.
fn registering(body: &[u8]) -> Result<(Did, String), ApiError> {
    let form = || {
        ApiError::malformed(
            "write {envelope, did_document, public_key}: the envelope a REQUEST of the agent to itself \
             whose payload has a name",
        )
    };
    let parsed = parse_strict(body, &Limits::bytes(body.len())).map_err(|_| form())?;
    let envelope = &parsed["envelope"];
    let name = envelope["payload"]["name"].as_str();
    let from = envelope["from"].as_str().and_then(|from| from.parse().ok());
    let is_whole = parsed["did_document"].is_object() && parsed["public_key"].is_string();
    match (from, name) {
        (Some(from), Some(name)) if is_whole => Ok((from, name.to_owned())),
        (_, _) => Err(form()),
    }
}

/// Who was deactivated.
#[derive(Serialize, ToSchema)]
pub(super) struct DeactivatedAgent {
    /// UUID of its DID.
    #[schema(value_type = AgentUuid)]
    id: Uuid,
    /// `deactivated`, its status from now on.
    status: AgentStatus,
    /// The same as a sentence.
    message: &'static str,
}

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
pub(super) async fn deactivate<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    request: Request,
) -> Result<Json<DeactivatedAgent>, ApiError> {
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
    Ok(Json(DeactivatedAgent {
        id: did.uuid(),
        status: AgentStatus::Deactivated,
        message: "Agent has been deactivated",
    }))
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
pub(super) async fn card<C: Clock>(
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
