//! How interactions and subjects of the other machines stand, by the ledger's word.

use super::written::public;
use crate::capability::version::Version;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::consensus::{Mechanism, Voting};
use crate::facts::{SessionTerms, TermsFacts, UsageLimits};
use crate::id::{AgreementId, ContractId, EnvelopeId, InteractionId, RoundId, SessionId};
use crate::interaction::StateName;
use crate::money::MicroUsdc;
use crate::time::TimestampMs;
use crate::trace::{OwnToken, Wid};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

/// An envelope is in the log: durable, in the hash chain, for ever.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Accepted {
    /// The interaction it belongs to; absent for messages that belong to none.
    pub interaction_id: Option<InteractionId>,
    /// The accepted envelope. Another than the one sent when an equal REQUEST or PAYMENT was
    /// accepted before (AX-12).
    pub envelope_id: EnvelopeId,
    /// Place in the log.
    pub position: u64,
    /// Hash of the record.
    pub record_hash: Digest,
    /// What it is about; absent for messages about nothing, and in answers of older ledgers.
    pub subject: Option<AnsweredSubject>,
    /// Name of the subject's state right after it, among those of its kind: `accepted` is a state of
    /// interactions and another one of negotiations (XX-9).
    pub state: Option<String>,
    /// End of the window that is now open.
    pub deadline_at_ms: Option<TimestampMs>,
    /// False where it is kept as evidence and moves nothing.
    pub counted: Option<bool>,
    /// Why it is not counted.
    pub code: Option<Code>,
}

/// What a message is about, as answers name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnsweredSubject {
    /// `interaction`, `contract`, or a kind that a reader may not know.
    pub kind: String,
    /// Its id as in URLs.
    pub id: String,
}

/// How an interaction stands: `GET /api/v1/interactions/{id}`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InteractionAnswer))]
pub struct InteractionView {
    /// Which: the envelope id of its REQUEST.
    pub id: InteractionId,
    /// Consumer and payer.
    pub initiator: Did,
    /// Worker and payee.
    pub provider: Did,
    /// Its state, after its last record.
    pub state: StateName,
    /// What has to be paid, in micro-USDC; absent before an OFFER.
    pub total: Option<MicroUsdc>,
    /// The same in USDC.
    pub total_usdc: Option<String>,
    /// End of the window that is open; absent when none is.
    pub deadline_at_ms: Option<TimestampMs>,
    /// When its REQUEST was recorded.
    pub opened_at_ms: TimestampMs,
    /// When its last record was.
    pub updated_at_ms: TimestampMs,
    /// Where its last record stands.
    pub last_position: u64,
    /// Offer, settlement, confirmation: what there is of them.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required, value_type = Object))]
    pub detail: Map<String, Value>,
}

/// Bodies that were erased.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ErasedAnswer))]
pub struct Erased {
    /// Whose, where they are of an interaction.
    pub interaction_id: Option<InteractionId>,
    /// Whose, where they are of a negotiation: `neg-` and its id.
    pub negotiation_id: Option<String>,
    /// Whose, where they are of a session.
    pub session_id: Option<SessionId>,
    /// Whose, where they are about an agreement.
    pub agreement_id: Option<AgreementId>,
    /// Place of the record that says that they are erased.
    pub position: u64,
    /// Hash of that record.
    pub record_hash: Digest,
    /// Records whose bodies are gone.
    #[cfg_attr(feature = "openapi", schema(max_items = 256))]
    pub erased: Vec<u64>,
    /// Records whose bodies stay: their signatures hold with the body alone.
    #[cfg_attr(feature = "openapi", schema(max_items = 256))]
    pub kept: Vec<u64>,
}

/// A negotiation, as lists show it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListedNegotiation {
    /// Which: `neg-` and the envelope id of its offer.
    #[serde(with = "public")]
    pub id: ContractId,
    /// `pending`, `countered`, `accepted`, `rejected` or `expired`.
    pub status: String,
    /// Who made the offer.
    pub initiator: Did,
    /// The agent that the offer is made to.
    pub responder: Did,
    /// Who proposed the last terms.
    pub author: Did,
    /// The message that proposed them.
    pub step_id: EnvelopeId,
    /// What of them decides.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub terms: TermsFacts,
    /// How many terms were proposed.
    pub turn: u64,
    /// The most turns; the offer is the first.
    pub max_turns: u64,
    /// From this moment on the last terms cannot be accepted.
    pub expires_at_ms: TimestampMs,
    /// End of the window that is open; absent when none is.
    pub deadline_at_ms: Option<TimestampMs>,
    /// What becomes of an agreed contract.
    pub engagement: Option<Engagement>,
    /// When its offer was recorded.
    pub opened_at_ms: TimestampMs,
    /// When its last record was.
    pub updated_at_ms: TimestampMs,
    /// Where its last record stands.
    pub last_position: u64,
}

/// What becomes of an agreed contract.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Engagement {
    /// `open`, `engaged` or `lapsed`.
    pub state: String,
    /// The interaction that it opened.
    pub interaction_id: Option<InteractionId>,
}

/// A session about a capability: `GET /api/v1/sessions/{id}`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SessionAnswer))]
pub struct SessionView {
    /// Which: the envelope id of the request that opened it.
    pub id: SessionId,
    /// `requested`, `open`, `offered`, `countered`, `agreeing` or `closed`.
    pub status: String,
    /// The type of the capability.
    #[serde(rename = "type")]
    pub capability: String,
    /// The version that both use.
    pub version: Version,
    /// The agent that asked for the session.
    pub initiator: Did,
    /// Who was asked.
    pub target: Did,
    /// The agreement that it makes, or negotiates again.
    pub agreement_id: AgreementId,
    /// The revision that it makes.
    pub revision: u64,
    /// Counters so far, of both sides together.
    pub counters: u64,
    /// Whose the last step was.
    pub author: Did,
    /// The message with the last terms.
    pub step_id: Option<EnvelopeId>,
    /// What of them decides.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub terms: Option<SessionTerms>,
    /// Who has signed the agreement so far.
    #[serde(default)]
    pub signed_by: Vec<Did>,
    /// How it ended, if it has.
    pub reason: Option<String>,
    /// End of the window that is open; absent when none is.
    pub deadline_at_ms: Option<TimestampMs>,
    /// When it was opened.
    pub opened_at_ms: TimestampMs,
    /// When its last record was recorded.
    pub updated_at_ms: TimestampMs,
    /// Where its last record stands.
    pub last_position: u64,
}

/// An agreement about a capability: `GET /api/v1/agreements/{id}`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AgreementAnswer))]
pub struct AgreementView {
    /// Which: the envelope id of the request of its first session.
    pub id: AgreementId,
    /// `active`, `revoked` or `ended`.
    pub status: String,
    /// The revision in force.
    pub revision: u64,
    /// Who may use the capability.
    pub consumer: Did,
    /// Who provides it.
    pub provider: Did,
    /// The type of the capability.
    #[serde(rename = "type")]
    pub capability: String,
    /// The version that both use.
    pub version: Version,
    /// What use is held to.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub limits: UsageLimits,
    /// Uses under this revision.
    pub requests: u64,
    /// SHA-256 of what both signed.
    pub agreement_hash: Digest,
    /// SHA-256 of its terms.
    pub terms_hash: Digest,
    /// The session that made the revision.
    pub session_id: SessionId,
    /// When the revision came into force.
    pub starts_at_ms: TimestampMs,
    /// From this moment on it is in force no longer.
    pub ends_at_ms: TimestampMs,
    /// What was in force as of the record that was asked for, where one was.
    pub in_force: Option<InForce>,
    /// End of the window that is open; absent when none is.
    pub deadline_at_ms: Option<TimestampMs>,
    /// When it was opened.
    pub opened_at_ms: TimestampMs,
    /// When its last record was recorded.
    pub updated_at_ms: TimestampMs,
    /// Where its last record stands.
    pub last_position: u64,
}

/// The revision of an agreement that was in force as of some record.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InForce {
    /// Number of the revision, from 1.
    pub revision: u64,
    /// Position of the record that put it in force.
    pub from_position: u64,
    /// Position of the record that ended it, or put the next one in force.
    pub to_position: Option<u64>,
}

/// A round as it stands: `GET /api/v1/rounds/{id}`. What somebody voted is not in it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RoundAnswer))]
pub struct RoundView {
    /// Which: the envelope id of its proposal.
    pub id: RoundId,
    /// `proposed`, `open`, `suspended`, `revealing`, `held`, `committed`, `done`, `aborted`, `failed`,
    /// `escalated`, `human_approved`, `human_rejected`, `undecided`.
    pub status: String,
    /// Type of the action.
    pub action_type: String,
    /// SHA-256 of the action.
    pub action_hash: Digest,
    /// Which attempt it is, from 1.
    pub attempt: u64,
    /// Who proposed it.
    pub proposer: Did,
    /// Who leads: the ledger, or an agent.
    pub leader: Did,
    /// How votes decide.
    pub mechanism: Mechanism,
    /// Open or sealed.
    pub voting: Voting,
    /// Who votes, in the order of the proposal.
    pub participants: Vec<Did>,
    /// The least number of votes.
    pub quorum: u64,
    /// SHA-256 of the proposal, which votes repeat.
    pub proposal_hash: Digest,
    /// SHA-256 of participants and weights, of a weighted round.
    pub weights_hash: Option<Digest>,
    /// Until when votes count.
    pub timeout_ms: TimestampMs,
    /// Who is ready.
    pub ready: Vec<Did>,
    /// Who has cast a vote, whatever it says.
    pub voted: Vec<Did>,
    /// Who has done what was decided.
    pub executed: Vec<Did>,
    /// Who could not.
    pub failed: Vec<Did>,
    /// The tally with outcome, reason and votes digest; absent before it is decided.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub outcome: Option<Map<String, Value>>,
    /// Whether humans were asked.
    pub escalated: bool,
    /// Position of the escalation, which the decision names; in lists of them.
    pub escalation: Option<u64>,
    /// The failed round that it retries; absent where it retries none.
    pub resubmission_of: Option<RoundId>,
    /// Its retry; absent while there is none.
    pub retried_by: Option<RoundId>,
    /// The rival that was accepted in its place, or that stayed in a cycle; absent where there is none.
    pub superseded_by: Option<RoundId>,
    /// End of the window that is open; absent when none is.
    pub deadline_at_ms: Option<TimestampMs>,
    /// When it was proposed.
    pub opened_at_ms: TimestampMs,
    /// When its last record was recorded.
    pub updated_at_ms: TimestampMs,
    /// Where its last record stands.
    pub last_position: u64,
}

/// What a round and its retries, a session, an agreement or a contract rests on: `GET /api/v1/traces/{wid}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TraceAnswer))]
pub struct Trace {
    /// What it is named by.
    pub wid: Wid,
    /// Tokens by the ledger's receipt key (JWTs of type `exec+jwt`), each behind those that it rests on.
    pub tokens: Vec<String>,
    /// Tokens that agents put into their signed messages; the ledger checks none of them.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub own: Vec<OwnToken>,
}
