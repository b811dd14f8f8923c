//! What the two published implementations do differently, side by side.

use serde::Serialize;
use x811_protocol::signature::Signature;

use super::message::Message;
use super::{xap_reference, xap_sdk};

/// By whose rules a chain was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Profile {
    /// Chains as `xap-sdk` of PyPI writes them.
    #[serde(rename = "xap-sdk")]
    Sdk,
    /// The Python reference of the protocol's repository.
    #[serde(rename = "xap-reference")]
    Reference,
}

/// How one implementation makes a chain.
pub(super) struct Rules {
    /// The bytes of a message whose SHA-256 the next one names.
    pub(super) linked: fn(&Message) -> Vec<u8>,
    /// The bytes of a message that its signature covers.
    pub(super) signed: fn(&Message) -> Vec<u8>,
    /// Reads a signature; `None` for another spelling.
    pub(super) signature: fn(&str) -> Option<Signature>,
    /// Rounds that ACCEPT and REJECT add to those of the step they answer.
    pub(super) rounds_of_answer: u64,
    /// The OFFER may have an empty signature.
    pub(super) leaves_offer_unsigned: bool,
    /// The author of the last terms may REJECT, which withdraws them.
    pub(super) has_withdrawal: bool,
    /// ACCEPT may name its own sender as receiver.
    pub(super) accepts_to_itself: bool,
}

impl Profile {
    /// The profile that a signature is spelled in: the SDK's names its algorithm.
    pub(super) fn of_signature(signature: &str) -> Profile {
        match signature.starts_with(xap_sdk::PREFIX) {
            true => Profile::Sdk,
            false => Profile::Reference,
        }
    }

    /// The other one.
    pub(super) fn other(self) -> Profile {
        match self {
            Profile::Sdk => Profile::Reference,
            Profile::Reference => Profile::Sdk,
        }
    }

    pub(super) fn rules(self) -> &'static Rules {
        match self {
            Profile::Sdk => &xap_sdk::RULES,
            Profile::Reference => &xap_reference::RULES,
        }
    }

    /// Its name: `xap-sdk` or `xap-reference`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Profile::Sdk => "xap-sdk",
            Profile::Reference => "xap-reference",
        }
    }
}

impl std::fmt::Display for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
