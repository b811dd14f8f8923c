//! `GET /api/v1/interactions/{id}/bundle`: the interaction and every stream that it rests on, in one
//! file that is audited offline.

use super::interaction::readable;
use super::log_checkpoint::TEXT;
use super::round_readers::still_open;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Named;
use crate::limits::Client;
use crate::openapi::Refused;
use crate::openapi::schema::Uuid;
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
use x811_protocol::id::InteractionId;
use x811_protocol::stream::Subject;

/// 200, or 404, also to those who are no party to it. Waits a moment for a checkpoint that covers
/// its last record. It is made while it is sent: one that was cut off has no trailer.
#[utoipa::path(
    get,
    path = "/api/v1/interactions/{id}/bundle",
    operation_id = "readBundle",
    tag = "interactions",
    params(("id" = Uuid, Path, description = "Envelope id of its REQUEST")),
    responses(
        (
            status = 200,
            description = "The bundle, to be kept byte for byte: `x811 audit` checks it",
            body = String,
            content_type = "text/plain",
        ),
        Refused
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Extension(client): Extension<Client>,
    Named(id): Named<InteractionId>,
) -> Result<Response, ReadRefusal> {
    app.rows_as_they_come().await;
    let row = readable(&app, &reader, id).await?;
    answer(app, client, Subject::Interaction(id), row.last_position).await
}

/// The bundle of a subject whose last record is at that position.
pub(super) async fn answer<C: Clock>(
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
