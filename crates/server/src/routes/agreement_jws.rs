//! `GET /api/v1/agreements/{id}/jws`: what both signed, for tools that know nothing of x811 (CC-84).
//!
//! Two signatures prove consent. That the agreement came into force, and whether it still is, is proven by
//! its bundle alone.

use super::subject::readable;
use super::subjects::AGREEMENT;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::capability::JwsAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored;
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_protocol::canonical::to_canonical;
use x811_protocol::envelope::ParsedEnvelope;
use x811_protocol::event::{Effect, Event};
use x811_protocol::facts::{CapabilityFacts, Facts};
use x811_protocol::id::SessionId;
use x811_protocol::jws::{JwsSignature, general};
use x811_protocol::stream::{Stream, Subject};
use x811_world::row::SubjectRow;

/// Records of a stream that are read at a time; no session has as many.
const PAGE: usize = 1_000;

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// Which revision; the last without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    revision: Option<Bounded<1, MAX_INTEGER>>,
}

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/agreements/{id}/jws",
    operation_id = "readAgreementJws",
    tag = "capabilities",
    params(("id" = String, Path, description = "The envelope id of the request of its first session"), Question),
    responses(
        (
            status = 200,
            description = "General JSON serialisation of RFC 7515, two signatures by Ed25519",
            body = JwsAnswer
        ),
        Refused
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    app.rows_as_they_come().await;
    let row = readable(&app, &reader, &AGREEMENT, (AGREEMENT.subject)(&id).ok()).await?;
    let session = session_of(&app, &row, question.revision.map(|revision| revision.0)).await?;
    Ok(Json(rendered(&app, session, row.last_position).await?))
}

/// The session that made a revision.
async fn session_of<C: Clock>(
    app: &App<C>,
    row: &SubjectRow,
    revision: Option<u64>,
) -> Result<SessionId, ApiError> {
    let stream = Stream::Of(row.subject).to_string();
    let (mut from_seq, mut last) = (0, None);
    loop {
        let positions = app.ledger.read_model();
        let positions = positions.stream_positions(&stream, from_seq, PAGE).await?;
        for position in &positions {
            let event = stored::event(&stored::record(app, *position).await?)?;
            if let Event::Effect(Effect::Agreed(agreed)) = event {
                if revision == Some(agreed.revision) {
                    return Ok(agreed.session);
                }
                last = Some(agreed.session);
            }
        }
        from_seq += positions.len() as u64;
        if positions.len() < PAGE {
            break;
        }
    }
    let last = last.filter(|_| revision.is_none());
    last.ok_or_else(|| ApiError::not_found("the agreement has no such revision"))
}

/// Both signatures, from the bodies of their messages.
async fn rendered<C: Clock>(
    app: &App<C>,
    session: SessionId,
    damaged: u64,
) -> Result<Value, ApiError> {
    let stream = Stream::Of(Subject::Session(session)).to_string();
    let positions = app.ledger.read_model();
    let positions = positions.stream_positions(&stream, 0, PAGE).await?;
    let mut bodies = app.ledger.store().bodies(&positions).await?;
    let (mut payload, mut signatures) = (None, Vec::new());
    for position in positions {
        let damaged = || ApiError::damaged(position);
        let Event::EnvelopeAccepted(accepted) =
            stored::event(&stored::record(app, position).await?)?
        else {
            continue;
        };
        let Facts::Capability(CapabilityFacts::Agree(agree)) = &accepted.facts else {
            continue;
        };
        let body = bodies.remove(&position).ok_or_else(damaged)?;
        body.check(accepted.envelope.digest)
            .map_err(|_| damaged())?;
        let parsed = ParsedEnvelope::from_body(&body.bytes, accepted.envelope.signature)
            .map_err(|_| damaged())?;
        let text = |name: &str| parsed.payload.get(name).and_then(Value::as_str);
        let object = parsed.payload.get("agreement").ok_or_else(damaged)?;
        let bytes = to_canonical(object);
        if x811_protocol::digest::Digest::of(&bytes) != agree.agreement_hash {
            return Err(damaged());
        }
        payload = Some(bytes);
        signatures.push(JwsSignature {
            protected: text("protected").ok_or_else(damaged)?.to_owned(),
            signature: text("signature")
                .and_then(|text| text.parse().ok())
                .ok_or_else(damaged)?,
        });
    }
    match (payload, signatures.len()) {
        (Some(payload), 2) => Ok(general(&payload, &signatures)),
        (_, _) => Err(ApiError::damaged(damaged)),
    }
}
