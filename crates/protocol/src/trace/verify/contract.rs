//! A negotiation, by the table of its machine.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Counts, TraceNode};
use crate::contract::StateName;
use crate::contract::table::{Sender, lapse_of, transition};
use crate::did::Did;
use crate::digest::Digest;
use crate::event::{ContractWindow, LapsedWindow};
use crate::facts::NegotiationVerb;
use crate::id::{ContractId, EnvelopeId};
use crate::trace::content::{Content, ContractLapse, ContractStep};
use crate::trace::{Act, TraceFault, Wid};

/// A negotiation so far.
struct Walk {
    author: Did,
    /// An accepted contract that was engaged, or whose time passed.
    is_over: bool,
    parties: BTreeSet<Did>,
    state: StateName,
    steps: BTreeSet<EnvelopeId>,
    terms_hash: Digest,
}

pub(super) fn verify(
    wid: Wid,
    nodes: &[TraceNode<'_>],
    counts: &mut Counts,
) -> Result<(), TraceFault> {
    let [first, rest @ ..] = nodes else {
        return Ok(());
    };
    let mut walk = Walk::open(wid, first, counts)?;
    let mut before = first;
    for node in rest {
        node.hold(
            node.claims.pred == [before.claims.jti],
            "it does not rest on the step before it",
        )?;
        let named = match &node.content {
            Content::ContractStep(step) => {
                walk.step(node, step, counts)?;
                step.negotiation_id
            }
            Content::ContractLapse(lapse) => {
                walk.lapse(node, lapse)?;
                lapse.negotiation_id
            }
            Content::ContractEngage(engage) => {
                let is_open = walk.state == StateName::Accepted && !walk.is_over;
                node.hold(is_open, "no contract is there to be engaged")?;
                walk.is_over = true;
                engage.negotiation_id
            }
            Content::Propose(_)
            | Content::Vote(_)
            | Content::Votes(_)
            | Content::Commit(_)
            | Content::Escalation(_)
            | Content::HumanDecision(_)
            | Content::SessionClose(_)
            | Content::Revision(_)
            | Content::Revocation(_) => return Err(node.fault("it is of no negotiation")),
        };
        node.hold(named == wid, "it is of another negotiation")?;
        before = node;
    }
    Ok(())
}

impl Walk {
    fn open(wid: Wid, node: &TraceNode<'_>, counts: &mut Counts) -> Result<Walk, TraceFault> {
        let (Act::ContractOffer, Content::ContractStep(offer)) = (node.act, &node.content) else {
            return Err(node.fault("a negotiation begins with an offer"));
        };
        let named = Wid::Contract(ContractId::from(offer.step_id));
        node.hold(
            (offer.negotiation_id, named) == (wid, wid) && node.claims.pred.is_empty(),
            "a trace begins with the offer that it is named by",
        )?;
        let terms_hash = offer.terms_hash;
        let mut walk = Walk {
            author: offer.by,
            is_over: false,
            parties: BTreeSet::from([offer.by]),
            state: StateName::Pending,
            steps: BTreeSet::from([offer.step_id]),
            terms_hash: terms_hash.ok_or_else(|| node.fault("an offer has terms"))?,
        };
        walk.terms(node, offer, counts)?;
        Ok(walk)
    }

    fn step(
        &mut self,
        node: &TraceNode<'_>,
        step: &ContractStep,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        self.joins(node, step.by)?;
        let sender = if step.by == self.author {
            Sender::Author
        } else {
            Sender::Other
        };
        let row = verb(node.act).and_then(|verb| transition(self.state, verb, sender));
        let row =
            row.ok_or_else(|| node.fault("the negotiation does not take it from its sender"))?;
        node.hold(
            self.steps.insert(step.step_id),
            "its step is in the trace already",
        )?;
        match (node.act, step.terms_hash) {
            (Act::ContractCounter, Some(hash)) => {
                (self.author, self.terms_hash) = (step.by, hash);
                self.terms(node, step, counts)?;
            }
            (Act::ContractAccept, Some(hash)) if step.terms.is_none() => {
                node.hold(hash == self.terms_hash, "it accepts other terms")?;
                node.text_alone(step.message.as_ref(), counts)?;
            }
            (Act::ContractReject | Act::ContractWithdraw, None) if step.terms.is_none() => {
                node.text_alone(step.message.as_ref(), counts)?;
            }
            (_, _) => return Err(node.fault("such a step has other members")),
        }
        self.state = row.to;
        Ok(())
    }

    /// Holds terms to their hash and to the two parties.
    fn terms(
        &mut self,
        node: &TraceNode<'_>,
        step: &ContractStep,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        node.text_alone(step.message.as_ref(), counts)?;
        node.terms(step.terms.as_ref(), self.terms_hash, counts)?;
        for name in ["payer", "payee"] {
            if let Some(terms) = &step.terms {
                let party = terms.get(name).and_then(Value::as_str);
                let party: Option<Did> = party.and_then(|did| did.parse().ok());
                let party = party.ok_or_else(|| node.fault("its terms name no two parties"))?;
                self.joins(node, party)?;
            }
        }
        let is_one = step
            .terms
            .as_ref()
            .is_some_and(|terms| terms.get("payer") == terms.get("payee"));
        node.hold(!is_one, "payer and payee are one")
    }

    /// A negotiation has two parties.
    fn joins(&mut self, node: &TraceNode<'_>, party: Did) -> Result<(), TraceFault> {
        self.parties.insert(party);
        node.hold(
            self.parties.len() <= 2 && party != node.claims.iss,
            "it names somebody who is no party of the negotiation",
        )
    }

    fn lapse(&mut self, node: &TraceNode<'_>, lapse: &ContractLapse) -> Result<(), TraceFault> {
        let open = match self.state {
            StateName::Pending | StateName::Countered => Some(ContractWindow::Contract),
            StateName::Accepted if !self.is_over => Some(ContractWindow::Engagement),
            StateName::Accepted | StateName::Rejected | StateName::Expired => None,
        };
        let due = open.map(|window| (LapsedWindow::Contract(window), lapse_of(window).code));
        node.hold(
            due == Some((lapse.window, lapse.code)),
            "this window was not open, or its code is another",
        )?;
        self.is_over = true;
        if self.state != StateName::Accepted {
            self.state = StateName::Expired;
        }
        Ok(())
    }
}

fn verb(act: Act) -> Option<NegotiationVerb> {
    let verbs = [
        (Act::ContractOffer, NegotiationVerb::Offer),
        (Act::ContractCounter, NegotiationVerb::Counter),
        (Act::ContractAccept, NegotiationVerb::Accept),
        (Act::ContractReject, NegotiationVerb::Reject),
        (Act::ContractWithdraw, NegotiationVerb::Withdraw),
    ];
    let mut verbs = verbs.into_iter();
    verbs.find_map(|(of, verb)| (of == act).then_some(verb))
}
