//! What the ledger tells the parties: signed `x811/error` envelopes (AX-32, AE-102).
//!
//! Notices are signed off the sequencer and recorded in a later commit, naming their cause. A cause
//! whose notices are missing, after a crash say, gets them at the next start.

use crate::entropy::Entropy;
use crate::world::OwedNotice;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use x811_protocol::capability::agreement::Agreement;
use x811_protocol::capability::descriptor::Descriptor;
use x811_protocol::capability::session::Session;
use x811_protocol::code::Code;
use x811_protocol::contract::Contract;
use x811_protocol::did::Did;
use x811_protocol::envelope::{AcceptedHeader, CoreType, Header, MessageType, seal};
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::kernel::SubjectMachine;
use x811_protocol::key::{Profile, SecretKey};
use x811_protocol::round::Round;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// The version of the protocol that notices speak (AE-69).
pub(crate) const VERSION: &str = "0.1.0";

/// A notice that is owed: what, to whom, because of which record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owed {
    /// Position of the record it tells of.
    pub cause: u64,
    /// To whom.
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
    /// The code told.
    pub code: Code,
    /// The envelope.
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
            message_type: MessageType::Core(CoreType::Error),
            from: self.did,
            to: owed.to,
            created_ms: now,
            expires_ms: None,
            nonce: Nonce::from_random(nonce_bytes),
        };
        let sealed = seal(header, payload(owed), &self.key, Profile::Digest);
        SignedNotice {
            subject: owed.notice.subject,
            cause: owed.cause,
            code: owed.notice.code,
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

/// What a notice says: all of it follows from what is owed.
pub(crate) fn payload(owed: &Owed) -> Map<String, Value> {
    let mut payload = Map::new();
    payload.insert("code".to_owned(), json!(owed.notice.code));
    payload.insert("message".to_owned(), json!(what_to_do(owed.notice)));
    payload.insert("related_message_id".to_owned(), json!(owed.notice.related));
    let subject = owed.notice.subject;
    payload.insert(subject.member().to_owned(), json!(subject.public_id()));
    payload.insert("cause_position".to_owned(), json!(owed.cause));
    payload
}

/// What its reader is told to do.
fn what_to_do(notice: OwedNotice) -> &'static str {
    match notice.subject {
        Subject::Interaction(_) => notice.code.what_to_do(),
        Subject::Contract(_) => Contract::what_to_do(notice.code),
        Subject::Descriptor(_) => Descriptor::what_to_do(notice.code),
        Subject::Session(_) => Session::what_to_do(notice.code),
        Subject::Agreement(_) => Agreement::what_to_do(notice.code),
        Subject::Round(_) => Round::what_to_do(notice.code),
    }
}
