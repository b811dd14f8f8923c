//! `x811 receipt verify FILE`.

use std::path::PathBuf;

use serde::Serialize;
use x811_ledger::receipt::{Checked, Paid, Verdict};

use super::either::AnyReceipt;
use super::{file, network};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::trust::TrustArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The receipt
    file: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    /// Also ask an endpoint that you chose for the transfers themselves
    #[arg(long, value_name = "URL")]
    rpc: Option<String>,
}

/// Verifies; [`Exit::Findings`] when anything does not hold, [`Exit::Unverified`] when nobody said
/// which ledger is trusted.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let bytes = file::read(&args.file)?;
    let policy = args.trust.policy()?;
    let receipt =
        AnyReceipt::from_bytes(&bytes).map_err(|error| Failure::local("receipt", error))?;
    let mut checked = receipt.verify(policy.as_ref());
    if let Some(url) = &args.rpc {
        network::ask(url, &mut checked).await?;
    }
    let exit = match &checked.paid {
        None => Exit::Findings,
        Some(_) if checked.trusted => Exit::Ok,
        Some(_) => Exit::Unverified,
    };
    out.report(&Verified {
        is_without_issuer: receipt.is_compact() && policy.is_some(),
        file: args.file,
        checked,
    });
    Ok(exit)
}

#[derive(Serialize)]
struct Verified {
    file: PathBuf,
    #[serde(flatten)]
    checked: Checked,
    /// Somebody said which log is trusted, and the file does not say whose it is.
    #[serde(skip)]
    is_without_issuer: bool,
}

impl Verified {
    /// What is open, and what to do about it.
    fn open(&self) -> (&'static str, &'static str) {
        if self.is_without_issuer {
            (
                "NOT VERIFIED: the log you trust has the record, but who issued the file is open",
                NO_ISSUER,
            )
        } else {
            (
                "NOT VERIFIED: it holds together, but whose it is nobody checked",
                NO_KEY,
            )
        }
    }
}

impl Report for Verified {
    fn print(&self, out: &mut Out) {
        match &self.checked.paid {
            Some(paid) => {
                let amount = paid.amount().to_usdc_decimal();
                if self.checked.trusted {
                    out.heading(Tone::Good, format_args!("the receipt holds: {amount} USDC"));
                } else {
                    out.heading(Tone::Waiting, self.open().0);
                }
                out.fields(&fields(paid));
                if !self.checked.trusted {
                    out.gap();
                    out.line(self.open().1);
                }
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

/// What to do about a file that does not say whose it is.
const NO_ISSUER: &str = "A compact receipt has neither the ledger's receipt key nor the messages. \
                         Take the receipt in JSON, which has both: x811 receipt INTERACTION";

/// What to do without a key.
const NO_KEY: &str = "Anybody can open a ledger and sign such a file. Give the key of the ledger you \
                    mean, from a source you trust: --key KEY, or --policy FILE";

fn fields(paid: &Paid) -> Vec<(&'static str, String)> {
    let mut fields = vec![("interaction", paid.interaction.to_string())];
    if let Some(ledger) = paid.ledger {
        fields.push(("ledger", ledger.to_string()));
    }
    if let Some(terms) = &paid.terms {
        let due = format!(
            "{} USDC, {} with the fee",
            terms.price.to_usdc_decimal(),
            terms.total_cost.to_usdc_decimal()
        );
        fields.extend([
            ("initiator", terms.initiator.to_string()),
            ("provider", terms.provider.to_string()),
            ("due", due),
            ("payee", terms.payee.to_checksum()),
        ]);
    }
    for transfer in &paid.transfers {
        let token = transfer
            .token
            .map(|token| format!(" of {}", token.to_checksum()));
        let sentence = format!(
            "{} USDC{} on chain {}, {}",
            transfer.amount.to_usdc_decimal(),
            token.unwrap_or_default(),
            transfer.chain_id,
            transfer.tx_hash
        );
        fields.push(("transfer", sentence));
    }
    fields.push(("as of", paid.as_of()));
    fields
}
