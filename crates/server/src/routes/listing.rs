//! What the lists of an agent's subjects have in common: whose they are, how many a page has, and where
//! the next one begins.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::Bounded;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use serde_json::{Value, json};
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::row::SubjectRow;
use x811_protocol::did::Did;

/// Most subjects of a page.
pub(super) const MAX_ROWS: u64 = 100;

/// Whose subjects a list shows: those of the party that was asked for, or of the reader alone; `None` for
/// all, which an auditor reads.
///
/// # Errors
/// 403 for anybody else's.
pub(super) fn whose(reader: &Reader, asked: Option<Did>) -> Result<Option<Did>, ReadRefusal> {
    match asked {
        Some(party) if reader.may_read(&[party]) => Ok(Some(party)),
        Some(_) => Err(ApiError::other_list().into()),
        None => Ok(reader.alone()),
    }
}

/// How many subjects a page has at most.
pub(super) fn most(limit: Option<Bounded<1, MAX_ROWS>>) -> usize {
    let limit = limit.map_or(MAX_ROWS, |limit| limit.0);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// A page of the subjects of a kind, as member `name`, each as `shown`; with `next` where there are more.
///
/// # Errors
/// What the rows could not be read for.
pub(super) async fn page<C: Clock>(
    app: &App<C>,
    (kind, name): (&str, &str),
    member: Option<Did>,
    (after, limit): (Option<&str>, usize),
    shown: fn(&SubjectRow) -> Value,
) -> Result<Json<Value>, ReadRefusal> {
    let rows = app.ledger.read_model();
    let mut rows = rows.subjects(kind, member, after, limit + 1).await?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let mut answer = json!({ name: rows.iter().map(shown).collect::<Vec<Value>>() });
    if let Some(next) = rows.last().filter(|_| has_more) {
        answer["next"] = next.subject.public_id().into();
    }
    Ok(Json(answer))
}

/// The DID of that UUID, as `party` names it.
///
/// # Errors
/// 400 for what is none.
pub(super) fn party(uuid: &str) -> Result<Did, ApiError> {
    let did = format!("did:x811:{uuid}").parse();
    did.map_err(|_| {
        ApiError::malformed("`party` names no agent: give the UUID of its DID, in lower case")
    })
}
