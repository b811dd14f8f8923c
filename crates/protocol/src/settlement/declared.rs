//! What is known of the transactions that were declared for a bill.

use crate::digest::Digest;
use crate::event::{Claim, PayerBinding};
use crate::evm::{EvmAddress, TxHash};
use crate::observation::Block;
use serde::{Deserialize, Serialize};

/// A transaction that was declared as payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    /// How that account is bound to who pays.
    pub binding: PayerBinding,
    /// The account it pays from, as the PAYMENT that declared it says.
    pub payer: EvmAddress,
    /// Position of that PAYMENT.
    pub payment: u64,
    /// How it stands.
    pub standing: DeclaredStanding,
    /// Hash of the transaction.
    pub tx_hash: TxHash,
}

/// How a declared transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum DeclaredStanding {
    /// In no block yet.
    Unseen,
    /// In this block.
    Seen(Block),
    /// It paid from this block, and is in none any more.
    Gone(Block),
    /// It definitely does not pay (or not alone: a short one still counts towards the sum).
    Refuted(Block),
}

/// How a bill was paid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// The transfers that paid.
    pub claims: Vec<Claim>,
    /// Its record hash.
    pub hash: Digest,
    /// None of the transfers can be reorganised away any more.
    pub is_final: bool,
    /// The `confirmed` record's place.
    pub position: u64,
    /// Transactions that paid and have disappeared, in order of their disappearance.
    pub reversed: Vec<TxHash>,
}
