//! `POST /api/v1/agents`: the registration of the published TypeScript SDK, where the ledger has recorded
//! that leniency (decision 0190). Everybody else registers by a message.

use super::post_message;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::WholeBody;
use crate::limits;
use crate::openapi::Refused;
use crate::openapi::discovery::{RegisteredAgent, SdkRegistration};
use axum::Json;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use x811_ledger::agent::Agent;
use x811_ledger::answer::Answer;
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::did::Did;
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::parameters::Leniency;

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
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), ApiError> {
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
    let registered = json!({
        "id": did.uuid(),
        "did": did,
        "name": name,
        "status": agent.standing(app.ledger.now()).as_str(),
        "trust_score": trust,
        "capabilities": *agent.capabilities,
        "created_at": agent.registered_at_ms.to_rfc3339(),
    });
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
