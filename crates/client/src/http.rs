//! The ledger's HTTP interface as a client sees it (ledger-contract.md section 6).
//!
//! Every call has a time limit. What may be lost on the way is sent again byte for byte: an envelope
//! is accepted once, and its repeat is answered X811-2001 with the first outcome, which then counts
//! as the answer. Whatever another agent said is believed only after its signature has been checked
//! against that agent's DID document (AE-84, AX-45), or, for what it said before it replaced a key,
//! against the keys that lead to that document.

mod agents;
mod answer;
mod descriptor;
mod error;
mod exchange;
mod inbox;
mod key_history;
mod known_keys;
mod list;
mod retry;
mod rounds;
mod sender;
mod sessions;
mod signed_get;
mod stream;
mod submit;

pub use agents::{AgentQuery, AgentsPage};
pub use answer::HistoryRecord;
pub use descriptor::Descriptor;
pub use error::{ClientError, Refused};
pub use inbox::{Cursor, InboxPage, InboxRequest, Incoming, Unverified};
pub use retry::RetryPolicy;
pub use stream::{MessageStream, StreamRequest};
pub use x811_protocol::answer::{
    Accepted, Agent, AgentStatus, AgreementView, AnsweredSubject, Availability, BoundWallet,
    Conduct, EndpointSight, Engagement, Erased, Exclusion, FollowerSight, FoundAgent, InForce,
    InteractionView, LedgerInfo, Lifted, ListedNegotiation, NetworkInfo, NetworkSight, Readiness,
    RoundView, SessionView, StandbySight, StoreSight, Trace, TrustShown,
};

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Url;
use serde::de::DeserializeOwned;
use serde_json::Value;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::id::{ContractId, EnvelopeId, InteractionId};
use x811_protocol::settlement_view::SettlementView;
use x811_protocol::stream::Subject;

use crate::clock::{Clock, SystemClock};
use crate::entropy::{Entropy, SystemEntropy};
use crate::outgoing::client_to;
use answer::History;
use exchange::Reply;
use known_keys::KnownKeys;
use signed_get::{ClockOffset, Reader};

/// How many records of a history are asked for at a time.
const HISTORY_PAGE: u64 = 200;

/// Talks to one ledger.
pub struct LedgerClient {
    base: Url,
    http: reqwest::Client,
    retry: RetryPolicy,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    keys: Mutex<KnownKeys>,
    reader: Option<Reader>,
    clock_offset: ClockOffset,
}

impl LedgerClient {
    /// A client of the ledger at `base_url`, such as `http://127.0.0.1:8811`.
    ///
    /// # Errors
    /// [`ClientError::Address`] when that is no http or https address,
    /// [`ClientError::Setup`] when TLS cannot be set up.
    pub fn new(base_url: &str) -> Result<LedgerClient, ClientError> {
        LedgerClient::with(
            base_url,
            RetryPolicy::default(),
            Arc::new(SystemClock),
            Arc::new(SystemEntropy),
        )
    }

    /// The same with one's own patience, clock and randomness.
    ///
    /// # Errors
    /// As [`LedgerClient::new`].
    pub fn with(
        base_url: &str,
        retry: RetryPolicy,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<LedgerClient, ClientError> {
        let not_an_address = || ClientError::Address {
            text: base_url.to_owned(),
        };
        let mut base: Url = base_url.parse().map_err(|_| not_an_address())?;
        if !matches!(base.scheme(), "http" | "https") || base.query().is_some() {
            return Err(not_an_address());
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let http = client_to(base.as_str())
            .connect_timeout(Duration::from_secs(5))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| ClientError::Setup {
                cause: error.to_string(),
            })?;
        Ok(LedgerClient {
            base,
            http,
            retry,
            clock,
            entropy,
            keys: Mutex::default(),
            reader: None,
            clock_offset: ClockOffset::default(),
        })
    }

    /// Where the ledger is.
    pub fn base_url(&self) -> &str {
        self.base.as_str()
    }

    /// What the ledger says of itself: DID, networks, windows.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn info(&self) -> Result<LedgerInfo, ClientError> {
        self.get(&[".well-known", "x811.json"], &[]).await?.read()
    }

    /// Whether it takes messages, and what it sees of its networks. Not being ready is an answer
    /// too, so this asks once and does not wait for it to become so.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn ready(&self) -> Result<Readiness, ClientError> {
        self.get_once(&["ready"]).await?.read_any_status()
    }

    /// What the ledger knows of an agent.
    ///
    /// # Errors
    /// X811-1001 for a DID that is not registered; else as [`ClientError`] says.
    pub async fn agent(&self, did: Did) -> Result<Agent, ClientError> {
        let uuid = did.uuid().to_string();
        self.get(&["api", "v1", "agents", &uuid], &[]).await?.read()
    }

    /// The DID document that an agent gave of itself.
    ///
    /// # Errors
    /// X811-1001 for a DID that is not registered, X811-1002 when it is revoked and X811-1003 when
    /// it is deactivated; else as [`ClientError`] says.
    pub async fn document(&self, did: Did) -> Result<Value, ClientError> {
        let uuid = did.uuid().to_string();
        let path = ["api", "v1", "agents", &uuid, "did"];
        self.get(&path, &[]).await?.read()
    }

    /// An interaction as it stands; with `min_position`, not before that record is in it.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn interaction(
        &self,
        id: InteractionId,
        min_position: Option<u64>,
    ) -> Result<InteractionView, ClientError> {
        self.of_interaction(id, &[], min_position).await
    }

    /// Where the money of an interaction is, as the ledger says; with `min_position`, not before
    /// that record is in it. [`settlement`](fn@crate::settlement::settlement) holds it against the
    /// records.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn settlement(
        &self,
        id: InteractionId,
        min_position: Option<u64>,
    ) -> Result<SettlementView, ClientError> {
        self.of_interaction(id, &["settlement"], min_position).await
    }

    /// What is served below an interaction; with `min_position`, not before that record is in it.
    async fn of_interaction<T: DeserializeOwned>(
        &self,
        id: InteractionId,
        part: &[&str],
        min_position: Option<u64>,
    ) -> Result<T, ClientError> {
        let (id, position) = (id.to_string(), min_position.map(|it| it.to_string()));
        let query: Vec<_> = position.iter().map(|at| ("min_position", &**at)).collect();
        let path = [&["api", "v1", "interactions", &*id], part].concat();
        self.read_signed(&path, &query).await
    }

    /// The receipt of an interaction's payment, byte for byte; nothing of it is checked here.
    ///
    /// # Errors
    /// [`ClientError`]; a refusal with HTTP status 404 before the payment is confirmed.
    pub async fn receipt(&self, id: InteractionId) -> Result<Vec<u8>, ClientError> {
        let id = id.to_string();
        let path = ["api", "v1", "interactions", &id, "receipt"];
        let reply = self.get_signed(&path, &[], exchange::READ_LIMIT_MS);
        reply.await?.bytes()
    }

    /// A subject of a machine and every stream that it rests on, as a file, byte for byte;
    /// nothing of it is checked here.
    ///
    /// # Errors
    /// [`ClientError`]; a refusal with HTTP status 404 for those who are no party to it.
    pub async fn bundle(&self, subject: Subject) -> Result<Vec<u8>, ClientError> {
        let path = subject.path();
        let path = segments(&path, "bundle");
        let reply = self.get_signed(&path, &[], exchange::BUNDLE_LIMIT_MS);
        reply.await?.bytes()
    }

    /// The same in its compact form, a COSE statement without the messages.
    ///
    /// # Errors
    /// As [`LedgerClient::receipt`].
    pub async fn compact_receipt(&self, id: InteractionId) -> Result<Vec<u8>, ClientError> {
        let id = id.to_string();
        let path = ["api", "v1", "interactions", &id, "receipt"];
        let query = [("format", "cose")];
        let reply = self.get_signed(&path, &query, exchange::READ_LIMIT_MS);
        reply.await?.bytes()
    }

    /// That the log goes on where a checkpoint over `size` records ended, and which keys signed until
    /// when, byte for byte; nothing of it is checked here.
    ///
    /// # Errors
    /// [`ClientError`]; a refusal with HTTP status 404 where the log is shorter.
    pub async fn refresh(&self, size: u64) -> Result<Vec<u8>, ClientError> {
        let size = size.to_string();
        self.get(&["log", "refresh", &size], &[]).await?.bytes()
    }

    /// The proof that the record at `position` is in the log, byte for byte; nothing of it is
    /// checked here.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn record_proof(&self, position: u64) -> Result<String, ClientError> {
        let position = position.to_string();
        let path = ["api", "v1", "records", &position, "proof"];
        let reply = self.get_signed(&path, &[], exchange::READ_LIMIT_MS);
        let bytes = reply.await?.bytes()?;
        String::from_utf8(bytes).map_err(|error| ClientError::Untrusted {
            cause: format!("the proof of record {position} is no text: {error}"),
        })
    }

    /// Every record of an interaction, oldest first.
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when the records are not those of the interaction in their order,
    /// or a record's hash is not that of its leaf; else as [`ClientError`] says.
    pub async fn history(&self, id: InteractionId) -> Result<Vec<HistoryRecord>, ClientError> {
        self.records_of(Subject::Interaction(id)).await
    }

    /// A negotiation in the members of the published page (contract.md, "Rendered contract").
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn negotiation(&self, id: ContractId) -> Result<Value, ClientError> {
        self.subject(Subject::Contract(id)).await
    }

    /// All of one's own negotiations, in order of id.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn negotiations(&self) -> Result<Vec<ListedNegotiation>, ClientError> {
        self.list("negotiations", &[], None).await
    }

    /// What an agent says that it can do, the signature checked; `None` of one that has said nothing of
    /// the kind.
    ///
    /// # Errors
    /// [`ClientError`]; X811-1001 for a DID that is not registered.
    pub async fn descriptor(&self, did: Did) -> Result<Option<Descriptor>, ClientError> {
        let uuid = did.uuid().to_string();
        let path = ["api", "v1", "agents", &uuid, "capabilities"];
        let found = self.get(&path, &[]).await.and_then(|reply| reply.read());
        let found: answer::FoundDescriptor = match found {
            Ok(found) => found,
            Err(ClientError::Refused(refused))
                if (refused.status, refused.code) == (404, Code::InvalidStateTransition) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let envelope = found.envelope.get().as_bytes();
        let envelope = self.verified(envelope, found.position).await?;
        Descriptor::of(did, found.position, envelope).map(Some)
    }

    /// Every record of a subject, oldest first, as [`LedgerClient::history`] gives those of an interaction. Before a
    /// round is decided its votes are not among them.
    ///
    /// # Errors
    /// As [`LedgerClient::history`].
    pub async fn records_of(&self, subject: Subject) -> Result<Vec<HistoryRecord>, ClientError> {
        let (path, stream) = (subject.path(), subject.to_string());
        let path = segments(&path, "history");
        let limit = HISTORY_PAGE.to_string();
        let mut records: Vec<HistoryRecord> = Vec::new();
        let mut after: Option<u64> = None;
        loop {
            let after_seq = after.map(|seq| seq.to_string());
            let mut query = vec![("limit", limit.as_str())];
            query.extend(after_seq.iter().map(|after| ("after_seq", after.as_str())));
            let reply = self.get_signed(&path, &query, exchange::READ_LIMIT_MS);
            let page: History = reply.await?.read()?;
            // A page that does not move on would be read for ever.
            let ended = page.next.is_none() || page.next <= after;
            for record in page.records {
                record.check(&stream)?;
                let due = records.last().map_or(0, |last| last.stream_seq + 1);
                // Votes of a round that is not decided are left out.
                let has_gaps = matches!(subject, Subject::Round(_));
                if record.stream_seq < due || record.stream_seq > due && !has_gaps {
                    return Err(record.fault("it is not the next of its stream"));
                }
                records.push(record);
            }
            if ended {
                return Ok(records);
            }
            after = page.next;
        }
    }

    /// The envelope with this id and the first answer to it, the signature checked.
    ///
    /// # Errors
    /// [`ClientError`]; 404 when no such envelope was accepted, [`ClientError::Erased`] when its body
    /// is gone.
    pub async fn message(&self, id: EnvelopeId) -> Result<Incoming, ClientError> {
        let text = id.to_string();
        let path = ["api", "v1", "messages", "by-id", &text];
        let reply = self.get_signed(&path, &[], exchange::READ_LIMIT_MS);
        let found: answer::StoredMessage = reply.await?.read()?;
        let Accepted {
            position,
            interaction_id,
            ..
        } = found.first;
        let envelope = found.envelope.ok_or(ClientError::Erased {
            id,
            at: found.erased_at,
        })?;
        let envelope = envelope.get().as_bytes();
        let envelope = self.verified(envelope, position).await?;
        if envelope.header().id != id {
            return Err(ClientError::Untrusted {
                cause: format!("it gave envelope {} for {id}", envelope.header().id),
            });
        }
        Ok(Incoming {
            position,
            interaction_id,
            envelope,
        })
    }

    /// Has the bodies of REQUEST and RESULT of an interaction erased, or those of a negotiation, a session
    /// or about an agreement, as one of the ledger's operators.
    ///
    /// # Errors
    /// [`ClientError`]; X811-4001 when they may not be erased, or are.
    pub async fn erase(&self, subject: Subject, reason_code: &str) -> Result<Erased, ClientError> {
        let path = subject.path();
        let path = segments(&path, "erasure");
        let query = [("reason_code", reason_code)];
        let reply = self.post_signed(&path, &query, exchange::SUBMIT_LIMIT_MS);
        reply.await?.read()
    }

    async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Reply, ClientError> {
        let url = self.url(path, query);
        self.retried(|| self.exchange(self.http.get(url.clone()), exchange::READ_LIMIT_MS))
            .await
    }

    async fn get_once(&self, path: &[&str]) -> Result<Reply, ClientError> {
        let request = self.http.get(self.url(path, &[]));
        self.exchange(request, exchange::READ_LIMIT_MS).await
    }

    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }
}

/// The segments of what the ledger has of a subject at `path`, under that name.
fn segments<'a>(path: &'a str, name: &'a str) -> Vec<&'a str> {
    let of_it = path.split('/').chain([name]);
    ["api", "v1"].into_iter().chain(of_it).collect()
}

#[cfg(test)]
mod tests;
