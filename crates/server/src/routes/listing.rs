//! What the lists of an agent's subjects have in common: whose they are, how many a page has, and where
//! the next one begins.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Bounded, OfAgent};
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use serde_json::{Value, json};
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::did::Did;
use x811_protocol::id::EnvelopeId;
use x811_protocol::stream::Subject;
use x811_world::row::SubjectRow;

/// Most subjects of a page.
pub(super) const MAX_ROWS: u64 = 100;

/// Most rows that one request looks at; the next one goes on behind them.
const MAX_SCANNED: usize = 1_000;

/// Whose subjects a list shows: those of the party that was asked for, or of the reader alone; `None` for
/// all, which an auditor reads.
///
/// # Errors
/// 403 for anybody else's.
pub(super) fn whose(reader: &Reader, asked: Option<OfAgent>) -> Result<Option<Did>, ReadRefusal> {
    match asked {
        Some(OfAgent(party)) if reader.may_read(&[party]) => Ok(Some(party)),
        Some(_) => Err(ApiError::other_list().into()),
        None => Ok(reader.alone()),
    }
}

/// How many subjects a page has at most.
pub(super) fn most(limit: Option<Bounded<1, MAX_ROWS>>) -> usize {
    let limit = limit.map_or(MAX_ROWS, |limit| limit.0);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// A page of the subjects of a kind, as member `name`: of each what `shown` makes of it, `None` for one that was
/// not asked for; with `next` where there are more, or may be.
///
/// # Errors
/// What the rows could not be read for.
pub(super) async fn page<C: Clock>(
    app: &App<C>,
    (kind, name): (&str, &str),
    member: Option<Did>,
    (mut after, limit): (Option<String>, usize),
    shown: impl Fn(&SubjectRow) -> Option<Value>,
) -> Result<Json<Value>, ReadRefusal> {
    let (mut found, mut scanned, mut last) = (Vec::new(), 0, None);
    let has_more = loop {
        let rows = app.ledger.read_model();
        let rows = rows.subjects(kind, member, after.as_deref(), limit + 1);
        let rows = rows.await?;
        let is_last = rows.len() <= limit;
        let mut left = rows.iter();
        while found.len() < limit
            && let Some(row) = left.next()
        {
            scanned += 1;
            last = Some(row.subject);
            found.extend(shown(row));
        }
        if found.len() == limit || scanned >= MAX_SCANNED || is_last {
            break left.len() > 0 || !is_last;
        }
        after = last.map(Subject::id);
    };
    let mut answer = json!({ name: found });
    if let Some(last) = last.filter(|_| has_more) {
        answer["next"] = last.public_id().into();
    }
    Ok(Json(answer))
}

/// The session or agreement that a page goes on behind.
///
/// # Errors
/// 400 for what is no id.
pub(super) fn behind(id: &str) -> Result<String, ApiError> {
    let id = EnvelopeId::lenient(id);
    let id = id.map_err(|_| ApiError::malformed("`after` is no id: repeat the `next` you got"))?;
    Ok(id.to_string())
}
