//! Sending a sealed envelope so that a lost answer does no harm.

use serde::Deserialize;
use x811_protocol::answer::Accepted;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::EnvelopeId;

use super::LedgerClient;
use super::answer::StoredMessage;
use super::error::{ClientError, Refused};
use super::exchange::{READ_LIMIT_MS, Reply, SUBMIT_LIMIT_MS};

impl LedgerClient {
    /// Sends an envelope and waits until the ledger has made it durable.
    ///
    /// The same bytes are sent again when the answer was lost or the ledger was busy. If the first
    /// try had been accepted, its outcome is what comes back.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when it was not accepted; [`ClientError::Unreachable`] when nobody
    /// knows: send the same envelope again, or ask [`LedgerClient::message`] for its id.
    pub async fn send(&self, envelope: &SealedEnvelope) -> Result<Accepted, ClientError> {
        self.send_bytes(envelope.header.id, &envelope.json).await
    }

    /// The same for the bytes of a sealed envelope that was kept, and its id.
    ///
    /// # Errors
    /// As [`LedgerClient::send`].
    pub async fn send_bytes(&self, id: EnvelopeId, json: &[u8]) -> Result<Accepted, ClientError> {
        let url = self.url(&["api", "v1", "messages"], &[]);
        let post = || {
            let request = self
                .http
                .post(url.clone())
                .header(reqwest::header::CONTENT_TYPE, "application/json")
                .body(json.to_vec());
            self.exchange(request, SUBMIT_LIMIT_MS)
        };
        let reply = self.retried(post).await?;
        match reply.status {
            200 | 202 => reply.read(),
            _ => first_outcome(&reply, id).unwrap_or_else(|| Err(reply.refusal())),
        }
    }

    /// How an envelope of one's own was answered, by its id.
    ///
    /// # Errors
    /// [`ClientError`]; a refusal with HTTP status 404 when no such envelope is accepted as of the
    /// ledger time in [`Refused::as_of_ms`].
    pub async fn outcome(&self, id: EnvelopeId) -> Result<Accepted, ClientError> {
        let text = id.to_string();
        let path = ["api", "v1", "messages", "by-id", &text];
        let reply = self.get_signed(&path, &[], READ_LIMIT_MS);
        let found: StoredMessage = reply.await?.read()?;
        Ok(found.first)
    }
}

/// How the first of two equal envelopes was answered.
#[derive(Deserialize)]
#[serde(untagged)]
enum First {
    Accepted(Accepted),
    Refused { code: Code },
}

/// Reads X811-2001 about this very envelope as the answer that was lost. `None` when the nonce was
/// spent by another one.
fn first_outcome(reply: &Reply, id: EnvelopeId) -> Option<Result<Accepted, ClientError>> {
    let refused = reply.refused()?;
    if refused.code != Code::NonceReplay {
        return None;
    }
    let first = refused.details.as_ref()?.get("first")?;
    match First::deserialize(first).ok()? {
        First::Accepted(accepted) => (accepted.envelope_id == id).then_some(Ok(accepted)),
        First::Refused { code } => Some(Err(ClientError::Refused(Box::new(Refused {
            code,
            message: format!("this envelope was refused before; {}", code.what_to_do()),
            ..refused
        })))),
    }
}
