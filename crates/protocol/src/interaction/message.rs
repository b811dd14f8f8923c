//! Guards of the eight messages. A refusal leaves the state as it was (AE-36); an acceptance is one
//! `envelope_accepted` whose `derived` holds what the decision used besides the facts.

use super::table::{self, Sender, Transition};
use super::{Context, Deal, Offer, Opening, Settlement, Stage, State, StateName};
use crate::authorization::payment_nonce;
use crate::capability::agreement;
use crate::code::Code;
use crate::contract;
use crate::envelope::{AcceptedHeader, CoreType, MessageType};
use crate::event::{Derived, PayerBinding};
use crate::evm::TxHash;
use crate::facts::{
    AcceptFacts, CoreFacts, Facts, OfferFacts, PaymentFacts, RejectFacts, RequestFacts,
    ResultFacts, VerifyFacts,
};
use crate::id::EnvelopeId;
use crate::machine::Input;
use crate::parameters::{Leniency, Parameters, PayerBindingRule};
use crate::refusal::{Kind, Refusal};
use crate::time::TimestampMs;

/// Decides what the message is recorded with besides its facts.
///
/// # Errors
/// Why it is refused.
pub(super) fn derived(
    state: Option<&State>,
    input: &Input<'_>,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Derived, Refusal> {
    let Input { envelope, facts } = *input;
    Ok(match (state, facts) {
        (None, Facts::Request(request)) => Derived {
            deadline_at_ms: window_end(facts, envelope.created_ms, now, context.parameters),
            ..open(request, envelope, context, now)?
        },
        (Some(_), Facts::Request(_)) => {
            return Err(Refusal::state(
                "this envelope id already names an interaction: send the REQUEST under a new id",
            ));
        }
        (None, _) => {
            return Err(Refusal::state(
                "no interaction is known by this reference: check the id",
            ));
        }
        (Some(state), Facts::Error(_)) => comment(state, envelope)?,
        (Some(state), Facts::Custom(_) | Facts::Negotiation(_) | Facts::Capability(_)) => {
            return Err(wrong_state(state, "the message belongs to no interaction"));
        }
        (Some(state), facts) => advance(state, envelope, facts, context, now)?,
    })
}

/// REQUEST: the provider must exist, be active and offer the task (AE-40, AX-30).
fn open(
    request: &RequestFacts,
    envelope: &AcceptedHeader,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Derived, Refusal> {
    let provider = context.provider.filter(|provider| provider.is_active);
    let Some(provider) = provider else {
        return Err(Refusal::new(
            Code::AgentNotFound,
            Kind::NotFound,
            "the provider is not registered or not active: look it up before you ask it",
        ));
    };
    // What an agreement is of stands for what the provider registered.
    if request.agreement_id.is_none() && !provider.capabilities.contains(&request.task_type) {
        return Err(Refusal::new(
            Code::CapabilityNotRegistered,
            Kind::Guard,
            "the provider does not offer this task_type: see the capabilities it registered",
        ));
    }
    let contract = request
        .negotiation_id
        .map(|_| contract::engagement::check_request(context.contract, request, envelope));
    let contract = contract.transpose()?;
    let agreement = request
        .agreement_id
        .map(|_| agreement::check_request(context.agreement, request, envelope, now));
    Ok(Derived {
        agreement: agreement.transpose()?,
        contract,
        parameters: Some(context.parameters_position),
        ..Derived::default()
    })
}

/// An ERROR changes nothing, and a finished interaction takes none (AX-32).
fn comment(state: &State, envelope: &AcceptedHeader) -> Result<Derived, Refusal> {
    let opening = state.opening();
    let between_parties = match sender(opening, envelope) {
        Sender::Initiator => envelope.to == opening.provider,
        Sender::Provider => envelope.to == opening.initiator,
        Sender::Stranger => false,
    };
    if !between_parties {
        return Err(Refusal::sender(
            "only the two parties exchange errors about an interaction",
        ));
    }
    if state.name().is_terminal() {
        return Err(wrong_state(
            state,
            "it is finished and takes no further message",
        ));
    }
    Ok(Derived::default())
}

/// The five messages that follow an OFFER, and the OFFER itself.
fn advance(
    state: &State,
    envelope: &AcceptedHeader,
    facts: &Facts,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Derived, Refusal> {
    permit(state, envelope)?;
    let derived = match (state, facts) {
        (State::Pending { opening, .. }, Facts::Offer(offer)) => {
            guard_offer(opening, offer, envelope, context, now)
        }
        (State::Offered { opening, offer, .. }, Facts::Accept(accept)) => {
            guard_accept(opening, offer, accept, context)
        }
        (State::Offered { opening, offer, .. }, Facts::Reject(reject)) => {
            guard_reject(opening, offer, reject, context)
        }
        (State::Accepted { deal, .. }, Facts::Result(result)) => {
            guard_result(deal, result, context)
        }
        (State::Delivered { deal, delivery, .. }, Facts::Verify(verify)) => {
            guard_verify(deal, &delivery.result_hash, verify, context)
        }
        (
            State::Verified {
                deal, settlement, ..
            },
            Facts::Payment(payment),
        ) => guard_payment(deal, settlement, payment, context),
        (state, _) => Err(wrong_state(state, "the message does not belong here")),
    }?;
    let deadline = match state.settlement() {
        Some(settlement) => settlement.confirmation_deadline(),
        None => {
            let parameters = &state.opening().parameters;
            window_end(facts, envelope.created_ms, now, parameters)
        }
    };
    Ok(Derived {
        deadline_at_ms: deadline,
        ..derived
    })
}

/// The end of the window that a message opens when it is recorded at `recorded_at`; `None` for a
/// message that opens none. A further PAYMENT opens no window of its own: that of the first goes on.
pub fn window_end(
    facts: &Facts,
    created: TimestampMs,
    recorded_at: TimestampMs,
    parameters: &Parameters,
) -> Option<TimestampMs> {
    let windows = &parameters.windows;
    let window_ms = match facts.core()? {
        CoreFacts::Offer(offer) => {
            let deadline = offer_deadline(offer.expiry_s, created, recorded_at, parameters);
            return Some(deadline.effective());
        }
        CoreFacts::Request(_) => windows.offer_ms,
        CoreFacts::Accept(_) => windows.result_ms,
        CoreFacts::Result(_) => windows.verify_ms,
        CoreFacts::Verify(verify) if verify.verified => windows.payment_ms,
        CoreFacts::Payment(_) => windows.confirmation_ms,
        CoreFacts::Verify(_) | CoreFacts::Reject(_) | CoreFacts::Error(_) => return None,
    };
    Some(recorded_at.saturating_add_ms(window_ms))
}

/// Looks the cell up in the table: state, message, sender, and the counterparty as recipient.
fn permit(state: &State, envelope: &AcceptedHeader) -> Result<&'static Transition, Refusal> {
    let opening = state.opening();
    let MessageType::Core(message) = envelope.message_type else {
        return Err(wrong_state(state, "the message does not belong here"));
    };
    let sender = sender(opening, envelope);
    let Some(transition) = table::transition(state.name(), message, sender) else {
        return Err(not_permitted(state, message));
    };
    let counterparty = match transition.sender {
        Sender::Initiator => opening.provider,
        Sender::Provider | Sender::Stranger => opening.initiator,
    };
    if envelope.to != counterparty {
        return Err(Refusal::sender(
            "`to` must be the other party of the interaction",
        ));
    }
    Ok(transition)
}

/// X811-4001, in the words that help most: wrong state or wrong party.
fn not_permitted(state: &State, message: CoreType) -> Refusal {
    let here: Vec<&Transition> = table::TRANSITIONS
        .iter()
        .filter(|row| row.message == message)
        .collect();
    if here.iter().any(|row| row.from == state.name()) {
        return Refusal::sender("this message is for the other party of the interaction to send");
    }
    let wanted = here
        .first()
        .map_or("another state", |row| row.from.as_str());
    wrong_state(state, &format!("the message needs it to be {wanted}"))
}

fn wrong_state(state: &State, why: &str) -> Refusal {
    let code = state.closing_code();
    let told = code.map_or(String::new(), |code| format!(" ({code})"));
    Refusal::state(format!("the interaction is {}{told}: {why}", state.name()))
}

fn sender(opening: &Opening, envelope: &AcceptedHeader) -> Sender {
    if envelope.from == opening.initiator {
        Sender::Initiator
    } else if envelope.from == opening.provider {
        Sender::Provider
    } else {
        Sender::Stranger
    }
}

/// AE-11, AX-2, AX-5, AX-15.
fn guard_offer(
    opening: &Opening,
    offer: &OfferFacts,
    envelope: &AcceptedHeader,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Derived, Refusal> {
    same_request(offer.request_id, opening, context)?;
    if !opening.parameters.is_lenient(Leniency::ReferenceSdk) {
        offer.check_exact_fee()?;
    }
    if offer.total_cost > opening.max_budget {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            format!(
                "total_cost is {} USDC and the request's max_budget {}: offer for less",
                offer.total_cost.to_usdc_decimal(),
                opening.max_budget.to_usdc_decimal(),
            ),
        ));
    }
    if let Some(agreed) = &opening.contract {
        contract::engagement::check_offer(agreed, offer)?;
    }
    let payee = offer
        .payment_address
        .or(context.provider.and_then(|provider| provider.payee))
        .ok_or_else(|| {
            Refusal::new(
                Code::InvalidPaymentAddress,
                Kind::Guard,
                "no payment_address and no registered wallet: name the account to be paid",
            )
        })?;
    let parameters = &opening.parameters;
    if parameters
        .networks
        .iter()
        .any(|network| network.token == payee)
    {
        return Err(Refusal::new(
            Code::InvalidPaymentAddress,
            Kind::Guard,
            "the payee is the token contract, which cannot be paid: name an account",
        ));
    }
    let deadline = offer_deadline(offer.expiry_s, envelope.created_ms, now, parameters).effective();
    if deadline.since(now) < parameters.limits.offer_min_live_ms {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            "the offer would expire before it can be answered: create it anew, with a longer expiry",
        ));
    }
    Ok(Derived {
        payee: Some(payee),
        ..Derived::default()
    })
}

/// When an OFFER ends (AX-5): the earliest of created + expiry, created + window, receipt + window.
pub fn offer_deadline(
    expiry_s: u64,
    created: TimestampMs,
    recorded_at: TimestampMs,
    parameters: &Parameters,
) -> super::OfferDeadline {
    let window_ms = parameters.windows.accept_ms;
    super::OfferDeadline {
        ledger: recorded_at.saturating_add_ms(window_ms),
        signed: created.saturating_add_ms(expiry_s.saturating_mul(1_000).min(window_ms)),
    }
}

/// AE-12, AE-91: an ACCEPT repeats the hash of the OFFER.
fn guard_accept(
    opening: &Opening,
    offer: &Offer,
    accept: &AcceptFacts,
    context: &Context<'_>,
) -> Result<Derived, Refusal> {
    same_offer(accept.offer_id, opening, offer, context)?;
    if accept.offer_hash != offer.offer_hash {
        return Err(Refusal::guard(
            Code::OfferHashMismatch,
            "offer_hash is not the hash of the recorded OFFER: read the OFFER again",
        ));
    }
    Ok(Derived {
        heads: (!context.heads.is_empty()).then(|| context.heads.clone()),
        ..Derived::default()
    })
}

/// AE-13: a REJECT names the OFFER that stands.
fn guard_reject(
    opening: &Opening,
    offer: &Offer,
    reject: &RejectFacts,
    context: &Context<'_>,
) -> Result<Derived, Refusal> {
    same_offer(reject.offer_id, opening, offer, context)?;
    Ok(Derived::default())
}

/// AE-14, AX-6: a RESULT names REQUEST and OFFER; that the OFFER has expired since does not matter.
fn guard_result(
    deal: &Deal,
    result: &ResultFacts,
    context: &Context<'_>,
) -> Result<Derived, Refusal> {
    same_deal(deal, result.request_id, result.offer_id, context)?;
    Ok(Derived::default())
}

/// AE-15, AE-16, AE-97: the hash is checked whatever the verdict.
fn guard_verify(
    deal: &Deal,
    result_hash: &crate::digest::Digest,
    verify: &VerifyFacts,
    context: &Context<'_>,
) -> Result<Derived, Refusal> {
    same_deal(deal, verify.request_id, verify.offer_id, context)?;
    if verify.result_hash != *result_hash {
        return Err(Refusal::guard(
            Code::ResultHashMismatch,
            "result_hash is not the RESULT's: hash what was delivered and compare",
        ));
    }
    Ok(Derived::default())
}

/// AE-17, AX-15…18; ledger-contract.md sections 4 and 5.
fn guard_payment(
    deal: &Deal,
    stage: &Stage,
    payment: &PaymentFacts,
    context: &Context<'_>,
) -> Result<Derived, Refusal> {
    same_deal(deal, payment.request_id, payment.offer_id, context)?;
    let parameters = &deal.opening.parameters;
    if parameters.network(&payment.network).is_none() {
        return Err(Refusal::shape(
            "payments are not taken on this network: see /.well-known",
        ));
    }
    if payment.amount < deal.offer.total {
        return Err(Refusal::new(
            Code::InsufficientBalance,
            Kind::Amount,
            format!(
                "amount is {} USDC and the total_cost {}: pay the whole, then send the PAYMENT",
                payment.amount.to_usdc_decimal(),
                deal.offer.total.to_usdc_decimal(),
            ),
        ));
    }
    if payment.payee_address != deal.offer.payee {
        return Err(Refusal::new(
            Code::InvalidPaymentAddress,
            Kind::Guard,
            format!(
                "payee_address is not the OFFER's payee {}",
                deal.offer.payee.to_checksum()
            ),
        ));
    }
    let binding = bind_payer(parameters, deal, payment, context)?;
    if let Stage::Watching(settlement) = stage {
        guard_repeat(settlement, payment, parameters)?;
    }
    Ok(Derived {
        payer_binding: Some(binding),
        ..Derived::default()
    })
}

/// A further PAYMENT adds transactions to look for, on the same network and up to the limit.
fn guard_repeat(
    settlement: &Settlement,
    payment: &PaymentFacts,
    parameters: &Parameters,
) -> Result<(), Refusal> {
    if payment.network != settlement.network {
        return Err(Refusal::shape(
            "a further PAYMENT must be on the network of the first",
        ));
    }
    let added = named(payment)
        .filter(|tx_hash| settlement.declared(*tx_hash).is_none())
        .count();
    let limit = parameters.limits.hashes_per_interaction;
    let declared = u64::try_from(settlement.declared.len() + added).unwrap_or(u64::MAX);
    if declared > limit {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            format!("{limit} transactions are already declared: wait for one to be confirmed"),
        ));
    }
    if added == 0 {
        return Err(Refusal::state(
            "every transaction named is already being watched",
        ));
    }
    Ok(())
}

/// The transactions a PAYMENT names.
fn named(payment: &PaymentFacts) -> impl Iterator<Item = TxHash> {
    std::iter::once(payment.tx_hash).chain(payment.fee_tx_hash)
}

/// The position of the PAYMENT that first declared everything `facts` names, when the initiator
/// sends it again while it is being watched (ledger-contract.md section 3).
pub(super) fn repeated_payment(state: &State, input: &Input<'_>) -> Option<u64> {
    let Input { envelope, facts } = *input;
    let (Facts::Payment(payment), Some(settlement)) = (facts, state.settlement()) else {
        return None;
    };
    if sender(state.opening(), envelope) != Sender::Initiator {
        return None;
    }
    let positions = named(payment)
        .map(|tx_hash| {
            settlement
                .declared(tx_hash)
                .map(|declared| declared.payment)
        })
        .collect::<Option<Vec<_>>>()?;
    positions.into_iter().max()
}

fn bind_payer(
    parameters: &Parameters,
    deal: &Deal,
    payment: &PaymentFacts,
    context: &Context<'_>,
) -> Result<PayerBinding, Refusal> {
    let unusable = |why: String| Refusal::new(Code::InvalidPaymentAddress, Kind::Guard, why);
    if let Some(given) = payment.authorization_nonce {
        let nonce = payment_nonce(context.ledger, deal.opening.id, deal.offer.offer_hash);
        if given != nonce {
            return Err(unusable(format!(
                "authorization_nonce is not this interaction's: authorize the transfer with {nonce}"
            )));
        }
    }
    let initiator = context.initiator;
    let is_bound = initiator.is_some_and(|agent| {
        let mut wallets = agent.wallets.iter();
        wallets.any(|wallet| wallet.address == payment.payer_address)
    });
    let is_unproven = initiator.is_some_and(|agent| agent.is_of_reference_sdk)
        && parameters.is_lenient(Leniency::ReferenceSdk);
    match parameters.payer_binding {
        PayerBindingRule::Unchecked => Ok(PayerBinding::Unchecked),
        PayerBindingRule::Wallet if is_bound => Ok(PayerBinding::Wallet),
        PayerBindingRule::Wallet if payment.authorization_nonce.is_some() => {
            Ok(PayerBinding::Authorization)
        }
        PayerBindingRule::Wallet if is_unproven => Ok(PayerBinding::Unchecked),
        PayerBindingRule::Wallet => Err(unusable(
            "payer_address is not a wallet bound to the initiator: register it with its proof, or \
             pay by an EIP-3009 authorization and name its nonce in authorization_nonce"
                .to_owned(),
        )),
    }
}

fn same_deal(
    deal: &Deal,
    request: EnvelopeId,
    offer: EnvelopeId,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    same_request(request, &deal.opening, context)?;
    same_offer(offer, &deal.opening, &deal.offer, context)
}

/// The published SDK may name the REQUEST's idempotency key (decision 0190).
fn same_request(
    given: EnvelopeId,
    opening: &Opening,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    if context.request_key == Some(given) {
        return Ok(());
    }
    same_reference(given, opening.record.envelope, "request_id")
}

/// The published SDK names the REQUEST, which has one OFFER, or its idempotency key (decision 0190).
fn same_offer(
    given: EnvelopeId,
    opening: &Opening,
    offer: &Offer,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    let is_request = given == opening.record.envelope;
    let is_lenient = is_request && opening.parameters.is_lenient(Leniency::ReferenceSdk);
    if is_lenient || context.request_key == Some(given) {
        return Ok(());
    }
    same_reference(given, offer.record.envelope, "offer_id")
}

fn same_reference(given: EnvelopeId, known: EnvelopeId, member: &str) -> Result<(), Refusal> {
    if given == known {
        return Ok(());
    }
    Err(Refusal::guard(
        Code::InvalidStateTransition,
        format!("{member} does not belong to this interaction: it should be {known}"),
    ))
}

/// The state an accepted message leads to, without replaying: what its answer says.
pub fn state_after(facts: &Facts) -> Option<StateName> {
    match facts.core()? {
        CoreFacts::Request(_) => Some(StateName::Pending),
        CoreFacts::Offer(_) => Some(StateName::Offered),
        CoreFacts::Accept(_) => Some(StateName::Accepted),
        CoreFacts::Reject(_) => Some(StateName::Rejected),
        CoreFacts::Result(_) => Some(StateName::Delivered),
        CoreFacts::Verify(verify) if verify.verified => Some(StateName::Verified),
        CoreFacts::Verify(_) => Some(StateName::Disputed),
        CoreFacts::Payment(_) => Some(StateName::Verified),
        CoreFacts::Error(_) => None,
    }
}
