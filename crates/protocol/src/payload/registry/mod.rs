//! The messages of `x811.registry/`: how a DID comes to be known to a ledger and what becomes of it
//! (ledger-contract.md section 4). One file per verb.
//!
//! All of them go to the ledger's own DID, so that none can be played to another ledger. What is
//! read here is well formed and its proofs hold; whether the DID's standing and keys allow it is
//! the ledger's to decide.

mod entry;
mod reference_sdk;
mod register;
mod rotate;
mod update;

pub use entry::{Entry, wallet_refused};
pub use register::Registration;
pub use rotate::{Rotation, rotation_message};
pub use update::Update;

use serde_json::{Map, Value};

use crate::code::Code;
use crate::did::Did;
use crate::envelope::{CustomType, MessageType};
use crate::key::{AgentKey, PublicKey};
use crate::refusal::{Kind, Refusal, quoted};

/// The namespace that belongs to the ledger.
const NAMESPACE: &str = "registry";

named! {
    /// What is asked of the registry.
    pub enum Verb {
        /// Make a DID known.
        Register = "x811.registry/register",
        /// Replace document, capabilities, wallets and expiry; never keys.
        Update = "x811.registry/update",
        /// Replace the key that signs.
        Rotate = "x811.registry/rotate",
        /// Leave for a while.
        Deactivate = "x811.registry/deactivate",
        /// Take a deactivated DID into use again.
        Reactivate = "x811.registry/reactivate",
        /// Leave for ever.
        Revoke = "x811.registry/revoke",
    }
}

impl Verb {
    /// The same as a type.
    pub fn message_type(self) -> MessageType {
        #[expect(clippy::expect_used, reason = "a test reads all six")]
        let custom: CustomType = self
            .as_str()
            .parse()
            .expect("the constants are custom types");
        MessageType::Custom(custom)
    }

    /// The verb of that type; `None` for a type that is not the registry's.
    ///
    /// # Errors
    /// X811-4001 (HTTP 400) for a type of the registry's namespace that is none of its verbs: taken
    /// as mail it would look as if it had been done.
    pub fn of(message_type: &MessageType) -> Result<Option<Verb>, Refusal> {
        let MessageType::Custom(custom) = message_type else {
            return Ok(None);
        };
        if custom.namespace() != NAMESPACE {
            return Ok(None);
        }
        let known = Verb::ALL
            .into_iter()
            .find(|verb| verb.as_str() == custom.as_str());
        known.map(Some).ok_or_else(|| {
            Refusal::shape(format!(
                "the registry has no verb {}; it has register, update, rotate, deactivate, \
                 reactivate and revoke",
                quoted(custom.name())
            ))
        })
    }
}

/// A well-formed message to the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Registers an agent (`x811.registry/register`).
    Register(Box<Registration>),
    /// Replaces what is registered besides the keys (`x811.registry/update`).
    Update(Box<Update>),
    /// Replaces one of the keys (`x811.registry/rotate`).
    Rotate(Box<Rotation>),
    /// Takes the DID out of use for now (`x811.registry/deactivate`).
    Deactivate,
    /// Takes the DID into use again (`x811.registry/reactivate`).
    Reactivate,
    /// Takes the DID out of use for ever (`x811.registry/revoke`).
    Revoke,
}

impl Operation {
    /// What it says of the agent, where it says it anew.
    pub fn entry(&self) -> Option<&Entry> {
        match self {
            Operation::Register(registration) => Some(&registration.entry),
            Operation::Update(update) => Some(&update.entry),
            Operation::Rotate(_)
            | Operation::Deactivate
            | Operation::Reactivate
            | Operation::Revoke => None,
        }
    }

    /// Reads the payload of `verb`, signed by `signing_key` of `from`. The last three verbs have no
    /// members; what they carry is ignored (AE-39).
    ///
    /// # Errors
    /// As [`Registration::parse`], [`Update::parse`] and [`Rotation::parse`].
    pub fn parse(
        verb: Verb,
        from: Did,
        ledger: Did,
        signing_key: PublicKey,
        payload: &Map<String, Value>,
    ) -> Result<Operation, Refusal> {
        Ok(match verb {
            Verb::Register => {
                Operation::Register(Box::new(Registration::parse(from, ledger, payload)?))
            }
            Verb::Update => Operation::Update(Box::new(Update::parse(from, ledger, payload)?)),
            Verb::Rotate => Operation::Rotate(Box::new(Rotation::parse(
                from,
                ledger,
                signing_key,
                payload,
            )?)),
            Verb::Deactivate => Operation::Deactivate,
            Verb::Reactivate => Operation::Reactivate,
            Verb::Revoke => Operation::Revoke,
        })
    }

    /// What it asks for.
    pub const fn verb(&self) -> Verb {
        match self {
            Operation::Register(_) => Verb::Register,
            Operation::Update(_) => Verb::Update,
            Operation::Rotate(_) => Verb::Rotate,
            Operation::Deactivate => Verb::Deactivate,
            Operation::Reactivate => Verb::Reactivate,
            Operation::Revoke => Verb::Revoke,
        }
    }
}

/// Whether a document lists exactly these keys, in whatever order.
fn lists(document: &[PublicKey], keys: &[AgentKey]) -> bool {
    document.len() == keys.len() && keys.iter().all(|known| document.contains(&known.key))
}

fn mismatch(message: impl AsRef<str>) -> Refusal {
    Refusal::new(Code::DidDocumentInvalid, Kind::Shape, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_4_every_verb_is_a_custom_type_and_reads_back() {
        for verb in Verb::ALL {
            let message_type = verb.message_type();
            assert_eq!(message_type.as_str(), verb.to_string());
            assert_eq!(Verb::of(&message_type), Ok(Some(verb)));
        }
    }

    #[test]
    fn lc_4_an_unknown_verb_is_refused_and_other_namespaces_are_left_alone() {
        for unknown in ["x811.registry/key.rotate", "x811.registry/registers"] {
            let refusal = Verb::of(&unknown.parse().unwrap()).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidStateTransition);
            assert_eq!(refusal.http_status(), 400, "{unknown}");
        }
        for other in [
            "x811/request",
            "x811.ext/register",
            "x811.registry.x/rotate",
        ] {
            assert_eq!(Verb::of(&other.parse().unwrap()), Ok(None), "{other}");
        }
    }
}
