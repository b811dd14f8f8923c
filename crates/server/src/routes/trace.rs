//! `GET /api/v1/traces/{wid}`: what a round and its retries rest on, as tokens that the ledger signs, or as a
//! picture.

mod picture;

use super::round_readers::{may_read, readable};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::round::TraceAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::row::SubjectRow;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::id::RoundId;
use x811_protocol::key::KeyId;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_protocol::trace::{Node, Recorded, nodes, token};

/// More attempts than any parameters allow.
const MOST_ATTEMPTS: usize = 64;

/// Positions that are read together.
const PAGE: usize = 200;

/// The picture has no script, and loads nothing.
const POLICY: &str = "default-src 'none'";

/// How it is wanted.
#[derive(Debug, Clone, Copy, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    /// Tokens, in order.
    #[default]
    Json,
    /// A picture.
    Svg,
}

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// `json`, or `svg` for a picture; `json` without it
    #[serde(default)]
    #[param(inline)]
    format: Format,
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

/// 200, or 404, also to those who take no part in it and for a retry: a trace is named by its first attempt.
#[utoipa::path(
    get,
    path = "/api/v1/traces/{wid}",
    operation_id = "readTrace",
    tag = "rounds",
    params(("wid" = String, Path, description = "The envelope id of the first proposal"), Question),
    responses(
        (
            status = 200,
            description = "Tokens, each behind those that it rests on; with `format=svg` a picture",
            body = TraceAnswer
        ),
        Refused
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(wid): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    super::interaction::await_rows(&app, question.min_position).await?;
    let id = RoundId::lenient(&wid).ok();
    let first = readable(&app, &reader, id.map(Subject::Round)).await?;
    if let Some(before) = first.detail.get("resubmission_of") {
        let message = format!("the round is a retry: its trace begins with {before}");
        return Err(ApiError::not_found(message).into());
    }
    let mut attempts = vec![first];
    while let Some(next) = next(&app, &attempts).await? {
        // A retry may be led by somebody else, and is for its own members.
        if attempts.len() == MOST_ATTEMPTS || !may_read(&app, &reader, &next) {
            break;
        }
        attempts.push(next);
    }
    let nodes = traced(&app, &attempts).await?;
    if matches!(question.format, Format::Svg) {
        let headers = [
            (CONTENT_TYPE, "image/svg+xml"),
            (CONTENT_SECURITY_POLICY, POLICY),
        ];
        return Ok((headers, picture::draw(&nodes)).into_response());
    }
    let kid = KeyId {
        did: app.identity.did,
        key: app.receipt_key.public(),
    };
    let (now, wid) = (app.ledger.now(), attempts[0].subject.public_id());
    let each = nodes.iter();
    let tokens: Vec<String> = each
        .map(|node| token(node, &wid, now, kid, &app.receipt_key))
        .collect();
    Ok(Json(json!({ "wid": wid, "tokens": tokens })).into_response())
}

/// The round that retries the last one.
async fn next<C: Clock>(
    app: &App<C>,
    attempts: &[SubjectRow],
) -> Result<Option<SubjectRow>, ApiError> {
    let last = attempts.last().map(|row| &row.detail["retried_by"]);
    let next = last.and_then(|id| RoundId::lenient(id.as_str()?).ok());
    let Some(next) = next else {
        return Ok(None);
    };
    Ok(app
        .ledger
        .read_model()
        .subject(Subject::Round(next))
        .await?)
}

/// The nodes of all attempts, from their records.
async fn traced<C: Clock>(app: &App<C>, attempts: &[SubjectRow]) -> Result<Vec<Node>, ApiError> {
    let mut records = Vec::new();
    let mut seen = BTreeSet::new();
    for row in attempts {
        let Subject::Round(round) = row.subject else {
            return Err(ApiError::internal());
        };
        let stream = Stream::Of(row.subject).to_string();
        let mut from_seq = 0;
        loop {
            let rows = app.ledger.read_model();
            let positions = rows.stream_positions(&stream, from_seq, PAGE).await?;
            // What came after the row was read is left to the next.
            let within = positions.iter().filter(|at| **at <= row.last_position);
            for (seq, position) in (from_seq..).zip(within) {
                let record = stored::record(app, *position).await?;
                let is_it = record.stream() == stream && record.stream_seq() == seq;
                if !is_it || !seen.insert(*position) {
                    return Err(ApiError::damaged(*position));
                }
                let event = stored::event(&record)?;
                records.push((round, record, event));
            }
            from_seq += positions.len() as u64;
            if positions.len() < PAGE {
                break;
            }
        }
    }
    records.sort_unstable_by_key(|(_, record, _)| record.position());
    let recorded = records.iter().map(|(round, record, event)| {
        let event: &Event = event;
        Recorded {
            event,
            hash: Digest::from_bytes(*record.hash().as_bytes()),
            position: record.position(),
            recorded_at_ms: TimestampMs::new(record.recorded_at_ms()),
            round: *round,
        }
    });
    Ok(nodes(recorded))
}
