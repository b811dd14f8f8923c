//! `GET /api/v1/traces/{wid}`: what a round and its retries, an agreement, a session or a contract rests on, as
//! tokens that the ledger signs, or as a picture.

mod picture;
mod read;

use crate::app::App;
use crate::extract::{Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_protocol::answer::Trace;
use x811_protocol::key::KeyId;
use x811_protocol::trace::{owns, token};

/// The picture has no script, and loads nothing.
const POLICY: &str = "default-src 'none'";

/// How it is wanted.
#[derive(Debug, Clone, Copy, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    /// Tokens, in order.
    #[default]
    Json,
    /// A picture, as SVG.
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
    params(
        (
            "wid" = String,
            Path,
            description = "The envelope id of the first proposal, of the session's request, or the id of the \
                           agreement or of the negotiation"
        ),
        Question,
    ),
    responses(
        (
            status = 200,
            description = "Tokens, each behind those that it rests on; with `format=svg` a picture",
            body = Trace
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
    super::subject::await_rows(&app, question.min_position).await?;
    let (wid, nodes) = read::traced(&app, &reader, &wid).await?;
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
    let (now, name) = (app.ledger.now(), wid.to_string());
    let each = nodes.iter();
    let tokens: Vec<String> = each
        .map(|node| token(node, &name, now, kid, &app.receipt_key))
        .collect();
    let own = owns(&nodes);
    Ok(Json(Trace { wid, tokens, own }).into_response())
}
