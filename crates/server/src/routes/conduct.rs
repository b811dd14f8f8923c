//! `GET /api/v1/agents/{uuid}/conduct` and `POST …/conduct/lift`: breaches of agreements that an agent answers for,
//! whether it is excluded from new sessions and rounds, and that an operator lifts this (capability.md, "Breach and
//! exclusion").

use super::subject::Question;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::schema::AgentUuid;
use crate::signed_read::{Operator, ReadRefusal, Reader};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::sequencer::LiftRequest;
use x811_protocol::answer::{Conduct, Lifted};
use x811_protocol::stream::Subject;

/// For itself, auditors and operators. 200; nothing is held against an agent of which there is no breach. 403 for others.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/conduct",
    operation_id = "readConduct",
    tag = "capabilities",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), Question),
    responses(
        (status = 200, description = "What it answers for", body = Conduct),
        Refused
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn read<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    if !reader.may_read(&[did]) && reader.operator(&app).is_none() {
        return Err(ApiError::other_list().into());
    }
    question.await_rows(&app).await?;
    if app.ledger.world().agent(did).is_none() {
        return Err(ApiError::no_such_agent().into());
    }
    let row = app
        .ledger
        .read_model()
        .subject(Subject::Conduct(did))
        .await?;
    let is_excluded = app.ledger.world().is_excluded(did, app.ledger.now());
    let mut answer = row.map_or_else(
        || json!({ "breaches": 0, "counted": [] }),
        |row| {
            let mut detail = row.detail;
            detail["last_position"] = row.last_position.into();
            detail
        },
    );
    answer["agent_id"] = json!(did);
    answer["is_excluded"] = is_excluded.into();
    Ok(Json(answer))
}

/// What has to be said.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Order {
    /// Position of the exclusion, as `GET …/conduct` has it
    #[param(value_type = u64, maximum = 9_007_199_254_740_991_u64)]
    excluded: Bounded<0, MAX_INTEGER>,
}

/// As with erasure, the request has no body: all it says is in path and query, which the signature covers,
/// and the record keeps that signature.
///
/// 200 once it is recorded; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{uuid}/conduct/lift",
    operation_id = "liftExclusion",
    tag = "capabilities",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), Order),
    responses(
        (status = 200, description = "It holds no longer", body = Lifted),
        Refused,
    ),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn lift<C: Clock>(
    operator: Operator,
    State(app): State<Arc<App<C>>>,
    AgentOf(agent): AgentOf,
    Asked(order): Asked<Order>,
) -> Result<Json<Lifted>, ReadRefusal> {
    let request = LiftRequest {
        agent,
        excluded: order.excluded.0,
        operator: operator.did,
        order: operator.lift(agent, order.excluded.0)?,
    };
    app.may_record()?;
    let lifted = app.ledger.lift_exclusion(request).await;
    Ok(Json(lifted.map_err(|refusal| app.refused(refusal))?))
}
