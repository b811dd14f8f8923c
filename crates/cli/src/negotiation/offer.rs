//! `x811 negotiation offer`.

use serde_json::{Map, Value};
use x811_client::compose::NegotiationStep;
use x811_protocol::did::Did;
use x811_protocol::facts::AmountOf;
use x811_protocol::id::ContractId;
use x811_protocol::money::MicroUsdc;

use super::counter::negotiation;
use super::talks::put_amount;
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::{Sent, deliver};
use crate::send::usdc;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The other party
    #[arg(long, value_name = "DID")]
    pub(crate) to: Did,
    /// You are the one who is paid; without it you pay
    #[arg(long)]
    pub(crate) as_payee: bool,
    /// What is paid
    #[arg(long, value_name = "USDC", value_parser = usdc)]
    pub(crate) amount: MicroUsdc,
    /// What the amount is: total (fee included) or price
    #[arg(long, value_name = "WHAT", default_value = "total")]
    pub(crate) amount_of: AmountOf,
    /// What to do: a capability of the payee
    #[arg(long)]
    pub(crate) task: Option<String>,
    /// How long the work may take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) deadline: Option<u64>,
    /// What will be delivered; repeat for more
    #[arg(long = "deliverable", value_name = "TEXT")]
    pub(crate) deliverables: Vec<String>,
    /// How long the terms are good
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) expires_in: u64,
    /// The most turns, the offer counted
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_turns: Option<u64>,
    /// The negotiation that it follows on, as neg-UUID; nobody checks it
    #[arg(long, value_name = "NEGOTIATION", value_parser = negotiation)]
    pub(crate) parent: Option<ContractId>,
    /// A word for the other party
    #[arg(long)]
    pub(crate) message: Option<String>,
}

/// Opens a negotiation.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let client = context.client()?;
    let identity = context.identity(&client).await?;
    let (payer, payee) = if args.as_payee {
        (args.to, identity.did)
    } else {
        (identity.did, args.to)
    };
    let mut terms = Map::new();
    terms.insert("payer".to_owned(), payer.to_string().into());
    terms.insert("payee".to_owned(), payee.to_string().into());
    put_amount(&mut terms, args.amount, args.amount_of);
    if let Some(task) = args.task {
        terms.insert("task_type".to_owned(), task.into());
    }
    if let Some(deadline_s) = args.deadline {
        terms.insert("deadline_s".to_owned(), deadline_s.into());
    }
    if !args.deliverables.is_empty() {
        terms.insert("deliverables".to_owned(), Value::from(args.deliverables));
    }
    let step = NegotiationStep::Offer {
        terms,
        expires_at: context
            .now()
            .saturating_add_ms(args.expires_in.saturating_mul(1_000)),
        max_turns: args.max_turns,
        parent: args.parent,
        message: args.message,
    };
    let sent = deliver(context, &client, &identity, args.to, &step).await?;
    let id = ContractId::from(sent.accepted.envelope_id);
    Ok(sent.note("negotiation", id.to_public()))
}
