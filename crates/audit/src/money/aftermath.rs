//! What is recorded of a payment after its interaction is over, decided again from what the log
//! shows (ledger-contract.md section 5). That something disappeared is the watcher's word.

use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, Final, Late, Reversed, Seen, SettlementEvent};
use x811_protocol::evm::TxHash;
use x811_protocol::settlement::{Aftermath, DeclaredStanding, late_of};

use crate::finding::findings::Findings;
use crate::finding::unchecked::Unchecked;
use crate::money::evidence::stands_on;
use crate::money::grounds::{Grounds, are_all_quoted};
use crate::replay::decided::Decided;
use x811_protocol::stream::{Stream, Subject};

/// Checks what is recorded of a payment that is over against what it rests on. That `final`,
/// `reversed` and `returned` follow what was seen and unseen, `evolve` sees to.
pub(crate) fn check(decided: &Decided<'_>, findings: &mut Findings) {
    let Stream::Of(Subject::Interaction(id)) = decided.stream else {
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
        bill: deal.bill(network),
        declared: &aftermath.declared,
    };
    came_in_time(&grounds, aftermath, findings);
    if let Event::Settlement(SettlementEvent::Reversed(reversed)) = decided.event {
        numbered(&grounds, reversed, findings);
        was_looked_for(&grounds, findings);
    } else if let Event::Settlement(SettlementEvent::Seen(seen)) = decided.event {
        if let Some(declared) = aftermath.declared(seen.tx_hash) {
            grounds.transfers_fit("transfers", declared, &seen.transfers, findings);
        }
        still_pays(&grounds, aftermath, seen, findings);
    } else if let Event::Settlement(SettlementEvent::Final(reached)) = decided.event {
        let made_final = live.state.made_final_by(&reached.head);
        is_above(&grounds, (aftermath, &made_final), reached, findings);
    } else if let Event::Settlement(SettlementEvent::Late(late)) = decided.event {
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
    // Of a late payment alone there is no receipt.
    let expected = provider.map(|agent| {
        let last = agent.last_receipt.unwrap_or(Digest::ZERO);
        (agent.receipts, last)
    });
    if expected != Some((reversed.provider_seq, reversed.provider_prev)) {
        let sentence = "it is not numbered as the provider's next receipt";
        decided.differs("provider_seq", sentence, findings);
    }
}

/// Only a fresh head shows that something is not there, and such a head ends blindness first.
fn was_looked_for(grounds: &Grounds<'_>, findings: &mut Findings) {
    let Grounds { decided, bill, .. } = grounds;
    let network = bill.network;
    let before = decided.before;
    let sight = before.sight(&network.name);
    let in_force = before.parameters();
    let in_force = in_force.and_then(|(_, set)| set.network(&network.name));
    let is_blind = sight.is_some_and(|sight| sight.blind_since.is_some());
    let ends_blindness = in_force.is_some_and(|now| network.fresh_ms <= now.fresh_ms);
    if is_blind && ends_blindness {
        let sentence = "the network was blind, and only a fresh head shows that a transfer is gone";
        decided.differs("event", sentence, findings);
    }
}

/// A transaction that is bound is seen again only where it does the same.
fn still_pays(grounds: &Grounds<'_>, aftermath: &Aftermath, seen: &Seen, findings: &mut Findings) {
    let mut bound = aftermath.bound_of(seen.tx_hash);
    let is_there = bound.all(|bound| seen.transfers.contains(&bound.transfer));
    if !is_there && are_all_quoted(&seen.transfers, grounds.declared.len()) {
        let sentence = "the transaction paid, and what is seen of it here is not what paid";
        grounds.no_evidence("transfers", sentence, findings);
    }
}

/// The finalized head stands on the blocks that paid; that it is not below them `evolve` saw to.
fn is_above(
    grounds: &Grounds<'_>,
    (aftermath, made_final): (&Aftermath, &[TxHash]),
    reached: &Final,
    findings: &mut Findings,
) {
    for declared in &aftermath.declared {
        if let DeclaredStanding::Seen(block) = declared.standing
            && made_final.contains(&declared.tx_hash)
            && !stands_on(&reached.head, &block)
        {
            let sentence = "no branch has both the finalized head and the block that paid";
            grounds.no_evidence("head", sentence, findings);
        }
    }
}

fn came_in_time(grounds: &Grounds<'_>, aftermath: &Aftermath, findings: &mut Findings) {
    let decided = grounds.decided;
    let is_of_late = names(decided.event).is_some_and(|tx_hash| aftermath.is_watched_late(tx_hash));
    let until =
        if is_of_late || matches!(decided.event, Event::Settlement(SettlementEvent::Final(_))) {
            aftermath.ends_at()
        } else {
            aftermath.until
        };
    if aftermath.paused_since.is_none() && decided.at > until {
        let sentence = "it came when nothing was recorded of this interaction any more";
        decided.differs("event", sentence, findings);
    }
}

/// The transaction that an event is about, where it is about one.
#[expect(clippy::wildcard_enum_match_arm, reason = "only these name one")]
fn names(event: &Event) -> Option<TxHash> {
    match event {
        Event::Settlement(SettlementEvent::Seen(seen)) => Some(seen.tx_hash),
        Event::Settlement(SettlementEvent::Unseen(named) | SettlementEvent::Returned(named)) => {
            Some(named.tx_hash)
        }
        Event::Settlement(SettlementEvent::Reversed(reversed)) => Some(reversed.tx_hash),
        _ => None,
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
    grounds.seen_together(&late.claims, &late.evidence, findings);
}

/// The choice of what is bound, made again over the transfers that the evidence shows.
fn chosen(grounds: &Grounds<'_>, aftermath: &Aftermath, late: &Late, findings: &mut Findings) {
    let mut candidates = grounds.candidates(&late.evidence);
    candidates.retain(|candidate| aftermath.may_be_late(candidate.tx_hash));
    let choose = |candidates| late_of(&grounds.bill.due, candidates);
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
