//! `GET /api/v1/sessions`: those of an agent, in order of id.

use super::capability_subject::shown;
use super::interaction::await_rows;
use super::listing::{MAX_ROWS, most, page, party, whose};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::capability::SessionsAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_protocol::id::EnvelopeId;

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// UUID of the DID whose they are; the reader's own without it, of an auditor all
    #[param(pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    party: Option<String>,
    /// Those behind this one; from the first without it
    #[param(pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    after: Option<String>,
    /// How many at most; 100 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<Bounded<1, MAX_ROWS>>,
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

/// 200, also when there is none; 403 for anybody else's.
#[utoipa::path(
    get,
    path = "/api/v1/sessions",
    operation_id = "listSessions",
    tag = "capabilities",
    params(Question),
    responses((status = 200, description = "In order of id", body = SessionsAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn sessions<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    let member = whose(&reader, question.party.as_deref().map(party).transpose()?)?;
    let after = question.after.as_deref().map(behind).transpose()?;
    await_rows(&app, question.min_position).await?;
    let behind = (after.as_deref(), most(question.limit));
    page(&app, ("session", "sessions"), member, behind, shown).await
}

pub(super) fn behind(id: &str) -> Result<String, ApiError> {
    let id = EnvelopeId::lenient(id);
    let id = id.map_err(|_| ApiError::malformed("`after` is no id: repeat the `next` you got"))?;
    Ok(id.to_string())
}
