//! What an agent says that it can do.

#![expect(dead_code, reason = "shapes are described here and made elsewhere")]

use super::schema::{CapturedEnvelope, DidText};
use utoipa::ToSchema;

/// An agent's descriptor in force.
#[derive(ToSchema)]
pub(crate) struct DescriptorAnswer {
    /// Whose.
    #[schema(value_type = DidText)]
    did: String,
    /// Place of its record in the log.
    position: u64,
    /// When it was recorded.
    recorded_at_ms: u64,
    /// 1 for the first, and one more each time.
    revision: u64,
    /// `x811.capability/advertise`, as its agent signed it: the payload is the descriptor.
    envelope: CapturedEnvelope,
}

/// What descriptors, sessions and agreements are held to.
#[derive(ToSchema)]
pub(crate) struct CapabilitiesInForce {
    /// Most active agreements and open sessions that a request may add to, of one consumer and one provider.
    active_agreements_per_pair: u64,
    /// Most adverts of one agent in an hour of UTC.
    adverts_per_hour: u64,
    /// How long the signatures of accepted terms are waited for.
    agree_ms: u64,
    /// The longest duration of an agreement, in seconds.
    agreement_max_s: u64,
    /// Most counters in a session, of both sides together.
    counters: u64,
    /// When breaches of agreements exclude from new sessions and rounds; absent where they are recorded only.
    #[schema(nullable = false)]
    exclusion: Option<ExclusionInForce>,
    /// Most sessions one initiator may have open.
    open_sessions_per_initiator: u64,
    /// Most sessions one initiator may have open with one target.
    open_sessions_per_pair: u64,
    /// How long a request waits for its response.
    response_ms: u64,
    /// The longest life of a session.
    session_max_ms: u64,
    /// The shortest life of a session.
    session_min_ms: u64,
    /// Its life where the response names none.
    session_ms: u64,
}

/// When breaches exclude.
#[derive(ToSchema)]
pub(crate) struct ExclusionInForce {
    /// So many breaches, of two consumers at least.
    breaches: u64,
    /// For how long, in milliseconds.
    for_ms: u64,
    /// How long a breach counts, in milliseconds.
    within_ms: u64,
}

/// A session about a capability, or an agreement, as it stands.
#[derive(ToSchema)]
pub(crate) struct CapabilitySubjectAnswer {
    /// The envelope id of the request that opened the session; of an agreement, of its first session.
    id: String,
    /// `requested`, `open`, `offered`, `countered`, `agreeing`, `closed`; of an agreement `active`,
    /// `revoked`, `ended`.
    status: String,
    /// The type of the capability.
    #[schema(rename = "type")]
    capability: String,
    /// The version that both use.
    version: String,
    /// The revision that the session makes, or that is in force.
    revision: u64,
    /// End of the window that is open; absent when none is.
    #[schema(nullable = false)]
    deadline_at_ms: Option<u64>,
    /// Position of its last record.
    last_position: u64,
    /// When it was opened.
    opened_at_ms: u64,
    /// When its last record was recorded.
    updated_at_ms: u64,
}

/// Sessions, without their messages.
#[derive(ToSchema)]
pub(crate) struct SessionsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    sessions: Vec<CapabilitySubjectAnswer>,
    /// The `after` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<String>,
}

/// Agreements.
#[derive(ToSchema)]
pub(crate) struct AgreementsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    agreements: Vec<CapabilitySubjectAnswer>,
    /// The `after` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<String>,
}

/// The records of a session or an agreement.
#[derive(ToSchema)]
pub(crate) struct CapabilityHistoryAnswer {
    /// Which session, of one.
    #[schema(nullable = false)]
    session: Option<String>,
    /// Which agreement, of one.
    #[schema(nullable = false)]
    agreement: Option<String>,
    /// In order.
    #[schema(max_items = 200)]
    records: Vec<crate::stored::HistoryRecord>,
    /// The `after_seq` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<u64>,
}

/// A JWS in its general JSON serialisation.
#[derive(ToSchema)]
pub(crate) struct JwsAnswer {
    /// base64url of the agreement in its RFC 8785 form.
    payload: String,
    /// Of the two, in the order in which they were recorded.
    #[schema(min_items = 2, max_items = 2)]
    signatures: Vec<JwsSignatureShown>,
}

/// One signature.
#[derive(ToSchema)]
pub(crate) struct JwsSignatureShown {
    /// base64url of `alg`, `kid` and `typ`.
    protected: String,
    /// base64url of the 64 bytes.
    signature: String,
}

/// Breaches of agreements that an agent answers for.
#[derive(ToSchema)]
pub(crate) struct ConductAnswer {
    /// Whose.
    agent_id: String,
    /// How many were recorded.
    breaches: u64,
    /// Positions of those that count towards an exclusion.
    #[schema(max_items = 64)]
    counted: Vec<u64>,
    /// Whether it is excluded from new sessions and rounds now.
    is_excluded: bool,
    /// The last exclusion; absent when there was none.
    #[schema(nullable = false)]
    exclusion: Option<ExclusionShown>,
    /// Position of the last record; absent when there is none.
    #[schema(nullable = false)]
    last_position: Option<u64>,
}

/// An exclusion.
#[derive(ToSchema)]
pub(crate) struct ExclusionShown {
    /// Whether an operator lifted it.
    is_lifted: bool,
    /// Position of its record.
    position: u64,
    /// It holds before this moment.
    until_ms: u64,
}

/// That an exclusion holds no longer.
#[derive(ToSchema)]
pub(crate) struct LiftedAnswer {
    /// Whose it was.
    agent_id: String,
    /// Position of the exclusion.
    excluded: u64,
    /// Position of the record that lifts it.
    position: u64,
    /// Its hash.
    record_hash: String,
}
