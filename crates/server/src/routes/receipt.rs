//! `GET /api/v1/interactions/{id}/receipt`: proof of the payment, in one file for anybody.

use super::interaction::readable;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Named;
use crate::openapi::Refused;
use crate::openapi::schema::{ReceiptAnswer, Uuid};
use crate::signed_read::{ReadRefusal, Reader};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::receipt;
use x811_protocol::id::InteractionId;

const JSON: &str = "application/json";

/// 200 once the payment is confirmed; 404 before that, and to those who are no party to it. Waits a
/// moment for a checkpoint that covers the confirmation.
#[utoipa::path(
    get,
    path = "/api/v1/interactions/{id}/receipt",
    tag = "interactions",
    params(("id" = Uuid, Path, description = "Envelope id of its REQUEST")),
    responses(
        (status = 200, description = "The receipt, to be kept byte for byte", body = ReceiptAnswer),
        Refused
    ),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<InteractionId>,
) -> Result<impl IntoResponse, ReadRefusal> {
    app.rows_current().await?;
    let row = readable(&app, &reader, id).await?;
    let signed = app.signed_over(row.last_position).await?;
    app.rows_reflect(signed.checkpoint.size - 1).await?;
    let (store, rows) = (app.ledger.store(), app.ledger.read_model());
    let made = receipt::build(store, rows, id, &signed, &app.receipt_key).await;
    let made = made.map_err(ApiError::from)?;
    Ok(([(CONTENT_TYPE, JSON)], made.to_bytes()))
}
