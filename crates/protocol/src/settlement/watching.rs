//! What a look at the network means while a payment is awaited: what was seen, what is definitely no
//! payment, and whether what came is sure enough.
//!
//! Source: design.md section 7, ledger-contract.md section 5, AE-105.

use super::age::Age;
use super::claim::Candidate;
use super::view::View;
use super::{Declared, DeclaredStanding};
use crate::event::{Event, Refuted, RefutedCause, Seen, SettlementEvent, TransactionNamed};
use crate::observation::{MinedTransaction, TransactionStatus};

impl View<'_> {
    /// Declared transactions that are in a block where they were not before, or in none any more.
    pub(crate) fn sightings(&self) -> Vec<Event> {
        let declared = self.declared.iter();
        declared
            .filter_map(
                |declared| match self.sweep.transactions.get(&declared.tx_hash)? {
                    TransactionStatus::Mined(mined) => self.seen(declared, mined),
                    TransactionStatus::NotFound => self.unseen(declared),
                },
            )
            .collect()
    }

    fn seen(&self, declared: &Declared, mined: &MinedTransaction) -> Option<Event> {
        let known = match declared.standing {
            DeclaredStanding::Unseen | DeclaredStanding::Gone(_) => false,
            DeclaredStanding::Seen(block) => block == mined.block,
            DeclaredStanding::Refuted(_) => true,
        };
        (!known).then(|| {
            Event::Settlement(SettlementEvent::Seen(Seen {
                tx_hash: declared.tx_hash,
                block: mined.block,
                transfers: self.quoted(declared, mined, &[]),
            }))
        })
    }

    /// A head below the block only lags; one that reached it shows a reorganisation.
    fn unseen(&self, declared: &Declared) -> Option<Event> {
        let DeclaredStanding::Seen(block) = declared.standing else {
            return None;
        };
        (self.sweep.head.number >= block.number).then_some(Event::Settlement(
            SettlementEvent::Unseen(TransactionNamed {
                tx_hash: declared.tx_hash,
            }),
        ))
    }

    /// Definite failures of transactions not refuted before.
    pub(crate) fn refutations(&self) -> impl Iterator<Item = Refuted> {
        self.declared
            .iter()
            .filter(|declared| !matches!(declared.standing, DeclaredStanding::Refuted(_)))
            .filter_map(|declared| {
                let mined = self
                    .mined(declared.tx_hash)
                    .filter(|mined| self.is_deep(mined))?;
                let cause = self.refutation(declared, mined)?;
                Some(Refuted {
                    tx_hash: declared.tx_hash,
                    cause,
                    reason: self.revert_reason(declared, mined),
                    code: cause.code(),
                    evidence: self.evidence(declared, mined, &[]),
                })
            })
    }

    fn refutation(&self, declared: &Declared, mined: &MinedTransaction) -> Option<RefutedCause> {
        if !mined.succeeded {
            return Some(RefutedCause::Reverted);
        }
        match self.age_of(declared, mined) {
            Age::Young => {}
            Age::Old => return Some(RefutedCause::OlderThanAccept),
            Age::Open => return None,
        }
        if mined.transfers.is_empty() {
            return Some(RefutedCause::WrongToken);
        }
        let mut fitting = self.fitting(declared, mined).peekable();
        if fitting.peek().is_none() {
            let fit = self.fit(declared);
            let mut transfers = mined.transfers.iter();
            let is_unauthorized = transfers.any(|transfer| fit.is_between(transfer));
            return Some(if is_unauthorized {
                RefutedCause::Unauthorized
            } else {
                RefutedCause::OtherPayee
            });
        }
        if fitting.all(|transfer| self.is_claimed(declared.tx_hash, transfer.ordinal)) {
            return Some(RefutedCause::UsedAlready);
        }
        // Short is only definite once nothing else that was declared can still add to it.
        let all_deep = self.declared.iter().all(|other| {
            self.mined(other.tx_hash)
                .is_some_and(|mined| self.is_definite(other, mined))
        });
        all_deep.then_some(RefutedCause::Short)
    }

    /// Whether nothing more can come of it: it is deep enough, and known to be old or not. What was
    /// refuted before stays so, whether or not a watcher that has just begun knows its age again.
    pub(crate) fn is_definite(&self, declared: &Declared, mined: &MinedTransaction) -> bool {
        if matches!(declared.standing, DeclaredStanding::Refuted(_)) {
            let depth = self.sweep.depth_of(&mined.block);
            return depth >= self.bill.network.confirmed_depth;
        }
        self.is_deep(mined) && self.age_of(declared, mined) != Age::Open
    }

    /// Totals above the network's limit wait for level *safe*; where no endpoint names such heads, for
    /// the depth that stands in for it.
    pub(crate) fn are_sure_enough(&self, chosen: &[Candidate]) -> bool {
        let is_safe = |it: &Candidate| self.mined(it.tx_hash).is_some_and(|it| self.is_safe(it));
        !self.bill.waits_for_safe() || chosen.iter().all(is_safe)
    }
}
