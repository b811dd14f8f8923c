//! `POST /api/v1/agents/{uuid}/heartbeat`: an agent says that it is there (agents.md section 3).
//!
//! The signature covers path and query and no body, so everything is in the query. It is no envelope
//! and leaves no record. Where the ledger takes the published SDK (decision 0190), its heartbeat, an
//! envelope in the body, is taken, too.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked, Bounded, WholeBody};
use crate::openapi::Refused;
use crate::openapi::schema::AgentUuid;
use crate::presence::{Beat, DEFAULT_TTL_S, Declared, MAX_TTL_S};
use crate::signed_read::{ReadRefusal, SignedBy, is_signed};
use axum::Json;
use axum::extract::{FromRequest as _, FromRequestParts as _, Request, State};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_protocol::did::Did;
use x811_protocol::envelope::ParsedHeartbeat;
use x811_protocol::refusal::Refusal;
use x811_world::agent::AgentStanding;

use super::agent::{PresenceAnswer, presence};
use super::sdk::takes_reference_sdk;

/// What may be said.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// How long it is good, in seconds; 300 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 3_600)]
    ttl_s: Option<Bounded<1, MAX_TTL_S>>,
    /// `online` without it
    #[param(value_type = Option<String>, pattern = "^(online|busy)$")]
    #[serde(default)]
    availability: Declared,
}

/// 200 with what is known of it now; 403 for everybody but the agent.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{uuid}/heartbeat",
    operation_id = "sendHeartbeat",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), Question),
    responses((status = 200, description = "What is known of it now", body = PresenceAnswer), Refused),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    request: Request,
) -> Result<Json<PresenceAnswer>, ReadRefusal> {
    let (mut parts, body) = request.into_parts();
    if !is_signed(&parts) && takes_reference_sdk(&app) {
        let request = Request::from_parts(parts, body);
        let WholeBody(body) = WholeBody::from_request(request, &app).await?;
        note_envelope(&app, did, &body)?;
        return Ok(Json(presence(&app, did)?));
    }
    let SignedBy(key_id) = SignedBy::from_request_parts(&mut parts, &app).await?;
    let Asked(question) = Asked::<Question>::from_request_parts(&mut parts, &app).await?;
    if key_id.did != did {
        return Err(ApiError::not_itself().into());
    }
    let ttl_s = question.ttl_s.map_or(DEFAULT_TTL_S, |ttl_s| ttl_s.0);
    let now_ms = app.clock.monotonic_ms();
    let beat = Beat {
        declared: question.availability,
        at: app.ledger.now(),
        created: None,
        until_monotonic_ms: now_ms.saturating_add(ttl_s * 1_000),
    };
    app.presence.note(did, beat);
    Ok(Json(presence(&app, did)?))
}

/// Longest envelope of a heartbeat, in bytes.
const MAX_ENVELOPE_BYTES: usize = 16_384;

/// Takes the heartbeat of the published SDK: `{availability, capacity, ttl?}`, signed by the agent.
fn note_envelope<C: Clock>(app: &App<C>, did: Did, body: &[u8]) -> Result<(), ReadRefusal> {
    let parsed = ParsedHeartbeat::parse(body, MAX_ENVELOPE_BYTES)?;
    if parsed.from() != did {
        return Err(ApiError::not_itself().into());
    }
    let (world, now) = (app.ledger.world(), app.ledger.now());
    let agent = world.agent(did).ok_or_else(ApiError::no_such_agent)?;
    if agent.standing(now) != AgentStanding::Active {
        return Err(ApiError::not_itself().into());
    }
    let tolerance_ms = world
        .parameters()
        .map_or(0, |(_, parameters)| parameters.limits.clock_tolerance_ms);
    let heartbeat = parsed.verify(&agent.keys, now, tolerance_ms)?;
    let ttl_s = match heartbeat.payload.get("ttl") {
        None => DEFAULT_TTL_S,
        Some(ttl) => ttl
            .as_u64()
            .filter(|ttl_s| (1..=MAX_TTL_S).contains(ttl_s))
            .ok_or_else(|| {
                Refusal::shape(format!(
                    "`ttl` is no whole number of seconds from 1 to {MAX_TTL_S}"
                ))
            })?,
    };
    let declared = match heartbeat
        .payload
        .get("availability")
        .and_then(Value::as_str)
    {
        Some("busy") => Declared::Busy,
        Some("online") | None => Declared::Online,
        Some(_) => {
            return Err(Refusal::shape("`availability` is neither online nor busy").into());
        }
    };
    let now_ms = app.clock.monotonic_ms();
    let beat = Beat {
        declared,
        at: now,
        created: Some(heartbeat.created_ms),
        until_monotonic_ms: now_ms.saturating_add(ttl_s * 1_000),
    };
    if app.presence.note_newer(did, beat) {
        return Ok(());
    }
    let message = "a heartbeat made at this time or later was taken before: sign a new one";
    Err(Refusal::shape(message).into())
}
