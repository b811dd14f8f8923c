//! What a trace is named by.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{ContractId, EnvelopeId};

/// The id of the first attempt of a round, of a session or of an agreement, which are envelope ids; or of a
/// contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Wid {
    /// A contract, written `neg-` and a UUID.
    Contract(ContractId),
    /// A first attempt of a round, a session or an agreement, by its envelope id.
    Envelope(EnvelopeId),
}

/// A text that names no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no id of a round, session, agreement or negotiation: write a UUID, or neg- and a UUID")]
pub struct NotAWid;

impl fmt::Display for Wid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wid::Contract(id) => f.write_str(&id.to_public()),
            Wid::Envelope(id) => id.fmt(f),
        }
    }
}

impl FromStr for Wid {
    type Err = NotAWid;

    fn from_str(text: &str) -> Result<Wid, NotAWid> {
        let contract = ContractId::from_public(text).map(Wid::Contract);
        let other = |_| EnvelopeId::lenient(text).map(Wid::Envelope);
        contract.or_else(other).map_err(|_| NotAWid)
    }
}

impl TryFrom<String> for Wid {
    type Error = NotAWid;

    fn try_from(text: String) -> Result<Wid, NotAWid> {
        text.parse()
    }
}

impl From<Wid> for String {
    fn from(wid: Wid) -> String {
        wid.to_string()
    }
}
