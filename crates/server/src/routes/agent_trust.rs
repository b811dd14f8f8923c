//! `GET /api/v1/agents/{uuid}/trust`: what an agent has earned, now or as of some record (agents.md
//! section 4).

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::discovery::TrustAnswer;
use crate::openapi::schema::AgentUuid;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::trust::TrustCounters;

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// Position of a record; the last one without it
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    as_of: Option<Bounded<0, MAX_INTEGER>>,
}

/// 200, also for an agent without history; 404 X811-1001 for no such agent, 404 for a position that
/// the log does not hold.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/trust",
    operation_id = "readTrust",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), Question),
    responses((status = 200, description = "What it has earned", body = TrustAnswer), Refused),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ApiError> {
    if app.ledger.world().agent(did).is_none() {
        return Err(ApiError::no_such_agent());
    }
    let as_of = match question.as_of {
        Some(Bounded(position)) => {
            app.rows_reflect(position).await?;
            position
        }
        None => app.rows_as_they_come().await.saturating_sub(1),
    };
    let known = app.ledger.read_model().trust(did, as_of).await?;
    let trust = known.row.map(|row| row.trust).unwrap_or_default();
    let mut shown = trust_members(trust, known.distinct_payers);
    shown["did"] = json!(did);
    shown["as_of"] = json!(as_of);
    if let Some(row) = known.row {
        shown["position"] = json!(row.position);
    }
    Ok(Json(shown))
}

/// The score, and always beside it what it was made of and how much of that may be made up.
pub(super) fn trust_members(trust: TrustCounters, distinct_payers: u64) -> Value {
    json!({
        "score_hundredths": trust.score_hundredths(),
        "s": trust.s,
        "f": trust.f,
        "d": trust.d,
        "contested": trust.contested,
        "distinct_payers": distinct_payers,
    })
}
