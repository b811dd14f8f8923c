//! `x811 negotiation list`.

use serde::Serialize;
use x811_client::http::ListedNegotiation;
use x811_protocol::did::Did;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report};
use x811_protocol::shown::shorten;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those that can still be answered, or wait for their REQUEST
    #[arg(long)]
    pub(crate) open: bool,
}

/// The agent's negotiations, oldest first.
#[derive(Debug, Serialize)]
struct Listed {
    #[serde(skip)]
    me: Did,
    negotiations: Vec<ListedNegotiation>,
}

impl Report for Listed {
    fn print(&self, out: &mut Out) {
        let rows = self.negotiations.iter().map(|one| {
            let amount = one.terms.amount.map(|amount| amount.to_usdc_decimal());
            let amount = amount.unwrap_or_else(|| one.terms.currency.to_string());
            let role = if one.terms.payer == self.me {
                "pay"
            } else {
                "are paid"
            };
            vec![
                one.id.to_public(),
                shorten(&one.status),
                format!("{} of {}", one.turn, one.max_turns),
                role.to_owned(),
                format!("{amount} ({})", one.terms.amount_of),
                next(one, self.me),
            ]
        });
        let header = ["negotiation", "status", "turn", "you", "amount", "next"];
        out.list("negotiations", &header, rows);
    }
}

/// What can be done about it.
fn next(one: &ListedNegotiation, me: Did) -> String {
    match (one.status.as_str(), &one.engagement) {
        ("pending" | "countered", _) if one.author == me => "they answer".to_owned(),
        ("pending" | "countered", _) => "you answer".to_owned(),
        (_, Some(engaged)) => match engaged.interaction_id {
            Some(interaction) => format!("interaction {interaction}"),
            None if engaged.state == "open" && one.terms.payer == me => "your REQUEST".to_owned(),
            None if engaged.state == "open" => "their REQUEST".to_owned(),
            None => "over".to_owned(),
        },
        (_, None) => "over".to_owned(),
    }
}

fn is_open(one: &ListedNegotiation) -> bool {
    let waits = one.engagement.as_ref().is_some_and(|it| it.state == "open");
    waits || matches!(one.status.as_str(), "pending" | "countered")
}

pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let (identity, client) = context.acting().await?;
    let me = identity.did;
    let mut negotiations = client.negotiations().await?;
    negotiations.retain(|one| !args.open || is_open(one));
    out.report(&Listed { me, negotiations });
    Ok(Exit::Ok)
}
