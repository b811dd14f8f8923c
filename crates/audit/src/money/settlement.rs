//! Payments, decided again from the evidence in the log (ledger-contract.md section 5). What the
//! watcher saw is the ledger's word; whether it is enough, everybody can compute.

use x811_protocol::digest::Digest;
use x811_protocol::event::{
    Confirmed, Event, Evidence, Looked, Refuted, RefutedCause, Seen, SettlementEvent,
    SettlementRecords,
};
use x811_protocol::evm::TxHash;
use x811_protocol::interaction::{Delivery, RecordRef, Settlement, Stage, State};
use x811_protocol::settlement::claim::{Candidate, choose};
use x811_protocol::settlement::level::is_safe;
use x811_protocol::time::TimestampMs;

use crate::finding::findings::{Cause, Findings};
use crate::finding::unchecked::Unchecked;
use crate::money::authorization;
use crate::money::grounds::{Grounds, TRANSFERS_QUOTED_EACH};
use crate::money::looks;
use crate::record::body::agree;
use crate::replay::decided::Decided;
use x811_protocol::stream::{Stream, Subject};

/// Checks `seen`, `looked`, `refuted` and `confirmed` against what they rest on.
pub(crate) fn check(decided: &Decided<'_>, findings: &mut Findings) {
    let Stream::Of(Subject::Interaction(id)) = decided.stream else {
        return;
    };
    let Some(live) = decided.before.interaction(*id) else {
        return;
    };
    let State::Verified {
        deal,
        delivery,
        verification,
        settlement: Stage::Watching(settlement),
    } = &live.state
    else {
        return;
    };
    let Some(network) = deal.opening.parameters.network(&settlement.network) else {
        return;
    };
    let payment = Payment {
        grounds: Grounds {
            decided,
            deal,
            bill: deal.bill(network),
            declared: &settlement.declared,
        },
        delivery,
        verification,
        settlement,
    };
    if let Event::Settlement(SettlementEvent::Seen(seen)) = decided.event {
        payment.seen(seen, findings);
    } else if let Event::Settlement(SettlementEvent::Looked(looked)) = decided.event {
        payment.looked(looked, findings);
    } else if let Event::Settlement(SettlementEvent::Refuted(refuted)) = decided.event {
        payment.refuted(refuted, findings);
    } else if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = decided.event {
        payment.confirmed(confirmed, findings);
    }
}

/// A payment being watched, and a record about it.
struct Payment<'a> {
    grounds: Grounds<'a>,
    delivery: &'a Delivery,
    verification: &'a RecordRef,
    settlement: &'a Settlement,
}

impl Payment<'_> {
    fn seen(&self, seen: &Seen, findings: &mut Findings) {
        if let Some(declared) = self.settlement.declared(seen.tx_hash) {
            self.grounds
                .transfers_fit("transfers", declared, &seen.transfers, findings);
        }
    }

    fn looked(&self, looked: &Looked, findings: &mut Findings) {
        let head_at = TimestampMs::new(looked.head.timestamp_s.saturating_mul(1_000));
        if self.grounds.decided.at.since(head_at) >= self.grounds.bill.network.fresh_ms {
            let sentence = "the head that answered the look was not fresh";
            self.grounds.decided.differs("head", sentence, findings);
        }
        let declared = &self.settlement.declared;
        let asked: Vec<TxHash> = looked.finding.iter().map(|found| found.tx_hash).collect();
        let due: Vec<TxHash> = declared.iter().map(|declared| declared.tx_hash).collect();
        if asked != due {
            let sentence = "a look answers for every declared transaction, in their order";
            self.grounds.decided.differs("finding", sentence, findings);
            return;
        }
        looks::check(&self.grounds, looked, findings);
    }

    fn refuted(&self, refuted: &Refuted, findings: &mut Findings) {
        let Some(declared) = self.settlement.declared(refuted.tx_hash) else {
            return;
        };
        let evidence = &refuted.evidence;
        if evidence.tx_hash != refuted.tx_hash {
            let sentence = "the evidence is of another transaction";
            self.grounds
                .no_evidence("evidence.tx_hash", sentence, findings);
            return;
        }
        self.grounds
            .evidence_holds("evidence", evidence, declared, findings);
        let is_shown = self.shows(evidence, refuted.cause);
        if !is_shown && !self.may_rest_on_others(evidence, refuted.cause, findings) {
            let sentence = "what was seen does not show the cause that is named";
            self.grounds.decided.differs("cause", sentence, findings);
        }
        if refuted.reason.is_some() && refuted.cause != RefutedCause::Reverted {
            let sentence = "only a transaction that reverted has a reason for that";
            self.grounds.decided.differs("reason", sentence, findings);
        }
    }

    /// Whether a transaction may fail as is said because others claimed what it transferred, which
    /// an extract does not show.
    fn may_rest_on_others(
        &self,
        evidence: &Evidence,
        cause: RefutedCause,
        findings: &mut Findings,
    ) -> bool {
        let rests_on_claims = matches!(cause, RefutedCause::UsedAlready | RefutedCause::Short);
        let is_possible =
            rests_on_claims && !evidence.transfers.is_empty() && !self.is_too_old(evidence);
        let decided = self.grounds.decided;
        is_possible && decided.leaves(Unchecked::ClaimedElsewhere, findings)
    }

    /// What was made under the interaction's own nonce was made for it, whatever its height.
    fn is_too_old(&self, evidence: &Evidence) -> bool {
        self.grounds.bill.is_shown_older(evidence)
            && !authorization::is_own(&self.grounds, evidence)
    }

    /// Whether a transaction fails as is said, as far as the quoted transfers tell.
    fn shows(&self, evidence: &Evidence, cause: RefutedCause) -> bool {
        let is_below = self.grounds.bill.is_shown_older(evidence);
        let older = self.is_too_old(evidence);
        let nothing_fits = evidence.transfers.is_empty();
        let unclaimed = self.grounds.candidates(std::slice::from_ref(evidence));
        match cause {
            RefutedCause::Reverted => nothing_fits && evidence.transfer_count == 0,
            RefutedCause::OlderThanAccept => is_below,
            RefutedCause::WrongToken => !older && evidence.transfer_count == 0,
            // Which nonce a transfer was made under is not quoted where it is not the right one.
            RefutedCause::OtherPayee | RefutedCause::Unauthorized => {
                !older && nothing_fits && evidence.transfer_count > 0
            }
            RefutedCause::UsedAlready => !older && !nothing_fits && unclaimed.is_empty(),
            RefutedCause::Short => {
                // Only so many transfers are quoted; an unclaimed one may be among the others.
                let something_left =
                    !unclaimed.is_empty() || evidence.transfers.len() >= TRANSFERS_QUOTED_EACH;
                !older && something_left && choose(&self.grounds.bill.due, &unclaimed).is_none()
            }
        }
    }

    fn confirmed(&self, confirmed: &Confirmed, findings: &mut Findings) {
        for (index, evidence) in confirmed.evidence.iter().enumerate() {
            let field = format!("evidence[{index}]");
            match self.settlement.declared(evidence.tx_hash) {
                Some(declared) => {
                    self.grounds
                        .evidence_holds(&field, evidence, declared, findings);
                    self.pays_in_time(&field, evidence, findings);
                }
                None => {
                    let sentence = "it is of a transaction that no PAYMENT declared";
                    self.grounds.no_evidence(&field, sentence, findings);
                }
            }
        }
        self.grounds
            .claims_are_shown(&confirmed.claims, &confirmed.evidence, findings);
        self.grounds
            .seen_together(&confirmed.claims, &confirmed.evidence, findings);
        self.choice(confirmed, findings);
        self.what_it_rests_on(confirmed, findings);
    }

    fn pays_in_time(&self, field: &str, evidence: &Evidence, findings: &mut Findings) {
        self.grounds
            .not_older_than_accept(field, evidence, findings);
        let is_safe = || is_safe(self.grounds.bill.network, evidence.level, evidence.depth);
        if self.grounds.bill.waits_for_safe() && !is_safe() {
            let sentence = "a total of this size waits for level safe";
            self.grounds
                .no_evidence(&format!("{field}.level"), sentence, findings);
        }
    }

    /// The choice of claims, made again over the transfers that the evidence shows.
    fn choice(&self, confirmed: &Confirmed, findings: &mut Findings) {
        let mut candidates = self.grounds.candidates(&confirmed.evidence);
        let choice = |candidates: &[Candidate]| {
            if self.grounds.deal.offer.total.is_zero() {
                Some(Vec::new())
            } else {
                choose(&self.grounds.bill.due, candidates)
            }
        };
        let mut chosen = choice(&candidates);
        let is_claimed = |chosen: &Vec<Candidate>| self.grounds.claims(chosen) == confirmed.claims;
        if !chosen.as_ref().is_some_and(is_claimed) {
            candidates.retain(|shown| confirmed.claims.contains(&self.grounds.claim(shown)));
            let possible = choice(&candidates).filter(is_claimed);
            let decided = self.grounds.decided;
            if possible.is_some() && decided.leaves(Unchecked::ClaimedElsewhere, findings) {
                chosen = possible;
            }
        }
        let Some(chosen) = chosen else {
            let total = self.grounds.deal.offer.total.to_usdc_decimal();
            let sentence = format!("the transfers shown do not cover the total of {total} USDC");
            self.grounds.no_evidence("evidence", sentence, findings);
            return;
        };
        if self.grounds.claims(&chosen) != confirmed.claims {
            let sentence = "the rules choose other transfers from this evidence";
            self.grounds.decided.differs("claims", sentence, findings);
        }
        let amounts = chosen.iter().map(|it| it.amount);
        if self.grounds.bill.surplus(amounts) != confirmed.surplus {
            let sentence = "the surplus is not what the chosen transfers exceed the total by";
            self.grounds.decided.differs("surplus", sentence, findings);
        }
    }

    /// The records named, and the receipt's place among the provider's.
    fn what_it_rests_on(&self, confirmed: &Confirmed, findings: &mut Findings) {
        let records = SettlementRecords {
            request: self.grounds.deal.opening.record.hash,
            offer: self.grounds.deal.offer.record.hash,
            accept: self.grounds.deal.acceptance.record.hash,
            result: self.delivery.record.hash,
            verify: self.verification.hash,
            payments: self.settlement.payments.iter().map(|p| p.hash).collect(),
        };
        let (spot, cause) = (self.grounds.decided.spot, Cause::ReDecisionDiffers);
        agree(
            spot,
            "records",
            cause,
            &confirmed.records,
            &records,
            findings,
        );
        let decided = self.grounds.decided;
        if decided.leaves(Unchecked::ReceiptNumbers, findings) {
            return;
        }
        let provider = decided.before.agent(self.grounds.deal.opening.provider);
        let (seq, prev): (u64, Option<Digest>) =
            provider.map_or((0, None), |agent| (agent.receipts, agent.last_receipt));
        if (confirmed.provider_seq, confirmed.provider_prev) != (seq, prev) {
            let sentence = format!("it is the provider's receipt number {seq}, after its last one");
            self.grounds
                .decided
                .differs("provider_seq", sentence, findings);
        }
    }
}
