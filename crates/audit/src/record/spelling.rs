//! One value has one spelling (record.md section 1): an event that was read must be written as it
//! stands in the leaf. Ids in upper case, members as arrays and whatever else a reader may be lenient
//! with say the same to one reader and something else to the next.

use serde_json::Value;
use x811_eventlog::{Record, write_canonical};
use x811_protocol::event::{Event, LedgerEvent};

/// Limits that the first logs do not have: they are read as no limit.
const NEWER_LIMITS: [&str; 4] = [
    "open_per_initiator",
    "open_per_pair",
    "body_bytes_per_day",
    "refusals_per_window",
];

/// What is said of an event that is spelled in another way.
pub(crate) const OTHER: &str = "a member is not in the one spelling that it has in a record";

/// Whether the record's event is spelled as `event`, which was read from it, is written.
pub(crate) fn is_the_one(record: &Record, event: &Event) -> bool {
    let stored = record.event_json();
    let mut written = Vec::with_capacity(stored.len() + 1);
    if write_canonical(&mut written, event).is_ok() && written == stored {
        return true;
    }
    matches!(event, Event::Ledger(LedgerEvent::ParametersSet(_))) && is_of_first_logs(record, event)
}

fn is_of_first_logs(record: &Record, event: &Event) -> bool {
    let stored = record.event();
    let Ok(mut written) = serde_json::to_value(event) else {
        return false;
    };
    let lacks = |name: &&str| stored["limits"].get(name).is_none();
    if let Some(Value::Object(limits)) = written.get_mut("limits") {
        limits.retain(|name, _| {
            !NEWER_LIMITS
                .iter()
                .any(|newer| newer == name && lacks(newer))
        });
    }
    written == stored
}
