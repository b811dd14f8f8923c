//! `x811 approvals approve` and `reject`. The decision names the OFFER and the total that the file
//! shows now; the loop checks both again.

use serde::Serialize;
use x811_client::agent::{Answer, DecisionFault, Seen};
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;

use super::approvals;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::send::usdc;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The interaction
    interaction: InteractionId,
    /// The total you saw: refuse to answer about another
    #[arg(long, value_name = "USDC", value_parser = usdc)]
    total: Option<MicroUsdc>,
    /// Why, for the provider to read
    #[arg(long)]
    reason: Option<String>,
}

pub(super) fn approve(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    decide(args, Answer::Approve, context, out)
}

pub(super) fn reject(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    decide(args, Answer::Reject, context, out)
}

fn decide(args: Args, answer: Answer, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let seen = Seen {
        total: args.total,
        offer_hash: None,
    };
    let approvals = approvals(context)?;
    let question = approvals
        .decide(args.interaction, answer, seen, args.reason, context.now())
        .map_err(failure)?;
    out.report(&Decided {
        interaction: args.interaction,
        answer,
        total_usdc: question.total.to_usdc_decimal(),
    });
    Ok(Exit::Ok)
}

fn failure(fault: DecisionFault) -> Failure {
    let message = fault.to_string();
    match fault {
        DecisionFault::NoQuestion(_) => Failure::local("no_question", message)
            .hint("`x811 approvals list` shows what waits; what was answered or lapsed is gone"),
        DecisionFault::TooLate => {
            Failure::local("too_late", message).hint("ask for another with a new REQUEST")
        }
        DecisionFault::Other { .. } => {
            Failure::local("other_total", message).hint("look again: x811 approvals show")
        }
        DecisionFault::File(error) => error.into(),
    }
}

#[derive(Serialize)]
struct Decided {
    interaction: InteractionId,
    answer: Answer,
    total_usdc: String,
}

impl Report for Decided {
    fn print(&self, out: &mut Out) {
        let (total, id) = (&self.total_usdc, self.interaction);
        match self.answer {
            Answer::Approve => out.heading(
                Tone::Good,
                format_args!(
                    "approved: {total} USDC for {id}; the loop accepts if its caps allow it"
                ),
            ),
            Answer::Reject => out.heading(Tone::Plain, format_args!("rejected: {id}")),
        }
    }
}
