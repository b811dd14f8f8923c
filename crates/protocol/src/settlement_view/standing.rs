//! The closed list of where the money may be.

use crate::code::Code;
use crate::event::{RefutedCause, RevertReason};
use crate::evm::TxHash;
use crate::facts::DisputeCode;
use serde::{Deserialize, Serialize};

/// Where the money is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementStanding))]
pub enum MoneyStanding {
    /// The work is not agreed, delivered or verified yet.
    NotDue,
    /// Due, and no PAYMENT says which transaction pays.
    NotDeclared,
    /// Named, and in no block that the ledger follows.
    Declared,
    /// In a block, not yet deep enough; of several transactions the one that is the least deep.
    Seen {
        /// Blocks from it to the newest, both included; absent while no head is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<u64>,
        /// Blocks at which it is confirmed; absent where the network's rules are not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<u64>,
    },
    /// Deep enough, but a total as large as this waits until the block is `safe`.
    WaitingForSafe {
        /// Blocks from it to the newest, both included.
        depth: u64,
    },
    /// Enough has come, in more transfers than one record can name; a further transaction of what the
    /// largest of them lack settles it.
    TooManyTransfers,
    /// Nothing that was named pays; another PAYMENT still may.
    Refused {
        /// Why the last one does not.
        cause: RefutedCause,
        /// Why it reverted, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<RevertReason>,
        /// The code both parties were told.
        code: Code,
        /// Which transaction that was.
        tx_hash: TxHash,
    },
    /// Paid, at the depth the ledger waits for.
    Confirmed,
    /// Paid, in a block that was `safe` when it was recorded.
    Safe,
    /// Paid for good: no reorganisation can take it away.
    Final,
    /// Confirmed, but the transaction is at the moment in no block: it comes back, or is reversed
    /// once the blocks in its place are as deep.
    InNoBlock {
        /// The transaction that paid.
        tx_hash: TxHash,
    },
    /// It was paid, and then the transaction disappeared.
    Reversed {
        /// Hash of the transaction that disappeared.
        tx_hash: TxHash,
    },
    /// Paid: the transaction disappeared and came back.
    Returned,
    /// Paid after the interaction was disputed, which it stays.
    Late {
        /// Whether all that was due has come.
        in_full: bool,
    },
    /// In dispute, and nothing has come.
    Disputed {
        /// Why the payment failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
        /// Why the initiator does not take the result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dispute_code: Option<DisputeCode>,
    },
    /// The interaction cost nothing, and is completed.
    NothingDue,
    /// It ended before anything had to be paid.
    Closed {
        /// Why, where a code says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
}

/// Whether the provider has its money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ProviderPaid {
    /// The provider has its money.
    Yes,
    /// It may still come.
    NotYet,
    /// It has not, and nothing is expected any more.
    No,
}

impl MoneyStanding {
    /// Whether that is paid.
    pub fn paid(self) -> ProviderPaid {
        match self {
            MoneyStanding::Confirmed
            | MoneyStanding::Safe
            | MoneyStanding::Final
            | MoneyStanding::Returned
            | MoneyStanding::Late { in_full: true }
            | MoneyStanding::NothingDue => ProviderPaid::Yes,
            MoneyStanding::NotDue
            | MoneyStanding::NotDeclared
            | MoneyStanding::Declared
            | MoneyStanding::Seen { .. }
            | MoneyStanding::WaitingForSafe { .. }
            | MoneyStanding::TooManyTransfers
            | MoneyStanding::Refused { .. }
            | MoneyStanding::InNoBlock { .. } => ProviderPaid::NotYet,
            MoneyStanding::Reversed { .. }
            | MoneyStanding::Late { in_full: false }
            | MoneyStanding::Disputed { .. }
            | MoneyStanding::Closed { .. } => ProviderPaid::No,
        }
    }

    /// The name that JSON and figures use.
    pub fn name(self) -> &'static str {
        match self {
            MoneyStanding::NotDue => "not_due",
            MoneyStanding::NotDeclared => "not_declared",
            MoneyStanding::Declared => "declared",
            MoneyStanding::Seen { .. } => "seen",
            MoneyStanding::WaitingForSafe { .. } => "waiting_for_safe",
            MoneyStanding::TooManyTransfers => "too_many_transfers",
            MoneyStanding::Refused { .. } => "refused",
            MoneyStanding::Confirmed => "confirmed",
            MoneyStanding::Safe => "safe",
            MoneyStanding::Final => "final",
            MoneyStanding::InNoBlock { .. } => "in_no_block",
            MoneyStanding::Reversed { .. } => "reversed",
            MoneyStanding::Returned => "returned",
            MoneyStanding::Late { .. } => "late",
            MoneyStanding::Disputed { .. } => "disputed",
            MoneyStanding::NothingDue => "nothing_due",
            MoneyStanding::Closed { .. } => "closed",
        }
    }
}
