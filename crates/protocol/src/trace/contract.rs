//! Traces of contracts: each step of a negotiation, what time did, and what came of it. round.md names no
//! such nodes; their names are our own.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Act, Node, Recorded, shown_terms};
use crate::event::{Effect, EnvelopeAccepted, Event};
use crate::facts::{Facts, NegotiationFacts};
use crate::id::EnvelopeId;

/// The nodes of a negotiation, whose `records` come in order of position.
pub fn contract_nodes<'a>(records: impl IntoIterator<Item = Recorded<'a>>) -> Vec<Node> {
    let mut steps = BTreeMap::<EnvelopeId, Uuid>::new();
    let mut nodes: Vec<Node> = Vec::new();
    for recorded in records {
        let last = nodes.last().map(|node| node.jti);
        if let Event::EnvelopeAccepted(accepted) = recorded.event
            && let Facts::Negotiation(facts) = &accepted.facts
        {
            let answered = facts.step().and_then(|step| steps.get(&step).copied());
            let node = said(&recorded, accepted, facts, answered.or(last));
            steps.insert(accepted.envelope.id, node.jti);
            nodes.push(node);
        } else if let Event::Lapsed(lapsed) = recorded.event {
            let more = json!({ "code": lapsed.code, "window": lapsed.window });
            let pred = last.into_iter().collect();
            nodes.push(recorded.node_of_contract(Act::ContractLapse, pred, more));
        } else if let Event::Effect(Effect::Engaged(engaged)) = recorded.event {
            let more = json!({ "interaction_id": engaged.interaction });
            let pred = last.into_iter().collect();
            nodes.push(recorded.node_of_contract(Act::ContractEngage, pred, more));
        }
    }
    nodes
}

fn said(
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
    let (hash, terms) = match (facts, facts.terms()) {
        (NegotiationFacts::Accept(accept), _) => (Some(accept.terms_hash), Value::Null),
        (_, Some(terms)) => {
            let whole = recorded.payload.and_then(|payload| payload.get("terms"));
            (Some(terms.terms_hash), shown_terms(whole, terms.terms_hash))
        }
        (_, None) => (None, Value::Null),
    };
    let more = json!({
        "by": from, "message": recorded.text("message"), "step_id": accepted.envelope.id,
        "terms": terms, "terms_hash": hash,
    });
    let node = recorded.node_of_contract(act, pred.into_iter().collect(), more);
    node.with_own(recorded.own(from))
}

impl Recorded<'_> {
    fn node_of_contract(&self, act: Act, pred: Vec<Uuid>, mut more: Value) -> Node {
        more["negotiation_id"] = json!(self.subject.public_id());
        self.node(act, pred, more)
    }
}
