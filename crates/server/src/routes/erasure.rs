//! `POST /api/v1/{kind}/{id}/erasure`: an operator has bodies of a subject erased: of an interaction those of REQUEST
//! and RESULT (record.md section 4), of a closed negotiation all, of a closed session all but what both signed, of an
//! agreement that of the message that revoked it (machines.md section 6).
//!
//! The request has no body: all it says is in path and query, which the signature covers, as that
//! of a read does. The record keeps that signature, so that it shows who ordered it.

use super::subject::SubjectOf;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Asked;
use crate::openapi::Refused;
use crate::signed_read::{Operator, ReadRefusal};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_protocol::answer::Erased;
use x811_world::erasure::{ErasureRequest, ReasonCode};

/// What has to be said.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Order {
    /// Why; it is recorded
    #[param(pattern = "^[a-z0-9_]{1,32}$")]
    reason_code: String,
}

/// 200 once the bodies are gone; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/{kind}/{id}/erasure",
    params(Order),
    responses((status = 200, description = "The bodies are gone", body = Erased), Refused),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn handle<C: Clock>(
    operator: Operator,
    State(app): State<Arc<App<C>>>,
    SubjectOf { kind, subject }: SubjectOf,
    Asked(order): Asked<Order>,
) -> Result<Json<Erased>, ReadRefusal> {
    let subject = subject.ok_or_else(|| ApiError::not_found(kind.not_found))?;
    let reason_code: Result<ReasonCode, _> = order.reason_code.parse();
    let reason_code = reason_code.map_err(|error| ApiError::malformed(error.to_string()))?;
    let request = ErasureRequest {
        subject,
        operator: operator.did,
        order: Some(operator.order(subject, &reason_code.to_string())?),
        reason_code,
    };
    app.may_record()?;
    let erased = app.ledger.erase(request).await;
    Ok(Json(erased.map_err(|refusal| app.refused(refusal))?))
}
