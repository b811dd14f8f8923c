//! What an agent says that it can do.

#![expect(dead_code, reason = "shapes are described here and made elsewhere")]

use super::schema::{CapturedEnvelope, RecordsPage};
use serde::Serialize;
use utoipa::ToSchema;
use x811_protocol::answer::{AgreementView, SessionView};
use x811_protocol::did::Did;

/// An agent's descriptor in force.
#[derive(ToSchema)]
pub(crate) struct DescriptorAnswer {
    /// The agent that published it.
    did: Did,
    /// Place of its record in the log.
    position: u64,
    /// When it was recorded.
    recorded_at_ms: u64,
    /// 1 for the first, and one more each time.
    revision: u64,
    /// `x811.capability/advertise`, as its agent signed it: the payload is the descriptor.
    envelope: CapturedEnvelope,
}

/// Sessions, without their messages.
#[derive(ToSchema)]
pub(crate) struct SessionsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    sessions: Vec<SessionView>,
    /// The `after` to go on with, while there are more.
    next: Option<String>,
}

/// A page of agreements.
#[derive(ToSchema)]
pub(crate) struct AgreementsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    agreements: Vec<AgreementView>,
    /// The `after` to go on with, while there are more.
    next: Option<String>,
}

/// The records of a session or an agreement.
#[derive(Serialize, ToSchema)]
pub(crate) struct CapabilityHistoryAnswer {
    /// Which session, of one.
    session: Option<String>,
    /// Which agreement, of one.
    agreement: Option<String>,
    #[serde(flatten)]
    page: RecordsPage,
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

/// The signature of one party under the agreement.
#[derive(ToSchema)]
pub(crate) struct JwsSignatureShown {
    /// base64url of `alg`, `kid` and `typ`.
    protected: String,
    /// base64url of the 64 bytes.
    signature: String,
}
