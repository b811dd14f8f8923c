//! The tool `negotiate`.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use x811_protocol::did::Did;
use x811_protocol::facts::AmountOf;
use x811_protocol::id::{ContractId, IdError};

use super::Desk;
use super::parsed::Parsed;
use super::tool::Tool;
use crate::failure::Failure;
use crate::negotiation::talks::Talks;
use crate::negotiation::{accept, counter, end, list, offer, show};
use crate::output::Out;
use crate::usdc::Usdc;

/// One step of a negotiation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Negotiate {
    /// Which step; exactly one
    step: Step,
}

/// `neg-` and a UUID.
#[derive(Clone, Copy)]
struct Negotiation(ContractId);

impl FromStr for Negotiation {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Negotiation, IdError> {
        counter::negotiation(text).map(Negotiation)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Step {
    /// Offer terms to another agent; opens a negotiation
    Offer(Terms),
    /// Answer the last terms with another amount
    Counter {
        /// Id of the negotiation: neg-UUID
        negotiation: Parsed<Negotiation>,
        /// What is paid, such as `0.029`
        amount_usdc: Usdc,
        /// What the amount is: total (fee included, without this member) or price
        amount_of: Option<Parsed<AmountOf>>,
        /// A word for the other party
        message: Option<String>,
    },
    /// Agree to the last terms
    Accept {
        /// Id of the negotiation: neg-UUID
        negotiation: Parsed<Negotiation>,
        /// The amount of the terms that you agree to, as `list` shows it
        confirm_amount_usdc: Usdc,
    },
    /// Turn the last terms down; ends the negotiation
    Reject {
        /// Id of the negotiation: neg-UUID
        negotiation: Parsed<Negotiation>,
        /// A word for the other party
        message: Option<String>,
    },
    /// Take your own last terms back; ends the negotiation
    Withdraw {
        /// Id of the negotiation: neg-UUID
        negotiation: Parsed<Negotiation>,
        /// A word for the other party
        message: Option<String>,
    },
    /// Your negotiations with their terms, oldest first
    List {
        /// Only those that can still be answered, or wait for their request
        #[serde(default)]
        open: bool,
    },
    /// A negotiation that was agreed on, as a contract
    Show {
        /// Id of the negotiation: neg-UUID
        negotiation: Parsed<Negotiation>,
    },
}

/// Terms that are offered.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Terms {
    /// The other party's DID
    to: Parsed<Did>,
    /// You are the one who is paid; without it you pay
    #[serde(default)]
    as_payee: bool,
    /// What is paid, such as `0.029`
    amount_usdc: Usdc,
    /// What the amount is: total (fee included, without this member) or price
    amount_of: Option<Parsed<AmountOf>>,
    /// What to do: a capability of the payee
    task: Option<String>,
    /// How long the work may take, in seconds
    deadline_s: Option<u64>,
    /// What will be delivered
    #[serde(default)]
    deliverables: Vec<String>,
    /// How long the terms are good, in seconds; 600 without it
    expires_in_s: Option<u64>,
    /// A word for the other party
    message: Option<String>,
}

impl Tool for Negotiate {
    const NAME: &'static str = "negotiate";
    const ABOUT: &'static str = "Negotiates terms before work. Costs nothing: who agreed to pay \
        sends a request with the parameter negotiation_id, and only accept commits to its total.";
    const ONLY_READS: bool = false;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let context = &desk.context;
        let sent = match self.step {
            Step::Offer(terms) => offer::run(terms.args(), context).await?,
            Step::Counter {
                negotiation,
                amount_usdc,
                amount_of,
                message,
            } => {
                let args = counter::Args {
                    negotiation: negotiation.0.0,
                    amount: amount_usdc.0,
                    amount_of: amount_of.map_or(AmountOf::Total, |of| of.0),
                    expires_in: None,
                    message,
                };
                counter::run(args, context).await?
            }
            Step::Accept {
                negotiation,
                confirm_amount_usdc,
            } => {
                let talks = Talks::open(context, negotiation.0.0).await?;
                check_amount(&talks, confirm_amount_usdc).await?;
                accept::accept(&talks).await?
            }
            Step::Reject {
                negotiation,
                message,
            } => end::reject(ended(negotiation, message), context).await?,
            Step::Withdraw {
                negotiation,
                message,
            } => end::withdraw(ended(negotiation, message), context).await?,
            Step::List { open } => {
                list::run(list::Args { open }, context, out).await?;
                return Ok(());
            }
            Step::Show { negotiation } => {
                let negotiation = negotiation.0.0;
                show::run(show::Args { negotiation }, context, out).await?;
                return Ok(());
            }
        };
        out.report(&sent);
        Ok(())
    }
}

fn ended(negotiation: Parsed<Negotiation>, message: Option<String>) -> end::Args {
    end::Args {
        negotiation: negotiation.0.0,
        message,
    }
}

impl Terms {
    fn args(self) -> offer::Args {
        offer::Args {
            to: self.to.0,
            as_payee: self.as_payee,
            amount: self.amount_usdc.0,
            amount_of: self.amount_of.map_or(AmountOf::Total, |of| of.0),
            task: self.task,
            deadline: self.deadline_s,
            deliverables: self.deliverables,
            expires_in: self.expires_in_s.unwrap_or(600),
            max_turns: None,
            parent: None,
            message: self.message,
        }
    }
}

/// Nobody agrees to another amount than the one that was seen.
async fn check_amount(talks: &Talks<'_>, seen: Usdc) -> Result<(), Failure> {
    let terms = talks.terms().await?;
    let amount = terms.get("amount").and_then(|amount| amount.get("value"));
    let amount = amount.and_then(|value| value.as_str());
    let read = amount.map(x811_protocol::money::MicroUsdc::from_usdc_decimal);
    if matches!(read, Some(Ok(amount)) if amount == seen.0) {
        return Ok(());
    }
    let message = format!(
        "nothing was sent: the last terms have {}, not {}",
        amount.unwrap_or("no amount"),
        seen.0.to_usdc_decimal()
    );
    Err(Failure::usage(&message).hint("look at them with the step list"))
}
