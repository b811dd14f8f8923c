//! Agent cards of A2A 1.0, composed from the registry and signed by the ledger's envelope key: *this
//! ledger's view* of an agent (agents.md section 3). Cards that agents sign themselves are not taken.
//!
//! What that key signs otherwise are digests of 32 bytes and snapshots, which begin with a line of their
//! own; a JWS is longer than the one and begins unlike the other, so none passes for another.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::document::DidDocument;
use x811_protocol::key::{AgentKey, Profile, SecretKey};

/// Names the members of `params` in a card's extension.
const EXTENSION: &str = "urn:x811:aeep:0";

/// How agents are spoken to: envelopes, not A2A messages.
const BINDING: &str = "AEEP";

/// Of the protocol, as envelopes have it.
const PROTOCOL_VERSION: &str = "0.1.0";

const JSON: &str = "application/json";

/// What cards say of the ledger that makes them.
pub(crate) struct Cards {
    ledger: Did,
    key: SecretKey,
    /// Where envelopes are sent.
    messages_url: String,
}

/// Whom a card is about.
pub(crate) struct Subject {
    pub(crate) did: Did,
    pub(crate) description: String,
    /// Task types it offers; for the ledger what it does.
    pub(crate) skills: Vec<Skill>,
    /// Members of the extension, texts and lists of texts alone: other implementations hold numbers of
    /// an extension as floating point, over which no signature holds.
    pub(crate) params: Value,
}

/// One thing that somebody offers.
pub(crate) struct Skill {
    pub(crate) id: String,
    pub(crate) description: String,
}

impl Cards {
    /// For a ledger that clients reach under `base_url`.
    pub(crate) fn new(ledger: Did, key: SecretKey, base_url: &str) -> Cards {
        Cards {
            ledger,
            key,
            messages_url: format!("{base_url}/api/v1/messages"),
        }
    }

    /// The card of `subject`, signed.
    pub(crate) fn card(&self, subject: Subject) -> Value {
        let skills = subject.skills.into_iter().map(|skill| {
            json!({
                "id": skill.id,
                "name": skill.id,
                "description": skill.description,
                "tags": ["aeep"],
            })
        });
        let mut params = subject.params;
        params["did"] = json!(subject.did);
        params["ledger"] = json!(self.ledger);
        params["protocol_majors"] = json!(["0"]);
        // Nothing is empty, and no member has the default of its type: a reader that writes the card
        // anew, to verify it, leaves those out.
        self.signed(json!({
            "name": subject.did,
            "description": subject.description,
            "version": PROTOCOL_VERSION,
            "supportedInterfaces": [{
                "url": self.messages_url,
                "protocolBinding": BINDING,
                "protocolVersion": PROTOCOL_VERSION,
            }],
            "capabilities": {
                "extensions": [{
                    "uri": EXTENSION,
                    "description": "Signed envelopes of x811 AEEP, recorded by this ledger",
                    "required": true,
                    "params": params,
                }],
            },
            "defaultInputModes": [JSON],
            "defaultOutputModes": [JSON],
            "skills": skills.collect::<Vec<Value>>(),
        }))
    }

    /// JWS over the RFC 8785 form, detached in `signatures` (A2A 1.0 section 8.4).
    fn signed(&self, mut card: Value) -> Value {
        let key = AgentKey {
            key: self.key.public(),
            profile: Profile::Digest,
        };
        let document = DidDocument::build(self.ledger, &[key], None);
        let protected = json!({
            "alg": "EdDSA",
            "kid": document["verificationMethod"][0]["id"],
            "typ": "JOSE",
        });
        let protected = BASE64_URL_SAFE_NO_PAD.encode(to_canonical(&protected));
        let payload = BASE64_URL_SAFE_NO_PAD.encode(to_canonical(&card));
        let signature = self.key.sign(format!("{protected}.{payload}").as_bytes());
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.as_bytes());
        card["signatures"] = json!([{ "protected": protected, "signature": signature }]);
        card
    }
}
