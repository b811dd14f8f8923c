//! `GET /api/v1/interactions/{id}/receipt`: proof of the payment, in one file for anybody.

use super::subject::readable;
use super::subjects::INTERACTION;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Named};
use crate::openapi::Refused;
use crate::openapi::schema::{Binary, ReceiptAnswer};
use crate::signed_read::{ReadRefusal, Reader};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use x811_ledger::clock::Clock;
use x811_ledger::receipt::{self, Issuer};
use x811_protocol::id::InteractionId;
use x811_protocol::stream::Subject;

const JSON: &str = "application/json";
const COSE: &str = "application/cose; cose-type=\"cose-sign1\"";

/// What may be asked of a receipt.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// `cose` for the compact form, without messages
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// In which form.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Json,
    Cose,
}

/// 200 once the payment is confirmed; 404 before that, and to those who are no party to it; 422 while
/// a reorganisation has taken it back. Waits a moment for a checkpoint that covers the confirmation.
#[utoipa::path(
    get,
    path = "/api/v1/interactions/{id}/receipt",
    operation_id = "readReceipt",
    tag = "interactions",
    params(("id" = InteractionId, Path, description = "Envelope id of its REQUEST"), Question),
    responses(
        (
            status = 200,
            description = "The receipt, to be kept byte for byte",
            content((ReceiptAnswer = "application/json"), (Binary = "application/cose")),
        ),
        Refused
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<InteractionId>,
    Asked(question): Asked<Question>,
) -> Result<impl IntoResponse, ReadRefusal> {
    app.rows_as_they_come().await;
    let subject = Some(Subject::Interaction(id));
    let row = readable(&app, &reader, &INTERACTION, subject).await?;
    let signed = app.signed_over(row.last_position).await?;
    app.rows_reflect(signed.checkpoint.size - 1).await?;
    let (store, rows) = (app.ledger.store(), app.ledger.read_model());
    let world = app.ledger.world();
    let issuer = Issuer {
        ledger: app.identity.did,
        keyring: world.keyring().ok_or_else(no_keys)?,
        key: &app.receipt_key,
        checkpoint_key: &app.checkpoint_key,
        parameters: world.parameters().map(|(position, _)| position),
    };
    Ok(match question.format {
        Format::Json => {
            let made = receipt::build(store, rows, &row, &signed, issuer).await;
            ([(CONTENT_TYPE, JSON)], made.map_err(ApiError::from)?)
        }
        Format::Cose => {
            let made = receipt::build_compact(store, rows, &row, &signed, issuer).await;
            (
                [(CONTENT_TYPE, COSE)],
                made.map_err(ApiError::from)?.to_bytes(),
            )
        }
    })
}

/// A ledger that answers has opened its log, and so has keys.
fn no_keys() -> ApiError {
    ApiError::unavailable("the ledger is being opened: ask again")
}
