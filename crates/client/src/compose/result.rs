//! `x811/result` (AE-59, AE-60).

use serde_json::{Map, Value};
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::id::{EnvelopeId, InteractionId};

use super::{ComposeError, Members, Payload};

/// The work that a RESULT delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The REQUEST that was worked on.
    pub interaction: InteractionId,
    /// The OFFER that was accepted.
    pub offer_id: EnvelopeId,
    /// What was made.
    pub content: ResultContent,
    /// Its MIME type.
    pub content_type: String,
    /// How long the work took, in milliseconds.
    pub execution_time_ms: u64,
    /// The model that did it.
    pub model_used: Option<String>,
    /// How it was done.
    pub methodology: Option<String>,
}

/// What was made, or where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultContent {
    /// In the message itself; at most 512 KiB.
    Inline(String),
    /// Behind a URL (AX-19: the hash is that of the response's body).
    Linked {
        /// Where the content is fetched from.
        url: String,
        /// SHA-256 of the bytes there.
        hash: Digest,
        /// How many bytes.
        size_bytes: u64,
    },
}

impl ResultContent {
    /// SHA-256 of the content: what the initiator's VERIFY must repeat.
    pub fn hash(&self) -> Digest {
        match self {
            ResultContent::Inline(text) => Digest::of(text.as_bytes()),
            ResultContent::Linked { hash, .. } => *hash,
        }
    }

    /// Its size in bytes.
    pub fn size_bytes(&self) -> u64 {
        match self {
            ResultContent::Inline(text) => text.len() as u64,
            ResultContent::Linked { size_bytes, .. } => *size_bytes,
        }
    }
}

impl Payload for Delivery {
    fn message_type(&self) -> MessageType {
        CoreType::Result.into()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = Members::default()
            .set_text("request_id", self.interaction)
            .set_text("offer_id", self.offer_id)
            .set_text("content_type", &self.content_type)
            .set_text("result_hash", self.content.hash())
            .set("result_size", self.content.size_bytes())
            .set("execution_time_ms", self.execution_time_ms)
            .set_some("model_used", self.model_used.clone())
            .set_some("methodology", self.methodology.clone());
        let members = match &self.content {
            ResultContent::Inline(text) => members.set_text("content", text),
            ResultContent::Linked { url, .. } => members.set_text("result_url", url),
        };
        Ok(members.0)
    }
}
