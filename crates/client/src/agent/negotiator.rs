//! What an agent negotiates about by itself: what it buys, what it sells, and its limits. Pure.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::facts::AmountOf;
use x811_protocol::money::MicroUsdc;

use super::bargain::{Bargain, Turn};
use super::run::Order;
use crate::compose::NegotiationStep;
use crate::negotiator::{
    LastTerms, Limits, Reply, Said, Side, Strategy, next_price, price_of, reply,
};

/// The most turns where neither the offer nor this agent says fewer (XX-4).
const MAX_TURNS: u64 = 20;

/// How an agent negotiates by itself.
#[derive(Clone)]
pub struct Negotiator {
    /// How much it concedes.
    pub strategy: Arc<dyn Strategy>,
    /// The most it concedes in one turn; a price.
    pub per_turn: MicroUsdc,
    /// The most turns, the offer counted.
    pub max_turns: u64,
    /// How long its offers stand, in milliseconds.
    pub life_ms: u64,
    /// Orders that are sent once their terms are agreed on.
    pub purchases: Vec<Purchase>,
    /// What it does for others.
    pub sales: Vec<Sale>,
}

impl fmt::Debug for Negotiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Negotiator {
            per_turn,
            max_turns,
            life_ms,
            purchases,
            sales,
            strategy: _,
        } = self;
        f.debug_struct("Negotiator")
            .field("per_turn", per_turn)
            .field("max_turns", max_turns)
            .field("life_ms", life_ms)
            .field("purchases", purchases)
            .field("sales", sales)
            .finish_non_exhaustive()
    }
}

/// An order whose terms are negotiated first. It walks away above the budget of its REQUEST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    /// What is ordered then.
    pub order: Order,
    /// The first price offered.
    pub opening: MicroUsdc,
    /// What has to be delivered; left open where it is empty.
    pub deliverables: Vec<String>,
}

/// Work that is sold by negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sale {
    /// The capability, as registered.
    pub task_type: String,
    /// The first price asked.
    pub opening: MicroUsdc,
    /// The lowest price that is taken.
    pub lowest: MicroUsdc,
    /// How long the work takes at most, in seconds: terms with less are countered.
    pub time_s: u64,
    /// What is delivered.
    pub deliverables: Vec<String>,
}

/// Terms without their amount: everything that is agreed on as it is, or not at all.
type Rest = Map<String, Value>;

fn rest_of(terms: &Map<String, Value>) -> Rest {
    let mut rest = terms.clone();
    rest.remove("amount");
    rest.remove("amount_of");
    rest
}

fn with_price(mut rest: Rest, price: MicroUsdc) -> Map<String, Value> {
    let amount = json!({"value": price.to_usdc_decimal(), "currency": "USDC"});
    rest.insert("amount".to_owned(), amount);
    rest.insert("amount_of".to_owned(), AmountOf::Price.as_str().into());
    rest
}

fn rest(payer: Did, payee: Did, task_type: &str, deadline_s: u64, deliverables: &[String]) -> Rest {
    let mut rest = Rest::new();
    rest.insert("payer".to_owned(), payer.to_string().into());
    rest.insert("payee".to_owned(), payee.to_string().into());
    rest.insert("task_type".to_owned(), task_type.into());
    rest.insert("deadline_s".to_owned(), deadline_s.into());
    if !deliverables.is_empty() {
        rest.insert("deliverables".to_owned(), deliverables.into());
    }
    rest
}

impl Purchase {
    fn rest(&self, me: Did) -> Rest {
        let request = &self.order.request;
        let (task_type, deadline_s) = (&request.task_type, request.deadline_s);
        rest(
            me,
            self.order.provider,
            task_type,
            deadline_s,
            &self.deliverables,
        )
    }

    fn limits(&self, per_turn: MicroUsdc) -> Limits {
        Limits {
            side: Side::Payer,
            opening: self.opening,
            walk_away: self.order.request.max_budget.price_within(),
            per_turn,
        }
    }

    /// The first terms.
    pub(crate) fn terms(&self, me: Did, negotiator: &Negotiator) -> Map<String, Value> {
        let limits = self.limits(negotiator.per_turn);
        let price = next_price(Said::default(), &limits, &*negotiator.strategy);
        with_price(self.rest(me), price)
    }
}

impl Sale {
    /// What these terms would have to be, but for their amount: as they are where that can be done.
    fn rest(&self, me: Did, last: &Turn) -> Rest {
        let deadline_s = last.facts.deadline_s.unwrap_or(0).max(self.time_s);
        let named = last.facts.deliverables_hash.map(|_| &self.deliverables[..]);
        let payer = last.facts.payer;
        rest(payer, me, &self.task_type, deadline_s, named.unwrap_or(&[]))
    }

    fn limits(&self, per_turn: MicroUsdc) -> Limits {
        Limits {
            side: Side::Payee,
            opening: self.opening,
            walk_away: self.lowest,
            per_turn,
        }
    }
}

impl Negotiator {
    /// The order with that key.
    pub(crate) fn purchase(&self, key: &str) -> Option<&Purchase> {
        let mut purchases = self.purchases.iter();
        purchases.find(|purchase| purchase.order.request.idempotency_key == key)
    }

    /// What `me` says to the last terms, which are the other party's; `None` where this is not its
    /// business. `may_counter` is false where the ledger refused a counter to them.
    pub(crate) fn answer(
        &self,
        me: Did,
        bargain: &Bargain,
        order: Option<&Purchase>,
        may_counter: bool,
    ) -> Option<NegotiationStep> {
        let (last, answers) = (bargain.last()?, bargain.answered()?);
        let (rest, limits) = self.wanted(me, bargain, last, order)?;
        let price = |turn: &Turn| Some(price_of(turn.facts.amount?, turn.facts.amount_of));
        let prices = |is_own: bool| -> Vec<MicroUsdc> {
            let turns = bargain.turns.iter();
            let turns = turns.filter(|turn| (turn.author == me) == is_own);
            turns.filter_map(price).collect()
        };
        let (own, theirs) = (prices(true), prices(false));
        let turn = u64::try_from(bargain.turns.len()).unwrap_or(u64::MAX);
        let most = self.max_turns.min(bargain.max_turns.unwrap_or(MAX_TURNS));
        let said = Said {
            own: &own,
            theirs: &theirs,
        };
        let now = LastTerms {
            are_alike: rest_of(&last.terms) == rest && last.facts.amount.is_some(),
            may_be_countered: may_counter && turn < most,
        };
        Some(match reply(said, &limits, &*self.strategy, now) {
            Reply::Accept => NegotiationStep::Accept {
                answers,
                terms_hash: Digest::of(&to_canonical(&last.terms)),
            },
            Reply::Counter(price) => NegotiationStep::Counter {
                answers,
                terms: with_price(rest, price),
                expires_at: None,
                message: None,
            },
            Reply::Reject => NegotiationStep::Reject {
                answers,
                message: None,
            },
        })
    }

    /// Everything but the amount as this agent would have it, and how far it goes.
    fn wanted(
        &self,
        me: Did,
        bargain: &Bargain,
        last: &Turn,
        order: Option<&Purchase>,
    ) -> Option<(Rest, Limits)> {
        if let Some(purchase) = order {
            let is_it = bargain.counterparty(me) == purchase.order.provider;
            return is_it.then(|| (purchase.rest(me), purchase.limits(self.per_turn)));
        }
        if last.facts.payee != me {
            return None;
        }
        let task_type = last.facts.task_type.as_ref()?;
        let mut sales = self.sales.iter();
        let sale = sales.find(|sale| sale.task_type == *task_type)?;
        Some((sale.rest(me, last), sale.limits(self.per_turn)))
    }
}

#[cfg(test)]
mod tests;
