//! Events of an `interaction:<request id>` stream that no agent sends: time, the watcher's evidence
//! and the ledger's own notices (record.md section 4). Members of the frequent ones are declared in the
//! order of RFC 8785, so that a record is written in one pass.

use super::group::event_group;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::evm::{ChainId, TxHash};
use crate::money::MicroUsdc;
use crate::observation::{Block, ForkPoint, Transfer};
use crate::time::TimestampMs;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

event_group! {
    /// What the watcher saw of an interaction's payment, and what follows from it.
    SettlementEvent {
        /// A look for a payment was answered.
        "looked" => Looked(Looked),
        /// A declared transaction is in a block.
        "seen" => Seen(Seen),
        /// It is not in that block any more.
        "unseen" => Unseen(TransactionNamed),
        /// A declared transaction definitely does not pay.
        "refuted" => Refuted(Refuted),
        /// The payment is confirmed.
        "confirmed" => Confirmed(Confirmed),
        /// The confirmed transfers are final.
        "final" => Final(Final),
        /// A confirmed transfer disappeared.
        "reversed" => Reversed(Reversed),
        /// A reversed transfer is back.
        "returned" => Returned(TransactionNamed),
        /// A transfer came after the interaction had closed.
        "late" => Late(Late),
    }
}

/// `looked`: an answered look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looked {
    /// 1 to 4.
    pub look: u64,
    /// When it was due.
    pub due_at_ms: TimestampMs,
    /// The fresh head that answered it.
    pub head: Block,
    /// Every declared transaction.
    pub finding: Vec<Finding>,
}

impl Looked {
    /// Whether some declared transaction is in a block, only not deep enough yet.
    pub fn is_pending(&self) -> bool {
        self.finding
            .iter()
            .any(|finding| finding.status == FindingStatus::Seen)
    }
}

/// What a look found of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// How it stands.
    pub status: FindingStatus,
    /// Blocks, its own included, where it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
}

/// How a declared transaction stands at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingStatus {
    /// No endpoint has a receipt of the transaction.
    NotFound,
    /// In a block, not yet deep enough.
    Seen,
    /// Deep enough, but what has been declared so far does not cover the total.
    Insufficient,
    /// An earlier record refuted it.
    Refuted,
}

/// `seen`: a declared transaction is in a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The block that the transaction is in.
    pub block: Block,
    /// Transfers from the payer to payee or treasury above zero, none of them under an EIP-3009
    /// authorization for something else; at most 64.
    #[serde(deserialize_with = "plain_transfers")]
    pub transfers: Vec<Transfer>,
    /// Hash of the transaction.
    pub tx_hash: TxHash,
}

/// What a transfer was made under is named in evidence alone.
fn plain_transfers<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<Transfer>, D::Error> {
    let transfers = Vec::<Transfer>::deserialize(reader)?;
    if transfers.iter().any(|it| it.authorization_nonce.is_some()) {
        return Err(D::Error::custom(
            "a transfer that was seen names no authorization",
        ));
    }
    Ok(transfers)
}

/// `unseen`, `returned`: names a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionNamed {
    /// Hash of the transaction.
    pub tx_hash: TxHash,
}

/// How sure a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Level {
    /// In a block.
    Seen,
    /// `confirmed_depth` blocks deep.
    Confirmed,
    /// At or below the `safe` head.
    Safe,
    /// At or below the `finalized` head.
    Final,
}

/// An observation accepted into the log.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The block that the transaction is in.
    pub block: Block,
    /// Blocks, its own included, up to the head that was held.
    pub depth: u64,
    /// Configured labels of the endpoints that agree.
    pub endpoints: Vec<String>,
    /// Whether the head recorded at ACCEPT is on another branch whose headers are no longer held;
    /// never `false` in a record. Only of a block at or below that head.
    #[serde(
        default,
        skip_serializing_if = "is_false",
        deserialize_with = "true_alone"
    )]
    pub fork_unknown: bool,
    /// Where the branch of the head recorded at ACCEPT parts from the agreed one; likewise.
    pub forked_at: Option<ForkPoint>,
    /// How sure that block is.
    pub level: Level,
    /// Name of the network.
    pub network: String,
    /// All Transfer logs of the token in the transaction.
    pub transfer_count: u64,
    /// Transfers from the payer to payee or treasury above zero, none of them under an EIP-3009
    /// authorization for something else; at most 64.
    pub transfers: Vec<Transfer>,
    /// Hash of the transaction.
    pub tx_hash: TxHash,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// What is not so is left out, so that evidence has one spelling.
fn true_alone<'de, D: Deserializer<'de>>(reader: D) -> Result<bool, D::Error> {
    match bool::deserialize(reader)? {
        true => Ok(true),
        false => Err(D::Error::custom("fork_unknown is true or left out")),
    }
}

/// Why a transaction definitely does not pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum RefutedCause {
    /// Receipt status 0.
    Reverted,
    /// No transfer of the configured token.
    WrongToken,
    /// Every fitting transfer settles another interaction.
    UsedAlready,
    /// Mined before the ACCEPT.
    OlderThanAccept,
    /// Less than is due.
    Short,
    /// The payer paid somebody else.
    OtherPayee,
    /// What the payer sent carries another EIP-3009 authorization than this interaction's, or none
    /// where the payer is proven by that alone.
    Unauthorized,
}

impl RefutedCause {
    /// The code both parties are told (ledger-contract.md section 5).
    pub fn code(self) -> Code {
        match self {
            RefutedCause::Reverted
            | RefutedCause::WrongToken
            | RefutedCause::UsedAlready
            | RefutedCause::OlderThanAccept => Code::PaymentFailed,
            RefutedCause::Short => Code::InsufficientBalance,
            RefutedCause::OtherPayee | RefutedCause::Unauthorized => Code::InvalidPaymentAddress,
        }
    }
}

/// Why a transaction that reverted did, where the token says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum RevertReason {
    /// The token was paused.
    TokenPaused,
    /// The token's issuer had blacklisted the payer.
    PayerBlacklisted,
    /// The token's issuer had blacklisted the payee.
    PayeeBlacklisted,
}

/// `refuted`: a declared transaction definitely does not pay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refuted {
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// Why it does not pay.
    pub cause: RefutedCause,
    /// Why it reverted, by the word of one endpoint: read for people, and nothing rests on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<RevertReason>,
    /// The code both parties are told.
    pub code: Code,
    /// What was seen.
    pub evidence: Evidence,
}

/// One transfer, bound to one interaction for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementClaim))]
pub struct Claim {
    /// EIP-155 chain id.
    pub chain_id: ChainId,
    /// Hash of the transaction that the transfer is in.
    pub tx_hash: TxHash,
    /// Place among the token's transfers of the transaction.
    pub ordinal: u64,
}

/// Record hashes of the envelopes a payment rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettlementRecords {
    /// Record hash of the ACCEPT.
    pub accept: Digest,
    /// Record hash of the OFFER.
    pub offer: Digest,
    /// Every PAYMENT, in order.
    pub payments: Vec<Digest>,
    /// Record hash of the REQUEST.
    pub request: Digest,
    /// Record hash of the RESULT.
    pub result: Digest,
    /// Record hash of the VERIFY that said yes.
    pub verify: Digest,
}

/// `confirmed`: the interaction is completed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmed {
    /// The chosen transfers; empty when nothing was due.
    pub claims: Vec<Claim>,
    /// One for each transaction that carries a claim; empty when nothing was due.
    pub evidence: Vec<Evidence>,
    /// Record hash of the provider's receipt before; absent for the first.
    pub provider_prev: Option<Digest>,
    /// Number of this among the provider's receipts, from 0.
    pub provider_seq: u64,
    /// The envelopes this rests on.
    pub records: SettlementRecords,
    /// What the chosen transfers exceed the total by; absent when nothing.
    pub surplus: Option<MicroUsdc>,
}

/// `final`: the claimed transfers cannot be reorganised away any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Final {
    /// The finalized head that was held.
    pub head: Block,
}

/// `reversed`: a confirmed transfer disappeared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reversed {
    /// Hash of the transaction that disappeared.
    pub tx_hash: TxHash,
    /// Number of this among the provider's receipts.
    pub provider_seq: u64,
    /// Record hash of the provider's receipt before.
    pub provider_prev: Digest,
}

/// `late`: a transfer after the interaction had closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// What was seen.
    pub evidence: Vec<Evidence>,
    /// The transfers that are bound by it.
    pub claims: Vec<Claim>,
}

/// `notice_issued`: a signed `x811/error` from the ledger to a party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoticeIssued {
    /// Position of the record it tells of.
    pub cause: u64,
    /// The code told; absent for news that is no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The notice's envelope; its body lies beside the log.
    pub envelope: AcceptedHeader,
    /// The agent that it is sent to.
    pub to: Did,
}
