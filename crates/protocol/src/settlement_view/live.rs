//! What the records of an interaction do not tell of its settlement.

use crate::event::Window;
use crate::evm::TxHash;
use crate::money::MicroUsdc;
use crate::observation::{BlindCause, Block};
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What is known at one moment besides the records.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementLive))]
pub struct Live {
    /// The moment at which all of this is known.
    pub as_of_ms: TimestampMs,
    /// Whether the payment's clock runs.
    pub clock: SettlementClock,
    /// What time does next.
    pub due: Option<Due>,
    /// The newest block that is known of the network.
    pub head: Option<Block>,
    /// What the network asks of a payment; whoever knows that knows what is due as well.
    pub rules: Option<NetworkRules>,
    /// Labels of the RPC endpoints without whose answer nothing is concluded now. Empty while enough
    /// of them agree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
    /// Transactions of the interaction that one RPC endpoint has at the agreed head, and another has
    /// not: they are neither there nor absent until the two agree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contested: Vec<TxHash>,
}

impl Live {
    /// Nothing but the time: all that an auditor with the records alone has.
    pub fn nothing(now: TimestampMs) -> Live {
        Live {
            as_of_ms: now,
            clock: SettlementClock::Idle,
            due: None,
            head: None,
            rules: None,
            silent: Vec::new(),
            contested: Vec::new(),
        }
    }

    /// Blocks from `block_number` to the newest, both included.
    pub(super) fn depth_of(&self, block_number: u64) -> Option<u64> {
        let head = self.head?.number;
        (head >= block_number).then(|| head - block_number + 1)
    }
}

/// Whether the payment's clock runs. It stands still while the network is blind, so that nobody is
/// disputed because the ledger saw nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SettlementClock {
    /// Nothing is timed, or nothing is known of it.
    Idle,
    /// It runs: windows pass, and looks come due.
    Running,
    /// It stands still, and runs on from there when the network is seen again.
    Stopped {
        /// Since when it stands still.
        since_ms: TimestampMs,
        /// Why the network is blind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<BlindCause>,
        /// When the operator is called, if it is still blind then. No state changes for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operator_called_at_ms: Option<TimestampMs>,
    },
}

/// What time does next. While the clock is stopped, the moment is as if it ran again right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementDue))]
pub enum Due {
    /// A window passes.
    Window {
        /// Which window it is.
        window: Window,
        /// When it passes.
        at_ms: TimestampMs,
    },
    /// The ledger looks for the payment.
    Look {
        /// 1 to 4.
        look: u64,
        /// When it is due; the first fresh head from then on answers it.
        at_ms: TimestampMs,
    },
    /// The interaction is over, and what becomes of its transactions is recorded until then.
    Watch {
        /// The last moment.
        at_ms: TimestampMs,
    },
}

impl Due {
    /// When it is due.
    pub fn at_ms(self) -> TimestampMs {
        match self {
            Due::Window { at_ms, .. } | Due::Look { at_ms, .. } | Due::Watch { at_ms } => at_ms,
        }
    }
}

/// What a network asks of a payment, as of the interaction's REQUEST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementRules))]
pub struct NetworkRules {
    /// Blocks, the transfer's own included, at which a transfer counts as confirmed.
    pub confirmed_depth: u64,
    /// Totals above this wait until their block is `safe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe_above_micro_usdc: Option<MicroUsdc>,
}
