//! The row of what an agent answers for.

use crate::row::SubjectRow;
use crate::world::Live;
use serde_json::json;
use x811_protocol::capability::conduct::{self, Conduct};
use x811_protocol::kernel::SubjectMachine;

/// The row of it in some state.
pub(crate) fn row(live: &Live<conduct::State>) -> SubjectRow {
    let state = &live.state;
    let counted: Vec<u64> = state
        .breaches
        .iter()
        .filter(|breach| !breach.is_spent)
        .map(|breach| breach.position)
        .collect();
    let mut detail = json!({ "breaches": state.recorded, "counted": counted });
    if let Some(exclusion) = state.exclusion {
        detail["exclusion"] = json!({
            "is_lifted": exclusion.is_lifted,
            "position": exclusion.position,
            "until_ms": exclusion.until,
        });
    }
    SubjectRow {
        subject: Conduct::subject(state.agent),
        state: conduct::STATE.to_owned(),
        members: Conduct::members(state),
        deadline_at_ms: None,
        deadline_kind: None,
        opened_at_ms: live.opened_at,
        updated_at_ms: live.updated_at,
        last_position: live.last_position,
        detail,
    }
}
