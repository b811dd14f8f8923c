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
use serde_json::Value;
use utoipa::ToSchema;
use x811_protocol::answer::Accepted;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::{EnvelopeId, InteractionId};

/// The UUID of a DID: a UUIDv4 or UUIDv7, lower case.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
    example = "019c8c61-8129-7511-9f31-aa5142e65448"
)]
pub(crate) struct AgentUuid(String);

/// Stands where an object may have any members.
pub(crate) struct Object;

/// Bytes as they are.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
pub(crate) struct Binary(Vec<u8>);

/// The ERROR payload (AE-66): every answer that is no success.
#[derive(ToSchema)]
pub(crate) struct ErrorPayload {
    /// Code of the registry that says what is wrong.
    #[schema(pattern = "^X811-[0-9]{4}$", example = "X811-4001")]
    code: String,
    /// What happened and what to do next.
    #[schema(max_length = 512)]
    message: String,
    /// Id of the envelope that it is about, where it is about one.
    related_message_id: Option<InteractionId>,
    /// Members for a program; which ones depends on the code.
    details: Option<Value>,
    /// `code`, `message` and `details` once more, where the published SDK looks for them.
    error: Option<Value>,
}

/// An envelope, bare or as `{"envelope": …}`; at most 1 MiB.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SubmittedMessage {
    /// The envelope alone.
    Bare(CapturedEnvelope),
    /// The envelope inside an object, `{"envelope": …}`.
    Wrapped {
        /// The envelope itself.
        envelope: CapturedEnvelope,
    },
}

/// A signed envelope of AEEP v0.1.0.
#[derive(Serialize, ToSchema)]
pub(crate) struct CapturedEnvelope {
    /// UUIDv7, unique for ever.
    id: InteractionId,
    /// Semantic version of the protocol.
    #[schema(example = "0.1.0")]
    version: String,
    /// `x811/request` and its seven siblings, `x811.registry/…`, or a custom type.
    #[schema(example = "x811/request", max_length = 128)]
    r#type: String,
    /// DID of the sender.
    from: Did,
    /// DID of the recipient: an agent, or the ledger.
    to: Did,
    /// When it was made, in ISO 8601; within five minutes of the ledger's clock.
    #[schema(example = "2026-11-21T10:00:00Z")]
    created: String,
    /// ISO 8601, after which the envelope is refused.
    expires: Option<String>,
    /// A text that its sender uses once and never again.
    nonce: String,
    /// What it says; which members it has depends on `type`.
    payload: payloads::Payload,
    /// The Ed25519 signature, in base64url without padding.
    signature: String,
}

/// The answer to an accepted envelope.
#[derive(Serialize, ToSchema)]
pub(crate) struct AcceptedAnswer {
    #[serde(flatten)]
    accepted: Accepted,
    /// `envelope_id` once more, as the published SDK reads it; in answers to a submission.
    message_id: Option<EnvelopeId>,
    /// `queued`, as the published SDK reads it; in answers to a submission.
    status: Option<String>,
    /// `state` once more, of a message of an interaction; likewise.
    interaction_status: Option<String>,
}

/// How an agent came by its keys: its `agent_registered` and each `key_rotated`; of the ledger's own DID its
/// `ledger_opened` and each `ledger_key_rotated`.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentKeysAnswer {
    /// The DID whose keys these are: that of an agent, or of the ledger.
    did: Did,
    #[serde(flatten)]
    page: RecordsPage,
}

/// A page of records.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecordsPage {
    /// The records, in order of position.
    #[schema(max_items = 200)]
    records: Vec<HistoryRecord>,
    /// The `after_seq` to go on with, while there are more.
    next: Option<u64>,
}

/// A DID document (W3C DID Core).
#[derive(ToSchema)]
pub(crate) struct DidDocument {
    /// The DID that the document is of.
    id: Did,
}

/// An accepted envelope and how it was answered.
#[derive(ToSchema)]
pub(crate) struct FoundAnswer {
    /// The body of the first answer.
    first: AcceptedAnswer,
    /// Absent once its body is erased.
    envelope: Option<CapturedEnvelope>,
    /// Where the body was erased: the position of the record that says so.
    erased_at: Option<u64>,
}

/// A page of an inbox.
#[derive(ToSchema)]
pub(crate) struct InboxAnswer {
    /// The messages, the oldest first.
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
    /// Id of the envelope.
    envelope_id: EnvelopeId,
    /// The interaction that it belongs to.
    interaction_id: Option<EnvelopeId>,
    /// The earlier message that it names: an OFFER the REQUEST, all later ones the OFFER, an ERROR
    /// the message that it is about.
    answers: Option<EnvelopeId>,
    /// The envelope, as its sender signed it.
    envelope: CapturedEnvelope,
}

/// An interaction's records.
#[derive(Serialize, ToSchema)]
pub(crate) struct HistoryAnswer {
    /// Id of the interaction: the envelope id of its REQUEST.
    interaction: InteractionId,
    #[serde(flatten)]
    page: RecordsPage,
}

/// Which keys the ledger had after so many records, in RFC 8785 form with a line end.
#[derive(ToSchema)]
pub(crate) struct KeysAnswer {
    /// Those in force after `size` records.
    keys: KeysInForce,
    /// Names the log.
    log_id: InteractionId,
    /// The checkpoints' name.
    origin: String,
    /// Root of the Merkle tree over the first `size` records.
    root: Digest,
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
    /// Signs notices and agent cards.
    envelope: String,
    /// Signs receipts and the tokens of traces.
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
    last_hash: Digest,
    /// Place in the stream of its last record.
    last_seq: u64,
    /// By the checkpoint key, over the line `x811 stream end v2`, LF, and the object without this
    /// member.
    signature: String,
    /// `paid`, or `returned` where it was taken back in between.
    standing: String,
    /// Name of the stream: `interaction:` and the id.
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
    /// Id of the interaction: the envelope id of its REQUEST.
    interaction: InteractionId,
    /// OFFER, ACCEPT, VERIFY and every PAYMENT.
    envelopes: Vec<ReceiptEnvelope>,
    /// `event` and `recorded_at_ms` of position 0, which names the ledger's keys.
    ledger: Object,
    /// The parameters that the interaction was opened under.
    parameters: ReceiptRecord,
    /// The record that confirms the payment (`confirmed`).
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
    /// The message, as its sender signed it.
    body: Object,
    /// The sender's signature, in base64url without padding.
    signature: String,
    /// The public key that verifies it, in multibase.
    key: String,
    /// `direct`; absent for `digest`.
    profile: Option<String>,
    /// What the decision used besides the message.
    derived: Object,
    /// Place in the log.
    position: u64,
    /// Record hash of the one before.
    prev: Digest,
    /// The ledger's clock when it decided.
    recorded_at_ms: u64,
    /// Place in the stream of the interaction.
    stream_seq: u64,
}

/// A record without format and stream.
#[derive(ToSchema)]
pub(crate) struct ReceiptRecord {
    /// The event, as the record has it.
    event: Object,
    /// Place in the log.
    position: u64,
    /// Record hash of the one before.
    prev: Digest,
    /// The ledger's clock when it decided.
    recorded_at_ms: u64,
    /// Place in its stream.
    stream_seq: u64,
}

/// The process serves.
#[derive(ToSchema)]
pub(crate) struct HealthAnswer {
    /// `ok`: the process answers.
    status: String,
}
