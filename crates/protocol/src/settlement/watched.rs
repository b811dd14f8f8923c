//! What whoever follows the network has to know of a payment, whoever owes it.

use super::{Aftermath, Declared, DeclaredStanding};
use crate::evm::{BlockHash, EvmAddress, TxHash};
use crate::observation::NetworkHead;
use crate::time::TimestampMs;

/// A payment whose transactions are watched.
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    /// Every transaction ever declared, in order of declaration.
    pub declared: &'a [Declared],
    /// Heads recorded with its bill.
    pub heads: &'a [NetworkHead],
    /// Name of the network.
    pub network: &'a str,
    /// Who is to be paid.
    pub payee: EvmAddress,
    /// How far it is.
    pub phase: Phase<'a>,
}

/// How far a payment is.
#[derive(Debug, Clone, Copy)]
pub enum Phase<'a> {
    /// It is awaited.
    Awaited {
        /// Whether any head may confirm what was never seen; later only what was.
        is_recent: bool,
        /// When the next look for it is due, while that clock runs.
        look_due: Option<TimestampMs>,
    },
    /// It was made, or given up.
    Over(&'a Aftermath),
}

impl<'a> Watched<'a> {
    /// Transactions that may confirm the payment at any head.
    pub fn undecided(self) -> impl Iterator<Item = TxHash> + Clone {
        let is_recent = match self.phase {
            Phase::Awaited { is_recent, .. } => Some(is_recent),
            Phase::Over(_) => None,
        };
        let declared = self.declared.iter();
        declared
            .filter(move |it| {
                is_recent.is_some_and(|it_is| it_is || it.standing != DeclaredStanding::Unseen)
            })
            .map(|it| it.tx_hash)
    }

    /// Transactions that paid and are in no block.
    pub fn gone(self) -> impl Iterator<Item = TxHash> + Clone {
        let over = self.over().into_iter();
        over.flat_map(Aftermath::gone)
    }

    /// When the next look is due.
    pub fn look_due(self) -> Option<TimestampMs> {
        match self.phase {
            Phase::Awaited { look_due, .. } => look_due,
            Phase::Over(_) => None,
        }
    }

    /// The head recorded with the bill, while a transaction that may still pay or be bound as late was
    /// seen, or refuted, at its height or below.
    pub fn recorded_above(self) -> Option<(u64, BlockHash)> {
        let mut heads = self.heads.iter();
        let head = heads.find(|head| head.network == self.network)?;
        let over = self.over();
        let is_open = |tx_hash| over.is_none_or(|aftermath| aftermath.may_be_late(tx_hash));
        // A reorganisation can move a transaction that was refuted as older above the fork.
        let is_below = |declared: &Declared| match declared.standing {
            DeclaredStanding::Seen(block) | DeclaredStanding::Refuted(block) => {
                block.number <= head.number
            }
            DeclaredStanding::Unseen | DeclaredStanding::Gone(_) => false,
        };
        let mut declared = self.declared.iter();
        let is_asked = declared.any(|it| is_below(it) && is_open(it.tx_hash));
        is_asked.then_some((head.number, head.hash))
    }

    /// The payer of an awaited transaction, and who is to be paid.
    pub fn accounts(self, tx_hash: TxHash) -> Option<[EvmAddress; 2]> {
        let mut declared = self.declared.iter();
        let declared = declared.find(|it| it.tx_hash == tx_hash)?;
        let accounts = [declared.payer, self.payee];
        self.over().is_none().then_some(accounts)
    }

    fn over(self) -> Option<&'a Aftermath> {
        match self.phase {
            Phase::Awaited { .. } => None,
            Phase::Over(aftermath) => Some(aftermath),
        }
    }
}
