//! `x811 escalations show`.

use serde::Serialize;
use serde_json::Value;
use x811_protocol::id::RoundId;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::rounds::Member;
use x811_protocol::shown::shorten;

/// What is decided on, as the ledger tells it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Shown(Value);

/// A member as a person reads it; of a long text its beginning.
fn text(of: &Value, name: &str) -> String {
    match &of[name] {
        Value::Null => "-".to_owned(),
        Value::String(text) => shorten(text),
        long @ Value::Object(_) if long["begins"].is_string() => {
            let begins = long["begins"].as_str().unwrap_or_default();
            shorten(&format!("{begins}…"))
        }
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            shorten(&other.to_string())
        }
    }
}

impl Report for Shown {
    fn print(&self, out: &mut Out) {
        let asked = &self.0;
        let heading = format!("round {}: {}", text(asked, "id"), text(asked, "status"));
        out.heading(Tone::Waiting, heading);
        out.fields(&[
            ("asked because", text(asked, "reason")),
            ("subject", text(asked, "subject")),
            ("action", text(asked, "action")),
            ("proposer", text(asked, "proposer")),
            ("escalation", text(asked, "escalation")),
        ]);
        out.gap();
        let votes = asked["votes"].as_array();
        let rows: Vec<Vec<String>> = votes
            .into_iter()
            .flatten()
            .map(|vote| {
                let counted = if vote["counted"] == true {
                    ""
                } else {
                    "not counted"
                };
                vec![
                    text(vote, "position"),
                    text(vote, "voter"),
                    text(vote, "decision"),
                    counted.to_owned(),
                    text(vote, "rationale"),
                ]
            })
            .collect();
        out.table(&["position", "voter", "says", "", "why"], &rows);
    }
}

pub(super) async fn run(round: RoundId, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let member = Member::open(context).await?;
    out.report(&Shown(member.client.escalation(round).await?));
    Ok(Exit::Ok)
}
