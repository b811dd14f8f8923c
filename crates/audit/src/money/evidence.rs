//! Evidence against what it is evidence for: shared by what was decided while an interaction lived
//! and by what was recorded once it was over (ledger-contract.md section 5).

use x811_protocol::event::{Claim, Evidence, Level, PayerBinding};
use x811_protocol::observation::{Block, Transfer};
use x811_protocol::parameters::Network;
use x811_protocol::settlement::claim::{Candidate, Due};
use x811_protocol::settlement::{Declared, DeclaredStanding};

use crate::finding::findings::{Cause, Findings};
use crate::money::authorization;
use crate::money::grounds::Grounds;

/// Height of the head that a depth was counted from.
pub(crate) fn head_of(evidence: &Evidence) -> u64 {
    let below = evidence.depth.saturating_sub(1);
    evidence.block.number.saturating_add(below)
}

/// Whether `head` can stand on `block`, which is at its height or below.
pub(crate) fn stands_on(head: &Block, block: &Block) -> bool {
    let is_same_height = head.number == block.number;
    (!is_same_height || head.hash == block.hash)
        && head.number >= block.number
        && head.timestamp_s >= block.timestamp_s
}

impl Grounds<'_> {
    /// Network, depth and level, and transfers from the payer to who is to be paid.
    pub(crate) fn evidence_holds(
        &self,
        field: &str,
        evidence: &Evidence,
        declared: &Declared,
        findings: &mut Findings,
    ) {
        let seen_there = match declared.standing {
            DeclaredStanding::Seen(block) => block == evidence.block,
            DeclaredStanding::Unseen | DeclaredStanding::Gone(_) => false,
            DeclaredStanding::Refuted(_) => true,
        };
        if !seen_there {
            let sentence = "the transaction was not seen in that block before";
            self.no_evidence(&format!("{field}.block"), sentence, findings);
        }
        if evidence.network != self.bill.network.name {
            let sentence = "the evidence is from another network than the payment's";
            self.no_evidence(&format!("{field}.network"), sentence, findings);
        }
        let due_depth = self.bill.network.confirmed_depth;
        if evidence.depth < due_depth || evidence.level < Level::Confirmed {
            let sentence = format!(
                "{} blocks deep, {due_depth} are needed before anything is decided",
                evidence.depth
            );
            self.no_evidence(&format!("{field}.depth"), sentence, findings);
        }
        self.seen_by_enough(field, evidence, findings);
        self.fork_holds(field, evidence, findings);
        authorization::check(self, field, evidence, declared, findings);
        let field = format!("{field}.transfers");
        let beyond = |transfer: &Transfer| transfer.ordinal >= evidence.transfer_count;
        if evidence.transfers.iter().any(beyond) {
            let sentence = "a transfer is counted beyond the transaction's transfers";
            self.no_evidence(&field, sentence, findings);
        }
        self.transfers_fit(&field, declared, &evidence.transfers, findings);
    }

    /// The fork of a recorded head that is on another branch is named.
    fn fork_holds(&self, field: &str, evidence: &Evidence, findings: &mut Findings) {
        if let Some(sentence) = self.bill.fork_fault(evidence) {
            let member = if evidence.fork_unknown {
                "fork_unknown"
            } else {
                "forked_at"
            };
            self.no_evidence(&format!("{field}.{member}"), sentence, findings);
        }
    }

    /// Configured endpoints, each once, say so, as many as must by now.
    fn seen_by_enough(&self, field: &str, evidence: &Evidence, findings: &mut Findings) {
        let field = format!("{field}.endpoints");
        let endpoints = &evidence.endpoints;
        let mut distinct: Vec<&String> = endpoints.iter().collect();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < endpoints.len() {
            let sentence = "an endpoint is named twice, and each speaks once";
            self.no_evidence(&field, sentence, findings);
        }
        // Where depth was raised since the interaction began, the watcher took what is not deep
        // by now from the blocks that it had kept.
        let in_force = self.in_force();
        let was_kept = in_force.is_some_and(|network| evidence.depth < network.confirmed_depth);
        let quorum = in_force.and_then(|network| network.endpoint_quorum);
        if endpoints.is_empty() && !was_kept {
            let sentence = "no endpoint says so";
            self.no_evidence(&field, sentence, findings);
        } else if let Some(quorum) = quorum
            && (endpoints.len() as u64) < quorum
            && !was_kept
        {
            let sentence =
                format!("fewer than {quorum} endpoints say so, which the parameters ask for");
            self.no_evidence(&field, sentence, findings);
        }
    }

    /// What a decision rests on was seen at one head: of each claimed transaction, once, in order of
    /// declaration.
    pub(crate) fn seen_together(
        &self,
        claims: &[Claim],
        evidence: &[Evidence],
        findings: &mut Findings,
    ) {
        let is_claimed = |declared: &&Declared| {
            let mut claims = claims.iter();
            claims.any(|claim| claim.tx_hash == declared.tx_hash)
        };
        let due = self.declared.iter().filter(is_claimed);
        let shown = evidence.iter().map(|evidence| evidence.tx_hash);
        if !due.map(|declared| declared.tx_hash).eq(shown) {
            let sentence = "evidence is of every claimed transaction, in order of declaration";
            self.decided.differs("evidence", sentence, findings);
        }
        for (index, two) in evidence.windows(2).enumerate() {
            let field = format!("evidence[{}]", index + 1);
            if head_of(&two[0]) != head_of(&two[1]) {
                let sentence = "the depths are not counted from one head";
                self.no_evidence(&format!("{field}.depth"), sentence, findings);
            }
            if !are_of_one_branch(&two[0], &two[1]) {
                let sentence = "no branch has both this block and the one before";
                self.no_evidence(&format!("{field}.block"), sentence, findings);
            }
        }
    }

    pub(crate) fn transfers_fit(
        &self,
        field: &str,
        declared: &Declared,
        transfers: &[Transfer],
        findings: &mut Findings,
    ) {
        let fits = |transfer: &Transfer| {
            let Due {
                payee, treasury, ..
            } = self.bill.due;
            let to_us = transfer.to == payee || Some(transfer.to) == treasury;
            transfer.from == declared.payer && to_us && !transfer.amount.is_zero()
        };
        if !transfers.iter().all(fits) {
            let sentence = "a transfer is not from the declared payer to payee or treasury";
            self.no_evidence(field, sentence, findings);
        }
        let by_authorization = declared.binding == PayerBinding::Authorization;
        if by_authorization && !authorization::is_used_once(self, transfers) {
            let sentence = "an authorization moves one transfer, and more are shown for it";
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

    pub(crate) fn not_older_than_accept(
        &self,
        field: &str,
        evidence: &Evidence,
        findings: &mut Findings,
    ) {
        // What was made under the interaction's own nonce was made for it.
        let is_own = || authorization::is_own(self, evidence);
        if self.bill.is_shown_older(evidence) && !is_own() {
            let sentence = "the transaction is older than the ACCEPT, so it pays something else";
            self.no_evidence(&format!("{field}.block"), sentence, findings);
        }
    }

    pub(crate) fn claims_are_shown(
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
            if !shown || claim.chain_id != self.bill.network.chain_id {
                let sentence = format!(
                    "transfer {} of {} is claimed, but no evidence shows it",
                    claim.ordinal, claim.tx_hash
                );
                self.no_evidence(&format!("claims[{index}]"), sentence, findings);
            }
        }
    }

    /// Whether more than one endpoint must have shown a transaction.
    pub(crate) fn waits_for_endpoints(&self) -> bool {
        let quorum = self.in_force().and_then(|network| network.endpoint_quorum);
        quorum.is_some_and(|quorum| quorum > 1)
    }

    /// The network as it is set now: the interaction began under `network`.
    fn in_force(&self) -> Option<&Network> {
        let (_, set) = self.decided.before.parameters()?;
        set.network(&self.bill.network.name)
    }

    /// Unclaimed transfers shown, in order of declaration.
    pub(crate) fn candidates(&self, evidence: &[Evidence]) -> Vec<Candidate> {
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
    pub(crate) fn claims(&self, chosen: &[Candidate]) -> Vec<Claim> {
        chosen
            .iter()
            .map(|candidate| self.claim(candidate))
            .collect()
    }

    /// What claiming one is.
    pub(crate) fn claim(&self, candidate: &Candidate) -> Claim {
        self.bill.claim(candidate.tx_hash, candidate.ordinal)
    }

    pub(crate) fn no_evidence(
        &self,
        field: &str,
        sentence: impl Into<String>,
        findings: &mut Findings,
    ) {
        findings.add(self.decided.spot, field, Cause::NoEvidence, sentence);
    }
}

/// Whether both blocks can be below one head, and the lower as sure as the higher.
pub(crate) fn are_of_one_branch(one: &Evidence, other: &Evidence) -> bool {
    let (low, high) = if one.block.number <= other.block.number {
        (one, other)
    } else {
        (other, one)
    };
    let is_same_height = low.block.number == high.block.number;
    stands_on(&high.block, &low.block)
        && low.level >= high.level
        && (!is_same_height || low.level == high.level)
}
