//! The shape of the answer to where an interaction's money is. What each word means is said with
//! `x811_protocol::settlement_view`; a test holds the two together.

#![expect(dead_code, reason = "shapes are described here and made elsewhere")]

use super::schema::{Decimal, EthereumAddress, HexHash, Uuid};
use serde::Serialize;
use utoipa::ToSchema;

/// Where the money of an interaction is.
#[derive(ToSchema)]
pub(crate) struct SettlementAnswer {
    /// Which interaction.
    #[schema(value_type = Uuid)]
    interaction_id: String,
    /// One of the ten states (AE-9).
    state: String,
    /// `yes`; `not_yet`, while it may still come; `no`, when it is not expected any more.
    #[schema(pattern = "^(yes|not_yet|no)$")]
    paid: String,
    /// Where the money is, what happens next and when.
    sentence: String,
    /// Where the money is.
    standing: SettlementStanding,
    /// What happens next.
    next: SettlementNext,
    /// When this was read, ms since the Unix epoch.
    as_of_ms: u64,
    /// Whether the payment's clock runs.
    clock: SettlementClock,
    /// What time does next.
    #[schema(nullable = false)]
    due: Option<SettlementDue>,
    /// The newest block that is known.
    #[schema(nullable = false)]
    head: Option<SettlementBlock>,
    /// What the network asks of a payment.
    #[schema(nullable = false)]
    rules: Option<SettlementRules>,
    /// Labels of RPC endpoints that must agree and give no usable answer now.
    #[schema(nullable = false)]
    silent: Option<Vec<String>>,
    /// Transactions that one RPC endpoint has and another has not.
    #[schema(nullable = false)]
    contested: Option<Vec<String>>,
    /// Absent before a PAYMENT.
    #[schema(nullable = false)]
    network: Option<String>,
    /// Absent before an OFFER.
    #[schema(value_type = Option<EthereumAddress>, nullable = false)]
    payee: Option<String>,
    /// What has to be paid in all; absent before an OFFER.
    #[schema(value_type = Option<Decimal>, nullable = false)]
    due_micro_usdc: Option<String>,
    /// What the claimed transfers add up to, reversed ones left out.
    #[schema(value_type = Decimal)]
    paid_micro_usdc: String,
    /// What they exceed the total by.
    #[schema(value_type = Decimal)]
    surplus_micro_usdc: String,
    /// Every transaction that was named, in order.
    transactions: Vec<SettlementTransaction>,
    /// The transfers that are bound to the interaction for ever.
    claims: Vec<SettlementClaim>,
    /// The contract it was opened by, if it was by one.
    #[schema(nullable = false)]
    contract: Option<SettlementContract>,
    /// Negative looks and refutations so far.
    failures: u64,
    /// At so many the interaction is disputed.
    failures_to_dispute: u64,
    /// The record that says it is paid.
    #[schema(nullable = false)]
    proof: Option<SettlementProof>,
    /// Place of the interaction's last record.
    last_position: u64,
}

/// Where the money is. The other members go with some kinds only.
#[derive(ToSchema)]
pub(crate) struct SettlementStanding {
    kind: StandingKind,
    /// `seen`, `waiting_for_safe`: blocks from the transaction's to the newest.
    #[schema(nullable = false)]
    depth: Option<u64>,
    /// `seen`: blocks at which it is confirmed.
    #[schema(nullable = false)]
    of: Option<u64>,
    /// `refused`: why the last transaction does not pay.
    #[schema(nullable = false)]
    cause: Option<String>,
    /// `refused`: why it reverted, where the token says so: `token_paused`, `payer_blacklisted` or
    /// `payee_blacklisted`.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// `refused`, `disputed`, `closed`: the code that says why.
    #[schema(nullable = false, pattern = "^X811-[0-9]{4}$")]
    code: Option<String>,
    /// `disputed`: why the initiator does not take the result.
    #[schema(nullable = false)]
    dispute_code: Option<String>,
    /// `refused`, `in_no_block`, `reversed`: which transaction.
    #[schema(nullable = false, pattern = "^0x[0-9a-f]{64}$")]
    tx_hash: Option<String>,
    /// `late`: whether all that was due has come.
    #[schema(nullable = false)]
    in_full: Option<bool>,
}

/// Where the money is, in one word.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StandingKind {
    NotDue,
    NotDeclared,
    Declared,
    Seen,
    WaitingForSafe,
    TooManyTransfers,
    Refused,
    Confirmed,
    Safe,
    Final,
    InNoBlock,
    Reversed,
    Returned,
    Late,
    Disputed,
    NothingDue,
    Closed,
}

/// What happens next.
#[derive(ToSchema)]
pub(crate) struct SettlementNext {
    what: NextKind,
    /// When, at the latest; absent where no time is known, and while the clock is stopped.
    #[schema(nullable = false)]
    at_ms: Option<u64>,
}

/// What happens next, in one word.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NextKind {
    Message,
    Payment,
    Confirmation,
    Look,
    Sight,
    Final,
    Return,
    Late,
    Nothing,
}

/// Whether the payment's clock runs.
#[derive(ToSchema)]
pub(crate) struct SettlementClock {
    /// `idle`, `running` or `stopped`.
    #[schema(pattern = "^(idle|running|stopped)$")]
    kind: String,
    /// Since when it stands still.
    #[schema(nullable = false)]
    since_ms: Option<u64>,
    /// Why the network is blind: `unreachable`, `stale_head` or `wrong_chain`.
    #[schema(nullable = false)]
    cause: Option<String>,
    /// When the operator is called, if it is still blind then; no state changes for it.
    #[schema(nullable = false)]
    operator_called_at_ms: Option<u64>,
}

/// What time does next; with a stopped clock, as if it ran again right now.
#[derive(ToSchema)]
pub(crate) struct SettlementDue {
    /// `window`, `look`, or `watch`: the interaction is over, and what becomes of its transactions
    /// is recorded until then.
    #[schema(pattern = "^(window|look|watch)$")]
    kind: String,
    /// Which window.
    #[schema(nullable = false)]
    window: Option<String>,
    /// Which look, 1 to 4.
    #[schema(nullable = false)]
    look: Option<u64>,
    /// When it is due.
    at_ms: u64,
}

/// A block.
#[derive(ToSchema)]
pub(crate) struct SettlementBlock {
    /// Height.
    number: u64,
    #[schema(pattern = "^0x[0-9a-f]{64}$")]
    hash: String,
    /// Its own timestamp, in seconds.
    timestamp_s: u64,
}

/// What the network asked when the interaction was opened.
#[derive(ToSchema)]
pub(crate) struct SettlementRules {
    /// Blocks at which a transfer counts as confirmed.
    confirmed_depth: u64,
    /// Totals above this wait until their block is `safe`.
    #[schema(value_type = Option<Decimal>, nullable = false)]
    safe_above_micro_usdc: Option<String>,
}

/// A transaction that was named as payment.
#[derive(ToSchema)]
pub(crate) struct SettlementTransaction {
    #[schema(pattern = "^0x[0-9a-f]{64}$")]
    tx_hash: String,
    standing: SettlementTransactionStanding,
    /// The block it is in.
    #[schema(nullable = false)]
    block_number: Option<u64>,
    /// Blocks from that one to the newest.
    #[schema(nullable = false)]
    depth: Option<u64>,
    /// What its transfers from the payer to payee or treasury add up to.
    #[schema(value_type = Option<Decimal>, nullable = false)]
    amount_micro_usdc: Option<String>,
    /// Labels of the endpoints that agreed on it; absent before there is evidence.
    #[schema(nullable = false)]
    endpoints: Option<Vec<String>>,
}

/// How a named transaction stands.
#[derive(ToSchema)]
pub(crate) struct SettlementTransactionStanding {
    /// `unseen`, `seen`, `insufficient`, `refuted`, `claimed` or `reversed`.
    #[schema(pattern = "^(unseen|seen|insufficient|refuted|claimed|reversed)$")]
    kind: String,
    /// `refuted`: why.
    #[schema(nullable = false)]
    cause: Option<String>,
    /// `refuted`: why it reverted, where the token says so.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// `refuted`: the code both parties were told.
    #[schema(nullable = false, pattern = "^X811-[0-9]{4}$")]
    code: Option<String>,
    /// `claimed`: how sure its block was when it was recorded.
    #[schema(nullable = false)]
    level: Option<String>,
}

/// A transfer that is bound to the interaction for ever.
#[derive(ToSchema)]
pub(crate) struct SettlementClaim {
    /// EIP-155.
    chain_id: u64,
    #[schema(pattern = "^0x[0-9a-f]{64}$")]
    tx_hash: String,
    /// Place among all transfers of the token in the transaction, from 0.
    ordinal: u64,
}

/// The record that says it is paid.
#[derive(ToSchema)]
pub(crate) struct SettlementProof {
    /// Place in the log.
    position: u64,
    /// Of the record.
    #[schema(value_type = HexHash)]
    record_hash: String,
    /// When it was recorded.
    recorded_at_ms: u64,
}

/// Terms that were agreed on before the REQUEST.
#[derive(ToSchema)]
pub(crate) struct SettlementContract {
    /// `neg-` and the envelope id of its offer.
    id: String,
    /// SHA-256 of the agreed terms, in hex.
    terms_hash: String,
}
