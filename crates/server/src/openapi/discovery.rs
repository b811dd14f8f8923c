//! Forms of what the published SDK says and reads of agents, and of A2A cards.

#![expect(
    dead_code,
    reason = "forms are described here and made elsewhere; tests hold the two together"
)]

use super::schema::Object;
use utoipa::ToSchema;
use x811_protocol::did::Did;

/// A registration in the form of the published SDK (decision 0190).
#[derive(ToSchema)]
pub(crate) struct SdkRegistration {
    /// A REQUEST of the agent to itself; its payload has a `name`.
    envelope: Object,
    /// The document of its DID, with one Ed25519 key.
    did_document: Object,
    /// That key, 32 bytes as base64url.
    public_key: String,
}

/// A deactivation in the form of the published SDK (decision 0190).
#[derive(ToSchema)]
pub(crate) struct SdkDeactivation {
    /// A REQUEST of the agent to itself; its payload is empty.
    envelope: Object,
}

/// The card that the published SDK reads (decision 0190).
#[derive(ToSchema)]
pub(crate) struct SdkCard {
    /// What it calls itself; its DID where it registered by a message.
    name: String,
    /// In its own words; empty without any.
    description: String,
    /// Where it says that it listens; empty without. Nothing connects to it.
    url: String,
    /// Of the protocol that it speaks.
    version: String,
    /// Task types it offers, each with its `name`.
    #[schema(max_items = 64)]
    capabilities: Vec<Object>,
    /// Its DID and standing, and what it has earned.
    x811: Object,
}

/// An agent card of A2A 1.0, signed by the ledger.
#[derive(ToSchema)]
pub(crate) struct AgentCard {
    /// DID of the agent, or of the ledger, in place of a name.
    name: Did,
    /// What it is, in the ledger's words and not in its own.
    description: String,
    /// Of the protocol that it speaks.
    version: String,
}
