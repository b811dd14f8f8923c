//! `GET /api/v1/interactions/{id}/history`: an interaction's records, leaves as they are stored.

use super::interaction::no_interaction;
use crate::app::App;
use crate::extract::{Asked, Bounded, MAX_INTEGER, Named};
use crate::openapi::Refused;
use crate::openapi::schema::{HistoryAnswer, Uuid};
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored::{self, ShownRecord};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::stream::Stream;
use x811_protocol::id::InteractionId;

/// Most records in one answer: 13 MiB of the largest leaves.
const MAX_RECORDS: u64 = 200;

/// What may be asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// Records behind this place in the stream; from the first without it.
    after_seq: Option<Bounded<0, MAX_INTEGER>>,
    /// How many at most; 200 without it.
    limit: Option<Bounded<1, { MAX_RECORDS }>>,
}

/// The answer.
#[derive(Serialize)]
pub(super) struct History {
    interaction: InteractionId,
    records: Vec<ShownRecord>,
    /// The `after_seq` to go on with, while there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// 200, or 404, also to those who are no party to it.
#[utoipa::path(
    get,
    path = "/api/v1/interactions/{id}/history",
    tag = "interactions",
    params(
        ("id" = Uuid, Path, description = "Envelope id of its REQUEST"),
        (
            "after_seq" = Option<u64>,
            Query,
            maximum = 9_007_199_254_740_991_u64,
            description = "Records behind this place in the stream; from the first without it"
        ),
        (
            "limit" = Option<u64>,
            Query,
            minimum = 1,
            maximum = 200,
            description = "How many at most; 200 without it"
        ),
    ),
    responses((status = 200, description = "Its records", body = HistoryAnswer), Refused),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<InteractionId>,
    Asked(question): Asked<Question>,
) -> Result<Json<History>, ReadRefusal> {
    app.rows_current().await?;
    let rows = app.ledger.read_model();
    let row = rows.interaction(id).await?;
    row.filter(|row| reader.may_read(&[row.initiator, row.provider]))
        .ok_or_else(no_interaction)?;
    let limit = question.limit.map_or(MAX_RECORDS, |limit| limit.0);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let from_seq = question.after_seq.map_or(0, |seq| seq.0 + 1);
    let stream = Stream::Interaction(id).to_string();
    let mut positions = rows.stream_positions(&stream, from_seq, limit + 1).await?;
    let has_more = positions.len() > limit;
    positions.truncate(limit);
    let mut records = Vec::with_capacity(positions.len());
    for position in positions {
        records.push(ShownRecord::of(&stored::record(&app, position).await?)?);
    }
    let last = records.last().map(|record: &ShownRecord| record.stream_seq);
    Ok(Json(History {
        interaction: id,
        records,
        next: last.filter(|_| has_more),
    }))
}
