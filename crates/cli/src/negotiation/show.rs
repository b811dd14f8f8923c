//! `x811 negotiation show`.

use serde_json::Value;
use x811_protocol::id::ContractId;

use super::counter::negotiation;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use serde::Serialize;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which negotiation, as neg-UUID
    #[arg(value_parser = negotiation)]
    pub(crate) negotiation: ContractId,
}

/// A contract as the ledger renders it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Shown(Value);

impl Shown {
    /// What the terms say of task, deadline and deliverables; they are there where they were agreed on.
    fn work(&self) -> Vec<(&'static str, String)> {
        let terms = self.0.get("terms");
        let of = |name: &str| terms.and_then(|terms| terms.get(name));
        let task = of("task_type").and_then(Value::as_str);
        let deadline_s = of("deadline_s").and_then(Value::as_u64);
        let deliverables = of("deliverables").and_then(Value::as_array);
        let deliverables = deliverables.map(|all| {
            let texts: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            texts.join("; ")
        });
        let mut fields = Vec::new();
        fields.extend(task.map(|task| ("task", task.to_owned())));
        fields.extend(deadline_s.map(|deadline_s| ("deadline", format!("{deadline_s} s"))));
        fields.extend(deliverables.map(|texts| ("delivers", texts)));
        fields
    }
}

fn text(value: &Value, pointer: &str) -> String {
    let value = value.pointer(pointer);
    value.and_then(Value::as_str).unwrap_or("-").to_owned()
}

/// The amount of the terms of a page or of an entry; an entry without terms has none.
fn amount(of: &Value) -> String {
    if of.get("terms").is_none() {
        return String::new();
    }
    format!(
        "{} {} ({})",
        text(of, "/terms/amount/value"),
        text(of, "/terms/amount/currency"),
        text(of, "/terms/amount_of")
    )
}

impl Report for Shown {
    fn print(&self, out: &mut Out) {
        let page = &self.0;
        let heading = format!(
            "negotiation {}: {}",
            text(page, "/id"),
            text(page, "/status")
        );
        out.heading(Tone::Good, heading);
        let mut fields = vec![
            ("payer", text(page, "/terms/payer")),
            ("payee", text(page, "/terms/payee")),
            ("amount", amount(page)),
        ];
        fields.extend(self.work());
        fields.push(("expires", text(page, "/expiresAt")));
        out.fields(&fields);
        out.gap();
        let history = page.get("history").and_then(Value::as_array);
        let rows: Vec<Vec<String>> = history
            .into_iter()
            .flatten()
            .map(|entry| {
                vec![
                    text(entry, "/at"),
                    text(entry, "/action"),
                    amount(entry),
                    text(entry, "/agent"),
                ]
            })
            .collect();
        out.table(&["recorded", "says", "amount", "who"], &rows);
    }
}

/// Prints it; with `--json` as the file that `x811 audit` reads.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let client = context.client()?;
    let identity = context.identity(&client).await?;
    let page = client
        .reading_as(&identity)
        .negotiation(args.negotiation)
        .await?;
    out.report(&Shown(page));
    Ok(Exit::Ok)
}
