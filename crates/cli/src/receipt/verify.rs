//! `x811 receipt verify FILE`.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;
use x811_eventlog::Policy;
use x811_eventlog::note::NoteKey;
use x811_ledger::receipt::{Checked, Receipt, Verdict, verify};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The receipt
    file: PathBuf,
    /// The ledger's checkpoint key, from a source you trust: NAME+ID+KEY
    #[arg(long, value_name = "VKEY", conflicts_with = "policy")]
    key: Option<String>,
    /// A file that says which logs and witnesses you trust (C2SP tlog-policy)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// Verifies; [`Exit::Findings`] when anything does not hold.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    let unreadable = |file: &PathBuf, error: std::io::Error| {
        let message = format!("{} cannot be read: {error}", file.display());
        Failure::local("file", message)
    };
    let bytes = fs::read(&args.file).map_err(|error| unreadable(&args.file, error))?;
    let policy = match (&args.key, &args.policy) {
        (Some(vkey), _) => Some(Policy::of_log(
            NoteKey::from_vkey(vkey).map_err(|error| Failure::usage(&error.to_string()))?,
        )),
        (None, Some(file)) => {
            let text = fs::read_to_string(file).map_err(|error| unreadable(file, error))?;
            let policy = text.parse::<Policy>();
            Some(policy.map_err(|error| Failure::local("policy", error.to_string()))?)
        }
        (None, None) => None,
    };
    let receipt = Receipt::from_bytes(&bytes)
        .map_err(|error| Failure::local("receipt", error.to_string()))?;
    let checked = verify(&receipt, policy.as_ref());
    let holds = checked.paid.is_some();
    out.report(&Verified {
        file: args.file.clone(),
        checked,
    });
    Ok(if holds { Exit::Ok } else { Exit::Findings })
}

#[derive(Serialize)]
struct Verified {
    file: PathBuf,
    #[serde(flatten)]
    checked: Checked,
}

impl Report for Verified {
    fn print(&self, out: &mut Out) {
        match &self.checked.paid {
            Some(paid) => {
                let price = paid.price.to_usdc_decimal();
                out.heading(Tone::Good, format_args!("the receipt holds: {price} USDC"));
                let transactions: Vec<String> =
                    paid.transactions.iter().map(ToString::to_string).collect();
                out.fields(&[
                    ("interaction", paid.interaction.to_string()),
                    ("ledger", paid.ledger.to_string()),
                    ("initiator", paid.initiator.to_string()),
                    ("provider", paid.provider.to_string()),
                    ("to", paid.payee.to_checksum()),
                    ("transactions", transactions.join(", ")),
                    ("confirmed", paid.confirmed_at_ms.to_rfc3339()),
                ]);
            }
            None => out.heading(Tone::Bad, "THE RECEIPT DOES NOT HOLD"),
        }
        out.gap();
        for step in &self.checked.steps {
            let word = match step.verdict {
                Verdict::Proven => "proven",
                Verdict::Asserted => "asserted",
                Verdict::NotChecked => "not checked",
                Verdict::Broken => "BROKEN",
            };
            out.line(format_args!("{word:<12}{}: {}", step.about, step.sentence));
        }
    }
}
