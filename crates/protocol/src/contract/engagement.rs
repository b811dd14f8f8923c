//! From a contract to its interaction (contract.md, "From contract to interaction"): what a REQUEST
//! and an OFFER are held to by the terms that were agreed on.

use super::{Engagement, State};
use crate::code::Code;
use crate::envelope::AcceptedHeader;
use crate::event::EngagedContract;
use crate::facts::{AmountOf, OfferFacts, RequestFacts};
use crate::refusal::Refusal;

/// Holds a REQUEST to the contract it names; `contract` is its state, if it is live.
///
/// # Errors
/// X811-4001, HTTP 422, naming what does not fit.
pub fn check_request(
    contract: Option<&State>,
    request: &RequestFacts,
    envelope: &AcceptedHeader,
) -> Result<EngagedContract, Refusal> {
    let Some(State::Accepted {
        acceptance,
        engagement: Engagement::Open { .. },
        opening,
        step,
    }) = contract
    else {
        return Err(unfit(
            "parameters.negotiation_id names no contract that is agreed on and has no interaction \
             yet: negotiate anew",
        ));
    };
    let terms = &step.terms;
    if (envelope.from, envelope.to) != (terms.payer, terms.payee) {
        return Err(unfit(
            "the contract's payer sends the REQUEST, and its payee gets it",
        ));
    }
    let (Some(amount), Some(total)) = (terms.amount, terms.total()) else {
        return Err(unfit(format!(
            "the contract is in {}, and only USDC can be settled here",
            terms.currency
        )));
    };
    if let Some(agreed) = &terms.task_type
        && *agreed != request.task_type
    {
        return Err(unfit("task_type is not the one that was agreed on"));
    }
    if let Some(agreed_s) = terms.deadline_s
        && agreed_s != request.deadline_s
    {
        return Err(unfit(format!(
            "deadline is {} s and {agreed_s} s were agreed on",
            request.deadline_s
        )));
    }
    if request.max_budget < total {
        return Err(unfit(format!(
            "max_budget is {} USDC and the agreed total {}",
            request.max_budget.to_usdc_decimal(),
            total.to_usdc_decimal()
        )));
    }
    Ok(EngagedContract {
        accept: acceptance.position,
        amount,
        amount_of: terms.amount_of,
        deliverables_hash: terms.deliverables_hash,
        id: opening.id,
        terms_hash: terms.terms_hash,
    })
}

/// Holds an OFFER to what was agreed on.
///
/// # Errors
/// X811-4001, HTTP 422, naming which member differs.
pub fn check_offer(agreed: &EngagedContract, offer: &OfferFacts) -> Result<(), Refusal> {
    let (member, given, price) = match agreed.amount_of {
        AmountOf::Price => ("price", offer.price, agreed.amount),
        AmountOf::Total => ("total_cost", offer.total_cost, agreed.amount.price_within()),
    };
    if given != agreed.amount {
        return Err(unfit(format!(
            "{member} is {} USDC and the contract {} has {}: offer what was agreed on, a price of {} USDC",
            given.to_usdc_decimal(),
            agreed.id.to_public(),
            agreed.amount.to_usdc_decimal(),
            price.to_usdc_decimal()
        )));
    }
    if agreed
        .deliverables_hash
        .is_some_and(|agreed| agreed != offer.deliverables_hash)
    {
        return Err(unfit(format!(
            "deliverables are not those of the contract {}: repeat them as they were agreed on",
            agreed.id.to_public()
        )));
    }
    Ok(())
}

fn unfit(message: impl AsRef<str>) -> Refusal {
    Refusal::guard(Code::InvalidStateTransition, message)
}
