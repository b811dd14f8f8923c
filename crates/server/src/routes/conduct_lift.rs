//! `POST /api/v1/agents/{uuid}/conduct/lift`: an operator lifts an exclusion from new sessions and rounds
//! (capability.md, "Breach and exclusion").
//!
//! As with erasure, the request has no body: all it says is in path and query, which the signature covers,
//! and the record keeps that signature.

use crate::app::App;
use crate::extract::{AgentOf, Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::capability::LiftedAnswer;
use crate::openapi::schema::AgentUuid;
use crate::signed_read::{Operator, ReadRefusal};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::sequencer::{LiftAnswer, LiftRequest};

/// What has to be said.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Order {
    /// Position of the exclusion, as `GET …/conduct` has it
    #[param(value_type = u64, maximum = 9_007_199_254_740_991_u64)]
    excluded: Bounded<0, MAX_INTEGER>,
}

/// 200 once it is recorded; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{uuid}/conduct/lift",
    operation_id = "liftExclusion",
    tag = "capabilities",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), Order),
    responses(
        (status = 200, description = "It holds no longer", body = LiftedAnswer),
        Refused,
    ),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn handle<C: Clock>(
    operator: Operator,
    State(app): State<Arc<App<C>>>,
    AgentOf(agent): AgentOf,
    Asked(order): Asked<Order>,
) -> Result<Json<LiftAnswer>, ReadRefusal> {
    let request = LiftRequest {
        agent,
        excluded: order.excluded.0,
        operator: operator.did,
        order: operator.lift(agent, order.excluded.0)?,
    };
    Ok(Json(app.ledger.lift_exclusion(request).await?))
}
