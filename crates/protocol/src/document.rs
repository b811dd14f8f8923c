//! DID documents: which Ed25519 keys speak for an agent (AE-92, AX-24).
//!
//! Two dialects are read, that of the upstream code (several contexts, `Ed25519VerificationKey2020`,
//! an X25519 key besides) and that of AEEP v0.2.1 and current W3C texts (one context, `Multikey`).
//! What is written is the union of both that either side understands. Only the methods that the
//! document names for `authentication` or `assertionMethod` count; keys of other kinds are passed
//! over.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::code::Code;
use crate::did::Did;
use crate::key::{AgentKey, KeyError, KeyId, PublicKey};

const DID_CONTEXTS: [&str; 2] = [
    "https://www.w3.org/ns/did/v1",
    "https://www.w3.org/ns/did/v1.1",
];
const SUITE_CONTEXT: &str = "https://w3id.org/security/suites/ed25519-2020/v1";
const SUITE_TYPE: &str = "Ed25519VerificationKey2020";
const MULTIKEY_TYPE: &str = "Multikey";
const RELATIONSHIPS: [&str; 2] = ["authentication", "assertionMethod"];

/// What counts of a DID document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DidDocument {
    /// The agent it describes.
    pub id: Did,
    /// Its 1 to 8 Ed25519 keys: those for authentication, then those for assertions, each once.
    pub keys: Vec<PublicKey>,
}

impl DidDocument {
    /// The most Ed25519 keys a document may have (AX-24).
    pub const MAX_KEYS: usize = 8;

    /// Reads a DID document.
    ///
    /// # Errors
    /// X811-1004 when an Ed25519 key is malformed or there is none, X811-1005 when the document is
    /// malformed elsewhere; [`DocumentError::code`] says which.
    pub fn parse(value: &Value) -> Result<DidDocument, DocumentError> {
        let document = value.as_object().ok_or(DocumentError::NotObject)?;
        check_context(document.get("@context"))?;
        let id = document
            .get("id")
            .and_then(Value::as_str)
            .and_then(|id| id.parse().ok());
        let id: Did = id.ok_or(DocumentError::BadId)?;
        let methods = declared_methods(id, document)?;

        let mut keys = Vec::new();
        for relationship in RELATIONSHIPS {
            for entry in array(document, relationship)? {
                let method = match entry {
                    Value::String(url) => method_url(id, url)
                        .and_then(|url| methods.get(&url).copied())
                        .ok_or(DocumentError::UnknownReference { relationship })?,
                    Value::Object(method) => method,
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                        return Err(DocumentError::BadMethod);
                    }
                };
                if let Some(key) = ed25519_key(id, method)?
                    && !keys.contains(&key)
                {
                    keys.push(key);
                }
            }
        }
        match keys.len() {
            0 => Err(DocumentError::NoKey),
            1..=DidDocument::MAX_KEYS => Ok(DidDocument { id, keys }),
            _ => Err(DocumentError::TooManyKeys),
        }
    }

    /// Writes the document of an agent: every key for authentication and assertions, under the
    /// [`KeyId`] that records and signed reads name it by.
    pub fn build(did: Did, keys: &[AgentKey], service_endpoint: Option<&str>) -> Value {
        let ids: Vec<String> = keys
            .iter()
            .map(|agent| {
                KeyId {
                    did,
                    key: agent.key,
                }
                .to_string()
            })
            .collect();
        let methods: Vec<Value> = keys
            .iter()
            .zip(&ids)
            .map(|(agent, id)| {
                json!({
                    "id": id,
                    "type": SUITE_TYPE,
                    "controller": did,
                    "publicKeyMultibase": agent.key,
                })
            })
            .collect();
        let services: Vec<Value> = service_endpoint
            .map(|endpoint| {
                json!({
                    "id": format!("{did}#agent-service"),
                    "type": "X811AgentService",
                    "serviceEndpoint": endpoint,
                })
            })
            .into_iter()
            .collect();
        json!({
            "@context": [DID_CONTEXTS[0], SUITE_CONTEXT],
            "id": did,
            "verificationMethod": methods,
            "authentication": ids,
            "assertionMethod": ids,
            "service": services,
        })
    }
}

/// Plain JSON documents have no context; if there is one, it begins with that of DID Core.
fn check_context(context: Option<&Value>) -> Result<(), DocumentError> {
    let first = match context {
        None => return Ok(()),
        Some(Value::Array(contexts)) => contexts.first(),
        Some(single) => Some(single),
    };
    let known = first
        .and_then(Value::as_str)
        .is_some_and(|first| DID_CONTEXTS.contains(&first));
    if known {
        Ok(())
    } else {
        Err(DocumentError::BadContext)
    }
}

/// The verification methods by their absolute DID URL.
fn declared_methods(
    id: Did,
    document: &Map<String, Value>,
) -> Result<BTreeMap<String, &Map<String, Value>>, DocumentError> {
    let mut methods = BTreeMap::new();
    for method in array(document, "verificationMethod")? {
        let method = method.as_object().ok_or(DocumentError::BadMethod)?;
        let url = text(method, "id").and_then(|url| method_url(id, url));
        if methods
            .insert(url.ok_or(DocumentError::BadMethod)?, method)
            .is_some()
        {
            return Err(DocumentError::DuplicateMethod);
        }
    }
    Ok(methods)
}

/// The absolute form of `#fragment` or `<did>#fragment`; `None` for another DID's.
fn method_url(id: Did, url: &str) -> Option<String> {
    let (did, fragment) = url.split_once('#')?;
    let own = did.is_empty() || did.parse() == Ok(id);
    (own && !fragment.is_empty()).then(|| format!("{id}#{fragment}"))
}

/// The method's key if it is an Ed25519 key; `None` if it is of another kind.
fn ed25519_key(id: Did, method: &Map<String, Value>) -> Result<Option<PublicKey>, DocumentError> {
    let multibase = text(method, "publicKeyMultibase");
    let is_ed25519 = match text(method, "type").ok_or(DocumentError::BadMethod)? {
        SUITE_TYPE => true,
        // Multicodec ed25519-pub always shows as z6Mk.
        MULTIKEY_TYPE => multibase.is_none_or(|multibase| multibase.starts_with("z6Mk")),
        _ => false,
    };
    if !is_ed25519 {
        return Ok(None);
    }
    if text(method, "id")
        .and_then(|url| method_url(id, url))
        .is_none()
    {
        return Err(DocumentError::BadMethod);
    }
    if text(method, "controller").and_then(|controller| controller.parse().ok()) != Some(id) {
        return Err(DocumentError::BadController);
    }
    let key = multibase.ok_or(KeyError::NotMultibase).and_then(str::parse);
    key.map(Some).map_err(DocumentError::BadKey)
}

fn array<'a>(
    document: &'a Map<String, Value>,
    name: &'static str,
) -> Result<&'a [Value], DocumentError> {
    match document.get(name) {
        None => Ok(&[]),
        Some(Value::Array(entries)) => Ok(entries),
        Some(_) => Err(DocumentError::NotArray { name }),
    }
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str)
}

/// Why a DID document was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Not a JSON object.
    #[error("the DID document is not a JSON object: send the document itself")]
    NotObject,
    /// The first context is another one.
    #[error("the first @context is not https://www.w3.org/ns/did/v1: put that one first")]
    BadContext,
    /// No `id`, or not one of this method.
    #[error("the document's id is no DID: write did:x811:<uuid> in lower case")]
    BadId,
    /// A list is not a list.
    #[error("{name} is not an array: list the verification methods in one")]
    NotArray {
        /// Name of the member.
        name: &'static str,
    },
    /// A verification method without its parts.
    #[error("a verification method has no proper id or type: name it <did>#<fragment>")]
    BadMethod,
    /// Two methods of one name.
    #[error("two verification methods have the same id: give each its own")]
    DuplicateMethod,
    /// A name that nothing in the document has.
    #[error("{relationship} refers to a method that the document does not have: add it")]
    UnknownReference {
        /// The list with the reference.
        relationship: &'static str,
    },
    /// Someone else's key.
    #[error("the controller of an Ed25519 key is not the document's id: set it to that")]
    BadController,
    /// The key itself.
    #[error("an Ed25519 key is unusable: {0}")]
    BadKey(KeyError),
    /// Nobody could ever sign.
    #[error("no Ed25519 key for authentication or assertionMethod: add one")]
    NoKey,
    /// More than are ever tried.
    #[error("more than 8 Ed25519 keys: remove some")]
    TooManyKeys,
}

impl DocumentError {
    /// X811-1004 for the key, X811-1005 for the rest of the document.
    pub const fn code(&self) -> Code {
        match self {
            DocumentError::BadKey(_) | DocumentError::NoKey => Code::InvalidPublicKey,
            DocumentError::NotObject
            | DocumentError::BadContext
            | DocumentError::BadId
            | DocumentError::NotArray { .. }
            | DocumentError::BadMethod
            | DocumentError::DuplicateMethod
            | DocumentError::UnknownReference { .. }
            | DocumentError::BadController
            | DocumentError::TooManyKeys => Code::DidDocumentInvalid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Profile, SecretKey};

    const DID: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
    const OTHER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65449";

    fn key(seed: u8) -> PublicKey {
        SecretKey::from_seed([seed; 32]).public()
    }

    fn method(id: &str, kind: &str, multibase: &str) -> Value {
        json!({"id": id, "type": kind, "controller": DID, "publicKeyMultibase": multibase})
    }

    /// The document of the upstream code.
    fn upstream() -> Value {
        json!({
            "@context": [
                "https://www.w3.org/ns/did/v1",
                "https://w3id.org/security/suites/ed25519-2020/v1",
                "https://w3id.org/security/suites/x25519-2020/v1",
            ],
            "id": DID,
            "verificationMethod": [method(&format!("{DID}#key-1"), SUITE_TYPE, &key(1).to_string())],
            "authentication": [format!("{DID}#key-1")],
            "keyAgreement": [method(&format!("{DID}#key-2"), "X25519KeyAgreementKey2020", "z6LSx")],
            "service": [],
        })
    }

    /// The document of AEEP v0.2.1, with keys in every place they may have.
    fn version_0_2_1() -> Value {
        json!({
            "@context": "https://www.w3.org/ns/did/v1",
            "id": DID,
            "verificationMethod": [
                method("#a", MULTIKEY_TYPE, &key(1).to_string()),
                method(&format!("{DID}#unused"), MULTIKEY_TYPE, &key(9).to_string()),
                method("#p256", MULTIKEY_TYPE, "zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv"),
            ],
            "authentication": [
                format!("{DID}#a"),
                "#p256",
                method("#embedded", SUITE_TYPE, &key(2).to_string()),
            ],
            "assertionMethod": ["#a", method("#b", MULTIKEY_TYPE, &key(3).to_string())],
        })
    }

    #[test]
    fn ax_024_reads_both_dialects() {
        let did: Did = DID.parse().unwrap();
        let read = DidDocument::parse(&upstream()).unwrap();
        assert_eq!(
            read,
            DidDocument {
                id: did,
                keys: vec![key(1)]
            }
        );
        let read = DidDocument::parse(&version_0_2_1()).unwrap();
        assert_eq!(
            read,
            DidDocument {
                id: did,
                keys: vec![key(1), key(2), key(3)]
            }
        );
    }

    #[test]
    fn ax_024_what_is_built_reads_back_for_1_to_8_keys() {
        let did: Did = DID.parse().unwrap();
        let agent_keys = |count: u8| -> Vec<AgentKey> {
            (1..=count)
                .map(|seed| AgentKey {
                    key: key(seed),
                    profile: Profile::Digest,
                })
                .collect()
        };
        for count in 1..=8 {
            let keys = agent_keys(count);
            let document = DidDocument::build(did, &keys, Some("https://agent.example/x811"));
            let read = DidDocument::parse(&document).unwrap();
            assert_eq!(
                read.keys,
                keys.iter().map(|agent| agent.key).collect::<Vec<_>>()
            );
            assert_eq!(
                document["service"][0]["serviceEndpoint"],
                "https://agent.example/x811"
            );
            assert_eq!(document["authentication"][0], format!("{DID}#{}", key(1)));
        }
        let none = DidDocument::build(did, &[], None);
        assert_eq!(none["service"], json!([]));
        assert_eq!(DidDocument::parse(&none), Err(DocumentError::NoKey));
        let nine = DidDocument::build(did, &agent_keys(9), None);
        assert_eq!(DidDocument::parse(&nine), Err(DocumentError::TooManyKeys));
    }

    #[test]
    fn x811_1005_a_malformed_document() {
        use DocumentError as E;
        let authentication = "authentication";
        let table = [
            ("/@context", json!("https://example.com/v1"), E::BadContext),
            ("/@context", json!([]), E::BadContext),
            ("/@context", json!(null), E::BadContext),
            ("/id", json!("did:web:example.com"), E::BadId),
            ("/id", json!(DID.to_uppercase()), E::BadId),
            ("/id", json!(OTHER), E::BadMethod),
            (
                "/authentication",
                json!({}),
                E::NotArray {
                    name: authentication,
                },
            ),
            ("/authentication", json!([1]), E::BadMethod),
            (
                "/authentication",
                json!(["#key-9"]),
                E::UnknownReference {
                    relationship: authentication,
                },
            ),
            (
                "/authentication",
                json!([format!("{OTHER}#key-1")]),
                E::UnknownReference {
                    relationship: authentication,
                },
            ),
            (
                "/authentication",
                json!(["key-1"]),
                E::UnknownReference {
                    relationship: authentication,
                },
            ),
            ("/verificationMethod", json!([{}]), E::BadMethod),
            ("/verificationMethod", json!(["#key-1"]), E::BadMethod),
            (
                "/verificationMethod/0/id",
                json!(format!("{OTHER}#key-1")),
                E::BadMethod,
            ),
            ("/verificationMethod/0/type", json!(1), E::BadMethod),
            (
                "/verificationMethod/0/controller",
                json!(OTHER),
                E::BadController,
            ),
        ];
        for (pointer, value, error) in table {
            let mut document = upstream();
            *document.pointer_mut(pointer).unwrap() = value.clone();
            assert_eq!(
                DidDocument::parse(&document),
                Err(error),
                "{pointer} = {value}"
            );
            assert_eq!(error.code(), Code::DidDocumentInvalid);
        }
        let mut twice = upstream();
        let first = twice["verificationMethod"][0].clone();
        twice["verificationMethod"]
            .as_array_mut()
            .unwrap()
            .push(first);
        assert_eq!(DidDocument::parse(&twice), Err(E::DuplicateMethod));
        assert_eq!(DidDocument::parse(&json!([upstream()])), Err(E::NotObject));
    }

    #[test]
    fn x811_1004_a_missing_or_malformed_key() {
        use DocumentError::{BadKey, NoKey};
        // The identity point, in multibase: it would verify anything.
        let small_order = {
            let bytes = [&[0xed, 0x01, 0x01][..], &[0; 31]].concat();
            format!("z{}", bs58::encode(bytes).into_string())
        };
        let key_member = "/verificationMethod/0/publicKeyMultibase";
        for (pointer, value, error) in [
            (key_member, json!("key"), BadKey(KeyError::NotMultibase)),
            (key_member, json!(null), BadKey(KeyError::NotMultibase)),
            (key_member, json!(small_order), BadKey(KeyError::SmallOrder)),
            ("/authentication", json!([]), NoKey),
            ("/verificationMethod/0/type", json!("JsonWebKey2020"), NoKey),
        ] {
            let mut document = upstream();
            *document.pointer_mut(pointer).unwrap() = value.clone();
            assert_eq!(
                DidDocument::parse(&document),
                Err(error),
                "{pointer} = {value}"
            );
            assert_eq!(error.code(), Code::InvalidPublicKey);
        }
    }
}
