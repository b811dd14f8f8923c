//! `GET /api/v1/{kind}/{id}/bundle`, and of capabilities: a subject and every stream that it rests on, in one file that is audited offline.
//!
//! It is made while it is sent: one that was cut off has no trailer.

use super::agent::in_force;
use super::log::TEXT;
use super::round_readers::still_open;
use super::subject::{SubjectOf, may_read_votes, readable};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::AgentOf;
use crate::limits::Client;
use crate::openapi::Refused;
use crate::openapi::schema::AgentUuid;
use crate::signed_read::{ReadRefusal, Reader};
use crate::streamed::WHOLE_BYTES;
use crate::unread;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::export::{BundleError, SubjectBundle};
use x811_ledger::port::ReadModel as _;
use x811_protocol::stream::Subject;

/// The bundle, to be kept byte for byte: `x811 audit` checks it
#[derive(utoipa::IntoResponses)]
#[response(status = 200, content_type = "text/plain")]
pub(super) struct BundleFile(
    #[expect(
        dead_code,
        reason = "described, never made: it is made while it is sent"
    )]
    String,
);

/// 200, or 404, also to those who take no part in it. Waits a moment for a checkpoint that covers
/// its last record. It is made while it is sent: one that was cut off has no trailer.
#[utoipa::path(
    get,
    path = "/api/v1/{kind}/{id}/bundle",
    responses(BundleFile, Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Extension(client): Extension<Client>,
    SubjectOf { kind, subject }: SubjectOf,
) -> Result<Response, ReadRefusal> {
    app.rows_as_they_come().await;
    let row = readable(&app, &reader, kind, subject).await?;
    if !may_read_votes(&app, &reader, &row) {
        return Err(still_open().into());
    }
    answer(app, client, row.subject, row.last_position).await
}

/// 200, or 404 of who is not registered (X811-1001) or has said nothing of the kind. Waits a moment for
/// a checkpoint that covers the last revision. It is made while it is sent: one that was cut off has no
/// trailer.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/capabilities/bundle",
    operation_id = "readCapabilitiesBundle",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID")),
    responses(BundleFile, Refused),
)]
pub(super) async fn of_capabilities<C: Clock>(
    State(app): State<Arc<App<C>>>,
    Extension(client): Extension<Client>,
    AgentOf(did): AgentOf,
) -> Result<Response, ReadRefusal> {
    app.rows_as_they_come().await;
    let row = in_force(&app, did).await?;
    answer(app, client, Subject::Descriptor(did), row.last_position).await
}

/// The bundle of a subject whose last record is at that position.
async fn answer<C: Clock>(
    app: Arc<App<C>>,
    client: Client,
    subject: Subject,
    last_position: u64,
) -> Result<Response, ReadRefusal> {
    let signed = app.signed_over(last_position).await?;
    let world = app.ledger.world();
    let size = world.head().size.max(signed.checkpoint.size);
    app.rows_reflect(size - 1).await?;
    let (store, rows) = (app.ledger.store(), app.ledger.read_model());
    let keys = signed.keys.ok_or_else(ApiError::no_keys_statement)?;
    // A piece ends with the body that makes it long enough.
    let piece_bytes = app.parameters.limits.envelope_bytes + 2 * WHOLE_BYTES as u64;
    let room = app.limiter.answer_room(client, piece_bytes);
    let room = room.map_err(ApiError::from)?;
    let bundle = SubjectBundle::open(store, rows, subject, signed.note, keys).await;
    let bundle = bundle.map_err(ApiError::from)?;
    for round in bundle.named_rounds() {
        let row = rows.subject(round).await.map_err(ApiError::from)?;
        if row.is_none_or(|row| row.detail.get("outcome").is_none()) {
            return Err(still_open().into());
        }
    }
    let bundle = bundle.reaching(|stream| world.next_seq(stream));
    let pieces = stream::try_unfold((app, bundle), |(app, mut bundle)| async move {
        let piece = next_piece(&app, &mut bundle).await.inspect_err(|error| {
            tracing::error!(%error, "a bundle was cut off");
            if is_damage(error) {
                app.http.met_damage();
            }
        })?;
        Ok::<_, BundleError>(piece.map(|piece| (piece, (app, bundle))))
    });
    let body = unread::sliced(Body::from_stream(pieces), room);
    Ok(([(CONTENT_TYPE, TEXT)], body).into_response())
}

fn is_damage(error: &BundleError) -> bool {
    matches!(
        error,
        BundleError::Body(_) | BundleError::Damaged { .. } | BundleError::Cut { .. }
    )
}

async fn next_piece<C: Clock>(
    app: &App<C>,
    bundle: &mut SubjectBundle,
) -> Result<Option<Vec<u8>>, BundleError> {
    let (store, rows) = (app.ledger.store(), app.ledger.read_model());
    bundle.next_piece(store, rows, &app.checkpoint_key).await
}
