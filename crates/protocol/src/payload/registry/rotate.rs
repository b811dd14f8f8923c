//! The payload of `x811.registry/rotate`: one key in place of the key that signs the message.

use serde_json::{Map, Value};

use super::super::member::Members;
use super::entry::own_document;
use super::{lists, mismatch};
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::document::DidDocument;
use crate::key::{AgentKey, PublicKey};
use crate::refusal::{Kind, Refusal};
use crate::signature::Signature;

/// First line of the text that a new key signs.
const ROTATION_TITLE: &str = "x811 key rotation v1";

/// A new key that has proved itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// The key that ends: the one that signed the message.
    pub old_key: PublicKey,
    /// The key that begins, and what it signs.
    pub new_key: AgentKey,
    /// The new key's signature over [`rotation_message`].
    pub proof: Signature,
    /// The document from here on: it lists the new key and not the old one.
    pub document: DidDocument,
    /// SHA-256 of the document's RFC 8785 form.
    pub document_digest: Digest,
}

impl Rotation {
    /// Reads the payload `{document, new_key, profile?, proof}` of a message that `old_key` signed.
    /// `profile` is `digest` (the default) or `direct` (AX-23).
    ///
    /// # Errors
    /// - X811-4001 when a member is missing or of the wrong type;
    /// - X811-1004 for a bad key, in the document or as `new_key`;
    /// - X811-1005 for a document that is malformed, of another DID, still lists the old key or
    ///   lacks the new one, and for a proof that does not hold.
    pub fn parse(
        from: Did,
        ledger: Did,
        old_key: PublicKey,
        payload: &Map<String, Value>,
    ) -> Result<Self, Refusal> {
        let members = Members::new("rotation", payload);
        let (document, document_digest) = own_document(members.object("document")?, from)?;
        let key: PublicKey = members.string("new_key")?.parse().map_err(bad_key)?;
        let profile = members.optional_word("profile")?.unwrap_or_default();
        let proof: Signature = members.word("proof")?;
        if !document.keys.contains(&key) || document.keys.contains(&old_key) {
            return Err(mismatch(
                "the document after a rotation lists new_key and not the key that signs the \
                 message; replace the one by the other in it",
            ));
        }
        let proved = rotation_message(from, ledger, old_key, key);
        if !key.verify(proved.as_bytes(), &proof) {
            return Err(mismatch(
                "the proof is not by new_key over the rotation text; sign the lines that name \
                 this agent, this ledger, the old key and the new key",
            ));
        }
        Ok(Self {
            old_key,
            new_key: AgentKey { key, profile },
            proof,
            document,
            document_digest,
        })
    }

    /// Checks that, of the agent's `keys`, exactly the old one is replaced.
    ///
    /// # Errors
    /// X811-1005.
    pub fn replaces_one_of(&self, keys: &[AgentKey]) -> Result<(), Refusal> {
        if keys.iter().any(|known| known.key == self.new_key.key) {
            return Err(mismatch(
                "new_key is registered already; generate a key of its own",
            ));
        }
        let replaced: Vec<AgentKey> = keys
            .iter()
            .map(|known| match known.key == self.old_key {
                true => self.new_key,
                false => *known,
            })
            .collect();
        if lists(&self.document.keys, &replaced) {
            return Ok(());
        }
        Err(mismatch(
            "a rotation replaces the key that signs it and no other; keep every other key of the \
             registered document",
        ))
    }
}

/// The text a new key signs to take the place of `old_key`: five lines joined by LF, without a
/// final one; keys in multibase (ledger-contract.md section 4).
pub fn rotation_message(agent: Did, ledger: Did, old_key: PublicKey, new_key: PublicKey) -> String {
    format!("{ROTATION_TITLE}\n{agent}\n{ledger}\n{old_key}\n{new_key}")
}

fn bad_key(fault: crate::key::KeyError) -> Refusal {
    Refusal::new(
        Code::InvalidPublicKey,
        Kind::Shape,
        format!("new_key: {fault}"),
    )
}
