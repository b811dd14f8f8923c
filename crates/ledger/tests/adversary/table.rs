//! The table of `tests/AUDIT.md`: how each member of each event is known.

use std::collections::BTreeMap;

/// By event and member.
pub(crate) type Known = BTreeMap<(String, String), String>;

/// Reads the tables of that text; a row names one event or several, and a member.
pub(crate) fn read(text: &str) -> Known {
    let mut known = Known::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [events, members, kind, ..] = cells[..] else {
            panic!("a row has five cells: {line}");
        };
        for event in quoted(events) {
            for member in quoted(members) {
                let key = (event.to_owned(), member.to_owned());
                let before = known.insert(key, kind.to_owned());
                assert!(before.is_none(), "twice: {event} {member}");
            }
        }
    }
    known
}

/// What stands between code marks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}
