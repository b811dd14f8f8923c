//! The shapes of requests and answers, as they are described. Texts have patterns, so that a
//! generator of requests meets the rules of the protocol and a checker of answers sees a wrong one.

#![expect(
    dead_code,
    reason = "shapes are described here and made elsewhere; a run of generated requests against \
              the server holds the two together"
)]

use super::payloads;
use crate::stored::HistoryRecord;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// `did:x811:` and a UUIDv4 or UUIDv7, lower case.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^did:x811:[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
    example = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448"
)]
pub(crate) struct DidText(String);

/// A UUIDv7, lower case.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
    example = "0190a1b2-c3d4-7e5f-8901-234567890abc"
)]
pub(crate) struct Uuid(String);

/// The UUID of a DID: a UUIDv4 or UUIDv7, lower case.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
    example = "019c8c61-8129-7511-9f31-aa5142e65448"
)]
pub(crate) struct AgentUuid(String);

/// A UUID of any version of RFC 9562, lower case.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
    example = "0190a1b2-c3d4-7e5f-8901-234567890abc"
)]
pub(crate) struct AnyUuid(String);

/// SHA-256, lower-case hex.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
pub(crate) struct HexHash(String);

/// An address on Base with its EIP-55 checksum.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^0x[0-9a-fA-F]{40}$",
    example = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
)]
pub(crate) struct EthereumAddress(String);

/// A whole number of micro-USDC, as text.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^(0|[1-9][0-9]{0,18})$", example = "2500000")]
pub(crate) struct Decimal(String);

/// Bytes as they are.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
pub(crate) struct Binary(Vec<u8>);

/// The ERROR payload (AE-66): every answer that is no success.
#[derive(ToSchema)]
pub(crate) struct ErrorPayload {
    /// A code of the registry.
    #[schema(pattern = "^X811-[0-9]{4}$", example = "X811-4001")]
    code: String,
    /// What happened and what to do next.
    #[schema(max_length = 512)]
    message: String,
    /// The envelope it is about.
    #[schema(value_type = Option<Uuid>, nullable = false)]
    related_message_id: Option<String>,
    /// More for a program.
    #[schema(value_type = Option<Value>, nullable = false)]
    details: Option<Value>,
    /// `code`, `message` and `details` once more, where the published SDK looks for them.
    #[schema(value_type = Option<Value>, nullable = false)]
    error: Option<Value>,
}

/// An envelope, bare or as `{"envelope": …}`; at most 1 MiB.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SubmittedMessage {
    /// Bare.
    Bare(CapturedEnvelope),
    /// Wrapped.
    Wrapped {
        /// The envelope.
        envelope: CapturedEnvelope,
    },
}

/// A signed envelope of AEEP v0.1.0.
#[derive(Serialize, ToSchema)]
pub(crate) struct CapturedEnvelope {
    /// UUIDv7, unique for ever.
    #[schema(value_type = Uuid)]
    id: String,
    /// Of the protocol.
    #[schema(example = "0.1.0")]
    version: String,
    /// `x811/request` and its seven siblings, `x811.registry/…`, or a custom type.
    #[schema(example = "x811/request", max_length = 128)]
    r#type: String,
    /// Who says it.
    #[schema(value_type = DidText)]
    from: String,
    /// To whom.
    #[schema(value_type = DidText)]
    to: String,
    /// ISO 8601, within five minutes of the ledger's clock.
    #[schema(example = "2026-11-21T10:00:00Z")]
    created: String,
    /// ISO 8601, after which the envelope is refused.
    #[schema(nullable = false)]
    expires: Option<String>,
    /// Used once.
    nonce: String,
    /// What the type demands.
    #[schema(value_type = payloads::Payload)]
    payload: Map<String, Value>,
    /// Ed25519, base64url without padding.
    signature: String,
}

/// The answer to an accepted envelope.
#[derive(ToSchema)]
pub(crate) struct AcceptedAnswer {
    /// Absent for messages that belong to none.
    #[schema(value_type = Option<Uuid>, nullable = false)]
    interaction_id: Option<String>,
    /// The message.
    #[schema(value_type = Uuid)]
    envelope_id: String,
    /// Place in the log.
    position: u64,
    /// Of the record.
    #[schema(value_type = HexHash)]
    record_hash: String,
    /// State the message led to; absent for messages that lead to none.
    #[schema(nullable = false)]
    state: Option<String>,
    /// End of the window it opened, ms since the Unix epoch.
    #[schema(nullable = false)]
    deadline_at_ms: Option<u64>,
    /// `envelope_id` once more, as the published SDK reads it; in answers to a submission.
    #[schema(value_type = Option<Uuid>, nullable = false)]
    message_id: Option<String>,
    /// `queued`; likewise.
    #[schema(nullable = false)]
    status: Option<String>,
    /// `state` once more, of a message of an interaction; likewise.
    #[schema(nullable = false)]
    interaction_status: Option<String>,
}

/// A registered agent.
#[derive(ToSchema)]
pub(crate) struct AgentAnswer {
    /// Its DID.
    #[schema(value_type = DidText)]
    did: String,
    /// `active`, `deactivated`, `revoked` or `expired`.
    status: String,
    /// Task types it offers.
    #[schema(max_items = 64)]
    capabilities: Vec<String>,
    /// Accounts bound to it.
    #[schema(max_items = 8)]
    wallets: Vec<RegisteredWallet>,
    /// Its keys.
    #[schema(max_items = 8)]
    keys: Vec<RegisteredKey>,
    /// ms since the Unix epoch.
    registered_at_ms: u64,
    /// Past it the DID counts as expired; absent when it does not expire.
    #[schema(nullable = false)]
    expires_at_ms: Option<u64>,
    /// Place of the registration in the log.
    position: u64,
}

/// An account bound to an agent.
#[derive(ToSchema)]
pub(crate) struct RegisteredWallet {
    /// The account.
    #[schema(value_type = EthereumAddress)]
    address: String,
    /// `eoa` or `erc1271`.
    kind: String,
}

/// A key of an agent.
#[derive(ToSchema)]
pub(crate) struct RegisteredKey {
    /// Multibase.
    #[schema(pattern = "^z6Mk[1-9A-HJ-NP-Za-km-z]+$")]
    key: String,
    /// `digest` or `direct`.
    profile: String,
}

/// How an agent came by its keys.
#[derive(ToSchema)]
pub(crate) struct AgentKeysAnswer {
    /// Its DID.
    #[schema(value_type = DidText)]
    did: String,
    /// Its `agent_registered` and each `key_rotated`, in order; of the ledger's own DID its
    /// `ledger_opened` and each `ledger_key_rotated`.
    #[schema(max_items = 200)]
    records: Vec<HistoryRecord>,
    /// The `after_seq` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<u64>,
}

/// A DID document (W3C DID Core).
#[derive(ToSchema)]
pub(crate) struct DidDocument {
    /// The DID.
    #[schema(value_type = DidText)]
    id: String,
}

/// An accepted envelope and how it was answered.
#[derive(ToSchema)]
pub(crate) struct FoundAnswer {
    /// The body of the first answer.
    first: AcceptedAnswer,
    /// Absent once its body is erased.
    #[schema(nullable = false)]
    envelope: Option<CapturedEnvelope>,
    /// Where the body was erased: the position of the record that says so.
    #[schema(nullable = false)]
    erased_at: Option<u64>,
}

/// What was erased.
#[derive(ToSchema)]
pub(crate) struct ErasedAnswer {
    /// Whose bodies, where they are of an interaction.
    #[schema(value_type = Option<Uuid>, nullable = false)]
    interaction_id: Option<String>,
    /// Whose bodies, where they are of a negotiation.
    #[schema(nullable = false)]
    negotiation_id: Option<String>,
    /// Whose bodies, where they are of a session.
    #[schema(value_type = Option<Uuid>, nullable = false)]
    session_id: Option<String>,
    /// Whose bodies, where they are about an agreement.
    #[schema(value_type = Option<Uuid>, nullable = false)]
    agreement_id: Option<String>,
    /// Place of the record that says so.
    position: u64,
    /// Of that record.
    #[schema(value_type = HexHash)]
    record_hash: String,
    /// Positions whose bodies are gone.
    #[schema(max_items = 256)]
    erased: Vec<u64>,
    /// Positions whose bodies stay: their signatures hold with the body alone.
    #[schema(max_items = 256)]
    kept: Vec<u64>,
}

/// A page of an inbox.
#[derive(ToSchema)]
pub(crate) struct InboxAnswer {
    /// Oldest first.
    #[schema(max_items = 100)]
    messages: Vec<InboxMessage>,
    /// The `after` to go on with.
    next: String,
}

/// A message in an inbox.
#[derive(ToSchema)]
pub(crate) struct InboxMessage {
    /// The `after` to go on with behind it.
    cursor: String,
    /// Place in the log.
    position: u64,
    /// Its id.
    #[schema(value_type = AnyUuid)]
    envelope_id: String,
    /// The interaction that it belongs to.
    #[schema(value_type = Option<AnyUuid>, nullable = false)]
    interaction_id: Option<String>,
    /// The earlier message that it names: an OFFER the REQUEST, all later ones the OFFER, an ERROR
    /// the message that it is about.
    #[schema(value_type = Option<AnyUuid>, nullable = false)]
    answers: Option<String>,
    /// The envelope.
    envelope: CapturedEnvelope,
}

/// How an interaction stands.
#[derive(ToSchema)]
pub(crate) struct InteractionAnswer {
    /// Envelope id of its REQUEST.
    #[schema(value_type = Uuid)]
    id: String,
    /// Who asked.
    #[schema(value_type = DidText)]
    initiator: String,
    /// Who was asked.
    #[schema(value_type = DidText)]
    provider: String,
    /// One of the ten states (AE-9).
    state: String,
    /// In micro-USDC; absent before an OFFER.
    #[schema(value_type = Option<Decimal>, nullable = false)]
    total: Option<String>,
    /// In USDC; absent before an OFFER.
    #[schema(nullable = false)]
    total_usdc: Option<String>,
    /// End of the open window; absent when none is.
    #[schema(nullable = false)]
    deadline_at_ms: Option<u64>,
    /// When its REQUEST was recorded.
    opened_at_ms: u64,
    /// When its last record was.
    updated_at_ms: u64,
    /// Place of its last record.
    last_position: u64,
    /// Offer, settlement, confirmation: what there is of them.
    #[schema(value_type = Object)]
    detail: Map<String, Value>,
}

/// An interaction's records.
#[derive(ToSchema)]
pub(crate) struct HistoryAnswer {
    /// Which.
    #[schema(value_type = Uuid)]
    interaction: String,
    /// In order.
    #[schema(max_items = 200)]
    records: Vec<HistoryRecord>,
    /// The `after_seq` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<u64>,
}

/// Who this ledger is and what it decides on.
#[derive(ToSchema)]
pub(crate) struct LedgerAnswer {
    /// Its DID.
    #[schema(value_type = DidText)]
    did: String,
    /// Names the log.
    #[schema(value_type = Uuid)]
    log_id: String,
    /// The checkpoints' name.
    origin: String,
    /// The checkpoints' key as verifiers are given it (C2SP signed-note).
    checkpoint_vkey: String,
    /// Major versions of AEEP.
    protocol_versions: Vec<String>,
    /// Where payments may be made.
    networks: Vec<LedgerNetwork>,
    /// How long each message may be waited for.
    windows: WindowsInForce,
    /// What negotiations are held to; null where none are opened.
    contracts: Option<super::negotiation::ContractsInForce>,
    /// What descriptors are held to; null where none are taken.
    capabilities: Option<super::capability::CapabilitiesInForce>,
    /// What rounds are held to, as `[rounds]` of the configuration names it; null where none are opened.
    #[schema(value_type = Option<Object>)]
    rounds: Option<serde_json::Value>,
    /// From one look for a payment to the next.
    #[schema(min_items = 4, max_items = 4)]
    looks_ms: Vec<u64>,
    /// `wallet` or `unchecked`.
    payer_binding: String,
}

/// Which keys the ledger had after so many records, in RFC 8785 form with a line end.
#[derive(ToSchema)]
pub(crate) struct KeysAnswer {
    /// Those in force after `size` records.
    keys: KeysInForce,
    /// Names the log.
    #[schema(value_type = Uuid)]
    log_id: String,
    /// The checkpoints' name.
    origin: String,
    /// Root of the Merkle tree over the first `size` records.
    #[schema(value_type = HexHash)]
    root: String,
    /// Every key that one of these records replaced, in order of position.
    rotations: Vec<KeysRotation>,
    /// By `keys.checkpoint`, over the line `x811 keys v1`, LF, and the object without this member.
    signature: String,
    /// Records that this is said of.
    size: u64,
}

/// The ledger's three keys.
#[derive(ToSchema)]
pub(crate) struct KeysInForce {
    /// Signs checkpoints, keys statements and ends of streams.
    checkpoint: String,
    /// Signs notices.
    envelope: String,
    /// Signs receipts.
    receipt: String,
}

/// That a record replaced a key.
#[derive(ToSchema)]
pub(crate) struct KeysRotation {
    /// The key from here on.
    new: String,
    /// The key until here.
    old: String,
    /// Place of the record in the log.
    position: u64,
    /// `checkpoint`, `envelope` or `receipt`.
    role: String,
}

/// That the log goes on where an older checkpoint ended, in RFC 8785 form with a line end.
#[derive(ToSchema)]
pub(crate) struct RefreshAnswer {
    /// The last signed checkpoint.
    checkpoint: String,
    /// The consistency proof (RFC 6962 section 2.1.2), in base64.
    hashes: Vec<String>,
    /// The keys statement of that checkpoint.
    keys: KeysAnswer,
    /// Records that the older checkpoint covers.
    size: u64,
    /// 1, the version of the format.
    x811_refresh: u64,
}

/// Where a stream ends, by the checkpoint key.
#[derive(ToSchema)]
pub(crate) struct ReceiptEnd {
    /// Record hash of its last record.
    #[schema(value_type = HexHash)]
    last_hash: String,
    /// Place in the stream of its last record.
    last_seq: u64,
    /// By the checkpoint key, over the line `x811 stream end v2`, LF, and the object without this
    /// member.
    signature: String,
    /// `paid`, or `returned` where it was taken back in between.
    standing: String,
    /// Its name.
    stream: String,
    /// Records that this is said of.
    tree_size: u64,
}

/// A receipt, in RFC 8785 form with a line end.
#[derive(ToSchema)]
pub(crate) struct ReceiptAnswer {
    /// 2, the version of the form.
    x811_receipt: u64,
    /// Where the interaction's stream ends, and what became of the payment.
    end: ReceiptEnd,
    /// Which keys the ledger had.
    keys: KeysAnswer,
    /// Which interaction.
    #[schema(value_type = Uuid)]
    interaction: String,
    /// OFFER, ACCEPT, VERIFY and every PAYMENT.
    envelopes: Vec<ReceiptEnvelope>,
    /// `event` and `recorded_at_ms` of position 0, which names the ledger's keys.
    ledger: Map<String, Value>,
    /// The parameters that the interaction was opened under.
    parameters: ReceiptRecord,
    /// The confirmation.
    confirmed: ReceiptRecord,
    /// Every record under the checkpoint that replaced a key of the ledger; absent where none did.
    rotations: Option<Vec<ReceiptRecord>>,
    /// Proof that these records are under the checkpoint, in base64.
    hashes: Vec<String>,
    /// The signed checkpoint.
    checkpoint: String,
    /// Path that says whether the payment was reversed since.
    ask: String,
    /// By the ledger's receipt key.
    signature: String,
}

/// A message, and of its record what does not follow from it.
#[derive(ToSchema)]
pub(crate) struct ReceiptEnvelope {
    /// The message.
    body: Map<String, Value>,
    /// By its sender.
    signature: String,
    /// The sender's key.
    key: String,
    /// `direct`; absent for `digest`.
    profile: Option<String>,
    /// What the decision used besides.
    derived: Map<String, Value>,
    /// Place in the log.
    position: u64,
    /// Record hash of the one before.
    #[schema(value_type = HexHash)]
    prev: String,
    /// The ledger's clock when it decided.
    recorded_at_ms: u64,
    /// Place in its stream.
    stream_seq: u64,
}

/// A record without format and stream.
#[derive(ToSchema)]
pub(crate) struct ReceiptRecord {
    /// What happened.
    event: Map<String, Value>,
    /// Place in the log.
    position: u64,
    /// Record hash of the one before.
    #[schema(value_type = HexHash)]
    prev: String,
    /// The ledger's clock when it decided.
    recorded_at_ms: u64,
    /// Place in its stream.
    stream_seq: u64,
}

/// A network that payments may be made on.
#[derive(ToSchema)]
pub(crate) struct LedgerNetwork {
    /// The name a PAYMENT uses.
    name: String,
    /// EIP-155.
    chain_id: u64,
    /// The USDC contract.
    #[schema(value_type = EthereumAddress)]
    token: String,
    /// Where protocol fees may go.
    #[schema(value_type = Option<EthereumAddress>, nullable = false)]
    treasury: Option<String>,
    /// Blocks at which a transfer counts as confirmed.
    confirmed_depth: u64,
    /// Endpoints that must agree before anything is concluded.
    #[schema(nullable = false)]
    endpoint_quorum: Option<u64>,
}

/// Windows in milliseconds (AE-98).
#[derive(ToSchema)]
pub(crate) struct WindowsInForce {
    /// REQUEST to OFFER.
    offer_ms: u64,
    /// OFFER to ACCEPT or REJECT.
    accept_ms: u64,
    /// ACCEPT to RESULT.
    result_ms: u64,
    /// RESULT to VERIFY.
    verify_ms: u64,
    /// VERIFY to PAYMENT.
    payment_ms: u64,
    /// PAYMENT to its confirmation.
    confirmation_ms: u64,
}

/// The process serves.
#[derive(ToSchema)]
pub(crate) struct HealthAnswer {
    /// `ok`.
    status: String,
}
