//! What the ledger tells the parties: signed `x811/error` envelopes (AX-32, AE-102).
//!
//! Notices are signed off the sequencer and recorded in a later commit, naming their cause. A cause
//! whose notices are missing, after a crash say, gets them at the next start.

use crate::entropy::Entropy;
use crate::world::OwedNotice;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use x811_protocol::code::Code;
use x811_protocol::contract::Contract;
use x811_protocol::did::Did;
use x811_protocol::envelope::{
    AcceptedHeader, CAPABILITY_NOTICE, CONSENSUS_NOTICE, CoreType, Header, MessageType, seal,
};
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::jws::{self, sign_object};
use x811_protocol::kernel::News;
use x811_protocol::kernel::SubjectMachine;
use x811_protocol::key::{KeyId, Profile, SecretKey};
use x811_protocol::round::{Outcome, signal_type};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// The version of the protocol that notices speak (AE-69).
pub(crate) const VERSION: &str = "0.1.0";

/// A notice that is owed: what, to whom, because of which record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owed {
    /// Position of the record it tells of.
    pub cause: u64,
    /// The agent that it is sent to.
    pub to: Did,
    /// What to tell.
    pub notice: OwedNotice,
}

/// A signed notice, ready to be recorded.
#[derive(Debug, Clone)]
pub struct SignedNotice {
    /// What it is about.
    pub subject: Subject,
    /// Position of the record it tells of.
    pub cause: u64,
    /// The code told by an `x811/error`.
    pub code: Option<Code>,
    /// The header of the notice's envelope, as its record has it.
    pub envelope: AcceptedHeader,
    /// Its canonical signable bytes.
    pub body: Arc<[u8]>,
}

/// Signs notices with the ledger's envelope key.
pub struct Notary {
    did: Did,
    key: SecretKey,
}

impl Notary {
    /// A notary for the ledger `did`.
    pub fn new(did: Did, key: SecretKey) -> Notary {
        Notary { did, key }
    }

    /// Signs the notice that is `owed`.
    pub fn sign(&self, owed: &Owed, now: TimestampMs, entropy: &impl Entropy) -> SignedNotice {
        let mut id_bytes = [0; 10];
        let mut nonce_bytes = [0; 16];
        entropy.fill(&mut id_bytes);
        entropy.fill(&mut nonce_bytes);
        let header = Header {
            id: EnvelopeId::from_parts(now.as_ms(), &id_bytes),
            version: VERSION.to_owned(),
            message_type: message_type(&owed.notice),
            from: self.did,
            to: owed.to,
            created_ms: now,
            expires_ms: None,
            nonce: Nonce::from_random(nonce_bytes),
        };
        let mut said = payload(owed);
        if let Some(typ) = signed_inside(&owed.notice) {
            let kid = KeyId {
                did: self.did,
                key: self.key.public(),
            };
            let signature = sign_object(&self.key, &kid, typ, &said);
            said.insert(jws::MEMBER.to_owned(), json!(signature));
        }
        let sealed = seal(header, said, &self.key, Profile::Digest);
        SignedNotice {
            subject: owed.notice.subject,
            cause: owed.cause,
            code: recorded_code(&owed.notice),
            envelope: sealed.accepted_header(),
            body: sealed.body,
        }
    }
}

impl std::fmt::Debug for Notary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notary")
            .field("did", &self.did)
            .finish_non_exhaustive()
    }
}

/// The type of a notice: an `x811/error`, whose codes are AEEP's own, or the `notice` of the namespace that
/// the subject's machine has.
#[expect(clippy::expect_used, reason = "the names are types of messages")]
pub(crate) fn message_type(notice: &OwedNotice) -> MessageType {
    match notice.news.and(notice.subject.notices()) {
        None => MessageType::Core(CoreType::Error),
        Some(name) => MessageType::Custom(name.parse().expect("a type of messages")),
    }
}

/// Whether a notice of that type is news of a machine's own, rather than an `x811/error`.
pub(crate) fn is_news(message_type: &MessageType) -> bool {
    matches!(message_type, MessageType::Custom(custom)
        if [CAPABILITY_NOTICE, CONSENSUS_NOTICE].contains(&custom.as_str()))
}

/// The `typ` of the signature inside a notice, where it has one: that of an outcome is the ledger's signal.
pub(crate) fn signed_inside(notice: &OwedNotice) -> Option<&'static str> {
    let more = notice.more.as_ref()?;
    let is_outcome = notice.news == Some(News::RoundDecided);
    let outcome = is_outcome.then(|| more.get("outcome")).flatten()?;
    serde_json::from_value::<Outcome>(outcome.clone())
        .ok()
        .map(signal_type)
}

/// The code that the record of a notice has: that of its `x811/error` (machines.md section 8).
pub(crate) fn recorded_code(notice: &OwedNotice) -> Option<Code> {
    notice.code.filter(|_| notice.news.is_none())
}

/// What a notice says: all of it follows from what is owed, but for the signature inside it.
pub(crate) fn payload(owed: &Owed) -> Map<String, Value> {
    let mut payload = Map::new();
    let subject = owed.notice.subject;
    if let Some(code) = owed.notice.code {
        payload.insert("code".to_owned(), json!(code));
    }
    if let Some(related) = owed.notice.related {
        payload.insert("related_message_id".to_owned(), json!(related));
    }
    if let Some(news) = owed.notice.news {
        let named = json!({ "kind": subject.kind(), "id": subject.public_id() });
        payload.insert("event".to_owned(), json!(news));
        payload.insert("subject".to_owned(), named);
    } else {
        payload.insert("message".to_owned(), json!(what_to_do(&owed.notice)));
        payload.insert(subject.member().to_owned(), json!(subject.public_id()));
    }
    payload.insert("cause_position".to_owned(), json!(owed.cause));
    if let Some(more) = &owed.notice.more {
        payload.extend((**more).clone());
    }
    payload
}

/// What its reader is told to do.
fn what_to_do(notice: &OwedNotice) -> Option<&'static str> {
    let code = notice.code?;
    // The words of its windows are its own.
    let is_contract = matches!(notice.subject, Subject::Contract(_));
    Some(if is_contract {
        Contract::what_to_do(code)
    } else {
        code.what_to_do()
    })
}
