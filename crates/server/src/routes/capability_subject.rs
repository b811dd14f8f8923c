//! What the endpoints of sessions and agreements share: who may read one, and how its row is shown.

use crate::app::App;
use crate::error::ApiError;
use crate::signed_read::{ReadRefusal, Reader};
use serde_json::Value;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::row::SubjectRow;
use x811_protocol::stream::Subject;

/// The row of that subject, for those who may read it; 404 for all others.
pub(super) async fn readable<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    subject: Option<Subject>,
) -> Result<SubjectRow, ReadRefusal> {
    let not_found = || {
        ApiError::not_found(
            "nothing of that id that you may read is here: a session is named by the envelope id of its \
             request, an agreement by that of its first session, and their two parties read them",
        )
    };
    let subject = subject.ok_or_else(not_found)?;
    let row = app.ledger.read_model().subject(subject).await?;
    let row = row.filter(|row| reader.may_read(&row.members));
    Ok(row.ok_or_else(not_found)?)
}

/// The row as it is answered.
pub(super) fn shown(row: &SubjectRow) -> Value {
    let mut shown = row.detail.clone();
    shown["id"] = row.subject.public_id().into();
    shown["status"] = row.state.clone().into();
    shown["opened_at_ms"] = row.opened_at_ms.as_ms().into();
    shown["updated_at_ms"] = row.updated_at_ms.as_ms().into();
    shown["last_position"] = row.last_position.into();
    if let Some(deadline) = row.deadline_at_ms {
        shown["deadline_at_ms"] = deadline.as_ms().into();
    }
    shown
}
