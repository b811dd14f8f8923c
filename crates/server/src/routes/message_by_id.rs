//! `GET /api/v1/messages/by-id/{id}`: an accepted envelope, and how it was answered, for ever
//! (ledger-contract.md section 1).

use crate::app::App;
use crate::error::ApiError;
use crate::extract::Named;
use crate::openapi::Refused;
use crate::openapi::schema::{AnyUuid, FoundAnswer};
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use std::str::FromStr;
use std::sync::Arc;
use x811_ledger::answer::Accepted;
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::id::{EnvelopeId, IdError};

/// An envelope id of any version: the ledger may have been lenient (AX-25).
pub(super) struct AnyId(EnvelopeId);

impl FromStr for AnyId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<AnyId, IdError> {
        EnvelopeId::lenient(text).map(AnyId)
    }
}

/// The answer.
#[derive(Serialize)]
pub(super) struct Found {
    /// The body of the 202.
    first: Accepted,
    /// The whole envelope; absent once its body is erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<Box<RawValue>>,
    /// Where the body was erased: the position of the record that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    erased_at: Option<u64>,
}

/// 200, or 404, also to those it is neither from nor to.
#[utoipa::path(
    get,
    path = "/api/v1/messages/by-id/{id}",
    tag = "messages",
    params(("id" = AnyUuid, Path, description = "The envelope's id")),
    responses((status = 200, description = "As it was taken", body = FoundAnswer), Refused),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(AnyId(id)): Named<AnyId>,
) -> Result<Json<Found>, ReadRefusal> {
    let store = app.ledger.store();
    let positions = store.envelope_positions(&[id]).await?;
    let unknown =
        || ApiError::not_found("no accepted envelope has this id that is from you or to you");
    let position = positions.get(&id).copied().ok_or_else(unknown)?;
    let record = stored::record(&app, position).await?;
    let event = stored::event(&record)?;
    if event.envelope().is_none_or(|header| header.id != id) {
        // The index leads astray.
        return Err(ApiError::damaged(position).into());
    }
    let parties = event.envelope().map(|header| [header.from, header.to]);
    if !reader.may_read(parties.as_ref().map_or(&[], |parties| parties)) {
        return Err(unknown().into());
    }
    let first = Accepted::from_record(&record, &event);
    let first = first.ok_or_else(|| ApiError::damaged(position))?;
    let body = store.bodies(&[position]).await?.remove(&position);
    let envelope = body
        .map(|body| stored::envelope(&event, &body))
        .transpose()?;
    let erased_at = match &envelope {
        Some(_) => None,
        None => store.erased(&[position]).await?.remove(&position),
    };
    Ok(Json(Found {
        first,
        envelope,
        erased_at,
    }))
}
