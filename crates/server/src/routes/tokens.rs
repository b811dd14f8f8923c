//! `POST /api/v1/tokens`: a short-lived token for a browser, made by a signature (agents.md
//! section 1).

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded};
use crate::feed::{Claims, Scope};
use crate::openapi::Refused;
use crate::openapi::schema::TokenAnswer;
use crate::signed_read::{ReadRefusal, SignedBy};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::time::TimestampMs;

/// The longest that a token is good, in seconds.
const MAX_TTL_S: u64 = 300;

/// What has to be said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    scope: Scope,
    /// As long as it may be without it.
    ttl_s: Option<Bounded<1, MAX_TTL_S>>,
}

#[derive(Serialize)]
struct Issued {
    token: String,
    expires_at_ms: TimestampMs,
}

/// 200 with a token for what the signer may read.
#[utoipa::path(
    post,
    path = "/api/v1/tokens",
    operation_id = "issueToken",
    tag = "agents",
    params(
        (
            "scope" = String,
            Query,
            pattern = "^(feed|explorer)$",
            description = "`feed`: the stream of the signer's messages; `explorer`: its other reads"
        ),
        (
            "ttl_s" = Option<u64>,
            Query,
            minimum = 1,
            maximum = 300,
            description = "How long it is good, in seconds; 300 without it"
        ),
    ),
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
    let issued = Issued {
        token,
        expires_at_ms: claims.expires_at,
    };
    let not_kept = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((not_kept, Json(issued)).into_response())
}
