//! What the ledger tells the parties: signed `x811/error` envelopes (AX-32, AE-102).
//!
//! Notices are signed off the sequencer and recorded in a later commit, naming their cause. A cause
//! whose notices are missing, after a crash say, gets them at the next start.

use crate::entropy::Entropy;
use serde_json::json;
use std::sync::Arc;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::envelope::{AcceptedHeader, Header, seal};
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::jws::{self, sign_object};
use x811_protocol::key::{KeyId, Profile, SecretKey};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::notice::{Owed, VERSION, message_type, payload, recorded_code, signed_inside};

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
