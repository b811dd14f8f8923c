//! The filter `as_of` of `GET /api/v1/agreements`: agreements that were in force as of a record, each with the revision
//! that was ("active between A and B for T as of N", capability.md).

use serde_json::{Value, json};

/// The revision that was in force as of that record, from which one on and up to which.
pub(super) fn in_force(detail: &Value, as_of: u64) -> Option<Value> {
    let positions = detail["revisions"].as_array()?;
    let positions: Vec<u64> = positions.iter().filter_map(Value::as_u64).collect();
    let over = detail["over"].as_u64();
    if over.is_some_and(|over| over <= as_of) {
        return None;
    }
    let revision = positions.partition_point(|position| *position <= as_of);
    let from = *positions.get(revision.checked_sub(1)?)?;
    let mut shown = json!({ "revision": revision, "from_position": from });
    if let Some(to) = positions.get(revision).copied().or(over) {
        shown["to_position"] = to.into();
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cx_41_which_revision_was_in_force_as_of_a_record() {
        let active = json!({ "revisions": [10, 20] });
        let over = json!({ "revisions": [10, 20], "over": 30 });
        let table = [
            (&active, 9, None),
            (
                &active,
                10,
                Some(json!({"revision": 1, "from_position": 10, "to_position": 20})),
            ),
            (
                &active,
                19,
                Some(json!({"revision": 1, "from_position": 10, "to_position": 20})),
            ),
            (
                &active,
                20,
                Some(json!({"revision": 2, "from_position": 20})),
            ),
            (
                &active,
                99,
                Some(json!({"revision": 2, "from_position": 20})),
            ),
            (
                &over,
                29,
                Some(json!({"revision": 2, "from_position": 20, "to_position": 30})),
            ),
            (&over, 30, None),
        ];
        for (detail, as_of, due) in table {
            assert_eq!(in_force(detail, as_of), due, "{detail} as of {as_of}");
        }
    }
}
