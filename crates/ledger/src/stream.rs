//! Names of the log's streams (record.md section 4).

use std::fmt;
use std::str::FromStr;
use x811_protocol::did::Did;
use x811_protocol::id::InteractionId;

/// A stream of the log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// The ledger itself: `ledger`.
    Ledger,
    /// Sight of a network: `network:<name>`.
    Network(String),
    /// A DID's identity: `agent:<did>`.
    Agent(Did),
    /// What reached a DID outside any interaction: `mail:<did>`.
    Mail(Did),
    /// One interaction: `interaction:<request id>`.
    Interaction(InteractionId),
    /// Running roots over post-states: `roots`.
    Roots,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stream::Ledger => f.write_str("ledger"),
            Stream::Network(name) => write!(f, "network:{name}"),
            Stream::Agent(did) => write!(f, "agent:{did}"),
            Stream::Mail(did) => write!(f, "mail:{did}"),
            Stream::Interaction(id) => write!(f, "interaction:{id}"),
            Stream::Roots => f.write_str("roots"),
        }
    }
}

/// A stream name that is none of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a stream")]
pub struct UnknownStream(pub String);

impl FromStr for Stream {
    type Err = UnknownStream;

    fn from_str(text: &str) -> Result<Stream, UnknownStream> {
        let unknown = || UnknownStream(text.to_owned());
        match text.split_once(':') {
            None if text == "ledger" => Ok(Stream::Ledger),
            None if text == "roots" => Ok(Stream::Roots),
            Some(("network", name)) => Ok(Stream::Network(name.to_owned())),
            Some(("agent", did)) => did.parse().map(Stream::Agent).map_err(|_| unknown()),
            Some(("mail", did)) => did.parse().map(Stream::Mail).map_err(|_| unknown()),
            Some(("interaction", id)) => id.parse().map(Stream::Interaction).map_err(|_| unknown()),
            None | Some(_) => Err(unknown()),
        }
    }
}
