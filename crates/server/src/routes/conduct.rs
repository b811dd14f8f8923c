//! `GET /api/v1/agents/{uuid}/conduct`: breaches of agreements that an agent answers for, and whether it is
//! excluded from new sessions and rounds (capability.md, "Breach and exclusion"). For itself, auditors and operators.

use super::interaction::Question;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked};
use crate::openapi::Refused;
use crate::openapi::capability::ConductAnswer;
use crate::openapi::schema::AgentUuid;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::stream::Subject;

/// 200; nothing is held against an agent of which there is no breach. 403 for others.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/conduct",
    operation_id = "readConduct",
    tag = "capabilities",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), Question),
    responses(
        (status = 200, description = "What it answers for", body = ConductAnswer),
        Refused
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
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
