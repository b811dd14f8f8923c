//! What a watcher saw on Base, in the ledger's words. Machines decide on these; nothing here knows
//! where they came from, so a scripted source serves as well as a live one.
//!
//! Source: ledger-contract.md section 5, settlement-watcher.md sections 2 and 6.

use crate::digest::Digest;
use crate::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use crate::money::MicroUsdc;
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A block, named by number and hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementBlock))]
pub struct Block {
    /// Hash of the block.
    pub hash: BlockHash,
    /// Height of the block in its chain.
    pub number: u64,
    /// The block's own timestamp, whole seconds since the Unix epoch.
    pub timestamp_s: u64,
}

/// How much later than the ledger's clock a block may be, in milliseconds. A clock that is further behind is
/// wrong, and so is an endpoint that names such a block (ledger-contract.md section 5).
pub const BLOCK_AHEAD_MS: u64 = 5_000;

impl Block {
    /// The block's own timestamp.
    pub const fn time(&self) -> TimestampMs {
        TimestampMs::new(self.timestamp_s.saturating_mul(1_000))
    }

    /// Whether the block is from later than `now`, beyond [`BLOCK_AHEAD_MS`], on a chain whose time nobody
    /// sets.
    pub const fn is_ahead(&self, chain: ChainId, now: TimestampMs) -> bool {
        !chain.is_own() && self.time().since(now) > BLOCK_AHEAD_MS
    }
}

/// The last known head of a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkHead {
    /// Hash of the block.
    pub hash: BlockHash,
    /// The network's name.
    pub network: String,
    /// Height of the block.
    pub number: u64,
    /// The block's own timestamp, whole seconds since the Unix epoch.
    pub timestamp_s: u64,
}

impl NetworkHead {
    /// The block's own timestamp.
    pub const fn time(&self) -> TimestampMs {
        TimestampMs::new(self.timestamp_s.saturating_mul(1_000))
    }

    /// The block that is the head.
    pub const fn block(&self) -> Block {
        Block {
            number: self.number,
            hash: self.hash,
            timestamp_s: self.timestamp_s,
        }
    }

    /// `block` as the head of `network`.
    pub fn new(network: &str, block: Block) -> NetworkHead {
        NetworkHead {
            network: network.to_owned(),
            number: block.number,
            hash: block.hash,
            timestamp_s: block.timestamp_s,
        }
    }
}

/// One `Transfer` log of the configured token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// How much; values above [`MicroUsdc`]'s range are held at its maximum.
    pub amount: MicroUsdc,
    /// The nonce of the interaction's own EIP-3009 authorization that it was made under, where there
    /// was one (machines.md section 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_nonce: Option<Digest>,
    /// Who paid, as the token's log says.
    pub from: EvmAddress,
    /// Place among *all* Transfer logs of the token in its transaction, from 0. Unlike the log
    /// index it survives a reorg.
    pub ordinal: u64,
    /// Who was paid.
    pub to: EvmAddress,
}

impl Transfer {
    /// The same without what it was made under: as the token's log has it.
    #[must_use]
    pub const fn plain(self) -> Transfer {
        Transfer {
            authorization_nonce: None,
            ..self
        }
    }
}

/// Where two branches part: the last block that both have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForkPoint {
    /// Hash of the block.
    pub hash: BlockHash,
    /// Height of the block.
    pub number: u64,
}

/// Where a head that was recorded stands to the branch of a later head (ledger-contract.md section 5,
/// "Age").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedBranch {
    /// On the branch of the later head.
    Same,
    /// On another branch, which parts from it there.
    Forked(ForkPoint),
    /// On another branch, whose headers are no longer held.
    Lost,
}

/// What is known of one transaction at one head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No endpoint knows a receipt for it.
    NotFound,
    /// It is in a block that the head descends from.
    Mined(MinedTransaction),
}

/// A transaction in a block that the head descends from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinedTransaction {
    /// The block that the transaction is in.
    pub block: Block,
    /// Receipt status 1.
    pub succeeded: bool,
    /// All Transfer logs of the configured token, in order of ordinal, zero values included.
    pub transfers: Vec<Transfer>,
    /// By ordinal, the nonce of the EIP-3009 authorization that the transfer was made under: the
    /// token's `AuthorizationUsed` log of the same payer, right before it.
    pub authorizations: BTreeMap<u64, Digest>,
    /// What kept the token from moving anything, where it failed and an endpoint said so.
    pub hindrance: Option<Hindrance>,
    /// Configured labels of the endpoints that agree on all of this; never URLs.
    pub endpoints: Vec<String>,
}

/// What one endpoint says kept the token from moving, as of the block of a transaction that failed.
/// It tells people why; nothing is decided by it (settlement-watcher.md rule 29).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hindrance {
    /// The token was paused.
    Paused,
    /// Its issuer had blacklisted this account.
    Blacklisted(EvmAddress),
}

/// One look at a network: a head and every watched transaction as of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// The network's name.
    pub network: String,
    /// The head that everything below is relative to.
    pub head: Block,
    /// Height of the `safe` head, where the endpoint names one.
    pub safe_number: Option<u64>,
    /// The `finalized` head, where the endpoint names one.
    pub finalized: Option<Block>,
    /// Configured labels of the endpoints that answered; never URLs.
    pub endpoints: Vec<String>,
    /// Endpoints that were asked and gave no usable answer; never URLs.
    pub silent: Vec<String>,
    /// Recorded heads of which is known where they stand, by hash.
    pub recorded: BTreeMap<BlockHash, RecordedBranch>,
    /// A head recorded at this height or above that is not in `recorded` is on the branch.
    pub followed_from: u64,
    /// Every transaction there is something to say of, by hash: from the others nothing follows.
    pub transactions: BTreeMap<TxHash, TransactionStatus>,
}

impl Sweep {
    /// Where a recorded head stands; `None` where that is not known.
    pub fn branch_of(&self, head: &NetworkHead) -> Option<RecordedBranch> {
        let is_followed = (self.followed_from..=self.head.number).contains(&head.number);
        let told = self.recorded.get(&head.hash).copied();
        told.or(is_followed.then_some(RecordedBranch::Same))
    }

    /// Blocks from `block` to the head, both included; 0 when the block is above the head.
    pub fn depth_of(&self, block: &Block) -> u64 {
        self.head
            .number
            .saturating_add(1)
            .saturating_sub(block.number)
    }
}

/// Why a network cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BlindCause {
    /// No endpoint answers.
    Unreachable,
    /// Endpoints answer, but their head is old: they lag, or the network has stopped.
    StaleHead,
    /// An endpoint answers for another chain.
    WrongChain,
}

/// What a watcher reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// A look at the network.
    Sweep(Sweep),
    /// A block that was waited for, once it is as deep as a payment has to be to be confirmed.
    Header {
        /// The network's name.
        network: String,
        /// The block, of the height that was asked for.
        block: Block,
    },
    /// There is no agreed head: no endpoint could be asked, or too few answer.
    Unreachable {
        /// The network's name.
        network: String,
        /// Why nothing is seen.
        cause: BlindCause,
        /// Configured labels of the endpoints that gave no usable answer; never URLs.
        silent: Vec<String>,
    },
}
