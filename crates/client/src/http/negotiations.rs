//! What a list of negotiations says of each. Unknown members are ignored: a newer ledger may say more.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use x811_protocol::did::Did;
use x811_protocol::facts::TermsFacts;
use x811_protocol::id::{ContractId, EnvelopeId, InteractionId};
use x811_protocol::time::TimestampMs;

/// A negotiation as it stands, by the ledger's word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedNegotiation {
    /// Which.
    #[serde(deserialize_with = "public", serialize_with = "as_public")]
    pub id: ContractId,
    /// `pending`, `countered`, `accepted`, `rejected` or `expired`.
    pub status: String,
    /// Who made the offer.
    pub initiator: Did,
    /// To whom.
    pub responder: Did,
    /// Who proposed the last terms.
    pub author: Did,
    /// The message that proposed them.
    pub step_id: EnvelopeId,
    /// What of them decides.
    pub terms: TermsFacts,
    /// How many terms were proposed.
    pub turn: u64,
    /// The most turns.
    pub max_turns: u64,
    /// From this moment on the last terms cannot be accepted.
    pub expires_at_ms: TimestampMs,
    /// End of the window that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at_ms: Option<TimestampMs>,
    /// What becomes of an agreed contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engagement: Option<Engagement>,
}

/// What becomes of an agreed contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engagement {
    /// `open`, `engaged` or `lapsed`.
    pub state: String,
    /// The interaction that it opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<InteractionId>,
}

fn public<'de, D: Deserializer<'de>>(reader: D) -> Result<ContractId, D::Error> {
    let text = String::deserialize(reader)?;
    ContractId::from_public(&text).map_err(serde::de::Error::custom)
}

fn as_public<S: Serializer>(id: &ContractId, writer: S) -> Result<S::Ok, S::Error> {
    writer.serialize_str(&id.to_public())
}
