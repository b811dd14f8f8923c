//! `POST /api/v1/…/erasure`: an operator has bodies of a subject erased: of an interaction those of REQUEST and
//! RESULT (record.md section 4), of a closed negotiation all, of a closed session all but what both signed, of an
//! agreement that of the message that revoked it (machines.md section 6).
//!
//! The request has no body: all it says is in path and query, which the signature covers, as that
//! of a read does. The record keeps that signature, so that it shows who ordered it.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Named};
use crate::openapi::Refused;
use crate::signed_read::{Operator, ReadRefusal};
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_protocol::answer::Erased;
use x811_protocol::id::{AgreementId, ContractId, InteractionId, SessionId};
use x811_protocol::stream::Subject;
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
    path = "/api/v1/interactions/{id}/erasure",
    operation_id = "eraseBodies",
    tag = "interactions",
    params(("id" = InteractionId, Path, description = "Envelope id of its REQUEST"), Order),
    responses((status = 200, description = "The bodies are gone", body = Erased), Refused),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn of_interaction<C: Clock>(
    operator: Operator,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<InteractionId>,
    Asked(order): Asked<Order>,
) -> Result<Json<Erased>, ReadRefusal> {
    erase(&app, operator, Subject::Interaction(id), &order).await
}

/// 200 once the bodies are gone; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/negotiations/{id}/erasure",
    operation_id = "eraseNegotiation",
    tag = "negotiations",
    params(("id" = String, Path, description = "`neg-` and the envelope id of its offer"), Order),
    responses((status = 200, description = "The bodies are gone", body = Erased), Refused),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn of_negotiation<C: Clock>(
    operator: Operator,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(order): Asked<Order>,
) -> Result<Json<Erased>, ReadRefusal> {
    let id = ContractId::from_public(&id);
    let id = id.map_err(|error| ApiError::malformed(error.to_string()))?;
    erase(&app, operator, Subject::Contract(id), &order).await
}

/// 200 once the bodies are gone; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/sessions/{id}/erasure",
    operation_id = "eraseSession",
    tag = "capabilities",
    params(("id" = SessionId, Path, description = "The envelope id of its request"), Order),
    responses((status = 200, description = "The bodies are gone", body = Erased), Refused),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn of_session<C: Clock>(
    operator: Operator,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<SessionId>,
    Asked(order): Asked<Order>,
) -> Result<Json<Erased>, ReadRefusal> {
    erase(&app, operator, Subject::Session(id), &order).await
}

/// 200 once the bodies are gone; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/agreements/{id}/erasure",
    operation_id = "eraseAgreement",
    tag = "capabilities",
    params(("id" = AgreementId, Path, description = "The id of the session that made its first revision"), Order),
    responses((status = 200, description = "The bodies are gone", body = Erased), Refused),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn of_agreement<C: Clock>(
    operator: Operator,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<AgreementId>,
    Asked(order): Asked<Order>,
) -> Result<Json<Erased>, ReadRefusal> {
    erase(&app, operator, Subject::Agreement(id), &order).await
}

/// Has the bodies of a subject erased.
async fn erase<C: Clock>(
    app: &App<C>,
    operator: Operator,
    subject: Subject,
    order: &Order,
) -> Result<Json<Erased>, ReadRefusal> {
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
