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
    negotiation: ContractId,
}

/// A contract as the ledger renders it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Shown(Value);

impl Shown {
    fn text(&self, pointer: &str) -> String {
        let value = self.0.pointer(pointer);
        value.and_then(Value::as_str).unwrap_or("-").to_owned()
    }
}

impl Report for Shown {
    fn print(&self, out: &mut Out) {
        let heading = format!("negotiation {}: {}", self.text("/id"), self.text("/status"));
        out.heading(Tone::Good, heading);
        let amount = format!(
            "{} {} ({})",
            self.text("/terms/amount/value"),
            self.text("/terms/amount/currency"),
            self.text("/terms/amount_of")
        );
        let fields = [
            ("payer", self.text("/terms/payer")),
            ("payee", self.text("/terms/payee")),
            ("amount", amount),
            ("expires", self.text("/expiresAt")),
        ];
        out.fields(&fields);
        let history = self.0.get("history").and_then(Value::as_array);
        for entry in history.into_iter().flatten() {
            let of = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("-");
            out.line(format!("{}  {}  {}", of("at"), of("action"), of("agent")));
        }
    }
}

/// Prints it; with `--json` as the file that `x811 audit` reads.
pub(super) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let client = context.client()?;
    let identity = context.identity(&client).await?;
    let page = client
        .reading_as(&identity)
        .negotiation(args.negotiation)
        .await?;
    out.report(&Shown(page));
    Ok(Exit::Ok)
}
