//! Evidence against what it is evidence for: shared by what was decided while an interaction lived
//! and by what was recorded once it was over (ledger-contract.md section 5).

use x811_protocol::event::{Claim, Evidence, Level};
use x811_protocol::interaction::claim::{Candidate, Due};
use x811_protocol::interaction::{Deal, Declared, Standing};
use x811_protocol::observation::{Block, Transfer};
use x811_protocol::parameters::Network;
use x811_protocol::time::TimestampMs;

use super::decision::Decided;
use super::finding::{Cause, Findings};

/// The ACCEPT's clock and a block's may differ by this much.
const ACCEPT_SLACK_MS: u64 = 2_000;

/// What a record about payments must fit.
#[derive(Clone, Copy)]
pub(super) struct Grounds<'a> {
    pub(super) decided: &'a Decided<'a>,
    pub(super) deal: &'a Deal,
    pub(super) network: &'a Network,
    /// Every declared transaction, in order of declaration.
    pub(super) declared: &'a [Declared],
}

impl Grounds<'_> {
    /// Network, depth and level, and transfers from the payer to who is to be paid.
    pub(super) fn evidence_holds(
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
        if evidence.network != self.network.name {
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
        let field = format!("{field}.transfers");
        let beyond = |transfer: &Transfer| transfer.ordinal >= evidence.transfer_count;
        if evidence.transfers.iter().any(beyond) {
            let sentence = "a transfer is counted beyond the transaction's transfers";
            self.no_evidence(&field, sentence, findings);
        }
        self.transfers_fit(&field, declared, &evidence.transfers, findings);
    }

    pub(super) fn transfers_fit(
        &self,
        field: &str,
        declared: &Declared,
        transfers: &[Transfer],
        findings: &mut Findings,
    ) {
        let fits = |transfer: &Transfer| {
            let to_us =
                transfer.to == self.deal.offer.payee || Some(transfer.to) == self.network.treasury;
            transfer.from == declared.payer && to_us && !transfer.amount.is_zero()
        };
        if !transfers.iter().all(fits) {
            let sentence = "a transfer is not from the declared payer to payee or treasury";
            self.no_evidence(field, sentence, findings);
        }
        let in_order = transfers
            .windows(2)
            .all(|two| two[0].ordinal < two[1].ordinal);
        if !in_order {
            let sentence = "transfers are not in order of their ordinals";
            self.no_evidence(field, sentence, findings);
        }
    }

    pub(super) fn not_older_than_accept(
        &self,
        field: &str,
        evidence: &Evidence,
        findings: &mut Findings,
    ) {
        if self.is_older_than_accept(&evidence.block) {
            let sentence = "the transaction is older than the ACCEPT, so it pays something else";
            self.no_evidence(&format!("{field}.block"), sentence, findings);
        }
    }

    pub(super) fn claims_are_shown(
        &self,
        claims: &[Claim],
        evidence: &[Evidence],
        findings: &mut Findings,
    ) {
        for (index, claim) in claims.iter().enumerate() {
            let shown = evidence.iter().any(|evidence| {
                let mut ordinals = evidence.transfers.iter().map(|transfer| transfer.ordinal);
                evidence.tx_hash == claim.tx_hash && ordinals.any(|known| known == claim.ordinal)
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

    pub(super) fn due(&self) -> Due {
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
    pub(super) fn candidates(&self, evidence: &[Evidence]) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for declared in self.declared {
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

    /// What claiming them is.
    pub(super) fn claims(&self, chosen: &[Candidate]) -> Vec<Claim> {
        chosen
            .iter()
            .map(|candidate| self.claim(candidate))
            .collect()
    }

    /// What claiming one is.
    pub(super) fn claim(&self, candidate: &Candidate) -> Claim {
        Claim {
            chain_id: self.network.chain_id,
            tx_hash: candidate.tx_hash,
            ordinal: candidate.ordinal,
        }
    }

    pub(super) fn is_older_than_accept(&self, block: &Block) -> bool {
        let acceptance = &self.deal.acceptance;
        let head = acceptance
            .heads
            .iter()
            .find(|head| head.network == self.network.name);
        match head {
            Some(head) => block.number <= head.number,
            None => {
                let block_at = TimestampMs::new(block.timestamp_s.saturating_mul(1_000));
                block_at < acceptance.at.saturating_sub_ms(ACCEPT_SLACK_MS)
            }
        }
    }

    pub(super) fn no_evidence(
        &self,
        field: &str,
        sentence: impl Into<String>,
        findings: &mut Findings,
    ) {
        findings.add(self.decided.spot, field, Cause::NoEvidence, sentence);
    }
}
