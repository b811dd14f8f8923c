//! Facts of `x811.negotiation/…`, which the machine `contract` decides on (contract.md, "Messages
//! and facts").

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::{DeserializeFromStr, SerializeDisplay, skip_serializing_none};

use super::UnknownWord;
use super::member::{given, given_integer, is_task_type};
use crate::did::Did;
use crate::digest::Digest;
use crate::id::{ContractId, EnvelopeId};
use crate::money::MicroUsdc;
use crate::refusal::Refusal;
use crate::time::TimestampMs;

verbs! {
    /// The messages of a negotiation.
    NegotiationVerb, "negotiation" {
        /// The first terms.
        Offer = "offer",
        /// Other terms in place of the last ones.
        Counter = "counter",
        /// The last terms are agreed on.
        Accept = "accept",
        /// The last terms are not agreed on, which ends the negotiation.
        Reject = "reject",
        /// The author of the last terms takes them back (XX-2).
        Withdraw = "withdraw",
    }
}

words! {
    /// What the amount of terms is (contract.md).
    AmountOf, "price, total" {
        /// What the payee gets; the fee comes on top.
        Price = "price",
        /// Price and fee.
        Total = "total",
    }
}

/// A currency's code: 3 to 6 of `[A-Z]`. Only USDC can be settled (XX-7).
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
)]
pub struct Currency(String);

impl Currency {
    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the watcher can settle it.
    pub fn is_usdc(&self) -> bool {
        self.0 == "USDC"
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Currency {
    type Err = NotACurrency;

    fn from_str(text: &str) -> Result<Currency, NotACurrency> {
        let is_code = (3..=6).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_uppercase());
        if is_code {
            Ok(Currency(text.to_owned()))
        } else {
            Err(NotACurrency)
        }
    }
}

/// The text is no code of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the code of a currency: write 3 to 6 capital letters, such as USDC")]
pub struct NotACurrency;

/// What of some terms decides.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermsFacts {
    /// How much, in micro-USDC; only where the currency is USDC.
    #[serde(default, deserialize_with = "given")]
    pub amount: Option<MicroUsdc>,
    /// What the amount is.
    pub amount_of: AmountOf,
    /// The currency that the amount is in.
    pub currency: Currency,
    /// Execution time, seconds, at least 1, if it was agreed on.
    #[serde(default, deserialize_with = "given_integer")]
    pub deadline_s: Option<u64>,
    /// SHA-256 of the RFC 8785 form of `deliverables`, if they were agreed on.
    #[serde(default, deserialize_with = "given")]
    pub deliverables_hash: Option<Digest>,
    /// Who is paid.
    pub payee: Did,
    /// The agent that pays.
    pub payer: Did,
    /// The capability, if it was agreed on; 1 to 128 characters.
    #[serde(default, deserialize_with = "given")]
    pub task_type: Option<String>,
    /// SHA-256 of the RFC 8785 form of all terms, unknown members included.
    pub terms_hash: Digest,
}

impl TermsFacts {
    /// What the payer pays in all, fee included; `None` in another currency than USDC.
    pub fn total(&self) -> Option<MicroUsdc> {
        match self.amount_of {
            AmountOf::Total => self.amount,
            AmountOf::Price => self.amount?.total(),
        }
    }

    fn consistent(&self) -> Result<(), Refusal> {
        let refuse = |message: &str| Err(Refusal::shape(message));
        if self.amount.is_some() != self.currency.is_usdc() {
            return refuse("terms: micro-USDC are counted where the currency is USDC, only there");
        }
        if self.payer == self.payee {
            return refuse("terms: payer and payee are one; name both parties");
        }
        if self.deadline_s == Some(0) {
            return refuse("terms: deadline_s must be at least 1");
        }
        if self
            .task_type
            .as_deref()
            .is_some_and(|task| !is_task_type(task))
        {
            return refuse("terms: task_type must be 1 to 128 printable characters");
        }
        if self.amount.is_some() && self.total().is_none() {
            return refuse("terms: price and fee together are above what a record can hold");
        }
        let (AmountOf::Total, Some(total)) = (self.amount_of, self.amount) else {
            return Ok(());
        };
        payable(total)
    }
}

/// Refuses a total that no price has: price and fee of 2.5 % skip 24 of every 1,000 amounts.
fn payable(total: MicroUsdc) -> Result<(), Refusal> {
    let price = total.price_within();
    let below = price.total();
    if below == Some(total) {
        return Ok(());
    }
    let next = MicroUsdc::from_micro_usdc(price.as_micro_usdc() + 1);
    let above = next.ok().and_then(MicroUsdc::total);
    let neighbours: Vec<String> = [below, above]
        .into_iter()
        .flatten()
        .map(MicroUsdc::to_usdc_decimal)
        .collect();
    Err(Refusal::shape(format!(
        "no price has the total {} USDC with its fee of 2.5 %: write {}, or give the price with \
         amount_of \"price\"",
        total.to_usdc_decimal(),
        neighbours.join(" or "),
    )))
}

/// Facts of an offer: the first terms.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractOffer {
    /// From this moment on the terms cannot be accepted any more (XX-3).
    pub expires_at_ms: TimestampMs,
    /// The most turns, if the offer names it; at least 1.
    #[serde(default, deserialize_with = "given_integer")]
    pub max_turns: Option<u64>,
    /// SHA-256 of `message`, if there is one.
    #[serde(default, deserialize_with = "given")]
    pub message_hash: Option<Digest>,
    /// The negotiation before, as the sender says; not followed.
    #[serde(default, deserialize_with = "given")]
    pub parent: Option<ContractId>,
    /// The terms that are proposed.
    pub terms: TermsFacts,
}

/// Facts of a counter: other terms.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractCounter {
    /// From this moment on the terms cannot be accepted any more; absent: as the step before.
    #[serde(default, deserialize_with = "given")]
    pub expires_at_ms: Option<TimestampMs>,
    /// SHA-256 of `message`, if there is one.
    #[serde(default, deserialize_with = "given")]
    pub message_hash: Option<Digest>,
    /// Id of the negotiation: the envelope id of its offer.
    pub negotiation_id: ContractId,
    /// The step answered: the envelope id of the last terms.
    pub step_id: EnvelopeId,
    /// The terms that are proposed.
    pub terms: TermsFacts,
}

/// Facts of an accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractAccept {
    /// Id of the negotiation: the envelope id of its offer.
    pub negotiation_id: ContractId,
    /// The step agreed to.
    pub step_id: EnvelopeId,
    /// What the sender believes the hash of its terms to be (XX-5).
    pub terms_hash: Digest,
}

/// Facts of a reject and of a withdraw.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRefusal {
    /// SHA-256 of `message`, if there is one.
    #[serde(default, deserialize_with = "given")]
    pub message_hash: Option<Digest>,
    /// Id of the negotiation: the envelope id of its offer.
    pub negotiation_id: ContractId,
    /// The step that is refused or taken back.
    pub step_id: EnvelopeId,
}

facts_of_verbs! {
    /// The facts of one message of a negotiation.
    NegotiationFacts of NegotiationVerb {
        Offer(Box<ContractOffer>),
        Counter(Box<ContractCounter>),
        Accept(ContractAccept),
        Reject(StepRefusal),
        Withdraw(StepRefusal),
    }
}

impl NegotiationFacts {
    /// The negotiation that is named; `None` of an offer, which opens one.
    pub const fn contract(&self) -> Option<ContractId> {
        match self {
            NegotiationFacts::Offer(_) => None,
            NegotiationFacts::Counter(counter) => Some(counter.negotiation_id),
            NegotiationFacts::Accept(accept) => Some(accept.negotiation_id),
            NegotiationFacts::Reject(refusal) | NegotiationFacts::Withdraw(refusal) => {
                Some(refusal.negotiation_id)
            }
        }
    }

    /// The step that is answered; `None` of an offer.
    pub const fn step(&self) -> Option<EnvelopeId> {
        match self {
            NegotiationFacts::Offer(_) => None,
            NegotiationFacts::Counter(counter) => Some(counter.step_id),
            NegotiationFacts::Accept(accept) => Some(accept.step_id),
            NegotiationFacts::Reject(refusal) | NegotiationFacts::Withdraw(refusal) => {
                Some(refusal.step_id)
            }
        }
    }

    /// The terms that are proposed, if any are.
    pub const fn terms(&self) -> Option<&TermsFacts> {
        match self {
            NegotiationFacts::Offer(offer) => Some(&offer.terms),
            NegotiationFacts::Counter(counter) => Some(&counter.terms),
            NegotiationFacts::Accept(_)
            | NegotiationFacts::Reject(_)
            | NegotiationFacts::Withdraw(_) => None,
        }
    }

    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        if let NegotiationFacts::Offer(offer) = self
            && offer.max_turns == Some(0)
        {
            return Err(Refusal::shape("max_rounds must be at least 1"));
        }
        self.terms().map_or(Ok(()), TermsFacts::consistent)
    }
}
