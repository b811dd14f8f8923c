//! `GET /api/v1/{kind}/{id}`: a subject as it stands. How a path names a subject, who reads it, and how its row is
//! shown: all routes that concern one subject ask this module.

use super::subjects::{self, round_of};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER, no_id, parameter};
use crate::openapi::Refused;
use crate::openapi::of_kind::Form;
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored;
use axum::Extension;
use axum::extract::{FromRequestParts, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_protocol::did::Did;
use x811_protocol::id::{IdError, InteractionId};
use x811_protocol::stream::{Stream, Subject};
use x811_world::row::SubjectRow;

/// Description and schema of an id in a path.
pub(super) type Id = (&'static str, fn() -> RefOr<Schema>);

/// A kind of subject with routes of its own, and what the description of these says of it alone. `subjects` has all.
pub(super) struct Kind {
    /// Name of its machine.
    pub(super) machine: &'static str,
    /// Segment of its paths, and the member of a list that has the subjects.
    pub(super) path: &'static str,
    /// The member of a history that names the subject.
    pub(super) name: &'static str,
    pub(super) tag: &'static str,
    /// Reads the id of a subject as URLs write it.
    pub(super) subject: fn(&str) -> Result<Subject, IdError>,
    /// True if reads refuse a malformed id as malformed; otherwise they find no subject by it.
    pub(super) refuses_malformed_ids: bool,
    /// The refusal where there is no such subject, and for everybody who may not read it.
    pub(super) not_found: &'static str,
    /// The id in the paths of reads.
    pub(super) id: Id,
    /// Operation id, and description and form of the answer.
    pub(super) read: (&'static str, &'static str, Form),
    /// Operation id and form of the answer.
    pub(super) history: (&'static str, Form),
    /// Operation id of the bundle.
    pub(super) bundle: &'static str,
    /// Summaries of these three operations, where the kind has its own.
    pub(super) summaries: [Option<&'static str>; 3],
    /// Operation id, and the id in its path; `None` where nothing is erased.
    pub(super) erasure: Option<(&'static str, Id)>,
}

/// The subject that a path names, on a route of its kind. An order for a malformed id is refused as malformed.
pub(super) struct SubjectOf {
    pub(super) kind: &'static Kind,
    /// `None` for a malformed id.
    pub(super) subject: Option<Subject>,
}

impl<S: Send + Sync> FromRequestParts<S> for SubjectOf {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let kind = Extension::<&'static Kind>::from_request_parts(parts, state).await;
        let Extension(kind) = kind.map_err(|_| ApiError::internal())?;
        let subject = (kind.subject)(&parameter(parts, state).await?);
        if kind.refuses_malformed_ids || parts.method == Method::POST {
            subject.as_ref().map_err(no_id)?;
        }
        let subject = subject.ok();
        Ok(SubjectOf { kind, subject })
    }
}

/// What may be asked of a subject.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

impl Question {
    /// Waits until the rows for readers are as new as was asked for.
    pub(super) async fn await_rows<C: Clock>(&self, app: &App<C>) -> Result<(), ApiError> {
        await_rows(app, self.min_position).await
    }
}

/// Waits until the rows for readers reflect that record.
pub(super) async fn await_rows<C: Clock>(
    app: &App<C>,
    min_position: Option<Bounded<0, MAX_INTEGER>>,
) -> Result<(), ApiError> {
    match min_position {
        Some(position) => app.rows_reflect(position.0).await,
        // As new as can be had: rows that do not come are no reason to show nothing.
        None => {
            app.rows_as_they_come().await;
            Ok(())
        }
    }
}

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/{kind}/{id}",
    params(Question),
    responses(Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    SubjectOf { kind, subject }: SubjectOf,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let row = readable(&app, &reader, kind, subject).await?;
    subjects::answer(&app, &row).await
}

/// The row of that subject, for those who may read it; 404 for all others.
pub(super) async fn readable<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    kind: &Kind,
    subject: Option<Subject>,
) -> Result<SubjectRow, ReadRefusal> {
    let not_found = || ApiError::not_found(kind.not_found);
    let subject = subject.ok_or_else(not_found)?;
    // In this order: what is reflected now is in the row that is read then.
    let size = app.ledger.world().head().size;
    let reflected = size.saturating_sub(app.ledger.rows_lag());
    let row = app
        .ledger
        .read_model()
        .subject(subject)
        .await
        .map_err(ApiError::from)?;
    if row.is_none()
        && let Some(id) = subject.interaction()
    {
        check_unknown(app, reader, id, reflected).await?;
    }
    let row = row.filter(|row| may_read(app, reader, row));
    Ok(row.ok_or_else(not_found)?)
}

/// Whether an interaction that the rows do not have is one that the log does not have: a row may have
/// lost its key.
async fn check_unknown<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    id: InteractionId,
    reflected: u64,
) -> Result<(), ApiError> {
    let request = id.request_id();
    let positions = app.ledger.store().envelope_positions(&[request]).await?;
    let Some(position) = positions
        .get(&request)
        .filter(|position| **position < reflected)
    else {
        return Ok(());
    };
    let record = stored::record(app, *position).await?;
    let event = stored::event(&record)?;
    let parties = event.envelope().map(|header| [header.from, header.to]);
    let is_readers = parties.is_some_and(|parties| reader.may_read(&parties));
    if is_readers && record.stream() == Stream::interaction(id).to_string() {
        return Err(ApiError::damaged(*position));
    }
    Ok(())
}

/// True if the subject may be shown to the reader: its members read it, and humans a round that they were asked about.
pub(super) fn may_read<C: Clock>(app: &App<C>, reader: &Reader, row: &SubjectRow) -> bool {
    let is_asked = round_of(row)
        .is_some_and(|round| round["escalated"] == true && reader.may_read(humans(app)));
    is_asked || reader.may_read(&row.members)
}

/// True if a reader of the subject may read its votes too. Those of a round are shown once it is decided; before that
/// only to an agent that leads it, and only open ones. Auditors hold to the same.
pub(super) fn may_read_votes<C: Clock>(app: &App<C>, reader: &Reader, row: &SubjectRow) -> bool {
    let Some(round) = round_of(row).filter(|round| round.get("outcome").is_none()) else {
        return true;
    };
    let leader = serde_json::from_value::<Did>(round["leader"].clone());
    round["voting"] == "open"
        && leader.is_ok_and(|leader| leader != app.identity.did && reader.alone() == Some(leader))
}

/// The humans who decide escalated rounds.
pub(super) fn humans<C: Clock>(app: &App<C>) -> &[Did] {
    let rounds = app.parameters.rounds.as_ref();
    rounds.map_or(&[], |rounds| &rounds.humans)
}

/// The row as it is answered.
pub(super) fn shown(row: &SubjectRow) -> Value {
    let (state, mut shown) = subjects::form_of(row);
    shown["id"] = row.subject.public_id().into();
    shown[state] = row.state.clone().into();
    shown["opened_at_ms"] = row.opened_at_ms.as_ms().into();
    shown["updated_at_ms"] = row.updated_at_ms.as_ms().into();
    shown["last_position"] = row.last_position.into();
    if let Some(deadline) = row.deadline_at_ms {
        shown["deadline_at_ms"] = deadline.as_ms().into();
    }
    shown
}
