//! `GET /api/v1/{kind}`: the subjects of an agent, in order of id, which is that of the times of what opened them.

use super::agreement_list::in_force;
use super::subject::{Kind, await_rows, shown};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Bounded, MAX_INTEGER, OfAgent, asked};
use crate::openapi::Refused;
use crate::openapi::of_kind::Form;
use crate::signed_read::{ReadRefusal, Reader};
use axum::extract::State;
use axum::http::Uri;
use axum::{Extension, Json};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::refusal::{self, Refusal};
use x811_world::row::SubjectRow;

/// Most subjects of a page.
pub(super) const MAX_ROWS: u64 = 100;

/// Most rows that one request looks at; the next one goes on behind them.
const MAX_SCANNED: usize = 1_000;

/// The list of a kind.
pub(super) struct List {
    pub(super) kind: &'static Kind,
    pub(super) operation_id: &'static str,
    /// Form of a page.
    pub(super) form: Form,
    /// Parameters of its query.
    pub(super) parameters: fn() -> Vec<Parameter>,
    /// Refuses a query of another form.
    check: fn(&Uri) -> Result<(), ApiError>,
    /// The word for a subject in the refusal of a wrong `after`.
    word: &'static str,
}

impl List {
    /// The list of a kind that takes queries of the form `Q`.
    pub(super) const fn of<Q: DeserializeOwned + IntoParams>(
        kind: &'static Kind,
        operation_id: &'static str,
        form: Form,
        word: &'static str,
    ) -> List {
        List {
            kind,
            operation_id,
            form,
            parameters: || Q::into_params(|| Some(ParameterIn::Query)),
            check: |uri| asked::<Q>(uri).map(drop),
            word,
        }
    }
}

/// What a list is asked for, of any kind.
#[derive(Deserialize)]
struct ListRequest {
    /// Whose subjects: `me`, or the UUID of a DID.
    #[serde(alias = "party")]
    member: Option<String>,
    consumer: Option<OfAgent>,
    provider: Option<OfAgent>,
    r#type: Option<String>,
    as_of: Option<Bounded<0, MAX_INTEGER>>,
    after: Option<String>,
    limit: Option<Bounded<1, MAX_ROWS>>,
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

impl ListRequest {
    /// Whose subjects are listed; `None` for those of all, which an auditor reads.
    fn member(&self, reader: &Reader) -> Result<Option<Did>, ApiError> {
        let uuid = match self.member.as_deref() {
            None => return Ok(reader.alone()),
            Some("me") => return reader.agent().map(Some).ok_or_else(nobody),
            Some(uuid) => uuid,
        };
        let did = format!("did:x811:{uuid}").parse().map_err(|_| {
            ApiError::malformed(
                "`member` names no agent: give `me`, or the UUID of its DID in lower case",
            )
        })?;
        match reader.may_read(&[did]) {
            true => Ok(Some(did)),
            false => Err(ApiError::other_list()),
        }
    }

    /// The record that the answer has to reflect.
    fn min_position(&self) -> Option<Bounded<0, MAX_INTEGER>> {
        let positions = [self.min_position, self.as_of].into_iter().flatten();
        positions.max_by_key(|position| position.0)
    }

    /// The subject as it is shown, if it is one that was asked for.
    fn shown(&self, row: &SubjectRow) -> Option<Value> {
        let is = |member: &str, due: Option<Value>| due.is_none_or(|due| row.detail[member] == due);
        let is_it = is("consumer", self.consumer.map(|OfAgent(did)| json!(did)))
            && is("provider", self.provider.map(|OfAgent(did)| json!(did)))
            && is("type", self.r#type.as_ref().map(|name| json!(name)));
        let mut shown = Some(shown(row)).filter(|_| is_it)?;
        if let Some(as_of) = self.as_of {
            shown["in_force"] = in_force(&row.detail, as_of.0)?;
        }
        Some(shown)
    }
}

fn nobody() -> ApiError {
    let message = "`member=me` is said by an agent: sign the request, or give a UUID";
    let kind = refusal::Kind::Authentication;
    Refusal::new(Code::MissingCredentials, kind, message).into()
}

/// How many subjects a page has at most.
pub(super) fn most(limit: Option<Bounded<1, MAX_ROWS>>) -> usize {
    let limit = limit.map_or(MAX_ROWS, |limit| limit.0);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// 200, also when there is none; 403 for anybody else's.
#[utoipa::path(
    get,
    path = "/api/v1/{kind}",
    responses(Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Extension(list): Extension<&'static List>,
    uri: Uri,
) -> Result<Json<Value>, ReadRefusal> {
    (list.check)(&uri)?;
    let request: ListRequest = asked(&uri)?;
    let member = request.member(&reader)?;
    let after = request.after.as_deref().map(list.kind.subject).transpose();
    let after = after.map_err(|_| {
        let word = list.word;
        ApiError::malformed(format!("`after` is no {word}: repeat the `next` you got"))
    })?;
    await_rows(&app, request.min_position()).await?;
    let (mut after, limit) = (after, most(request.limit));
    let (mut found, mut scanned, mut last) = (Vec::new(), 0, None);
    let has_more = loop {
        let rows = app.ledger.read_model();
        let rows = rows.subjects(list.kind.machine, member, after, limit + 1);
        let rows = rows.await?;
        let is_last = rows.len() <= limit;
        let mut left = rows.iter();
        while found.len() < limit
            && let Some(row) = left.next()
        {
            scanned += 1;
            last = Some(row.subject);
            found.extend(request.shown(row));
        }
        if found.len() == limit || scanned >= MAX_SCANNED || is_last {
            break left.len() > 0 || !is_last;
        }
        after = last;
    };
    let mut answer = json!({ list.kind.path: found });
    if let Some(last) = last.filter(|_| has_more) {
        answer["next"] = last.public_id().into();
    }
    Ok(Json(answer))
}
