//! `x811 approvals approve` and `reject`. The decision names the OFFER and the total that the file
//! shows now; the loop checks both again.

use serde::Serialize;
use x811_client::agent::{Answer, Decision};
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;

use super::{approvals, question};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::narrate;
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
    let approvals = approvals(context)?;
    let mut question = question(&approvals, args.interaction)?;
    let now = context.now();
    if question.left_ms(now) == 0 {
        let message = "the time to answer is over: the offer lapses";
        return Err(Failure::local("too_late", message).hint("ask for another with a new REQUEST"));
    }
    if args.total.is_some_and(|total| total != question.total) {
        let total = narrate::usdc(question.total);
        return Err(
            Failure::local("other_total", format!("the total is {total}"))
                .hint("look again: x811 approvals show"),
        );
    }
    question.decision = Some(Decision {
        answer,
        offer_hash: question.offer_hash,
        total: question.total,
        at_ms: now,
        reason: args.reason,
    });
    approvals.write(&question)?;
    out.report(&Decided {
        interaction: args.interaction,
        answer,
        total_usdc: question.total.to_usdc_decimal(),
    });
    Ok(Exit::Ok)
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
