//! What is recorded of a payment after its interaction is over, decided again from what the log
//! shows (ledger-contract.md section 5). That something disappeared is the watcher's word.

use x811_protocol::event::{Event, Evidence, Late, Level, Reversed};
use x811_protocol::interaction::{Aftermath, Deal, Standing};
use x811_protocol::parameters::Network;

use super::decision::Decided;
use super::finding::{Cause, Findings};
use crate::stream::Stream;

/// Checks `reversed` and `late` against what they rest on. The rest `evolve` holds to the order of
/// events.
pub(super) fn check(decided: &Decided<'_>, findings: &mut Findings) {
    let Stream::Interaction(id) = decided.stream else {
        return;
    };
    let Some(live) = decided.before.watching(*id) else {
        return;
    };
    let Some((deal, aftermath)) = live.state.aftermath() else {
        return;
    };
    let parameters = &deal.opening.parameters;
    let Some(network) = parameters.network(&aftermath.network) else {
        return;
    };
    if let Event::Reversed(reversed) = decided.event {
        numbered(decided, deal, reversed, findings);
    } else if let Event::Late(late) = decided.event {
        bound_in_time(decided, aftermath, findings);
        for (index, evidence) in late.evidence.iter().enumerate() {
            let field = format!("evidence[{index}]");
            shown(
                decided,
                (deal, aftermath, network),
                &field,
                evidence,
                findings,
            );
        }
        claimed(decided, network, late, findings);
    }
}

fn numbered(decided: &Decided<'_>, deal: &Deal, reversed: &Reversed, findings: &mut Findings) {
    let provider = decided.before.agent(deal.opening.provider);
    let expected = provider.map(|agent| (agent.receipts, agent.last_receipt));
    if expected != Some((reversed.provider_seq, Some(reversed.provider_prev))) {
        let sentence = "it is not numbered as the provider's next receipt";
        decided.differs("provider_seq", sentence, findings);
    }
}

fn bound_in_time(decided: &Decided<'_>, aftermath: &Aftermath, findings: &mut Findings) {
    if aftermath.paused_since.is_none() && decided.at > aftermath.until {
        let sentence = "it came when nothing was recorded of this interaction any more";
        decided.differs("event", sentence, findings);
    }
}

fn shown(
    decided: &Decided<'_>,
    (deal, aftermath, network): (&Deal, &Aftermath, &Network),
    field: &str,
    evidence: &Evidence,
    findings: &mut Findings,
) {
    let mut missing = |member: &str, sentence: &str| {
        let field = format!("{field}.{member}");
        findings.add(decided.spot, &field, Cause::NoEvidence, sentence);
    };
    let Some(declared) = aftermath.declared(evidence.tx_hash) else {
        missing("tx_hash", "it is of a transaction that no PAYMENT declared");
        return;
    };
    let is_there = match declared.standing {
        Standing::Seen(block) => block == evidence.block,
        Standing::Refuted(_) => true,
        Standing::Unseen | Standing::Gone(_) => false,
    };
    if !is_there {
        missing("block", "the transaction was not seen in that block before");
    }
    if evidence.depth < network.confirmed_depth || evidence.level < Level::Confirmed {
        missing("depth", "it is not as deep as a payment must be");
    }
    let fits = evidence.transfers.iter().all(|transfer| {
        let to_us = transfer.to == deal.offer.payee || Some(transfer.to) == network.treasury;
        transfer.from == declared.payer && to_us && !transfer.amount.is_zero()
    });
    if !fits {
        missing(
            "transfers",
            "a transfer is not from the declared payer to payee or treasury",
        );
    }
}

fn claimed(decided: &Decided<'_>, network: &Network, late: &Late, findings: &mut Findings) {
    let is_other = |chain_id| chain_id != network.chain_id;
    if late.claims.iter().any(|claim| is_other(claim.chain_id)) {
        let sentence = "a transfer on another chain than the payment's is claimed";
        findings.add(decided.spot, "claims", Cause::NoEvidence, sentence);
    }
}
