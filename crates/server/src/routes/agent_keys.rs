//! `GET /api/v1/agents/{uuid}/keys`: the records that gave an agent its keys, leaves as they are
//! stored. Whoever reads an earlier message needs the keys its sender had at that position
//! (ledger-contract.md section 4), and can check each rotation by its two signatures.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::schema::{AgentKeysAnswer, Uuid};
use crate::stored::{self, ShownRecord};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::stream::Stream;
use x811_protocol::did::Did;
use x811_protocol::event::Event;

/// Most records of the agent's stream that one answer looks at.
const MAX_RECORDS: u64 = 200;

/// What may be asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// Records behind this place in the stream; from the first without it.
    after_seq: Option<Bounded<0, MAX_INTEGER>>,
    /// How many of the stream to look at; 200 without it.
    limit: Option<Bounded<1, { MAX_RECORDS }>>,
}

/// The answer.
#[derive(Serialize)]
pub(super) struct Keys {
    did: Did,
    records: Vec<ShownRecord>,
    /// The `after_seq` to go on with, while there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// 200, also for who is deactivated or revoked, or 404 X811-1001. A page may hold no record and
/// still have a `next`: records of the stream that leave the keys alone are passed over.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/keys",
    tag = "agents",
    params(
        ("uuid" = Uuid, Path, description = "UUID of the agent's DID"),
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
            description = "How many records of the stream to look at; 200 without it"
        ),
    ),
    responses(
        (status = 200, description = "How it came by its keys", body = AgentKeysAnswer),
        Refused
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    Asked(question): Asked<Question>,
) -> Result<Json<Keys>, ApiError> {
    if app.ledger.world().agent(did).is_none() {
        return Err(ApiError::no_such_agent());
    }
    app.rows_current().await?;
    let limit = question.limit.map_or(MAX_RECORDS, |limit| limit.0);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let from_seq = question.after_seq.map_or(0, |seq| seq.0 + 1);
    let stream = Stream::Agent(did).to_string();
    let rows = app.ledger.read_model();
    let mut positions = rows.stream_positions(&stream, from_seq, limit + 1).await?;
    let has_more = positions.len() > limit;
    positions.truncate(limit);
    let mut records = Vec::new();
    let mut last_seq = None;
    for position in positions {
        let record = stored::record(&app, position).await?;
        last_seq = Some(record.stream_seq());
        if gives_keys(&stored::event(&record)?) {
            records.push(ShownRecord::of(&record)?);
        }
    }
    Ok(Json(Keys {
        did,
        records,
        next: last_seq.filter(|_| has_more),
    }))
}

fn gives_keys(event: &Event) -> bool {
    matches!(event, Event::AgentRegistered(_) | Event::KeyRotated(_))
}
