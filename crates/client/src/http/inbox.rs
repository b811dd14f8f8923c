//! What was sent to an agent: polled, verified, each once (AX-45).

use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;
use x811_protocol::did::Did;
use x811_protocol::envelope::VerifiedEnvelope;
use x811_protocol::facts::ConsensusVerb;
use x811_protocol::id::{EnvelopeId, InteractionId};

use super::error::ClientError;
use super::{LedgerClient, exchange};

/// How many messages a page has at most: 64 of the largest fit in one answer.
const MAX_PAGE: u16 = 50;

/// A place in an inbox; opaque, and only good for the ledger and agent it came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, serde::Serialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl From<String> for Cursor {
    fn from(text: String) -> Cursor {
        Cursor(text)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What to ask an inbox for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxRequest {
    /// Messages behind this place; from the beginning without one.
    pub after: Option<Cursor>,
    /// How many at most; 50 without a number, and never more.
    pub limit: Option<u16>,
    /// How long to wait for the first, in milliseconds.
    pub wait_ms: u64,
    /// Which loop of the agent asks: the newest ends the others.
    pub instance: Option<String>,
}

/// Some messages, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxPage {
    /// Those whose signature is their sender's; each envelope id once.
    pub messages: Vec<Incoming>,
    /// What was said to the ledger in rounds that the agent takes part in.
    pub board: Vec<Incoming>,
    /// Those that must not be believed.
    pub unverified: Vec<Unverified>,
    /// Where to go on.
    pub next: Option<Cursor>,
}

/// An envelope and its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Place in the log.
    pub position: u64,
    /// The interaction it belongs to, on the ledger's word; absent where the ledger says none.
    pub interaction_id: Option<InteractionId>,
    /// The envelope itself, whose signature was checked.
    pub envelope: VerifiedEnvelope,
}

/// An envelope that must not be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unverified {
    /// Place in the log.
    pub position: u64,
    /// What is wrong with it.
    pub cause: String,
}

impl LedgerClient {
    /// Messages to the agent `me`, and those of rounds to the ledger that it gets as a member. One that is malformed, of a false signature or for someone else
    /// is set apart and does not keep the others back; one that comes twice is given once. Callers
    /// that read several pages keep the ids they have seen.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn inbox(&self, me: Did, request: &InboxRequest) -> Result<InboxPage, ClientError> {
        let uuid = me.uuid().to_string();
        let limit = request.limit.unwrap_or(MAX_PAGE).min(MAX_PAGE).to_string();
        let wait_ms = request.wait_ms.to_string();
        let after = request.after.as_ref().map(Cursor::to_string);
        let mut query = vec![("limit", limit.as_str()), ("wait_ms", wait_ms.as_str())];
        query.extend(after.iter().map(|after| ("after", after.as_str())));
        let instance = request.instance.as_ref();
        query.extend(instance.map(|instance| ("instance", instance.as_str())));
        let limit_ms = exchange::READ_LIMIT_MS.saturating_add(request.wait_ms);
        let reply = self
            .get_signed(&["api", "v1", "messages", &uuid], &query, limit_ms)
            .await?;
        self.sort_out(me, reply.read()?).await
    }

    pub(super) async fn sort_out(&self, me: Did, page: Page) -> Result<InboxPage, ClientError> {
        let mut sorted = InboxPage {
            messages: Vec::new(),
            board: Vec::new(),
            unverified: Vec::new(),
            next: page.next,
        };
        let mut ledger = None;
        for item in page.messages {
            let Item {
                position,
                interaction_id,
                envelope,
            } = item;
            match self.verified(envelope.get().as_bytes(), position).await {
                Ok(envelope) if sorted.holds(envelope.header().id) => {}
                Ok(envelope) if is_of_a_round(&envelope) && envelope.header().to != me => {
                    let known = match ledger {
                        Some(known) => known,
                        None => *ledger.insert(self.info().await?.did),
                    };
                    if envelope.header().to == known {
                        sorted.board.push(Incoming {
                            position,
                            interaction_id: None,
                            envelope,
                        });
                        continue;
                    }
                    let cause = format!("it is addressed to {}", envelope.header().to);
                    sorted.unverified.push(Unverified { position, cause });
                }
                Ok(envelope) if envelope.header().to != me => {
                    let cause = format!("it is addressed to {}", envelope.header().to);
                    sorted.unverified.push(Unverified { position, cause });
                }
                Ok(envelope) => sorted.messages.push(Incoming {
                    position,
                    interaction_id,
                    envelope,
                }),
                Err(ClientError::Untrusted { cause }) => {
                    sorted.unverified.push(Unverified { position, cause });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(sorted)
    }
}

impl InboxPage {
    fn holds(&self, id: EnvelopeId) -> bool {
        let all = self.messages.iter().chain(&self.board);
        all.map(|message| message.envelope.header().id)
            .any(|known| known == id)
    }

    /// Whether nothing came.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.board.is_empty() && self.unverified.is_empty()
    }
}

/// Whether it is said in a round, or the ledger tells it of one: members get such messages, which are
/// addressed to the ledger.
fn is_of_a_round(envelope: &VerifiedEnvelope) -> bool {
    let header = envelope.header();
    ConsensusVerb::of(&header.message_type).is_some() || header.is_own_notice()
}

/// The answer of `GET /api/v1/messages/{uuid}`.
#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) messages: Vec<Item>,
    pub(super) next: Option<Cursor>,
}

#[derive(Deserialize)]
pub(super) struct Item {
    pub(super) position: u64,
    pub(super) interaction_id: Option<InteractionId>,
    pub(super) envelope: Box<RawValue>,
}
