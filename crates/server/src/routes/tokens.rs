//! `POST /api/v1/tokens`: a short-lived token for a browser, made by a signature (agents.md
//! section 1).

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded};
use crate::feed::{Claims, Scope};
use crate::openapi::Refused;
use crate::signed_read::{ReadRefusal, SignedBy};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use x811_ledger::clock::Clock;
use x811_protocol::time::TimestampMs;

/// The longest that a token is good, in seconds.
const MAX_TTL_S: u64 = 300;

/// What has to be said.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// `feed`: the stream of the signer's messages; `explorer`: its other reads
    #[param(value_type = String, pattern = "^(feed|explorer)$")]
    scope: Scope,
    /// How long it is good, in seconds; 300 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 300)]
    ttl_s: Option<Bounded<1, MAX_TTL_S>>,
}

/// A short-lived token.
#[derive(Serialize, ToSchema)]
pub(super) struct TokenAnswer {
    /// For the `token` of a stream's query, or behind `Bearer` in the `Authorization` header.
    token: String,
    /// ms since the Unix epoch.
    #[schema(value_type = u64)]
    expires_at_ms: TimestampMs,
}

/// 200 with a token for what the signer may read.
#[utoipa::path(
    post,
    path = "/api/v1/tokens",
    operation_id = "issueToken",
    tag = "agents",
    params(Question),
    responses((status = 200, description = "The token", body = TokenAnswer), Refused),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn handle<C: Clock>(
    SignedBy(key_id): SignedBy,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    let ttl_s = question.ttl_s.map_or(MAX_TTL_S, |ttl_s| ttl_s.0);
    let claims = Claims {
        key_id,
        scope: question.scope,
        expires_at: app.ledger.now().saturating_add_ms(ttl_s * 1_000),
    };
    let token = app.feeds.tokens.issue(&claims).map_err(|error| {
        tracing::error!(%error, "a token cannot be written");
        ApiError::internal()
    })?;
    let issued = TokenAnswer {
        token,
        expires_at_ms: claims.expires_at,
    };
    let not_kept = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((not_kept, Json(issued)).into_response())
}
