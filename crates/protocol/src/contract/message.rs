//! Guards of the five messages. A refusal leaves the state as it was; an acceptance is one
//! `envelope_accepted` whose `derived` holds what the decision used besides the facts.

use super::state::last_moment;
use super::table::{self, Sender};
use super::{Context, Opening, State, StateName};
use crate::code::Code;
use crate::envelope::AcceptedHeader;
use crate::event::Derived;
use crate::facts::{ContractOffer, Facts, NegotiationFacts, NegotiationVerb, TermsFacts};
use crate::machine::Input;
use crate::parameters::Contracts;
use crate::refusal::{Kind, Refusal};
use crate::time::TimestampMs;

/// The most bytes of a message's body (machines.md section 6).
const MAX_BODY_BYTES: u64 = 16_384;

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
    let Facts::Negotiation(facts) = facts else {
        return Err(Refusal::state("the message is of no negotiation"));
    };
    if envelope.size > MAX_BODY_BYTES {
        return Err(Refusal::new(
            Code::ResultTooLarge,
            Kind::Limit,
            format!(
                "a message of a negotiation has at most {MAX_BODY_BYTES} bytes, and this one {}",
                envelope.size
            ),
        ));
    }
    match (state, facts) {
        (None, NegotiationFacts::Offer(offer)) => open(offer, envelope, context, now),
        (Some(_), NegotiationFacts::Offer(_)) => Err(Refusal::state(
            "this envelope id already names a negotiation: send the offer under a new id",
        )),
        (None, _) => Err(Refusal::state(
            "no open negotiation has this id: its history says how it ended, if there was one",
        )),
        (Some(state), facts) => advance(state, facts, envelope, now),
    }
}

/// The first offer.
fn open(
    offer: &ContractOffer,
    envelope: &AcceptedHeader,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Derived, Refusal> {
    let Some(block) = &context.parameters.contracts else {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            "this ledger takes no negotiations: agree on terms by REQUEST and OFFER",
        ));
    };
    if envelope.to == context.ledger {
        return Err(Refusal::sender(
            "the ledger negotiates nothing: name the agent that you negotiate with in `to`",
        ));
    }
    if !context.recipient_is_active {
        return Err(Refusal::new(
            Code::AgentNotFound,
            Kind::NotFound,
            "the recipient is not active: look it up before you negotiate with it",
        ));
    }
    between_the_two(&offer.terms, envelope)?;
    if let Some(turns) = offer.max_turns
        && turns > block.max_turns
    {
        return Err(guard(format!(
            "max_rounds is {turns}; this ledger allows at most {}",
            block.max_turns
        )));
    }
    lives_long_enough(offer.expires_at_ms, block, now)?;
    Ok(Derived {
        deadline_at_ms: Some(last_moment(offer.expires_at_ms)),
        parameters: Some(context.parameters_position),
        ..Derived::default()
    })
}

/// The four messages that follow.
fn advance(
    state: &State,
    facts: &NegotiationFacts,
    envelope: &AcceptedHeader,
    now: TimestampMs,
) -> Result<Derived, Refusal> {
    let opening = state.opening();
    permit(state, facts.verb(), envelope)?;
    let step = state.step();
    if facts.step() != Some(step.record.envelope) {
        return Err(guard(format!(
            "step_id is not the last step any more: that is {}",
            step.record.envelope
        )));
    }
    let block = opening.parameters.contracts.as_ref();
    match facts {
        NegotiationFacts::Counter(counter) => {
            between_the_two(&counter.terms, envelope)?;
            if step.turn >= opening.max_turns {
                return Err(guard(format!(
                    "all {} turns are used: accept, reject or let it expire",
                    opening.max_turns
                )));
            }
            if let (Some(expires_at), Some(block)) = (counter.expires_at_ms, block) {
                lives_long_enough(expires_at, block, now)?;
            }
            let expires_at = counter.expires_at_ms.unwrap_or(step.expires_at);
            Ok(Derived {
                deadline_at_ms: Some(last_moment(expires_at)),
                ..Derived::default()
            })
        }
        NegotiationFacts::Accept(accept) => {
            if accept.terms_hash != step.terms.terms_hash {
                return Err(Refusal::guard(
                    Code::OfferHashMismatch,
                    "terms_hash is not the hash of the last terms: read them again",
                ));
            }
            let engagement_ms = block.map_or(0, |block| block.engagement_ms);
            Ok(Derived {
                deadline_at_ms: Some(now.saturating_add_ms(engagement_ms)),
                ..Derived::default()
            })
        }
        NegotiationFacts::Offer(_)
        | NegotiationFacts::Reject(_)
        | NegotiationFacts::Withdraw(_) => Ok(Derived::default()),
    }
}

/// Looks the cell up in the table: state, message, sender, and the counterparty as recipient.
fn permit(state: &State, verb: NegotiationVerb, envelope: &AcceptedHeader) -> Result<(), Refusal> {
    let opening = state.opening();
    let sender = sender(state, opening, envelope);
    if sender == Sender::Stranger {
        return Err(Refusal::sender(
            "only the two parties of the negotiation send messages about it",
        ));
    }
    if table::transition(state.name(), verb, sender).is_none() {
        return Err(not_permitted(state, verb));
    }
    if envelope.to != opening.counterparty(envelope.from) {
        return Err(Refusal::sender(
            "`to` must be the other party of the negotiation",
        ));
    }
    Ok(())
}

fn not_permitted(state: &State, verb: NegotiationVerb) -> Refusal {
    let name = state.name();
    let is_for_other = table::TRANSITIONS
        .iter()
        .any(|row| row.from == name && row.message == verb);
    if is_for_other {
        return Refusal::sender(match verb {
            NegotiationVerb::Withdraw => {
                "only who proposed the last terms withdraws them: reject them"
            }
            NegotiationVerb::Offer
            | NegotiationVerb::Counter
            | NegotiationVerb::Accept
            | NegotiationVerb::Reject => {
                "the last terms are your own: it is the other party's turn, or withdraw them"
            }
        });
    }
    Refusal::state(format!(
        "the negotiation is {name} and takes no further message"
    ))
}

pub(super) fn sender(state: &State, opening: &Opening, envelope: &AcceptedHeader) -> Sender {
    if envelope.from == state.step().author {
        Sender::Author
    } else if [opening.initiator, opening.responder].contains(&envelope.from) {
        Sender::Other
    } else {
        Sender::Stranger
    }
}

/// Payer and payee are sender and recipient, in whatever order (XX-6).
fn between_the_two(terms: &TermsFacts, envelope: &AcceptedHeader) -> Result<(), Refusal> {
    let (from, to) = (envelope.from, envelope.to);
    let named = (terms.payer, terms.payee);
    if named == (from, to) || named == (to, from) {
        return Ok(());
    }
    Err(Refusal::shape(
        "terms: payer and payee must be the sender and the recipient of the message",
    ))
}

/// `expires_at` against the shortest and the longest life that is allowed.
fn lives_long_enough(
    expires_at: TimestampMs,
    block: &Contracts,
    now: TimestampMs,
) -> Result<(), Refusal> {
    let life_ms = expires_at.since(now);
    if (block.min_life_ms..=block.max_life_ms).contains(&life_ms) {
        return Ok(());
    }
    Err(guard(format!(
        "expires_at is {life_ms} ms from now; it must be {} to {} ms",
        block.min_life_ms, block.max_life_ms
    )))
}

fn guard(message: impl AsRef<str>) -> Refusal {
    Refusal::guard(Code::InvalidStateTransition, message)
}

/// The state that an accepted message leads to, without replaying: what its answer says.
pub(super) const fn state_after(facts: &NegotiationFacts) -> StateName {
    match facts {
        NegotiationFacts::Offer(_) => StateName::Pending,
        NegotiationFacts::Counter(_) => StateName::Countered,
        NegotiationFacts::Accept(_) => StateName::Accepted,
        NegotiationFacts::Reject(_) | NegotiationFacts::Withdraw(_) => StateName::Rejected,
    }
}
