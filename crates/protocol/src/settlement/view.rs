//! The declared transactions of one bill against one sweep: what both a schedule and the aftermath go
//! by.
//!
//! Source: ledger-contract.md section 5, settlement-watcher.md rules 11 to 20.

use super::age::Age;
use super::claim::Candidate;
use super::level::stands_in;
use super::{Bill, Context, Declared, Fit, Nonces};
use crate::event::{Claim, Evidence, Level, RevertReason};
use crate::evm::TxHash;
use crate::observation::{
    Block, Hindrance, MinedTransaction, RecordedBranch, Sweep, TransactionStatus, Transfer,
};
use crate::parameters::FinalBy;
use std::collections::BTreeSet;

/// Most transfers that one event quotes beside the claimed ones, and most that it claims; with eight
/// declared transactions a leaf stays in bounds.
pub(crate) const TRANSFERS_QUOTED: usize = 64;

/// One bill against one sweep.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) bill: &'a Bill<'a>,
    pub(crate) own: Nonces,
    /// Every declared transaction, in order of declaration.
    pub(crate) declared: &'a [Declared],
    pub(crate) sweep: &'a Sweep,
    pub(crate) context: &'a Context<'a>,
}

impl<'a> View<'a> {
    /// Unclaimed fitting transfers of everything deep enough, in order of (declaration, ordinal).
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (declared, mined) in self.paying() {
            candidates.extend(self.unclaimed(declared, mined).map(|transfer| Candidate {
                tx_hash: declared.tx_hash,
                ordinal: transfer.ordinal,
                to: transfer.to,
                amount: transfer.amount,
            }));
        }
        candidates
    }

    /// Declared transactions that may pay: deep enough, and not too old.
    pub(crate) fn paying(&self) -> impl Iterator<Item = (&'a Declared, &'a MinedTransaction)> {
        let view = *self;
        self.declared.iter().filter_map(move |declared| {
            let mined = view.mined(declared.tx_hash)?;
            let pays = mined.succeeded
                && view.is_deep(mined)
                && view.age_of(declared, mined) == Age::Young;
            pays.then_some((declared, mined))
        })
    }

    /// Evidence of every transaction that a chosen transfer is in, quoting `only` these where it says
    /// which.
    pub(crate) fn evidence_of(
        &self,
        chosen: &[Candidate],
        only: Option<&BTreeSet<(TxHash, u64)>>,
    ) -> Vec<Evidence> {
        let is_chosen = |tx_hash| chosen.iter().any(|candidate| candidate.tx_hash == tx_hash);
        self.declared
            .iter()
            .filter(|declared| is_chosen(declared.tx_hash))
            .filter_map(|declared| {
                let mined = self.mined(declared.tx_hash)?;
                let mut evidence = self.evidence(declared, mined, chosen);
                if let Some(only) = only {
                    let fitting = self.fitting(declared, mined);
                    let quoted =
                        fitting.filter(|it| only.contains(&(declared.tx_hash, it.ordinal)));
                    evidence.transfers = self.under(mined, quoted.copied());
                }
                Some(evidence)
            })
            .collect()
    }

    /// The chosen transfers, bound.
    pub(crate) fn claims(&self, chosen: &[Candidate]) -> Vec<Claim> {
        let claim = |candidate: &Candidate| self.bill.claim(candidate.tx_hash, candidate.ordinal);
        chosen.iter().map(claim).collect()
    }

    pub(crate) fn evidence(
        &self,
        declared: &Declared,
        mined: &MinedTransaction,
        chosen: &[Candidate],
    ) -> Evidence {
        let fork = self.fork_below(mined);
        Evidence {
            network: self.bill.network.name.clone(),
            tx_hash: declared.tx_hash,
            block: mined.block,
            depth: self.sweep.depth_of(&mined.block),
            level: self.level(mined),
            endpoints: mined.endpoints.clone(),
            forked_at: fork.and_then(|fork| match fork {
                RecordedBranch::Forked(fork) => Some(fork),
                RecordedBranch::Same | RecordedBranch::Lost => None,
            }),
            fork_unknown: fork == Some(RecordedBranch::Lost),
            transfers: self.under(mined, self.quoted(declared, mined, chosen)),
            transfer_count: mined.transfers.len() as u64,
        }
    }

    /// The transfers, each with what it was made under.
    fn under(
        &self,
        mined: &MinedTransaction,
        transfers: impl IntoIterator<Item = Transfer>,
    ) -> Vec<Transfer> {
        let nonce = |ordinal| mined.authorizations.get(&ordinal).copied();
        let named = transfers.into_iter().map(|transfer| Transfer {
            authorization_nonce: nonce(transfer.ordinal),
            ..transfer
        });
        named.collect()
    }

    pub(crate) fn level(&self, mined: &MinedTransaction) -> Level {
        let at_or_below = |head: Option<u64>| head.is_some_and(|head| mined.block.number <= head);
        if !self.is_deep(mined) {
            Level::Seen
        } else if at_or_below(self.finalized().map(|head| head.number)) {
            Level::Final
        } else if at_or_below(self.safe_number()) {
            Level::Safe
        } else {
            Level::Confirmed
        }
    }

    pub(crate) fn is_safe(&self, mined: &MinedTransaction) -> bool {
        let names_none = self.safe_number().is_none() && self.finalized().is_none();
        self.level(mined) >= Level::Safe || (names_none && self.stands_in(mined))
    }

    /// Whether its depth stands in for a level that no endpoint names.
    pub(crate) fn stands_in(&self, mined: &MinedTransaction) -> bool {
        stands_in(self.bill.network, self.sweep.depth_of(&mined.block))
    }

    /// Finalized head; `None` if depth alone counts.
    pub(crate) fn finalized(&self) -> Option<Block> {
        self.sweep.finalized.filter(|_| self.counts_named_heads())
    }

    fn safe_number(&self) -> Option<u64> {
        self.sweep.safe_number.filter(|_| self.counts_named_heads())
    }

    fn counts_named_heads(&self) -> bool {
        self.bill.network.final_by != Some(FinalBy::Depth)
    }

    pub(crate) fn mined(&self, tx_hash: TxHash) -> Option<&'a MinedTransaction> {
        match self.sweep.transactions.get(&tx_hash)? {
            TransactionStatus::Mined(mined) => Some(mined),
            TransactionStatus::NotFound => None,
        }
    }

    pub(crate) fn is_deep(&self, mined: &MinedTransaction) -> bool {
        self.sweep.depth_of(&mined.block) >= self.bill.network.confirmed_depth
            && self.has_quorum(mined)
    }

    /// Whether as many endpoints say so as must by now. Of what is not deep by now either the watcher
    /// knows from the blocks that it had kept.
    fn has_quorum(&self, mined: &MinedTransaction) -> bool {
        let in_force = self.context.parameters.network(&self.bill.network.name);
        let quorum = in_force.and_then(|network| {
            let is_deep = self.sweep.depth_of(&mined.block) >= network.confirmed_depth;
            network.endpoint_quorum.filter(|_| is_deep)
        });
        quorum.is_none_or(|quorum| mined.endpoints.len() as u64 >= quorum)
    }

    /// Why the token moved nothing, where that is said of this payment's payer or payee.
    pub(crate) fn revert_reason(
        &self,
        declared: &Declared,
        mined: &MinedTransaction,
    ) -> Option<RevertReason> {
        match mined.hindrance.filter(|_| !mined.succeeded)? {
            Hindrance::Paused => Some(RevertReason::TokenPaused),
            Hindrance::Blacklisted(account) if account == declared.payer => {
                Some(RevertReason::PayerBlacklisted)
            }
            Hindrance::Blacklisted(account) if account == self.bill.due.payee => {
                Some(RevertReason::PayeeBlacklisted)
            }
            Hindrance::Blacklisted(_) => None,
        }
    }

    /// Whether something in it can pay, as it is no older than the bill. What was made under the bill's
    /// own authorization was made for it, whatever its block.
    pub(crate) fn age_of(&self, declared: &Declared, mined: &MinedTransaction) -> Age {
        match self.age(mined) {
            Age::Young => Age::Young,
            Age::Old | Age::Open if self.authorized(self.fit(declared), mined).next().is_some() => {
                Age::Young
            }
            older @ (Age::Old | Age::Open) => older,
        }
    }

    /// Block number at or below the head recorded with the bill, and by the fork where that head is on
    /// another branch; without one, by the clock.
    fn age(&self, mined: &MinedTransaction) -> Age {
        if !self.bill.is_older(&mined.block) {
            return Age::Young;
        }
        let head = self.bill.recorded_head();
        match head {
            Some(head) => Age::below(&mined.block, self.sweep.branch_of(head)),
            None => Age::Old,
        }
    }

    /// Where the head recorded with the bill stands, if the block is at its height or below and it is
    /// on another branch.
    fn fork_below(&self, mined: &MinedTransaction) -> Option<RecordedBranch> {
        let head = self.bill.recorded_head()?;
        let is_below = mined.block.number <= head.number;
        let branch = self.sweep.branch_of(head).filter(|_| is_below);
        branch.filter(|branch| *branch != RecordedBranch::Same)
    }

    /// Fitting transfers that were made under the bill's own authorization.
    fn authorized<'v>(
        &self,
        fit: Fit,
        mined: &'v MinedTransaction,
    ) -> impl Iterator<Item = &'v Transfer> + use<'v> {
        mined.transfers.iter().filter(move |transfer| {
            let nonce = mined.authorizations.get(&transfer.ordinal);
            nonce.is_some() && fit.takes(transfer, nonce)
        })
    }

    /// Fitting transfers that pay nothing yet, in order of ordinal.
    pub(crate) fn unclaimed<'v>(
        &'v self,
        declared: &'v Declared,
        mined: &'v MinedTransaction,
    ) -> impl Iterator<Item = &'v Transfer> {
        self.fitting(declared, mined)
            .filter(|transfer| !self.is_claimed(declared.tx_hash, transfer.ordinal))
    }

    /// Fitting transfers in order of ordinal: all chosen ones, and as many more as an event may
    /// quote.
    pub(crate) fn quoted(
        &self,
        declared: &Declared,
        mined: &MinedTransaction,
        chosen: &[Candidate],
    ) -> Vec<Transfer> {
        let is_chosen = |transfer: &Transfer| {
            chosen
                .iter()
                .any(|c| (c.tx_hash, c.ordinal) == (declared.tx_hash, transfer.ordinal))
        };
        let fitting = self.fitting(declared, mined);
        let share = TRANSFERS_QUOTED / self.declared.len().max(1);
        let mut room = share.saturating_sub(fitting.clone().filter(|t| is_chosen(t)).count());
        fitting
            .filter(|transfer| {
                let has_room = room > 0;
                if !is_chosen(transfer) {
                    room = room.saturating_sub(1);
                }
                is_chosen(transfer) || has_room
            })
            .copied()
            .collect()
    }

    /// Which transfers of a declared transaction can pay.
    pub(crate) fn fit(&self, declared: &Declared) -> Fit {
        self.bill.fit(self.own, declared)
    }

    /// The transfers of a declared transaction that can pay, in order of ordinal. Of one that is
    /// older than the bill, those made under the bill's own authorization alone, where there are such.
    pub(crate) fn fitting<'v>(
        &self,
        declared: &Declared,
        mined: &'v MinedTransaction,
    ) -> impl Iterator<Item = &'v Transfer> + Clone {
        let fit = self.fit(declared);
        let authorized_alone =
            self.age(mined) != Age::Young && self.authorized(fit, mined).next().is_some();
        mined.transfers.iter().filter(move |transfer| {
            let nonce = mined.authorizations.get(&transfer.ordinal);
            let is_admitted = nonce.is_some() || !authorized_alone;
            is_admitted && fit.takes(transfer, nonce)
        })
    }

    pub(crate) fn is_claimed(&self, tx_hash: TxHash, ordinal: u64) -> bool {
        let claim = self.bill.claim(tx_hash, ordinal);
        self.context.claimed.contains(&claim)
    }
}
