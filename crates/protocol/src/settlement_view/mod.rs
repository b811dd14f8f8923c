//! Where the money of an interaction is, told from its own records and from what is known of the
//! network right now: one answer for the ledger that serves it, the provider that asks, and the
//! auditor who has the records alone.
//!
//! Nothing here decides: the machine does, and its events are what is read. What no record of the
//! interaction tells (how high the network is, whether it is seen, when the next look is due) comes
//! in as [`Live`]; without it the standing is the same, only the next step has no time.
//!
//! Source: settlement-watcher.md sections 2 and 6, ledger-contract.md section 5.

mod account;
mod contract;
mod live;
mod sentence;
mod standing;

pub use contract::AgreedContract;
pub use live::{Due, Live, NetworkRules, SettlementClock};
pub use standing::{MoneyStanding, ProviderPaid};

use crate::answer::written::checksummed;
use crate::code::Code;
use crate::digest::Digest;
use crate::event::{Claim, Level, RefutedCause, RevertReason};
use crate::evm::{EvmAddress, TxHash};
use crate::id::InteractionId;
use crate::interaction::StateName;
use crate::machine::Recorded;
use crate::money::MicroUsdc;
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Where the money of one interaction is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementAnswer))]
pub struct SettlementView {
    /// Id of the interaction: the envelope id of its REQUEST.
    pub interaction_id: InteractionId,
    /// State of the interaction, after its last record.
    pub state: StateName,
    /// The contract it was opened by, if it was by one.
    pub contract: Option<AgreedContract>,
    /// Whether the provider has its money.
    pub paid: ProviderPaid,
    /// Where the money is, what happens next and when.
    pub sentence: String,
    /// Where the money is.
    pub standing: MoneyStanding,
    /// What happens next.
    pub next: Next,
    /// Whether the payment's clock runs, and everything else that the records do not tell.
    #[serde(flatten)]
    pub live: Live,
    /// Name of the network it is paid on; absent before a PAYMENT.
    pub network: Option<String>,
    /// Who has to be paid; absent before an OFFER.
    #[serde(default, with = "checksummed::option")]
    pub payee: Option<EvmAddress>,
    /// What has to be paid in all; absent before an OFFER.
    pub due_micro_usdc: Option<MicroUsdc>,
    /// What the claimed transfers add up to, reversed ones left out.
    pub paid_micro_usdc: MicroUsdc,
    /// What they exceed the total by.
    pub surplus_micro_usdc: MicroUsdc,
    /// Every transaction that was named, in order.
    pub transactions: Vec<Transaction>,
    /// The transfers that are bound to the interaction for ever.
    pub claims: Vec<Claim>,
    /// Negative looks and refutations so far.
    pub failures: u64,
    /// At so many the interaction is disputed.
    pub failures_to_dispute: u64,
    /// The record that says it is paid.
    pub proof: Option<Proof>,
    /// Place in the log of the interaction's last record.
    pub last_position: u64,
}

impl SettlementView {
    /// Reads the records of `id`, oldest first, with what is known besides.
    pub fn of<'a>(
        id: InteractionId,
        records: impl IntoIterator<Item = Recorded<'a>>,
        live: Live,
    ) -> SettlementView {
        let mut account = account::Account::default();
        for record in records {
            account.note(&record);
        }
        account.view(id, live)
    }
}

/// One transaction that was named as payment.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementTransaction))]
pub struct Transaction {
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// How it stands.
    pub standing: TransactionStanding,
    /// The block it is in, as far as the ledger knows.
    pub block_number: Option<u64>,
    /// Blocks from that one to the newest that is known, both included.
    pub depth: Option<u64>,
    /// What its transfers from the payer to payee or treasury add up to.
    pub amount_micro_usdc: Option<MicroUsdc>,
    /// Configured labels of the endpoints that agreed on it, once there is evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
}

/// How a named transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementTransactionStanding))]
pub enum TransactionStanding {
    /// In no block that the ledger follows.
    Unseen,
    /// In a block.
    Seen,
    /// Deep enough, but what has been named so far does not cover the total.
    Insufficient,
    /// It definitely does not pay.
    Refuted {
        /// Why it does not pay.
        cause: RefutedCause,
        /// Why it reverted, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<RevertReason>,
        /// The code both parties were told.
        code: Code,
    },
    /// It pays, or some of its transfers do.
    Claimed {
        /// How sure its block was when it was recorded.
        level: Level,
    },
    /// It paid, and disappeared.
    Reversed,
}

/// The record that says it is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementProof))]
pub struct Proof {
    /// Place in the log.
    pub position: u64,
    /// Hash of the record.
    pub record_hash: Digest,
    /// When it was recorded.
    pub recorded_at_ms: TimestampMs,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementNext))]
pub struct Next {
    /// The next step.
    pub what: NextStep,
    /// When, at the latest; absent where no time is known, and while the clock is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<TimestampMs>,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NextKind))]
pub enum NextStep {
    /// A message before the PAYMENT, or its window passes.
    Message,
    /// The PAYMENT, or its window passes.
    Payment,
    /// The confirmation, or its window passes; then come four looks.
    Confirmation,
    /// A look for the transactions that were named; the confirmation may come before it.
    Look,
    /// The network is seen again, and the clock runs on.
    Sight,
    /// Base holds the block for good.
    Final,
    /// A transaction that disappeared may come back.
    Return,
    /// A transfer that still comes is recorded as late.
    Late,
    /// Nothing more happens.
    Nothing,
}

#[cfg(test)]
mod tests;
