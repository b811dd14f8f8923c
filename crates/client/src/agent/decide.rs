//! What a loop does next in an interaction: pure functions of the ledger's records, the agent's own
//! steps and its rules. They read no clock and no file, so every crash point can be enumerated.

use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::evm::EvmAddress;
use x811_protocol::facts::{RejectCode, RequestFacts};
use x811_protocol::interaction::StateName;
use x811_protocol::money::MicroUsdc;
use x811_protocol::settlement_view::ProviderPaid;
use x811_protocol::time::TimestampMs;

use super::approval::{Answer, Decision, MARGIN_MS};
use super::caps::{Caps, Commitment};
use super::case::Case;
use super::money::LEAST_WINDOW_MS;
use super::outbox::Act;
use super::state::{Asked, Outcome, State};
use crate::compose::Offer;
use crate::policy::{self, OfferVerdict, Trust, judge};

/// The command of a provider is ended this long before its deadline, in milliseconds, so that the
/// RESULT or the ERROR still arrives.
pub(crate) const WORK_MARGIN_MS: u64 = 10_000;

/// How often an interaction is looked at while a transfer is awaited, in milliseconds: its
/// confirmation is no message.
pub(crate) const PAYMENT_LOOK_MS: u64 = 3_000;

/// When an interaction is looked at after a window should have lapsed, in milliseconds.
const AFTER_LAPSE_MS: u64 = 10_000;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Move {
    /// Nothing before that moment, or before something happens.
    Wait(Option<TimestampMs>),
    /// Send the OFFER.
    Offer(Offer),
    /// Do the work and send the RESULT.
    Work,
    /// Send an ERROR: the work cannot be done in the time left.
    TooLate,
    /// Send the ACCEPT, and journal what it commits to.
    Accept(Commitment),
    /// Send the REJECT.
    Reject {
        code: RejectCode,
        error_code: Option<Code>,
        reason: String,
    },
    /// Ask a person, or go on waiting for the answer.
    Ask {
        asked: Asked,
        /// Until when an answer counts.
        answer_by_ms: TimestampMs,
    },
    /// Judge the RESULT and send the VERIFY.
    Check,
    /// Sign the transfer, seal the PAYMENT.
    Pay,
    /// Nothing more, ever.
    Over {
        /// Whether the provider has its money.
        paid: ProviderPaid,
    },
}

/// What a provider charges for one capability, and what it promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceRule {
    /// The capability, as registered.
    pub task_type: String,
    /// The price of any task.
    pub price: MicroUsdc,
    /// What every KiB of the task's parameters begun adds to it.
    pub price_per_kib: MicroUsdc,
    /// How long the work takes at most, in seconds.
    pub estimated_time_s: u64,
    /// How long an OFFER stands, in seconds; the ledger caps it at 300.
    pub expiry_s: u64,
    /// What is delivered; at least one.
    pub deliverables: Vec<String>,
    /// Conditions beside the price, as text for people.
    pub terms: Option<String>,
}

impl PriceRule {
    /// The price of a task whose parameters are that long; `None` beyond any amount.
    pub fn price_of(&self, parameters_bytes: usize) -> Option<MicroUsdc> {
        let kib = u64::try_from(parameters_bytes.div_ceil(1_024)).ok()?;
        let by_size = self.price_per_kib.as_micro_usdc().checked_mul(kib)?;
        self.price
            .checked_add(MicroUsdc::from_micro_usdc(by_size).ok()?)
    }
}

/// How a provider works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRules {
    /// One for each capability.
    pub prices: Vec<PriceRule>,
    /// Where to be paid; the registered wallet without one.
    pub payment_address: Option<EvmAddress>,
    /// How many interactions it takes on at once.
    pub most_at_once: usize,
}

impl ProviderRules {
    /// The OFFER for a REQUEST; `None` where there is no price, it is over the budget, or the work
    /// takes longer than allowed.
    fn offer(&self, case: &Case, request: &RequestFacts, parameters_bytes: usize) -> Option<Offer> {
        let mut rules = self.prices.iter();
        let rule = rules.find(|rule| rule.task_type == request.task_type)?;
        let offer = Offer {
            interaction: case.id,
            price: rule.price_of(parameters_bytes)?,
            estimated_time_s: rule.estimated_time_s,
            deliverables: rule.deliverables.clone(),
            expiry_s: rule.expiry_s,
            terms: rule.terms.clone(),
            payment_address: self.payment_address,
        };
        let fits = offer.total_cost().ok()? <= request.max_budget
            && offer.estimated_time_s <= request.deadline_s;
        fits.then_some(offer)
    }
}

/// The move of a provider. `parameters_bytes` is the length of the task's parameters.
pub(crate) fn provider(
    case: &Case,
    state: &State,
    rules: &ProviderRules,
    parameters_bytes: usize,
    is_working: bool,
    now: TimestampMs,
) -> Move {
    let can = |act| state.may_seal(case.id, act);
    match case.state {
        StateName::Pending if can(Act::Offer) && has_room(case, state, rules) => {
            let request = case.request.as_ref();
            let offer = request.and_then(|request| rules.offer(case, request, parameters_bytes));
            offer.map_or_else(|| wait_for_lapse(case), Move::Offer)
        }
        StateName::Accepted if is_working => Move::Wait(None),
        StateName::Accepted if can(Act::Result) && can(Act::Error) => {
            let left_ms = case.deadline_at_ms.map(|deadline| deadline.since(now));
            match left_ms.is_none_or(|left_ms| left_ms > WORK_MARGIN_MS) {
                true => Move::Work,
                false => Move::TooLate,
            }
        }
        StateName::Verified if !case.payments.is_empty() => look_for_payment(now),
        StateName::Pending
        | StateName::Offered
        | StateName::Accepted
        | StateName::Delivered
        | StateName::Verified => wait_for_lapse(case),
        StateName::Completed
        | StateName::Expired
        | StateName::Rejected
        | StateName::Disputed
        | StateName::Failed => Move::Over { paid: case.paid },
    }
}

/// Whether one more interaction may be taken on.
fn has_room(case: &Case, state: &State, rules: &ProviderRules) -> bool {
    let offered = |id| !state.may_seal(id, Act::Offer) && state.may_seal(id, Act::Result);
    let others = state.tasks.keys().filter(|id| **id != case.id);
    others.filter(|id| offered(**id)).count() < rules.most_at_once
}

/// How an initiator decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitiatorRules {
    /// The least trust of a provider that is accepted without a person.
    pub minimum_trust: Trust,
    /// What it may commit itself to; without them it accepts nothing by itself.
    pub caps: Option<Caps>,
    /// The network it pays on.
    pub network: String,
}

/// What an initiator knows besides the records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    /// What the registry says of the provider; needed while there is an OFFER to answer.
    pub provider: Option<policy::Provider>,
    /// What a person decided about exactly this OFFER.
    pub decision: Option<&'a Decision>,
}

/// The move of an initiator.
pub(crate) fn initiator(
    case: &Case,
    state: &State,
    rules: &InitiatorRules,
    known: Known<'_>,
    now: TimestampMs,
) -> Move {
    let can = |act| state.may_seal(case.id, act);
    match case.state {
        StateName::Offered if can(Act::Accept) && can(Act::Reject) => {
            answer_offer(case, state, rules, known, now)
        }
        StateName::Delivered if can(Act::Verify) => Move::Check,
        StateName::Verified if can(Act::Payment) && needs_payment(case, state) => {
            let left_ms = case.deadline_at_ms.map(|deadline| deadline.since(now));
            match case.payments.is_empty() && left_ms.is_some_and(|left| left < LEAST_WINDOW_MS) {
                true => wait_for_lapse(case),
                false => Move::Pay,
            }
        }
        StateName::Verified if !case.payments.is_empty() => look_for_payment(now),
        StateName::Pending
        | StateName::Offered
        | StateName::Accepted
        | StateName::Delivered
        | StateName::Verified => wait_for_lapse(case),
        StateName::Completed
        | StateName::Expired
        | StateName::Rejected
        | StateName::Disputed
        | StateName::Failed => Move::Over { paid: case.paid },
    }
}

/// Whether a transfer is to be made: there is no PAYMENT, or this agent found its transfer dead.
fn needs_payment(case: &Case, state: &State) -> bool {
    let task = state.tasks.get(&case.id);
    let step = task.and_then(|task| task.steps.get(&Act::Payment));
    case.payments.is_empty() || step.is_some_and(|step| step.outcome == Outcome::Dead)
}

fn answer_offer(
    case: &Case,
    state: &State,
    rules: &InitiatorRules,
    known: Known<'_>,
    now: TimestampMs,
) -> Move {
    let (Some(request), Some((_, offer)), Some(provider)) =
        (&case.request, &case.offer, known.provider)
    else {
        return wait_for_lapse(case);
    };
    let commitment = Commitment {
        interaction: case.id,
        counterparty: case.provider,
        network: rules.network.clone(),
        total: offer.total_cost,
        at_ms: now,
    };
    let asked = Asked {
        offer_hash: offer.payload_hash,
        total: offer.total_cost,
    };
    let ask = || {
        let end = case.deadline_at_ms.unwrap_or(now);
        let answer_by_ms = end.saturating_sub_ms(MARGIN_MS);
        // Without an answer the ledger lets the OFFER lapse (AE-114).
        match now < answer_by_ms {
            true => Move::Ask {
                asked,
                answer_by_ms,
            },
            false => wait_for_lapse(case),
        }
    };
    let answer = known.decision.map(|decision| decision.answer);
    match (
        judge(offer, request, provider, rules.minimum_trust),
        answer,
        &rules.caps,
    ) {
        (OfferVerdict::Reject { code, error_code }, _, _) => Move::Reject {
            code,
            error_code: Some(error_code),
            reason: format!("policy {} of the REQUEST", request.acceptance_policy),
        },
        (OfferVerdict::AskPerson, Some(Answer::Reject), _) => Move::Reject {
            code: RejectCode::Other,
            error_code: None,
            reason: known
                .decision
                .and_then(|decision| decision.reason.clone())
                .unwrap_or_else(|| "a person decided so".to_owned()),
        },
        (OfferVerdict::AskPerson, None, _) | (OfferVerdict::Accept, None, None) => ask(),
        (OfferVerdict::Accept, Some(Answer::Reject), None) => Move::Reject {
            code: RejectCode::Other,
            error_code: None,
            reason: "a person decided so".to_owned(),
        },
        (OfferVerdict::Accept, _, Some(caps))
        | (OfferVerdict::AskPerson, Some(Answer::Approve), Some(caps)) => {
            match caps.broken_by(&commitment, &state.commitments) {
                None => Move::Accept(commitment),
                Some(cap) => Move::Reject {
                    code: RejectCode::PolicyRejected,
                    error_code: Some(Code::PolicyRejected),
                    reason: format!("it would exceed {cap}"),
                },
            }
        }
        (OfferVerdict::Accept | OfferVerdict::AskPerson, Some(Answer::Approve), None) => {
            Move::Accept(commitment)
        }
    }
}

fn look_for_payment(now: TimestampMs) -> Move {
    Move::Wait(Some(now.saturating_add_ms(PAYMENT_LOOK_MS)))
}

/// The lapse is announced by a notice; should that be lost, a look finds it.
fn wait_for_lapse(case: &Case) -> Move {
    let deadline = case.deadline_at_ms;
    Move::Wait(deadline.map(|deadline| deadline.saturating_add_ms(AFTER_LAPSE_MS)))
}

/// Whether the agent is the initiator; `None` when it is no party.
pub(crate) fn is_initiator(case: &Case, me: Did) -> Option<bool> {
    match (case.initiator == me, case.provider == me) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests;
