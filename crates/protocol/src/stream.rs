//! Names of the log's streams (record.md section 4), and of what a stream of a machine is about
//! (machines.md section 2).

use crate::did::Did;
use crate::envelope::{CAPABILITY_NOTICE, CONSENSUS_NOTICE};
use crate::id::{AgreementId, ContractId, InteractionId, RoundId, SessionId};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// What the records of one stream of a machine are about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
)]
pub enum Subject {
    /// An AEEP interaction, from its REQUEST on.
    Interaction(InteractionId),
    /// The negotiation of a contract, from its first offer on.
    Contract(ContractId),
    /// What a DID says that it can do.
    Descriptor(Did),
    /// A session about a capability, from its request on.
    Session(SessionId),
    /// An agreement that sessions made, revision by revision.
    Agreement(AgreementId),
    /// A round, from its proposal on.
    Round(RoundId),
    /// What a DID answers for: breaches of agreements, exclusion from sessions.
    Conduct(Did),
}

impl Subject {
    /// Which machine it is of: the word in front of the colon in names of streams, and `kind` in
    /// answers and rows.
    pub const fn kind(self) -> &'static str {
        match self {
            Subject::Interaction(_) => "interaction",
            Subject::Contract(_) => "contract",
            Subject::Descriptor(_) => "descriptor",
            Subject::Session(_) => "session",
            Subject::Agreement(_) => "agreement",
            Subject::Round(_) => "round",
            Subject::Conduct(_) => "conduct",
        }
    }

    /// The noun for it in sentences and in codes of failures.
    pub const fn noun(self) -> &'static str {
        if let Subject::Contract(_) = self {
            "negotiation"
        } else {
            self.kind()
        }
    }

    /// The type of its machine's own notices; what happens to the others is told by an `x811/error`.
    pub const fn notices(self) -> Option<&'static str> {
        match self {
            Subject::Session(_) | Subject::Agreement(_) | Subject::Conduct(_) => {
                Some(CAPABILITY_NOTICE)
            }
            Subject::Round(_) => Some(CONSENSUS_NOTICE),
            Subject::Interaction(_) | Subject::Contract(_) | Subject::Descriptor(_) => None,
        }
    }

    /// Its id as a stream names it: behind the colon.
    pub fn id(self) -> String {
        match self {
            Subject::Interaction(id) => id.to_string(),
            Subject::Contract(id) => id.to_string(),
            Subject::Descriptor(did) => did.to_string(),
            Subject::Session(id) => id.to_string(),
            Subject::Agreement(id) => id.to_string(),
            Subject::Round(id) => id.to_string(),
            Subject::Conduct(did) => did.to_string(),
        }
    }

    /// Returns its id as a UUID: every id is one, and they are in the order of their texts.
    pub const fn uuid(self) -> Uuid {
        match self {
            Subject::Interaction(id) => id.request_id().uuid(),
            Subject::Contract(id) => id.offer_id().uuid(),
            Subject::Descriptor(did) | Subject::Conduct(did) => did.uuid(),
            Subject::Session(id) => id.request_id().uuid(),
            Subject::Agreement(id) => id.request_id().uuid(),
            Subject::Round(id) => id.proposal_id().uuid(),
        }
    }

    /// Returns the subject of that kind and id; `None` where there is no such kind, or the id is none of its ids.
    pub fn from_uuid(kind: &str, id: Uuid) -> Option<Subject> {
        let id = match kind {
            "descriptor" | "conduct" => Did::from_uuid(id).ok()?.to_string(),
            _ => id.to_string(),
        };
        format!("{kind}:{id}").parse().ok()
    }

    /// Returns true if agents are shown lists of their subjects of this kind.
    pub const fn has_list(self) -> bool {
        match self {
            Subject::Contract(_)
            | Subject::Session(_)
            | Subject::Agreement(_)
            | Subject::Round(_) => true,
            Subject::Interaction(_) | Subject::Descriptor(_) | Subject::Conduct(_) => false,
        }
    }

    /// Its id as payloads, answers and URLs write it.
    pub fn public_id(self) -> String {
        match self {
            Subject::Interaction(id) => id.to_string(),
            Subject::Contract(id) => id.to_public(),
            Subject::Descriptor(did) => did.to_string(),
            Subject::Session(id) => id.to_string(),
            Subject::Agreement(id) => id.to_string(),
            Subject::Round(id) => id.to_string(),
            Subject::Conduct(did) => did.to_string(),
        }
    }

    /// Where a ledger has it, below `/api/v1/`.
    #[must_use]
    pub fn path(self) -> String {
        match self {
            Subject::Interaction(id) => format!("interactions/{id}"),
            Subject::Contract(id) => format!("negotiations/{}", id.to_public()),
            Subject::Descriptor(did) => format!("agents/{}/capabilities", did.uuid()),
            Subject::Session(id) => format!("sessions/{id}"),
            Subject::Agreement(id) => format!("agreements/{id}"),
            Subject::Round(id) => format!("rounds/{id}"),
            Subject::Conduct(did) => format!("agents/{}/conduct", did.uuid()),
        }
    }

    /// The member of a payload that names such a subject.
    pub const fn member(self) -> &'static str {
        match self {
            Subject::Interaction(_) => "interaction_id",
            Subject::Contract(_) => "negotiation_id",
            Subject::Descriptor(_) => "agent_id",
            Subject::Session(_) => "session_id",
            Subject::Agreement(_) => "agreement_id",
            Subject::Round(_) => "proposal_id",
            Subject::Conduct(_) => "agent_id",
        }
    }

    /// The interaction, if it is one.
    pub const fn interaction(self) -> Option<InteractionId> {
        if let Subject::Interaction(id) = self {
            Some(id)
        } else {
            None
        }
    }

    /// The contract, if it is one.
    pub const fn contract(self) -> Option<ContractId> {
        if let Subject::Contract(id) = self {
            Some(id)
        } else {
            None
        }
    }

    /// The session, if it is one.
    pub const fn session(self) -> Option<SessionId> {
        if let Subject::Session(id) = self {
            Some(id)
        } else {
            None
        }
    }

    /// The agreement, if it is one.
    pub const fn agreement(self) -> Option<AgreementId> {
        if let Subject::Agreement(id) = self {
            Some(id)
        } else {
            None
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind(), self.id())
    }
}

impl FromStr for Subject {
    type Err = UnknownStream;

    fn from_str(text: &str) -> Result<Subject, UnknownStream> {
        fn read<T: FromStr + Into<Subject>>(id: &str) -> Option<Subject> {
            id.parse().ok().map(T::into)
        }
        let subject = match text.split_once(':') {
            Some(("interaction", id)) => read::<InteractionId>(id),
            Some(("contract", id)) => read::<ContractId>(id),
            Some(("descriptor", did)) => did.parse().ok().map(Subject::Descriptor),
            Some(("session", id)) => read::<SessionId>(id),
            Some(("agreement", id)) => read::<AgreementId>(id),
            Some(("round", id)) => read::<RoundId>(id),
            Some(("conduct", did)) => did.parse().ok().map(Subject::Conduct),
            None | Some(_) => None,
        };
        subject.ok_or_else(|| UnknownStream(text.to_owned()))
    }
}

/// A stream of the log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// The ledger itself: `ledger`.
    Ledger,
    /// Sight of a network: `network:<name>`.
    Network(String),
    /// A DID's identity: `agent:<did>`.
    Agent(Did),
    /// What reached a DID and is of no subject: `mail:<did>`.
    Mail(Did),
    /// One subject of a machine: `interaction:<request id>`, `contract:<offer id>`,
    /// `descriptor:<did>`, `session:<request id>`, `agreement:<first session>`,
    /// `round:<proposal id>`, `conduct:<did>`.
    Of(Subject),
    /// Running roots over post-states: `roots`.
    Roots,
}

impl Stream {
    /// The stream of that interaction.
    pub const fn interaction(id: InteractionId) -> Stream {
        Stream::Of(Subject::Interaction(id))
    }

    /// What it is about, where it is a machine's.
    pub const fn subject(&self) -> Option<Subject> {
        match self {
            Stream::Of(subject) => Some(*subject),
            Stream::Ledger
            | Stream::Network(_)
            | Stream::Agent(_)
            | Stream::Mail(_)
            | Stream::Roots => None,
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stream::Ledger => f.write_str("ledger"),
            Stream::Network(name) => write!(f, "network:{name}"),
            Stream::Agent(did) => write!(f, "agent:{did}"),
            Stream::Mail(did) => write!(f, "mail:{did}"),
            Stream::Of(subject) => subject.fmt(f),
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
            Some(_) => text.parse().map(Stream::Of),
            None => Err(unknown()),
        }
    }
}
