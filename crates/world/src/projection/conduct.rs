//! The row of what an agent answers for.

use super::row_of;
use crate::row::SubjectRow;
use crate::world::Live;
use serde_json::json;
use x811_protocol::capability::conduct::{self, Conduct};

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
    row_of::<Conduct>(live, conduct::STATE, None, detail)
}
