//! The shapes of the ledger's answers. Unknown members are ignored: a newer ledger may say more.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use x811_protocol::canonical::to_canonical;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_protocol::id::{AgreementId, EnvelopeId, InteractionId, SessionId};
use x811_protocol::interaction::StateName;
use x811_protocol::key::AgentKey;
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::{PayerBindingRule, Windows};
use x811_protocol::time::TimestampMs;

use super::error::ClientError;

/// An envelope is in the log: durable, in the hash chain, for ever.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Accepted {
    /// The interaction it belongs to; absent for custom types and registrations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<InteractionId>,
    /// The accepted envelope. Another than the one sent when an equal REQUEST or PAYMENT was
    /// accepted before (AX-12).
    pub envelope_id: EnvelopeId,
    /// Place in the log.
    pub position: u64,
    /// Hash of the record.
    pub record_hash: Digest,
    /// What it is about; absent for messages about nothing, and in answers of older ledgers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<AnsweredSubject>,
    /// Name of the subject's state right after it, among those of its kind: `accepted` is a state of
    /// interactions and another one of negotiations (XX-9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// End of the window that is now open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at_ms: Option<TimestampMs>,
    /// False where it is kept as evidence and moves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<bool>,
    /// Why it is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

/// What a message is about, as answers name it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct AnsweredSubject {
    /// `interaction`, `contract`, or a kind that this version does not know.
    pub kind: String,
    /// Its id as in URLs.
    pub id: String,
}

/// `GET /.well-known/x811.json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LedgerInfo {
    /// The ledger's DID.
    pub did: Did,
    /// The log's id.
    pub log_id: String,
    /// The log's name in checkpoints.
    pub origin: String,
    /// Major versions of the protocol it speaks (AE-121).
    pub protocol_versions: Vec<String>,
    /// Where payments may be made.
    pub networks: Vec<NetworkInfo>,
    /// How long each message is waited for.
    pub windows: Windows,
    /// Time between looks for a payment, in milliseconds.
    pub looks_ms: [u64; 4],
    /// The key of its checkpoints, as signed notes name keys.
    pub checkpoint_vkey: Option<String>,
    /// Whether a payer has to be a registered wallet.
    pub payer_binding: PayerBindingRule,
}

impl LedgerInfo {
    /// The network of that name; without a name, the only one there is.
    pub fn network(&self, name: Option<&str>) -> Option<&NetworkInfo> {
        match (name, self.networks.as_slice()) {
            (Some(name), networks) => networks.iter().find(|network| network.name == name),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

/// A network that payments may be made on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NetworkInfo {
    /// The name a PAYMENT uses.
    pub name: String,
    /// EIP-155 chain id.
    pub chain_id: ChainId,
    /// The USDC contract.
    #[serde(deserialize_with = "address")]
    pub token: EvmAddress,
    /// Where fees may go.
    #[serde(default, deserialize_with = "some_address")]
    pub treasury: Option<EvmAddress>,
    /// Blocks at which a transfer counts as confirmed.
    pub confirmed_depth: u64,
}

/// `GET /ready`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Readiness {
    /// Whether it takes messages.
    pub ready: bool,
    /// Why not.
    #[serde(default)]
    pub why: Vec<String>,
    /// What the operator has to look after, though it takes messages.
    #[serde(default)]
    pub attention: Vec<String>,
    /// `alone`, `writer` or `standby`.
    pub role: Option<String>,
    /// How old the last published head is that a standby knows of.
    pub published_age_ms: Option<u64>,
    /// Who writes and who follows, where the log lies in a database.
    pub store: Option<StoreSight>,
    /// Records in the log.
    pub size: Option<u64>,
    /// Durable records that its rows for readers do not reflect yet.
    pub rows_lag: Option<u64>,
    /// Hash of the last record.
    pub head_hash: Option<Digest>,
    /// Records that the last signed checkpoint covers.
    pub checkpoint_size: Option<u64>,
    /// How long ago that was.
    pub checkpoint_age_ms: Option<u64>,
    /// Bytes that may still be written on its disk.
    pub free_bytes: Option<u64>,
    /// The version that runs.
    pub version: Option<String>,
    /// What it sees of each network.
    #[serde(default)]
    pub networks: Vec<NetworkSight>,
}

/// Who writes to a log in a database, who follows it, and how far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreSight {
    /// Number of the present writer's lease.
    pub epoch: u64,
    /// What that writer calls itself in the database.
    pub holder: Option<String>,
    /// How long ago it renewed its lease.
    pub lease_age_ms: u64,
    /// Records that lie wherever they must.
    pub published: u64,
    /// The database's clock against that of the process that was asked.
    pub clock_ahead_ms: i64,
    /// Processes that follow.
    pub followers: Vec<FollowerSight>,
    /// Standbys of the database.
    pub standbys: Vec<StandbySight>,
}

/// A process that follows the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowerSight {
    /// Where it listens.
    pub name: String,
    /// Records that it shows.
    pub size: u64,
    /// Published records that it does not show yet.
    pub behind: u64,
    /// How long ago it said so.
    pub seen_ms: u64,
}

/// A standby of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandbySight {
    /// Its `application_name`.
    pub name: String,
    /// `streaming` when all is well; absent where the ledger may not see it.
    pub state: Option<String>,
    /// Bytes of the database's log that it has not on disk yet.
    pub behind_bytes: Option<u64>,
}

/// What a ledger sees of one network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NetworkSight {
    /// The network.
    pub name: String,
    /// `fresh`, `stale`, `blind` or `unknown`.
    pub sight: String,
    /// Height of the newest block it knows.
    pub head_number: Option<u64>,
    /// Age of that block, in milliseconds.
    pub head_age_ms: Option<u64>,
    /// For how long nothing has been seen, in milliseconds; absent unless it is blind.
    pub blind_ms: Option<u64>,
    /// The RPC endpoints it is watched through.
    #[serde(default)]
    pub endpoints: Vec<EndpointSight>,
}

/// How one RPC endpoint of a ledger behaves.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct EndpointSight {
    /// Its configured label.
    pub label: String,
    /// `unknown`, `good`, `lagging`, `failing` or `misfit`.
    pub state: String,
    /// Whether its branch is followed.
    pub leads: bool,
    /// Height of the newest block it named.
    pub head_number: Option<u64>,
    /// Age of that block, in milliseconds.
    pub head_age_ms: Option<u64>,
    /// Times it gave no usable answer.
    pub failures: u64,
    /// Transactions of which it said something else than another endpoint.
    pub disagreements: u64,
    /// Why it last failed.
    pub last_error: Option<String>,
}

/// `GET /api/v1/agents/{uuid}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Agent {
    /// Its DID.
    pub did: Did,
    /// Whether it may act.
    pub status: AgentStatus,
    /// The moment after which its DID counts as expired.
    pub expires_at_ms: Option<TimestampMs>,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// The accounts that are its own.
    pub wallets: Vec<BoundWallet>,
    /// Its keys and what each signs.
    pub keys: Vec<AgentKey>,
    /// Where its registration stands in the log.
    pub position: u64,
}

/// Whether a DID may act (AX-31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// Yes.
    Active,
    /// Not now.
    Deactivated,
    /// Past its time.
    Expired,
    /// Never again.
    Revoked,
}

/// An account that belongs to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BoundWallet {
    /// The account.
    #[serde(deserialize_with = "address")]
    pub address: EvmAddress,
    /// `eoa` or `erc1271`.
    pub kind: String,
}

/// `GET /api/v1/interactions/{id}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct InteractionView {
    /// Which.
    pub id: InteractionId,
    /// Consumer and payer.
    pub initiator: Did,
    /// Worker and payee.
    pub provider: Did,
    /// Its state.
    #[serde(deserialize_with = "state")]
    pub state: StateName,
    /// What has to be paid, once there is an OFFER.
    pub total: Option<MicroUsdc>,
    /// End of the open window.
    pub deadline_at_ms: Option<TimestampMs>,
    /// When the REQUEST was accepted.
    pub opened_at_ms: TimestampMs,
    /// When the last record was written.
    pub updated_at_ms: TimestampMs,
    /// Where the last record stands.
    pub last_position: u64,
}

/// `GET /api/v1/interactions/{id}/history` and `GET /api/v1/agents/{uuid}/keys`.
#[derive(Debug, Deserialize)]
pub(super) struct History {
    pub(super) records: Vec<HistoryRecord>,
    /// Present while there are more.
    pub(super) next: Option<u64>,
}

/// One record of an interaction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct HistoryRecord {
    /// Place in the log.
    pub position: u64,
    /// Hash of the record.
    pub record_hash: Digest,
    /// When it was decided.
    pub recorded_at_ms: TimestampMs,
    /// Place in the interaction.
    pub stream_seq: u64,
    /// The leaf (record.md section 1).
    pub leaf: Value,
}

impl HistoryRecord {
    /// The event.
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when this version does not know it.
    pub fn event(&self) -> Result<Event, ClientError> {
        let event = self.leaf.get("event").unwrap_or(&Value::Null);
        Event::from_value(event).map_err(|error| ClientError::Untrusted {
            cause: format!(
                "record {} holds an event that this version cannot read ({error})",
                self.position
            ),
        })
    }

    /// Holds the record against its own leaf: hash, place and stream.
    pub(super) fn check(&self, stream: &str) -> Result<(), ClientError> {
        let hash = Digest::of_parts(&[&[0], &to_canonical(&self.leaf)]);
        let is = |name: &str, value: Value| self.leaf.get(name) == Some(&value);
        if hash != self.record_hash {
            Err(self.fault("its hash is not that of its leaf"))
        } else if !is("position", self.position.into())
            || !is("stream_seq", self.stream_seq.into())
            || !is("recorded_at_ms", self.recorded_at_ms.as_ms().into())
        {
            Err(self.fault("its leaf says another place or time"))
        } else if !is("stream", stream.into()) {
            Err(self.fault("it belongs somewhere else"))
        } else {
            Ok(())
        }
    }

    /// That this record must not be believed.
    pub(super) fn fault(&self, fault: &str) -> ClientError {
        let position = self.position;
        ClientError::Untrusted {
            cause: format!("record {position}: {fault}"),
        }
    }
}

/// `GET /api/v1/messages/by-id/{id}`.
#[derive(Debug, Deserialize)]
pub(super) struct StoredMessage {
    pub(super) first: Accepted,
    pub(super) envelope: Option<Box<RawValue>>,
    pub(super) erased_at: Option<u64>,
}

/// `GET /api/v1/agents/{uuid}/capabilities`.
#[derive(Debug, Deserialize)]
pub(super) struct FoundDescriptor {
    pub(super) position: u64,
    pub(super) envelope: Box<RawValue>,
}

/// Bodies that were erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    /// Whose, where they are of an interaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<InteractionId>,
    /// Whose, where they are of a negotiation: `neg-` and its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negotiation_id: Option<String>,
    /// Whose, where they are of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Whose, where they are about an agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement_id: Option<AgreementId>,
    /// Place of the record that says so.
    pub position: u64,
    /// Its hash.
    pub record_hash: Digest,
    /// Records whose bodies are gone.
    pub erased: Vec<u64>,
    /// Records whose bodies stay: their signatures hold with the body alone.
    pub kept: Vec<u64>,
}

fn state<'de, D: Deserializer<'de>>(reader: D) -> Result<StateName, D::Error> {
    let text = String::deserialize(reader)?;
    let mut all = StateName::ALL.into_iter();
    all.find(|state| state.as_str() == text)
        .ok_or_else(|| D::Error::custom("unknown state"))
}

fn address<'de, D: Deserializer<'de>>(reader: D) -> Result<EvmAddress, D::Error> {
    let text = String::deserialize(reader)?;
    EvmAddress::parse_lenient(&text).map_err(D::Error::custom)
}

fn some_address<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<EvmAddress>, D::Error> {
    let text = Option::<String>::deserialize(reader)?;
    let address = text.map(|text| EvmAddress::parse_lenient(&text));
    address.transpose().map_err(D::Error::custom)
}
