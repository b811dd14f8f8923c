//! What is recorded of a payment after its interaction is over, decided again from what the log
//! shows (ledger-contract.md section 5). That something disappeared is the watcher's word.

use x811_protocol::event::{Event, Late, Reversed};
use x811_protocol::interaction::{Aftermath, late_of};

use super::decision::Decided;
use super::evidence::Grounds;
use super::finding::Findings;
use super::unchecked::Unchecked;
use crate::stream::Stream;

/// Checks `seen`, `reversed` and `late` against what they rest on. The rest `evolve` holds to the
/// order of events.
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
    let Some(network) = deal.opening.parameters.network(&aftermath.network) else {
        return;
    };
    let grounds = Grounds {
        decided,
        deal,
        network,
        declared: &aftermath.declared,
    };
    if let Event::Reversed(reversed) = decided.event {
        numbered(&grounds, reversed, findings);
    } else if let Event::Seen(seen) = decided.event {
        if let Some(declared) = aftermath.declared(seen.tx_hash) {
            grounds.transfers_fit("transfers", declared, &seen.transfers, findings);
        }
    } else if let Event::Late(late) = decided.event {
        came_in_time(&grounds, aftermath, findings);
        shown(&grounds, aftermath, late, findings);
        chosen(&grounds, aftermath, late, findings);
    }
}

fn numbered(grounds: &Grounds<'_>, reversed: &Reversed, findings: &mut Findings) {
    let Grounds { decided, deal, .. } = grounds;
    if decided.leaves(Unchecked::ReceiptNumbers, findings) {
        return;
    }
    let provider = decided.before.agent(deal.opening.provider);
    let expected = provider.map(|agent| (agent.receipts, agent.last_receipt));
    if expected != Some((reversed.provider_seq, Some(reversed.provider_prev))) {
        let sentence = "it is not numbered as the provider's next receipt";
        decided.differs("provider_seq", sentence, findings);
    }
}

fn came_in_time(grounds: &Grounds<'_>, aftermath: &Aftermath, findings: &mut Findings) {
    let decided = grounds.decided;
    if aftermath.paused_since.is_none() && decided.at > aftermath.until {
        let sentence = "it came when nothing was recorded of this interaction any more";
        decided.differs("event", sentence, findings);
    }
}

fn shown(grounds: &Grounds<'_>, aftermath: &Aftermath, late: &Late, findings: &mut Findings) {
    for (index, evidence) in late.evidence.iter().enumerate() {
        let field = format!("evidence[{index}]");
        let Some(declared) = aftermath.declared(evidence.tx_hash) else {
            let sentence = "it is of a transaction that no PAYMENT declared";
            grounds.no_evidence(&field, sentence, findings);
            continue;
        };
        grounds.evidence_holds(&field, evidence, declared, findings);
        grounds.not_older_than_accept(&field, evidence, findings);
    }
    grounds.claims_are_shown(&late.claims, &late.evidence, findings);
}

/// The choice of what is bound, made again over the transfers that the evidence shows.
fn chosen(grounds: &Grounds<'_>, aftermath: &Aftermath, late: &Late, findings: &mut Findings) {
    let mut candidates = grounds.candidates(&late.evidence);
    candidates.retain(|candidate| aftermath.may_be_late(candidate.tx_hash));
    let choose = |candidates| late_of(&grounds.due(), candidates);
    if grounds.claims(&choose(candidates.clone())) == late.claims {
        return;
    }
    candidates.retain(|candidate| late.claims.contains(&grounds.claim(candidate)));
    let is_possible = grounds.claims(&choose(candidates)) == late.claims;
    let leaves = |findings: &mut _| {
        grounds
            .decided
            .leaves(Unchecked::ClaimedElsewhere, findings)
    };
    if !(is_possible && leaves(findings)) {
        let sentence = "the rules choose other transfers from this evidence";
        grounds.decided.differs("claims", sentence, findings);
    }
}
