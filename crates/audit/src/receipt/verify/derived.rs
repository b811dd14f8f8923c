//! What the record of each message says besides the message: whatever follows from the message, from
//! the parameters and from the other messages must be that, and nothing else may be there.

use super::grounds::Grounds;
use super::messages::Message;
use super::steps::{Broken, broken};
use crate::receipt::form::Receipt;
use serde_json::Value;
use std::collections::BTreeSet;
use x811_eventlog::FORMAT_VERSION;
use x811_protocol::contract::engagement::check_offer;
use x811_protocol::event::{Derived, LedgerOpened, RulesChanged};
use x811_protocol::evm::TxHash;
use x811_protocol::facts::{OfferFacts, RequestFacts};
use x811_protocol::interaction::{offer_deadline, window_end};
use x811_protocol::observation::NetworkHead;
use x811_protocol::rules::Rules;
use x811_protocol::time::TimestampMs;

const ABOUT: &str = "derived";

/// Holds position 0 to the form of its records, and to the rules that the messages were recorded under:
/// rules never go back.
///
/// # Errors
/// Another form, or rules that are not known or later than those of a message.
pub(super) fn opening(opened: &LedgerOpened, receipt: &Receipt) -> Result<(), Broken> {
    let about = "issuer";
    if opened.format != FORMAT_VERSION {
        return Err(broken(
            about,
            "the records of the ledger are of another format",
        ));
    }
    let rules = RulesChanged {
        rules_version: opened.rules_version,
        reader: opened.reader,
    };
    let Some(known) = rules.known() else {
        let sentence = format!(
            "the ledger was opened under rules {}, this program knows {}; use the version of x811 that wrote \
             the receipt",
            opened.rules_version,
            Rules::LATEST.version()
        );
        return Err(broken(about, sentence));
    };
    if receipt
        .envelopes
        .iter()
        .any(|enclosed| enclosed.rules < known)
    {
        let sentence = "a message is of earlier rules than the ledger was opened under";
        return Err(broken(about, sentence));
    }
    Ok(())
}

/// Holds what the ledger derived of the messages to them.
///
/// # Errors
/// The member that is another one than follows.
pub(super) fn check(grounds: Grounds<'_>) -> Result<(), Broken> {
    let messages = grounds.messages;
    if let Some(request) = &messages.request {
        of_request(grounds, request)?;
    }
    of_offer(grounds)?;
    of_accept(grounds)?;
    is_due(&messages.verify, opened_by(grounds, &messages.verify))?;
    of_payments(grounds)
}

/// The window that a message opens under the parameters, and nothing else.
fn opened_by<F>(grounds: Grounds<'_>, message: &Message<F>) -> Derived {
    let accepted = &message.accepted;
    let (created, at) = (accepted.envelope.created_ms, message.recorded_at());
    Derived {
        deadline_at_ms: window_end(&accepted.facts, created, at, &grounds.parameters.1),
        ..Derived::default()
    }
}

fn of_request(grounds: Grounds<'_>, request: &Message<RequestFacts>) -> Result<(), Broken> {
    let (facts, said) = (&request.facts, &request.accepted.derived);
    let agreement = said
        .agreement
        .filter(|it| Some(it.id) == facts.agreement_id);
    let due = Derived {
        agreement,
        contract: facts.negotiation_id.and(said.contract),
        parameters: Some(grounds.parameters.0),
        ..opened_by(grounds, request)
    };
    is_due(request, due)?;
    if agreement.is_none() && facts.agreement_id.is_some() {
        return Err(broken(
            ABOUT,
            "the REQUEST names another agreement than its record",
        ));
    }
    let offer = &grounds.messages.offer.facts;
    if offer.total_cost > facts.max_budget {
        return Err(broken(
            "terms",
            "the OFFER exceeds the budget of the REQUEST",
        ));
    }
    let Some(contract) = &said.contract else {
        return Ok(());
    };
    if contract.accept >= request.place.position {
        let sentence = "the contract was agreed on after the REQUEST that names it";
        return Err(broken("contract", sentence));
    }
    let fits = check_offer(contract, offer);
    fits.map_err(|unfit| {
        broken(
            "contract",
            format!("the OFFER is not what was agreed: {unfit}"),
        )
    })
}

fn of_offer(grounds: Grounds<'_>) -> Result<(), Broken> {
    let offer = &grounds.messages.offer;
    let (facts, said) = (&offer.facts, &offer.accepted.derived);
    let due = Derived {
        payee: facts.payment_address.or(said.payee),
        ..opened_by(grounds, offer)
    };
    is_due(offer, due)?;
    let parameters = &grounds.parameters.1;
    let mut networks = parameters.networks.iter();
    if networks.any(|network| Some(network.token) == said.payee) {
        let sentence = "the payee is the token contract, which cannot be paid";
        return Err(broken("payee", sentence));
    }
    let ends = said.deadline_at_ms.unwrap_or(TimestampMs::new(0));
    if ends.since(offer.recorded_at()) < parameters.limits.offer_min_live_ms {
        let sentence = "the OFFER would have expired before it could be answered";
        return Err(broken("terms", sentence));
    }
    Ok(())
}

fn of_accept(grounds: Grounds<'_>) -> Result<(), Broken> {
    let accept = &grounds.messages.accept;
    let heads = &accept.accepted.derived.heads;
    let due = Derived {
        heads: heads.clone().filter(|heads| !heads.is_empty()),
        ..opened_by(grounds, accept)
    };
    is_due(accept, due)?;
    let by_name = |one: &NetworkHead, next: &NetworkHead| one.network < next.network;
    if !heads
        .iter()
        .flatten()
        .is_sorted_by(|one, next| by_name(one, next))
    {
        let sentence = "the heads of the ACCEPT are not one of each network, in order of names";
        return Err(broken(ABOUT, sentence));
    }
    if accept.recorded_at() > offer_expiry(grounds) {
        return Err(broken(
            "terms",
            "the ACCEPT was recorded after the OFFER had expired",
        ));
    }
    Ok(())
}

/// When the OFFER ended at the latest: downtime of the ledger does not move what its sender signed.
fn offer_expiry(grounds: Grounds<'_>) -> TimestampMs {
    let offer = &grounds.messages.offer;
    let OfferFacts { expiry_s, .. } = offer.facts;
    let created = offer.accepted.envelope.created_ms;
    offer_deadline(
        expiry_s,
        created,
        offer.recorded_at(),
        &grounds.parameters.1,
    )
    .signed
}

/// The first PAYMENT opens the window of confirmation. At a further one it may have moved, with
/// downtime of the ledger or of the network, which a receipt does not hold.
fn of_payments(grounds: Grounds<'_>) -> Result<(), Broken> {
    let mut named: BTreeSet<TxHash> = BTreeSet::new();
    for (index, payment) in grounds.messages.payments.iter().enumerate() {
        let said = &payment.accepted.derived;
        let opened = match index {
            0 => opened_by(grounds, payment),
            _ => Derived {
                deadline_at_ms: said.deadline_at_ms,
                ..Derived::default()
            },
        };
        let due = Derived {
            payer_binding: said.payer_binding,
            ..opened
        };
        is_due(payment, due)?;
        let before = named.len();
        named.extend(
            [payment.facts.tx_hash]
                .iter()
                .chain(&payment.facts.fee_tx_hash),
        );
        if named.len() == before {
            let sentence = "a further PAYMENT names no transaction that was not named before";
            return Err(broken("transfers", sentence));
        }
        let limit = grounds.parameters.1.limits.hashes_per_interaction;
        if index > 0 && named.len() as u64 > limit {
            let sentence =
                format!("more than {limit} transactions are named, the parameters' limit");
            return Err(broken("transfers", sentence));
        }
    }
    Ok(())
}

fn is_due<F>(message: &Message<F>, due: Derived) -> Result<(), Broken> {
    let said = &message.accepted.derived;
    if *said == due {
        return Ok(());
    }
    let name = message.accepted.envelope.message_type.as_str();
    let name = name.trim_start_matches("x811/").to_uppercase();
    let sentence = format!(
        "the record of the {name} has {}, which does not follow from the message and the parameters",
        differing(said, &due)
    );
    Err(broken(ABOUT, sentence))
}

/// The first member in which the two differ, with what is there.
fn differing(said: &Derived, due: &Derived) -> String {
    let [said, due] = [said, due].map(|it| serde_json::to_value(it).unwrap_or_default());
    let names = [&said, &due].into_iter().flat_map(Value::as_object);
    let names: BTreeSet<&String> = names.flat_map(serde_json::Map::keys).collect();
    let name = names
        .into_iter()
        .find(|name| said.get(name) != due.get(name));
    let name = name.map_or("", String::as_str);
    match said.get(name) {
        Some(value) => format!("{name} {value}"),
        None => format!("no {name}"),
    }
}
