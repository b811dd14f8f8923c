//! `GET /api/v1/interactions/{id}`: how an interaction stands.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER, Named};
use crate::openapi::Refused;
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_protocol::answer::InteractionView;
use x811_protocol::id::InteractionId;
use x811_protocol::stream::Stream;
use x811_world::row::InteractionRow;

/// What may be asked of an interaction.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

impl Question {
    /// Waits until the rows for readers are as new as was asked for.
    pub(super) async fn await_rows<C: Clock>(&self, app: &App<C>) -> Result<(), ApiError> {
        await_rows(app, self.min_position).await
    }
}

/// Waits until the rows for readers reflect that record.
pub(super) async fn await_rows<C: Clock>(
    app: &App<C>,
    min_position: Option<Bounded<0, MAX_INTEGER>>,
) -> Result<(), ApiError> {
    match min_position {
        Some(position) => app.rows_reflect(position.0).await,
        // As new as can be had: rows that do not come are no reason to show nothing.
        None => {
            app.rows_as_they_come().await;
            Ok(())
        }
    }
}

/// 200, or 404, also to those who are no party to it.
#[utoipa::path(
    get,
    path = "/api/v1/interactions/{id}",
    operation_id = "readInteraction",
    tag = "interactions",
    params(("id" = InteractionId, Path, description = "Envelope id of its REQUEST"), Question),
    responses((status = 200, description = "How it stands", body = InteractionView), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<InteractionId>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    question.await_rows(&app).await?;
    Ok(Json(shown(readable(&app, &reader, id).await?)))
}

/// The interaction as the rows have it, for those who may read it; 404 for all others.
pub(super) async fn readable<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    id: InteractionId,
) -> Result<InteractionRow, ReadRefusal> {
    // In this order: what is reflected now is in the row that is read then.
    let size = app.ledger.world().head().size;
    let reflected = size.saturating_sub(app.ledger.rows_lag());
    let row = app.ledger.read_model().interaction(id).await?;
    if row.is_none() {
        check_unknown(app, reader, id, reflected).await?;
    }
    let row = row.filter(|row| reader.may_read(&[row.initiator, row.provider]));
    Ok(row.ok_or_else(|| {
        ApiError::not_found(
            "no interaction that you may read has this id: it is the envelope id of its REQUEST, \
             and its two parties read it",
        )
    })?)
}

/// Whether an interaction that the rows do not have is one that the log does not have: a row may have
/// lost its key.
async fn check_unknown<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    id: InteractionId,
    reflected: u64,
) -> Result<(), ApiError> {
    let request = id.request_id();
    let positions = app.ledger.store().envelope_positions(&[request]).await?;
    let Some(position) = positions
        .get(&request)
        .filter(|position| **position < reflected)
    else {
        return Ok(());
    };
    let record = stored::record(app, *position).await?;
    let event = stored::event(&record)?;
    let parties = event.envelope().map(|header| [header.from, header.to]);
    let is_readers = parties.is_some_and(|parties| reader.may_read(&parties));
    if is_readers && record.stream() == Stream::interaction(id).to_string() {
        return Err(ApiError::damaged(*position));
    }
    Ok(())
}

fn shown(row: InteractionRow) -> Value {
    let mut shown = Map::new();
    shown.insert("id".to_owned(), json!(row.id));
    shown.insert("initiator".to_owned(), json!(row.initiator));
    shown.insert("provider".to_owned(), json!(row.provider));
    shown.insert("state".to_owned(), json!(row.state));
    if let Some(total) = row.total {
        shown.insert("total".to_owned(), json!(total));
        shown.insert("total_usdc".to_owned(), json!(total.to_usdc_decimal()));
    }
    if let Some(deadline) = row.deadline_at_ms {
        shown.insert("deadline_at_ms".to_owned(), json!(deadline));
    }
    shown.insert("opened_at_ms".to_owned(), json!(row.opened_at_ms));
    shown.insert("updated_at_ms".to_owned(), json!(row.updated_at_ms));
    shown.insert("last_position".to_owned(), json!(row.last_position));
    shown.insert("detail".to_owned(), row.detail);
    Value::Object(shown)
}
