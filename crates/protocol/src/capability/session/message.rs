//! Guards of the messages of a session. A refusal leaves the state as it was; an acceptance is one
//! `envelope_accepted` whose `derived` holds what the decision used besides the facts.

use super::table::{self, Sender, StateName};
use super::{Context, State, open};
use crate::capability::agreement;
use crate::code::Code;
use crate::did::Did;
use crate::envelope::AcceptedHeader;
use crate::event::Derived;
use crate::facts::{
    CapabilityFacts, CapabilityVerb, Facts, SessionAgree, SessionResponse, SessionTerms,
};
use crate::machine::Input;
use crate::parameters::Capabilities;
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
    let Facts::Capability(facts) = facts else {
        return Err(Refusal::state("the message is about no capability"));
    };
    match (state, facts) {
        (None, CapabilityFacts::Request(request)) => open::derived(request, envelope, context, now),
        (None, _) => Err(none_open()),
        (Some(state), facts) => advance(state, facts, envelope, context, now),
    }
}

/// The messages that follow a request.
fn advance(
    state: &State,
    facts: &CapabilityFacts,
    envelope: &AcceptedHeader,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Derived, Refusal> {
    permit(state, facts, envelope)?;
    let last = state.terms.map(|terms| terms.record.envelope);
    if let Some(step) = facts.step()
        && Some(step) != last
    {
        return Err(Refusal::guard(
            Code::NotYourTurn,
            "step_id is not the message with the last terms any more: answer those",
        ));
    }
    let block = state
        .parameters
        .capabilities
        .unwrap_or(Capabilities::DEFAULT);
    let until = |deadline: Option<u64>| Derived {
        deadline_at_ms: deadline.map(|after_ms| now.saturating_add_ms(after_ms)),
        ..Derived::default()
    };
    match facts {
        CapabilityFacts::Response(response) => lifetime(response, &block).map(until),
        CapabilityFacts::Offer(offer) => within(&offer.terms, &block).map(|()| until(None)),
        CapabilityFacts::Counter(counter) => {
            if state.counters >= block.counters {
                return Err(Refusal::guard(
                    Code::LimitReached,
                    format!(
                        "all {} counters are used: accept, reject or close",
                        block.counters
                    ),
                ));
            }
            within(&counter.terms, &block).map(|()| until(None))
        }
        CapabilityFacts::Accept(accept) => {
            let due = state.terms.map(|terms| terms.terms.terms_hash);
            if Some(accept.terms_hash) != due {
                return Err(mismatch("terms_hash is not the hash of the last terms"));
            }
            Ok(until(Some(block.agree_ms)))
        }
        CapabilityFacts::Agree(agree) => sign(state, agree, envelope, context),
        CapabilityFacts::Advertise(_)
        | CapabilityFacts::Request(_)
        | CapabilityFacts::Reject(_)
        | CapabilityFacts::Close(_)
        | CapabilityFacts::Revoke(_) => Ok(Derived::default()),
    }
}

/// How long the session lives from a response on; `None` of one that is not willing.
fn lifetime(response: &SessionResponse, block: &Capabilities) -> Result<Option<u64>, Refusal> {
    let lifetime_ms = response.lifetime_ms.unwrap_or(block.session_ms);
    let shortest = block.session_min_ms;
    let longest = block.session_max_ms;
    if response.lifetime_ms.is_some() && !(shortest..=longest).contains(&lifetime_ms) {
        return Err(malformed(format!(
            "lifetime_ms is {lifetime_ms}; it must be {shortest} to {longest}"
        )));
    }
    Ok(response.willing.then_some(lifetime_ms))
}

fn within(terms: &SessionTerms, block: &Capabilities) -> Result<(), Refusal> {
    if terms.duration_s <= block.agreement_max_s {
        return Ok(());
    }
    Err(malformed(format!(
        "duration_s is {}; at most {} are agreed on here",
        terms.duration_s, block.agreement_max_s
    )))
}

fn malformed(message: impl AsRef<str>) -> Refusal {
    Refusal::new(Code::Schema, Kind::Shape, message)
}

/// A signature: the agreement must be the one that both derive from the session alone.
fn sign(
    state: &State,
    agree: &SessionAgree,
    envelope: &AcceptedHeader,
    context: &Context<'_>,
) -> Result<Derived, Refusal> {
    let (consumer, provider) = match state.renews {
        None => (state.initiator, state.target),
        Some(renews) => {
            let active = context.agreement.ok_or_else(agreement::none_active)?;
            if active.revision != renews.revision {
                return Err(mismatch(
                    "another revision came into force meanwhile: ask again, naming that",
                ));
            }
            (active.consumer, active.provider)
        }
    };
    if state
        .signatures
        .iter()
        .any(|signed| signed.by == envelope.from)
    {
        return Err(Refusal::new(
            Code::Duplicate,
            Kind::Conflict,
            "you have signed it: the other party's signature is awaited",
        ));
    }
    if agree.kid != envelope.key {
        return Err(Refusal::new(
            Code::JwsInvalid,
            Kind::Authentication,
            "kid is another key than the one that signed the envelope: sign both with one",
        ));
    }
    let terms = state.terms.map(|terms| terms.terms);
    let due = [
        ("agreement_id", agree.agreement_id == state.agreement()),
        ("revision", agree.revision == state.revision()),
        ("consumer", agree.consumer == consumer),
        ("provider", agree.provider == provider),
        ("type", agree.capability == state.capability),
        ("version", agree.version == state.version),
        ("parameters", agree.parameters_hash == state.parameters_hash),
        (
            "terms",
            terms.map(|terms| (terms.terms_hash, terms.duration_s))
                == Some((agree.terms_hash, agree.duration_s)),
        ),
    ];
    let other: Vec<&str> = due
        .into_iter()
        .filter_map(|(member, fits)| (!fits).then_some(member))
        .collect();
    if !other.is_empty() {
        return Err(mismatch(format!(
            "not what the session came to: {}",
            other.join(", ")
        )));
    }
    let first = state.signatures.first();
    if first.is_some_and(|first| first.agreement_hash != agree.agreement_hash) {
        return Err(mismatch("the other party signed another object"));
    }
    Ok(Derived {
        signatures: Some(state.signatures.len() as u64 + 1),
        ..Derived::default()
    })
}

/// Looks the cell up in the table: state, message, sender, and the counterparty as recipient.
fn permit(
    state: &State,
    facts: &CapabilityFacts,
    envelope: &AcceptedHeader,
) -> Result<(), Refusal> {
    let sender = sender(state, envelope.from);
    if sender == Sender::Stranger || state.state == StateName::Closed {
        return Err(none_open());
    }
    let verb = facts.verb();
    if table::transition(state.state, verb, sender).is_none() {
        return Err(not_permitted(state.state, verb));
    }
    if envelope.to != state.counterparty(envelope.from) {
        return Err(Refusal::sender(
            "`to` must be the other party of the session",
        ));
    }
    Ok(())
}

fn not_permitted(state: StateName, verb: CapabilityVerb) -> Refusal {
    let is_for_other = table::TRANSITIONS
        .iter()
        .any(|row| row.from == state && row.message == verb);
    if is_for_other {
        return Refusal::guard(
            Code::NotYourTurn,
            "the last step is your own: it is the other party's turn, or close the session",
        );
    }
    Refusal::guard(
        Code::WrongState,
        format!("the session is {state} and does not take {verb}"),
    )
}

pub(super) fn sender(state: &State, from: Did) -> Sender {
    if !state.is_member(from) {
        Sender::Stranger
    } else if from == state.author {
        Sender::Author
    } else {
        Sender::Other
    }
}

/// CCN-4003, to strangers as well: what a session is, its two alone know.
fn none_open() -> Refusal {
    Refusal::guard(
        Code::Closed,
        "no open session of yours has this id: its history says how it ended, if there was one",
    )
}

fn mismatch(message: impl AsRef<str>) -> Refusal {
    Refusal::guard(Code::TermsMismatch, message)
}
