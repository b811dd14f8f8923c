//! `x811 receipt verify FILE`.

use std::path::PathBuf;

use serde::Serialize;
use x811_audit::receipt::{Checked, ClaimVerdict, PaidPayment, Trusted};
use x811_audit::standing::Standing;

use super::either::{AnyReceipt, no_receipt};
use super::{file, network};
use crate::agent_keys::AgentKeyArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::trust::{RefreshArgs, TrustArgs};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The receipt
    file: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    refresh: RefreshArgs,
    #[command(flatten)]
    agent_keys: AgentKeyArgs,
    /// Also ask an endpoint that you chose for the transfers themselves
    #[arg(
        long,
        alias = "rpc-url",
        env = "X811_RPC_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    rpc: Option<String>,
}

/// Verifies; [`Exit::Findings`] when anything does not hold, [`Exit::Unverified`] when nobody said which
/// ledger is trusted, or the trusted key does not reach back to the receipt.
pub(super) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let bytes = file::read(&args.file)?;
    let policy = args.trust.policy()?;
    let receipt = AnyReceipt::from_bytes(&bytes).map_err(no_receipt)?;
    let refresh = args.refresh.read(&args.file)?;
    let agent_keys = args.agent_keys.read(context)?;
    let mut checked = receipt.verify(Trusted {
        policy: policy.as_ref(),
        refresh: refresh.as_ref(),
        agent_keys: agent_keys.as_ref(),
    });
    if let Some(url) = &args.rpc {
        network::ask(url, &mut checked).await?;
    }
    let exit = match &checked.paid {
        None => Exit::Findings,
        Some(_) if checked.trusted => Exit::Ok,
        Some(_) => Exit::Unverified,
    };
    out.report(&Verified {
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
}

impl Verified {
    /// What is open, and what to do about it; `None` where nothing is.
    fn open(&self) -> Option<(&'static str, &'static str)> {
        if self.checked.trusted {
            None
        } else if self.is_rotated() {
            let heading = "NOT VERIFIED: it holds together, but under another key of the ledger than \
                           yours";
            Some((heading, ROTATED))
        } else {
            let heading = "NOT VERIFIED: it holds together, but whose it is nobody checked";
            Some((heading, NO_KEY))
        }
    }

    /// Whether the checkpoint is by another key of the log than the one that is trusted.
    fn is_rotated(&self) -> bool {
        let mut steps = self.checked.steps.iter();
        steps.any(|step| step.about == "checkpoint" && step.verdict == ClaimVerdict::Asserted)
    }

    fn fields(&self, paid: &PaidPayment) -> Vec<(&'static str, String)> {
        let mut fields = fields(paid);
        if let Some(as_of) = &self.checked.standing {
            let word = match as_of.standing {
                Standing::Returned => "paid again, after a reorganisation",
                Standing::Paid | Standing::Reversed | Standing::None => "paid",
            };
            let at = as_of.not_before_ms.to_rfc3339();
            let sentence = format!("{word}, as of record {}, of {at} or later", as_of.record);
            fields.push(("standing", sentence));
        }
        fields
    }
}

impl Report for Verified {
    fn print(&self, out: &mut Out) {
        match &self.checked.paid {
            Some(paid) => {
                let amount = paid.amount().to_usdc_decimal();
                let open = self.open();
                match open {
                    None => {
                        out.heading(Tone::Good, format_args!("the receipt holds: {amount} USDC"))
                    }
                    Some((heading, _)) => out.heading(Tone::Waiting, heading),
                }
                out.fields(&self.fields(paid));
                if let Some((_, advice)) = open {
                    out.gap();
                    out.line(advice);
                }
            }
            None => out.heading(Tone::Bad, "THE RECEIPT DOES NOT HOLD"),
        }
        out.gap();
        for step in &self.checked.steps {
            let word = match step.verdict {
                ClaimVerdict::Proven => "proven",
                ClaimVerdict::Asserted => "asserted",
                ClaimVerdict::NotChecked => "not checked",
                ClaimVerdict::Broken => "BROKEN",
            };
            out.line(format_args!("{word:<12}{}: {}", step.about, step.sentence));
        }
    }
}

/// What to do about a key that was replaced.
const ROTATED: &str = "If the ledger replaced its key since, ask it for the proof: x811 receipt \
                       refresh FILE, and verify again";

/// What to do without a key.
const NO_KEY: &str = "Anybody can open a ledger and sign such a file. Give the key of the ledger you \
                    mean, from a source you trust: --key KEY, or --policy FILE";

fn fields(paid: &PaidPayment) -> Vec<(&'static str, String)> {
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
    if let Some(contract) = paid.terms.as_ref().and_then(|terms| terms.contract) {
        fields.push(("contract", contract.to_public()));
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
