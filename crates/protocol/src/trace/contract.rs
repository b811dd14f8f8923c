//! Traces of contracts: each step of a negotiation, what time did, and what came of it. round.md names no
//! such nodes; their names are our own.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::content::{ContractEngage, ContractLapse, ContractStep};
use super::{Act, Node, Recorded, Wid, shown_terms};
use crate::event::{Effect, EnvelopeAccepted, Event};
use crate::facts::{Facts, NegotiationFacts};
use crate::id::EnvelopeId;
use crate::stream::Subject;

/// The nodes of a negotiation, whose `records` come in order of position.
pub(super) fn contract_nodes<'a>(records: impl IntoIterator<Item = Recorded<'a>>) -> Vec<Node> {
    let mut steps = BTreeMap::<EnvelopeId, Uuid>::new();
    let mut nodes: Vec<Node> = Vec::new();
    for recorded in records {
        let Subject::Contract(id) = recorded.subject else {
            continue;
        };
        let (wid, last) = (Wid::Contract(id), nodes.last().map(|node| node.jti));
        if let Event::EnvelopeAccepted(accepted) = recorded.event
            && let Facts::Negotiation(facts) = &accepted.facts
        {
            let answered = facts.step().and_then(|step| steps.get(&step).copied());
            let node = step(wid, &recorded, accepted, facts, answered.or(last));
            steps.insert(accepted.envelope.id, node.jti);
            nodes.push(node);
        } else if let Event::Lapsed(lapsed) = recorded.event {
            let lapse = ContractLapse {
                code: lapsed.code,
                negotiation_id: wid,
                window: lapsed.window,
            };
            let pred = last.into_iter().collect();
            nodes.push(recorded.node(Act::ContractLapse, pred, &lapse));
        } else if let Event::Effect(Effect::Engaged(engaged)) = recorded.event {
            let engage = ContractEngage {
                interaction_id: engaged.interaction,
                negotiation_id: wid,
            };
            let pred = last.into_iter().collect();
            nodes.push(recorded.node(Act::ContractEngage, pred, &engage));
        }
    }
    nodes
}

fn step(
    wid: Wid,
    recorded: &Recorded<'_>,
    accepted: &EnvelopeAccepted,
    facts: &NegotiationFacts,
    pred: Option<Uuid>,
) -> Node {
    let from = accepted.envelope.from;
    let act = match facts {
        NegotiationFacts::Offer(_) => Act::ContractOffer,
        NegotiationFacts::Counter(_) => Act::ContractCounter,
        NegotiationFacts::Accept(_) => Act::ContractAccept,
        NegotiationFacts::Reject(_) => Act::ContractReject,
        NegotiationFacts::Withdraw(_) => Act::ContractWithdraw,
    };
    let (terms_hash, terms) = match (facts, facts.terms()) {
        (NegotiationFacts::Accept(accept), _) => (Some(accept.terms_hash), None),
        (_, Some(terms)) => {
            let whole = recorded.payload.and_then(|payload| payload.get("terms"));
            (Some(terms.terms_hash), shown_terms(whole, terms.terms_hash))
        }
        (_, None) => (None, None),
    };
    let content = ContractStep {
        by: from,
        message: recorded.text("message"),
        negotiation_id: wid,
        step_id: accepted.envelope.id,
        terms,
        terms_hash,
    };
    let node = recorded.node(act, pred.into_iter().collect(), &content);
    node.with_own(recorded.own(from))
}
