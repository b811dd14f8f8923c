//! The row of a pledge.

use crate::row::{DeadlineKind, SubjectRow};
use crate::world::Live;
use serde_json::json;
use x811_protocol::machine::{Machine};
use x811_protocol::pledge::{Pledge, State};

/// The row that readers get of a pledge as it stands.
pub(crate) fn row(live: &Live<State>) -> SubjectRow {
    let state = &live.state;
    let deadline_at_ms = Pledge::deadline(state);
    SubjectRow {
        subject: Pledge::subject(Pledge::id(state)),
        state: if state.is_due { "due" } else { "given" }.to_owned(),
        members: Pledge::members(state),
        deadline_at_ms,
        deadline_kind: deadline_at_ms.map(|_| DeadlineKind::Ledger),
        opened_at_ms: live.opened_at,
        updated_at_ms: live.updated_at,
        last_position: live.last_position,
        detail: json!({ "from": state.from, "to": state.to }),
    }
}
