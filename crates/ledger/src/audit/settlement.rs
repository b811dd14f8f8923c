//! Payments, decided again from the evidence in the log (ledger-contract.md section 5). What the
//! watcher saw is the ledger's word; whether it is enough, everybody can compute.

use x811_protocol::digest::Digest;
use x811_protocol::event::{
    Claim, Confirmed, Event, Evidence, FindingStatus, Level, Looked, Refuted, RefutedCause, Seen,
    SettlementRecords,
};
use x811_protocol::evm::TxHash;
use x811_protocol::interaction::claim::{Candidate, Due, choose};
use x811_protocol::interaction::{
    Deal, Declared, Delivery, RecordRef, Settlement, Stage, Standing, State,
};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{Block, Transfer};
use x811_protocol::parameters::Network;
use x811_protocol::time::TimestampMs;

use super::body::agree;
use super::decision::Decided;
use super::finding::{Cause, Findings};
use crate::stream::Stream;

/// The ACCEPT's clock and a block's may differ by this much.
const ACCEPT_SLACK_MS: u64 = 2_000;

/// Fewer transfers than this in evidence are all there are that fit: 64 shared among at most eight
/// declared transactions.
const TRANSFERS_QUOTED_EACH: usize = 8;

/// Checks `seen`, `looked`, `refuted` and `confirmed` against what they rest on.
pub(super) fn check(decided: &Decided<'_>, findings: &mut Findings) {
    let Stream::Interaction(id) = decided.stream else {
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
        decided,
        deal,
        delivery,
        verification,
        settlement,
        network,
    };
    if let Event::Seen(seen) = decided.event {
        payment.seen(seen, findings);
    } else if let Event::Looked(looked) = decided.event {
        payment.looked(looked, findings);
    } else if let Event::Refuted(refuted) = decided.event {
        payment.refuted(refuted, findings);
    } else if let Event::Confirmed(confirmed) = decided.event {
        payment.confirmed(confirmed, findings);
    }
}

/// A payment being watched, and a record about it.
struct Payment<'a> {
    decided: &'a Decided<'a>,
    deal: &'a Deal,
    delivery: &'a Delivery,
    verification: &'a RecordRef,
    settlement: &'a Settlement,
    network: &'a Network,
}

impl Payment<'_> {
    fn seen(&self, seen: &Seen, findings: &mut Findings) {
        if let Some(declared) = self.settlement.declared(seen.tx_hash) {
            self.transfers_fit(declared, &seen.transfers, findings);
        }
    }

    fn looked(&self, looked: &Looked, findings: &mut Findings) {
        let head_at = TimestampMs::new(looked.head.timestamp_s.saturating_mul(1_000));
        if self.decided.at.since(head_at) >= self.network.fresh_ms {
            let sentence = "the head that answered the look was not fresh";
            self.decided.differs("head", sentence, findings);
        }
        let declared = &self.settlement.declared;
        let asked: Vec<TxHash> = looked.finding.iter().map(|found| found.tx_hash).collect();
        let due: Vec<TxHash> = declared.iter().map(|declared| declared.tx_hash).collect();
        if asked != due {
            let sentence = "a look answers for every declared transaction, in their order";
            self.decided.differs("finding", sentence, findings);
            return;
        }
        for (index, (found, declared)) in looked.finding.iter().zip(declared).enumerate() {
            let field = format!("finding[{index}]");
            let refuted = matches!(declared.standing, Standing::Refuted(_));
            if refuted != (found.status == FindingStatus::Refuted) {
                let sentence = "what the look says of the transaction is not how it stood";
                self.decided.differs(&field, sentence, findings);
            }
            let depth = match declared.standing {
                Standing::Seen(block) if found.status != FindingStatus::NotFound => {
                    Some(depth_under(looked.head, block))
                }
                Standing::Seen(_) | Standing::Unseen | Standing::Gone(_) | Standing::Refuted(_) => {
                    continue;
                }
            };
            if found.depth != depth {
                let sentence =
                    "the depth does not follow from the head and the block it was seen in";
                self.decided.differs(&field, sentence, findings);
            }
        }
    }

    fn refuted(&self, refuted: &Refuted, findings: &mut Findings) {
        let Some(declared) = self.settlement.declared(refuted.tx_hash) else {
            return;
        };
        let evidence = &refuted.evidence;
        if evidence.tx_hash != refuted.tx_hash {
            let sentence = "the evidence is of another transaction";
            self.no_evidence("evidence.tx_hash", sentence, findings);
            return;
        }
        self.evidence_holds("evidence", evidence, declared, findings);
        if !self.shows(evidence, refuted.cause) {
            let sentence = "what was seen does not show the cause that is named";
            self.decided.differs("cause", sentence, findings);
        }
    }

    /// Whether a transaction fails as is said, as far as the quoted transfers tell.
    fn shows(&self, evidence: &Evidence, cause: RefutedCause) -> bool {
        let older = self.is_older_than_accept(&evidence.block);
        let nothing_fits = evidence.transfers.is_empty();
        let unclaimed = self.candidates(std::slice::from_ref(evidence));
        match cause {
            RefutedCause::Reverted => nothing_fits && evidence.transfer_count == 0,
            RefutedCause::OlderThanAccept => older,
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
                !older && something_left && choose(&self.due(), &unclaimed).is_none()
            }
        }
    }

    fn confirmed(&self, confirmed: &Confirmed, findings: &mut Findings) {
        for (index, evidence) in confirmed.evidence.iter().enumerate() {
            let field = format!("evidence[{index}]");
            match self.settlement.declared(evidence.tx_hash) {
                Some(declared) => {
                    self.evidence_holds(&field, evidence, declared, findings);
                    self.pays_in_time(&field, evidence, findings);
                }
                None => {
                    let sentence = "it is of a transaction that no PAYMENT declared";
                    self.no_evidence(&field, sentence, findings);
                }
            }
        }
        self.claims_are_shown(confirmed, findings);
        self.choice(confirmed, findings);
        self.what_it_rests_on(confirmed, findings);
    }

    /// Network, depth and level, and transfers from the payer to who is to be paid.
    fn evidence_holds(
        &self,
        field: &str,
        evidence: &Evidence,
        declared: &Declared,
        findings: &mut Findings,
    ) {
        let seen_there = match declared.standing {
            Standing::Seen(block) => block == evidence.block,
            Standing::Unseen | Standing::Gone(_) => false,
            Standing::Refuted(_) => true,
        };
        if !seen_there {
            let sentence = "the transaction was not seen in that block before";
            self.no_evidence(&format!("{field}.block"), sentence, findings);
        }
        if evidence.network != self.settlement.network {
            let sentence = "the evidence is from another network than the payment's";
            self.no_evidence(&format!("{field}.network"), sentence, findings);
        }
        let due_depth = self.network.confirmed_depth;
        if evidence.depth < due_depth || evidence.level < Level::Confirmed {
            let sentence = format!(
                "{} blocks deep, {due_depth} are needed before anything is decided",
                evidence.depth
            );
            self.no_evidence(&format!("{field}.depth"), sentence, findings);
        }
        let beyond = |transfer: &Transfer| transfer.ordinal >= evidence.transfer_count;
        if evidence.transfers.iter().any(beyond) {
            let sentence = "a transfer is counted beyond the transaction's transfers";
            self.no_evidence(&format!("{field}.transfers"), sentence, findings);
        }
        self.transfers_fit(declared, &evidence.transfers, findings);
    }

    fn pays_in_time(&self, field: &str, evidence: &Evidence, findings: &mut Findings) {
        if self.is_older_than_accept(&evidence.block) {
            let sentence = "the transaction is older than the ACCEPT, so it pays something else";
            self.no_evidence(&format!("{field}.block"), sentence, findings);
        }
        let total = self.deal.offer.total;
        let needs_safe = self.network.safe_above.is_some_and(|limit| total > limit);
        if needs_safe && evidence.level < Level::Safe {
            let sentence = "a total of this size waits for level safe";
            self.no_evidence(&format!("{field}.level"), sentence, findings);
        }
    }

    fn transfers_fit(&self, declared: &Declared, transfers: &[Transfer], findings: &mut Findings) {
        let fits = |transfer: &Transfer| {
            let to_us =
                transfer.to == self.deal.offer.payee || Some(transfer.to) == self.network.treasury;
            transfer.from == declared.payer && to_us && !transfer.amount.is_zero()
        };
        if !transfers.iter().all(fits) {
            let sentence = "a transfer is not from the declared payer to payee or treasury";
            self.no_evidence("transfers", sentence, findings);
        }
        let in_order = transfers
            .windows(2)
            .all(|two| two[0].ordinal < two[1].ordinal);
        if !in_order {
            let sentence = "transfers are not in order of their ordinals";
            self.no_evidence("transfers", sentence, findings);
        }
    }

    fn claims_are_shown(&self, confirmed: &Confirmed, findings: &mut Findings) {
        for (index, claim) in confirmed.claims.iter().enumerate() {
            let shown = confirmed.evidence.iter().any(|evidence| {
                evidence.tx_hash == claim.tx_hash
                    && evidence
                        .transfers
                        .iter()
                        .any(|t| t.ordinal == claim.ordinal)
            });
            if !shown || claim.chain_id != self.network.chain_id {
                let sentence = format!(
                    "transfer {} of {} is claimed, but no evidence shows it",
                    claim.ordinal, claim.tx_hash
                );
                self.no_evidence(&format!("claims[{index}]"), sentence, findings);
            }
        }
    }

    /// The choice of claims, made again over the transfers that the evidence shows.
    fn choice(&self, confirmed: &Confirmed, findings: &mut Findings) {
        let chosen = if self.deal.offer.total.is_zero() {
            Some(Vec::new())
        } else {
            choose(&self.due(), &self.candidates(&confirmed.evidence))
        };
        let Some(chosen) = chosen else {
            let total = self.deal.offer.total.to_usdc_decimal();
            let sentence = format!("the transfers shown do not cover the total of {total} USDC");
            self.no_evidence("evidence", sentence, findings);
            return;
        };
        let claims: Vec<Claim> = chosen.iter().map(|c| self.claim(c)).collect();
        if claims != confirmed.claims {
            let sentence = "the rules choose other transfers from this evidence";
            self.decided.differs("claims", sentence, findings);
        }
        if self.surplus(&chosen) != confirmed.surplus {
            let sentence = "the surplus is not what the chosen transfers exceed the total by";
            self.decided.differs("surplus", sentence, findings);
        }
    }

    fn surplus(&self, chosen: &[Candidate]) -> Option<MicroUsdc> {
        let paid: u128 = chosen
            .iter()
            .map(|c| u128::from(c.amount.as_micro_usdc()))
            .sum();
        let surplus = paid.saturating_sub(u128::from(self.deal.offer.total.as_micro_usdc()));
        let surplus = u64::try_from(surplus)
            .ok()
            .and_then(|surplus| MicroUsdc::from_micro_usdc(surplus).ok())
            .unwrap_or(MicroUsdc::MAX);
        Some(surplus).filter(|surplus| !surplus.is_zero())
    }

    /// The records named, and the receipt's place among the provider's.
    fn what_it_rests_on(&self, confirmed: &Confirmed, findings: &mut Findings) {
        let records = SettlementRecords {
            request: self.deal.opening.record.hash,
            offer: self.deal.offer.record.hash,
            accept: self.deal.acceptance.record.hash,
            result: self.delivery.record.hash,
            verify: self.verification.hash,
            payments: self.settlement.payments.iter().map(|p| p.hash).collect(),
        };
        let (spot, cause) = (self.decided.spot, Cause::ReDecisionDiffers);
        agree(
            spot,
            "records",
            cause,
            &confirmed.records,
            &records,
            findings,
        );
        let provider = self.decided.before.agent(self.deal.opening.provider);
        let (seq, prev): (u64, Option<Digest>) =
            provider.map_or((0, None), |agent| (agent.receipts, agent.last_receipt));
        if (confirmed.provider_seq, confirmed.provider_prev) != (seq, prev) {
            let sentence = format!("it is the provider's receipt number {seq}, after its last one");
            self.decided.differs("provider_seq", sentence, findings);
        }
    }

    fn due(&self) -> Due {
        let offer = &self.deal.offer;
        Due {
            price: offer.price,
            protocol_fee: offer.protocol_fee,
            total: offer.total,
            payee: offer.payee,
            treasury: self.network.treasury,
        }
    }

    /// Unclaimed transfers shown, in order of declaration.
    fn candidates(&self, evidence: &[Evidence]) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for declared in &self.settlement.declared {
            let Some(shown) = evidence.iter().find(|e| e.tx_hash == declared.tx_hash) else {
                continue;
            };
            candidates.extend(shown.transfers.iter().map(|transfer| Candidate {
                tx_hash: declared.tx_hash,
                ordinal: transfer.ordinal,
                to: transfer.to,
                amount: transfer.amount,
            }));
        }
        candidates.retain(|candidate| self.decided.used.claimed(&self.claim(candidate)).is_none());
        candidates
    }

    fn claim(&self, candidate: &Candidate) -> Claim {
        Claim {
            chain_id: self.network.chain_id,
            tx_hash: candidate.tx_hash,
            ordinal: candidate.ordinal,
        }
    }

    fn is_older_than_accept(&self, block: &Block) -> bool {
        let acceptance = &self.deal.acceptance;
        let head = acceptance
            .heads
            .iter()
            .find(|head| head.network == self.settlement.network);
        match head {
            Some(head) => block.number <= head.number,
            None => {
                let block_at = TimestampMs::new(block.timestamp_s.saturating_mul(1_000));
                block_at < acceptance.at.saturating_sub_ms(ACCEPT_SLACK_MS)
            }
        }
    }

    fn no_evidence(&self, field: &str, sentence: impl Into<String>, findings: &mut Findings) {
        findings.add(self.decided.spot, field, Cause::NoEvidence, sentence);
    }
}

fn depth_under(head: Block, block: Block) -> u64 {
    (head.number + 1).saturating_sub(block.number)
}
