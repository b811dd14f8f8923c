//! `x811 receipt INTERACTION`: asks the ledger for the receipt, checks it and keeps it.

use std::path::PathBuf;

use serde::Serialize;
use x811_audit::receipt::{PaidPayment, Trusted};

use super::either::AnyReceipt;
use super::{InteractionId, file};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
#[group(id = "fetched")]
pub(crate) struct Args {
    /// Which interaction
    #[arg(required = true)]
    interaction: Option<InteractionId>,
    /// The compact form: a COSE statement of 2.5 kB, without the messages
    #[arg(long)]
    cose: bool,
    /// The file to write (receipt-INTERACTION.json, or .cose); `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let Some(interaction) = args.interaction else {
        return Err(Failure::usage("name an interaction"));
    };
    let (bytes, paid) = fetched(interaction, args.cose, context).await?;
    let file = args
        .output
        .unwrap_or_else(|| default_file(interaction, args.cose));
    if !file::write(&file, &bytes)? {
        return Ok(Exit::Ok);
    }
    out.report(&KeptReceipt {
        file,
        bytes: bytes.len(),
        paid,
    });
    Ok(Exit::Ok)
}

/// The receipt as the ledger has it, and what it proves; only one that holds.
pub(crate) async fn fetched(
    interaction: InteractionId,
    is_compact: bool,
    context: &Context,
) -> Result<(Vec<u8>, PaidPayment), Failure> {
    let client = context.reading_client().await?;
    let bytes = if is_compact {
        client.compact_receipt(interaction).await?
    } else {
        client.receipt(interaction).await?
    };
    let receipt = AnyReceipt::from_bytes(&bytes)
        .map_err(|error| Failure::untrusted(format!("the ledger sent no receipt: {error}")))?;
    let checked = receipt.verify(Trusted::default());
    let Some(paid) = checked.paid.filter(|paid| paid.interaction == interaction) else {
        let broken = checked.steps.last().map(|step| step.sentence.clone());
        let broken = broken.unwrap_or_default();
        return Err(Failure::untrusted(format!(
            "the receipt does not hold: {broken}"
        )));
    };
    Ok((bytes, paid))
}

fn default_file(interaction: InteractionId, is_compact: bool) -> PathBuf {
    let ending = if is_compact { "cose" } else { "json" };
    PathBuf::from(format!("receipt-{interaction}.{ending}"))
}

#[derive(Serialize)]
struct KeptReceipt {
    file: PathBuf,
    bytes: usize,
    paid: PaidPayment,
}

impl Report for KeptReceipt {
    fn print(&self, out: &mut Out) {
        let amount = self.paid.amount().to_usdc_decimal();
        out.heading(
            Tone::Good,
            format_args!("receipt over {amount} USDC in {}", self.file.display()),
        );
        out.gap();
        out.line(format_args!(
            "anybody can check it: x811 receipt verify {} --key KEY, with the checkpoint_vkey of \
             the ledger's /.well-known/x811.json as KEY",
            self.file.display()
        ));
    }
}
