//! What covers a total where so many small transfers came that one record cannot name all it takes.
//!
//! A record quotes and claims at most 64 transfers. Where the choice in order would take more, it is
//! made among the largest; evidence then quotes those and no others, so that whoever chooses again
//! among what is quoted chooses the same.

use std::collections::BTreeSet;

use super::claim::{Candidate, choose};
use super::view::{TRANSFERS_QUOTED, View};
use crate::evm::TxHash;

/// Of each transaction so many transfers are quoted at least, where it has them: fewer are read as all
/// there are.
const QUOTED_EACH: usize = 8;

/// Whether the transfers that came cover what is due.
pub(crate) enum Covered {
    /// They do not.
    No,
    By(Choice),
    /// All of them together do, and no 64 of them.
    ByTooMany,
}

/// The transfers that pay.
pub(crate) struct Choice {
    /// What is claimed, in order of (declaration, ordinal).
    pub(crate) claims: Vec<Candidate>,
    /// What alone may be quoted; nothing where there is room for others.
    pub(crate) quoted: Option<BTreeSet<(TxHash, u64)>>,
}

/// A transfer that may be quoted.
#[derive(Clone, Copy)]
struct Quotable {
    candidate: Candidate,
    is_claimed: bool,
}

impl Quotable {
    fn key(&self) -> (TxHash, u64) {
        (self.candidate.tx_hash, self.candidate.ordinal)
    }
}

impl View<'_> {
    pub(crate) fn covered(&self) -> Covered {
        match choose(&self.bill.due, &self.candidates()) {
            None => Covered::No,
            Some(claims) if claims.len() <= TRANSFERS_QUOTED => Covered::By(Choice {
                claims,
                quoted: None,
            }),
            Some(_) => [false, true]
                .into_iter()
                .find_map(|payee_first| self.among_the_largest(payee_first))
                .map_or(Covered::ByTooMany, Covered::By),
        }
    }

    /// The choice among the largest transfers, of the payee or of both.
    fn among_the_largest(&self, payee_first: bool) -> Option<Choice> {
        let mut all: Vec<Quotable> = self.quotable().collect();
        let due = &self.bill.due;
        all.sort_by_key(|it| {
            let is_behind = payee_first && it.candidate.to != due.payee;
            let amount = it.candidate.amount;
            (it.is_claimed, is_behind, std::cmp::Reverse(amount))
        });
        let mut quoted = BTreeSet::new();
        let each = QUOTED_EACH.min(TRANSFERS_QUOTED / self.declared.len().max(1));
        for declared in self.declared {
            let own = all
                .iter()
                .filter(|it| it.candidate.tx_hash == declared.tx_hash);
            quoted.extend(own.take(each).map(Quotable::key));
        }
        for one in &all {
            if quoted.len() < TRANSFERS_QUOTED {
                quoted.insert(one.key());
            }
        }
        let mut among = self.candidates();
        among.retain(|it| quoted.contains(&(it.tx_hash, it.ordinal)));
        let claims = choose(due, &among)?;
        Some(Choice {
            claims,
            quoted: Some(quoted),
        })
    }

    /// Fitting transfers of everything that may pay, also those that pay others.
    fn quotable(&self) -> impl Iterator<Item = Quotable> {
        self.paying().flat_map(|(declared, mined)| {
            self.fitting(declared, mined).map(|transfer| Quotable {
                candidate: Candidate {
                    tx_hash: declared.tx_hash,
                    ordinal: transfer.ordinal,
                    to: transfer.to,
                    amount: transfer.amount,
                },
                is_claimed: self.is_claimed(declared.tx_hash, transfer.ordinal),
            })
        })
    }
}
