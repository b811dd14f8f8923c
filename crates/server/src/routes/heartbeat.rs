//! `POST /api/v1/agents/{uuid}/heartbeat`: an agent says that it is there (agents.md section 3).
//!
//! The signature covers path and query and no body, so everything is in the query. It is no envelope
//! and leaves no record.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked, Bounded};
use crate::openapi::Refused;
use crate::openapi::discovery::PresenceAnswer;
use crate::openapi::schema::Uuid;
use crate::presence::{Beat, DEFAULT_TTL_S, Declared, MAX_TTL_S};
use crate::signed_read::{ReadRefusal, SignedBy};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use x811_ledger::clock::Clock;

/// What may be said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    ttl_s: Option<Bounded<1, MAX_TTL_S>>,
    #[serde(default)]
    availability: Declared,
}

/// 200 with what is known of it now; 403 for everybody but the agent.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{uuid}/heartbeat",
    operation_id = "sendHeartbeat",
    tag = "agents",
    params(
        ("uuid" = Uuid, Path, description = "UUID of the agent's DID"),
        (
            "ttl_s" = Option<u64>,
            Query,
            minimum = 1,
            maximum = 3_600,
            description = "How long it is good, in seconds; 300 without it"
        ),
        (
            "availability" = Option<String>,
            Query,
            pattern = "^(online|busy)$",
            description = "`online` without it"
        ),
    ),
    responses((status = 200, description = "What is known of it now", body = PresenceAnswer), Refused),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn handle<C: Clock>(
    SignedBy(key_id): SignedBy,
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    if key_id.did != did {
        return Err(ApiError::not_itself().into());
    }
    let ttl_s = question.ttl_s.map_or(DEFAULT_TTL_S, |ttl_s| ttl_s.0);
    let now_ms = app.clock.monotonic_ms();
    let beat = Beat {
        declared: question.availability,
        at: app.ledger.now(),
        until_monotonic_ms: now_ms.saturating_add(ttl_s * 1_000),
    };
    app.presence.note(did, beat);
    Ok(Json(super::agent_status::shown(&app, did)?))
}
