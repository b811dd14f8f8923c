//! What a payment is held to.

use super::age::{fork_fault, is_older, is_shown_older};
use super::claim::Due;
use super::{Declared, Fit, Since};
use crate::did::Did;
use crate::digest::Digest;
use crate::event::{Claim, Evidence};
use crate::evm::TxHash;
use crate::money::MicroUsdc;
use crate::observation::{Block, NetworkHead};
use crate::parameters::{Network, Parameters};
use crate::time::TimestampMs;
use std::collections::BTreeSet;

/// What a payment is held to, whoever owes it and for what.
#[derive(Debug, Clone, Copy)]
pub struct Bill<'a> {
    /// How much, and to whom.
    pub due: Due,
    /// Last known heads when it was agreed on: a payment must be younger.
    pub heads: &'a [NetworkHead],
    /// The network that it is paid on, as set when its subject was opened.
    pub network: &'a Network,
    /// When it was agreed on.
    pub since: TimestampMs,
}

/// The EIP-3009 nonces of transfers that are meant for one bill. They name the ledger, so another ledger
/// has others for the same conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonces {
    /// Of a transfer to the treasury.
    pub fee: Digest,
    /// Of a transfer to the payee.
    pub payment: Digest,
}

/// What a decision about a payment looks up outside of its own state.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Of the transactions the sweep shows, those that subjects not over yet wait for.
    pub awaited: &'a BTreeSet<TxHash>,
    /// Transfers that already pay something, among those the sweep shows.
    pub claimed: &'a BTreeSet<Claim>,
    /// Record hash of the payee's last receipt.
    pub last_receipt: Option<Digest>,
    /// The ledger, which the nonces of authorizations name.
    pub ledger: Did,
    /// The parameters in force.
    pub parameters: &'a Parameters,
    /// Receipts the payee has been given so far.
    pub receipts: u64,
}

impl<'a> Bill<'a> {
    /// What a transfer of a declared transaction must be to pay it.
    pub fn fit(&self, own: Nonces, declared: &Declared) -> Fit {
        Fit {
            binding: declared.binding,
            fee_nonce: own.fee,
            payee: self.due.payee,
            payer: declared.payer,
            payment_nonce: own.payment,
            treasury: self.due.treasury,
        }
    }

    /// From when on a transfer can pay it.
    pub fn since(&self) -> Since {
        Since::of(&self.network.name, self.heads, self.since)
    }

    /// The head of its network that was recorded with it.
    pub fn recorded_head(&self) -> Option<&'a NetworkHead> {
        let mut heads = self.heads.iter();
        heads.find(|head| head.network == self.network.name)
    }

    /// Whether the block is older, if no reorganisation took the head recorded with the bill.
    pub fn is_older(&self, block: &Block) -> bool {
        is_older(&self.network.name, block, self.heads, self.since)
    }

    /// Whether what the evidence shows is older, by the fork that it names where it names one.
    pub fn is_shown_older(&self, evidence: &Evidence) -> bool {
        is_shown_older(evidence, self.heads, self.since)
    }

    /// What is wrong with the fork that evidence names, if anything.
    pub fn fork_fault(&self, evidence: &Evidence) -> Option<&'static str> {
        fork_fault(evidence, self.heads)
    }

    /// Whether the total is so large that it waits for level *safe*.
    pub fn waits_for_safe(&self) -> bool {
        let limit = self.network.safe_above;
        limit.is_some_and(|limit| self.due.total > limit)
    }

    /// How much more than the total these amounts are; `None` where they are no more.
    pub fn surplus(&self, amounts: impl Iterator<Item = MicroUsdc>) -> Option<MicroUsdc> {
        let paid: u128 = amounts.map(|it| u128::from(it.as_micro_usdc())).sum();
        let over = paid.saturating_sub(u128::from(self.due.total.as_micro_usdc()));
        let over = u64::try_from(over).ok().map(MicroUsdc::from_micro_usdc);
        let over = over.and_then(Result::ok).unwrap_or(MicroUsdc::MAX);
        (!over.is_zero()).then_some(over)
    }

    /// What claiming a transfer is.
    pub fn claim(&self, tx_hash: TxHash, ordinal: u64) -> Claim {
        Claim {
            chain_id: self.network.chain_id,
            tx_hash,
            ordinal,
        }
    }
}
