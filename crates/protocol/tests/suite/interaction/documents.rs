//! The transition table as documentation: rendered from the same data the machine runs on.

use std::fmt::Write as _;

use x811_protocol::interaction::table::{LAPSES, Sender, TRANSITIONS};

const CHECKED_IN: &str = include_str!("../../../src/interaction/TABLE.md");

fn rendered() -> String {
    let mut text =
        String::from("| state | message | sent by | next state | rule |\n|---|---|---|---|---|\n");
    for row in &TRANSITIONS {
        let sender = match row.sender {
            Sender::Initiator => "initiator",
            Sender::Provider => "provider",
            Sender::Stranger => "anybody else",
        };
        let to = match row.otherwise {
            Some(otherwise) => format!("`{}`, or `{otherwise}` if `verified=false`", row.to),
            None if row.to == row.from => format!("`{}`, payment watched", row.to),
            None => format!("`{}`", row.to),
        };
        let (from, message, rule) = (row.from, row.message, row.requirement);
        writeln!(
            text,
            "| `{from}` | `{message}` | {sender} | {to} | {rule} |"
        )
        .unwrap();
    }
    text.push_str("\n| state | window | when it passes | code | rule |\n|---|---|---|---|---|\n");
    for row in &LAPSES {
        let window = serde_json::to_value(row.window).unwrap();
        let to = if row.to == row.from {
            format!("`{}`, looks begin", row.to)
        } else {
            format!("`{}`", row.to)
        };
        let (from, code, rule) = (row.from, row.code, row.requirement);
        writeln!(
            text,
            "| `{from}` | {} | {to} | {code} | {rule} |",
            window.as_str().unwrap()
        )
        .unwrap();
    }
    text
}

#[test]
fn ae_011_to_ae_022_the_documented_table_is_the_one_that_runs() {
    let rendered = rendered();
    assert_eq!(
        CHECKED_IN, rendered,
        "replace crates/protocol/src/interaction/TABLE.md by it"
    );
}
