//! `GET /api/v1/messages/by-id/{id}`: an accepted envelope, and how it was answered, for ever
//! (ledger-contract.md section 1).

use super::round_readers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Named;
use crate::openapi::Refused;
use crate::openapi::schema::FoundAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored::{self, EnvelopeParts};
use crate::streamed::{self, JSON, Pieces};
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use std::str::FromStr;
use std::sync::Arc;
use x811_ledger::answer::Accepted;
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::id::{EnvelopeId, IdError};
use x811_protocol::time::TimestampMs;

/// An envelope id of any version: the ledger may have been lenient (AX-25).
pub(super) struct AnyId(EnvelopeId);

impl FromStr for AnyId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<AnyId, IdError> {
        EnvelopeId::lenient(text).map(AnyId)
    }
}

/// As of when an envelope was not in the log. One that was sent may still come: it is taken for five
/// minutes from its `created`.
#[derive(Serialize)]
pub(crate) struct AsOf {
    /// Position of the last record that is durable.
    position: Option<u64>,
    /// The ledger's time.
    at_ms: TimestampMs,
}

/// 200, or 404, also to those it is neither from nor to; then `details.as_of` has the position of the
/// last record and the ledger's time when it was looked up.
#[utoipa::path(
    get,
    path = "/api/v1/messages/by-id/{id}",
    operation_id = "readMessage",
    tag = "messages",
    params(("id" = EnvelopeId, Path, description = "The envelope's id")),
    responses((status = 200, description = "As it was taken", body = FoundAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(AnyId(id)): Named<AnyId>,
) -> Result<Response, ReadRefusal> {
    // Before it is looked up: what is taken meanwhile may be found or not.
    let as_of = AsOf {
        position: app.ledger.world().head().size.checked_sub(1),
        at_ms: app.ledger.now(),
    };
    let store = app.ledger.store();
    let positions = store.envelope_positions(&[id]).await?;
    let unknown = || ApiError::no_such_message(&as_of);
    let position = positions.get(&id).copied().ok_or_else(unknown)?;
    let record = stored::record(&app, position).await?;
    let event = stored::event(&record)?;
    if event.envelope().is_none_or(|header| header.id != id) {
        // The index leads astray.
        return Err(ApiError::damaged(position).into());
    }
    let parties = event.envelope().map(|header| [header.from, header.to]);
    if !reader.may_read(parties.as_ref().map_or(&[], |parties| parties))
        && !round_readers::may_read_message(&app, &reader, (&event, position), record.stream())
            .await?
    {
        return Err(unknown().into());
    }
    let first = Accepted::from_record(&record, &event);
    let first = first.ok_or_else(|| ApiError::damaged(position))?;
    let header = event.envelope();
    let header = header.ok_or_else(|| ApiError::damaged(position))?;
    let body = (header.digest, &header.signature);
    let envelope = EnvelopeParts::begin(&app, position, body).await?;
    let erased_at = match &envelope {
        Some(_) => None,
        None => store.erased(&[position]).await?.remove(&position),
    };
    let first = String::from_utf8(streamed::json(&first)?);
    let first = first.map_err(|_| ApiError::internal())?;
    let found = FoundEnvelope {
        before: Some(before(&first, envelope.is_some())),
        envelope,
        after: Some(after(erased_at)),
        app,
    };
    Ok(streamed::answer(JSON, found).await?)
}

/// The body of the 202, and where the envelope follows, its name.
fn before(first: &str, has_envelope: bool) -> String {
    let envelope = if has_envelope { r#","envelope":"# } else { "" };
    format!(r#"{{"first":{first}{envelope}"#)
}

/// Where the body was erased: the position of the record that says so.
fn after(erased_at: Option<u64>) -> String {
    match erased_at {
        Some(erased_at) => format!(r#","erased_at":{erased_at}}}"#),
        None => "}".to_owned(),
    }
}

/// An envelope with something around it. Of a message: `first`, the body of the 202; `envelope`, the
/// whole of it, or without one `erased_at`.
pub(super) struct FoundEnvelope<C> {
    pub(super) app: Arc<App<C>>,
    pub(super) before: Option<String>,
    /// Absent once its body is erased.
    pub(super) envelope: Option<EnvelopeParts>,
    pub(super) after: Option<String>,
}

impl<C: Clock> Pieces for FoundEnvelope<C> {
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        if let Some(before) = self.before.take() {
            return Ok(Some(before.into()));
        }
        if let Some(envelope) = &mut self.envelope
            && let Some(part) = envelope.next(&self.app).await?
        {
            return Ok(Some(part));
        }
        self.envelope = None;
        Ok(self.after.take().map(Bytes::from))
    }
}
