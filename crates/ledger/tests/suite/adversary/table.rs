//! The tables of `tests/AUDIT.md`: how each member of each event is known.

use std::collections::BTreeMap;

/// Stands for every event.
const EVERY: &str = "every";

/// What is known of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// `recomputed`, `signed` or `word`.
    pub(crate) kind: String,
    /// From what, or why.
    pub(crate) why: String,
    /// Of the report.
    pub(crate) row: String,
}

/// By event and member.
#[derive(Debug, Default)]
pub(crate) struct Known(BTreeMap<(String, String), Row>);

impl Known {
    /// Reads the tables of that text; a row names one event or several, and one member or several.
    pub(crate) fn read(text: &str) -> Known {
        let mut known = Known::default();
        for line in text.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [events, members, kind, why, row] = cells[..] else {
                panic!("a row has five cells: {line}");
            };
            let row = Row {
                kind: kind.to_owned(),
                why: why.to_owned(),
                row: row.to_owned(),
            };
            for event in quoted(events) {
                for member in quoted(members) {
                    let key = (event.to_owned(), member.to_owned());
                    let before = known.0.insert(key, row.clone());
                    assert!(before.is_none(), "twice: {event} {member}");
                }
            }
        }
        known
    }

    /// What is known of the member of that event, or of every event.
    pub(crate) fn of(&self, event: &str, member: &str) -> Option<&Row> {
        let of = |event: &str| self.0.get(&(event.to_owned(), member.to_owned()));
        of(event).or_else(|| of(EVERY))
    }

    /// All rows, with their event and member.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &str, &Row)> {
        let rows = self.0.iter();
        rows.map(|((event, member), row)| (event.as_str(), member.as_str(), row))
    }
}

/// What stands between code marks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}
