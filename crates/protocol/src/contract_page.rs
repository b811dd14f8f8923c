//! A negotiation contract in the members of the published page, NegotiationContract v2.4
//! (contract.md "Rendered contract, XAP"; XN-1, XN-5, XX-1).
//!
//! A rendering is for readers. Nothing is ever decided from it: what the ledger decided lies in its
//! log, and who signed what is proven by the contract's bundle. Alone, a rendering shows that its
//! entries belong together and in which order, as far as [`verify`] says. Whoever has it can also
//! change an entry and compute every later hash again.
//!
//! The page leaves the bytes of its hash chain open. Profile `x811-jcs-1`: an *event* is a history
//! entry without `hash`, as RFC 8785 bytes; `hash[0] = SHA-256(event[0])` and
//! `hash[n] = SHA-256(event[n] ‖ hash[n-1])`, where a hash is text: `0x` and 64 lower-case hex digits.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::canonical::members_to_canonical;
use crate::did::Did;
use crate::digest::Digest;
use crate::id::EnvelopeId;
use crate::json::{JsonError, Limits, parse_strict};
use crate::time::TimestampMs;

/// The name of the one chain profile that is written and read (XX-1).
pub const CHAIN_PROFILE: &str = "x811-jcs-1";

/// The longest rendering that [`verify`] reads, in bytes.
pub const MAX_PAGE_BYTES: usize = 8 << 20;

/// What comes before the id of a contract wherever people read it (XN-1).
const ID_PREFIX: &str = "neg-";

/// Where a contract stands (XN-2). No word of this is a state of an interaction (XX-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PageStatus {
    /// Offered; nobody has answered.
    Pending,
    /// At least one counter; the last one is not answered.
    Countered,
    /// Both parties agreed on the terms.
    Accepted,
    /// One party rejected the last terms, or their author withdrew them.
    Rejected,
    /// The last terms were not answered in time.
    Expired,
}

/// What a turn did (XN-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageAction {
    /// The first terms.
    Offer,
    /// Other terms in place of the last ones.
    Counter,
    /// Agreement to the last terms.
    Accept,
    /// An end without agreement; a withdrawal too, which the page has no word for (XX-2). A
    /// withdrawal is the one whose agent is the author of the last terms.
    Reject,
}

impl PageAction {
    /// Whether it says terms.
    fn has_terms(self) -> bool {
        matches!(self, PageAction::Offer | PageAction::Counter)
    }
}

/// One entry of the history (XN-5).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageEntry {
    /// What was done.
    pub action: PageAction,
    /// Who did it.
    pub agent: Did,
    /// The terms, of an offer and of a counter alone.
    pub terms: Option<Map<String, Value>>,
    /// What the agent wrote beside it.
    pub message: Option<String>,
    /// When the ledger recorded it.
    #[serde(with = "moment")]
    pub at: TimestampMs,
}

/// What a rendering is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The envelope id of the offer.
    pub id: EnvelopeId,
    /// Who made the offer.
    pub initiator: Did,
    /// The agent that the offer is made to.
    pub responder: Did,
    /// Where it stands.
    pub status: PageStatus,
    /// What was done, oldest first. An expiry is no entry: the page has no action for it.
    pub history: Vec<PageEntry>,
    /// The first moment at which the last terms can no longer be answered (XX-3).
    pub expires_at: TimestampMs,
}

/// A rendering: the page's ten members, and the profile of its hash chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NegotiationAnswer))]
pub struct ContractPage {
    /// Which bytes are hashed: `x811-jcs-1`.
    pub chain_profile: String,
    /// `neg-` and the envelope id of the offer.
    pub id: String,
    /// Who made the offer.
    pub initiator: Did,
    /// The agent that the offer is made to.
    pub responder: Did,
    /// Where it stands.
    pub status: PageStatus,
    /// The terms of the last offer or counter.
    pub terms: Map<String, Value>,
    /// What was done, oldest first: `action`, `agent`, `terms`, `message`, `at`, `hash`.
    pub history: Vec<Map<String, Value>>,
    /// The hash of the last entry.
    pub hash_chain: String,
    /// When the offer was recorded.
    #[serde(with = "moment")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub created_at: TimestampMs,
    /// The first moment at which the last terms can no longer be answered (XX-3).
    #[serde(with = "moment")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub expires_at: TimestampMs,
    /// When the accept was recorded; `null` until then.
    #[serde(with = "moment::or_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required))]
    pub accepted_at: Option<TimestampMs>,
}

/// The hash of an event behind the entry of the hash `previous`, `None` for the first (XN-6, XX-1).
/// A member `hash` of `entry` does not count.
#[must_use]
pub fn chain_hash(entry: &Map<String, Value>, previous: Option<&str>) -> String {
    let mut event = entry.clone();
    event.remove("hash");
    let previous = previous.unwrap_or_default();
    let digest = Digest::of_parts(&[&members_to_canonical(&event), previous.as_bytes()]);
    format!("0x{digest}")
}

/// Renders a contract.
///
/// # Errors
/// The contract contradicts itself, as [`verify`] would find it: the first fault.
pub fn render(contract: &Contract) -> Result<ContractPage, PageError> {
    let terms = check_history(contract)?;
    let (mut history, mut last) = (Vec::with_capacity(contract.history.len()), None);
    for entry in &contract.history {
        let Ok(Value::Object(mut members)) = serde_json::to_value(entry) else {
            return Err(PageError::NotAnEntry {
                index: history.len(),
                why: "it cannot be written as JSON".to_owned(),
            });
        };
        let hash = chain_hash(&members, last.as_deref());
        members.insert("hash".to_owned(), Value::from(hash.as_str()));
        last = Some(hash);
        history.push(members);
    }
    Ok(ContractPage {
        chain_profile: CHAIN_PROFILE.to_owned(),
        id: format!("{ID_PREFIX}{}", contract.id),
        initiator: contract.initiator,
        responder: contract.responder,
        status: contract.status,
        terms: terms.clone(),
        history,
        hash_chain: last.unwrap_or_default(),
        created_at: contract.history[0].at,
        expires_at: contract.expires_at,
        accepted_at: accepted_at(&contract.history),
    })
}

/// Verifies a rendering alone: every hash, and that members and entries do not contradict each other
/// (XN-1 to XN-7, XX-1 to XX-3).
///
/// It proves no author: that is in the contract's bundle.
///
/// # Errors
/// The first thing that does not hold, with the index of its entry from 0.
pub fn verify(bytes: &[u8]) -> Result<Contract, PageError> {
    let value = parse_strict(bytes, &Limits::bytes(MAX_PAGE_BYTES))?;
    let profile = value.get("chainProfile").and_then(Value::as_str);
    if profile != Some(CHAIN_PROFILE) {
        return Err(PageError::Profile {
            found: profile.map(str::to_owned),
        });
    }
    let page: ContractPage =
        serde_json::from_value(value).map_err(|error| PageError::NotAPage {
            why: error.to_string(),
        })?;
    let id = page.id.strip_prefix(ID_PREFIX).map(EnvelopeId::lenient);
    let Some(Ok(id)) = id else {
        return Err(PageError::Id { found: page.id });
    };
    let contract = Contract {
        id,
        initiator: page.initiator,
        responder: page.responder,
        status: page.status,
        history: entries(&page)?,
        expires_at: page.expires_at,
    };
    let terms = check_history(&contract)?;
    let differs = |member| Err(PageError::Member { member });
    if page.terms != *terms {
        return differs("terms");
    }
    if page.created_at != contract.history[0].at {
        return differs("createdAt");
    }
    if page.accepted_at != accepted_at(&contract.history) {
        return differs("acceptedAt");
    }
    Ok(contract)
}

/// The entries of a page whose hash chain holds.
fn entries(page: &ContractPage) -> Result<Vec<PageEntry>, PageError> {
    let mut last: Option<&str> = None;
    let mut entries = Vec::with_capacity(page.history.len());
    for (index, members) in page.history.iter().enumerate() {
        let expected = chain_hash(members, last);
        let found = members.get("hash").and_then(Value::as_str);
        let Some(hash) = found.filter(|hash| *hash == expected) else {
            return Err(PageError::Hash { index });
        };
        last = Some(hash);
        let mut event = members.clone();
        event.remove("hash");
        let not_an_entry = |why: String| PageError::NotAnEntry { index, why };
        let entry: PageEntry = serde_json::from_value(Value::Object(event))
            .map_err(|error| not_an_entry(error.to_string()))?;
        if members.values().any(Value::is_null) {
            return Err(not_an_entry("a member that is null is left out".to_owned()));
        }
        entries.push(entry);
    }
    if !entries.is_empty() && last.unwrap_or_default() != page.hash_chain {
        return Err(PageError::HashChain {
            entries: entries.len(),
        });
    }
    Ok(entries)
}

/// Holds a history against the transitions of the page; gives the last terms.
fn check_history(contract: &Contract) -> Result<&Map<String, Value>, PageError> {
    if contract.initiator == contract.responder {
        return Err(PageError::OneParty);
    }
    let mut last: Option<Last<'_>> = None;
    for (index, entry) in contract.history.iter().enumerate() {
        let fault = |fault| PageError::Entry { index, fault };
        let next = follow(contract, last.as_ref(), entry).map_err(fault)?;
        last = Some(next);
    }
    let Some(last) = last else {
        return Err(PageError::Empty);
    };
    let due = match last.action {
        PageAction::Offer => [PageStatus::Pending, PageStatus::Expired],
        PageAction::Counter => [PageStatus::Countered, PageStatus::Expired],
        PageAction::Accept => [PageStatus::Accepted; 2],
        PageAction::Reject => [PageStatus::Rejected; 2],
    };
    if !due.contains(&contract.status) {
        return Err(PageError::Member { member: "status" });
    }
    if last.at >= contract.expires_at {
        let fault = EntryFault::Late;
        let index = contract.history.len() - 1;
        return Err(PageError::Entry { index, fault });
    }
    Ok(last.terms)
}

/// What the next entry is held against.
struct Last<'a> {
    action: PageAction,
    /// Of the last terms.
    author: Did,
    terms: &'a Map<String, Value>,
    at: TimestampMs,
}

/// One entry behind the `last` one (XN-3, XN-4, XX-2).
fn follow<'a>(
    contract: &Contract,
    last: Option<&Last<'a>>,
    entry: &'a PageEntry,
) -> Result<Last<'a>, EntryFault> {
    if entry.terms.is_some() != entry.action.has_terms() {
        return Err(EntryFault::Terms);
    }
    if ![contract.initiator, contract.responder].contains(&entry.agent) {
        return Err(EntryFault::Stranger);
    }
    let Some(last) = last else {
        let (PageAction::Offer, Some(terms)) = (entry.action, &entry.terms) else {
            return Err(EntryFault::NoOffer);
        };
        if entry.agent != contract.initiator {
            return Err(EntryFault::NotTheInitiator);
        }
        return Ok(Last {
            action: entry.action,
            author: entry.agent,
            terms,
            at: entry.at,
        });
    };
    match (last.action, entry.action) {
        (PageAction::Accept | PageAction::Reject, _) => return Err(EntryFault::AfterTheEnd),
        (_, PageAction::Offer) => return Err(EntryFault::SecondOffer),
        (_, PageAction::Reject) => {}
        (_, PageAction::Counter | PageAction::Accept) if entry.agent == last.author => {
            return Err(EntryFault::OwnTerms);
        }
        (_, PageAction::Counter | PageAction::Accept) => {}
    }
    if entry.at < last.at {
        return Err(EntryFault::Earlier);
    }
    Ok(match &entry.terms {
        Some(terms) => Last {
            action: entry.action,
            author: entry.agent,
            terms,
            at: entry.at,
        },
        None => Last {
            action: entry.action,
            at: entry.at,
            ..*last
        },
    })
}

/// When the contract was accepted.
fn accepted_at(history: &[PageEntry]) -> Option<TimestampMs> {
    let last = history.last()?;
    (last.action == PageAction::Accept).then_some(last.at)
}

/// Why a rendering does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// Not strict JSON, or over a limit.
    #[error("not a rendered contract: {0}")]
    Json(#[from] JsonError),
    /// Of no profile that is known.
    #[error(
        "chainProfile is {}: only {CHAIN_PROFILE:?} is read",
        found.as_ref().map_or("missing".to_owned(), |found| format!("{found:?}"))
    )]
    Profile {
        /// What stands there, where it is a text.
        found: Option<String>,
    },
    /// Its members are others than those of a rendering.
    #[error("not a rendered contract: {why}")]
    NotAPage {
        /// What is wrong with them.
        why: String,
    },
    /// Its id is none of this ledger's form.
    #[error("id is {found:?}: `neg-` and a UUID in lower case are expected")]
    Id {
        /// What stands there.
        found: String,
    },
    /// Both parties are the same agent.
    #[error("initiator and responder are the same agent")]
    OneParty,
    /// The page has no entry.
    #[error("history is empty: a contract begins with its offer")]
    Empty,
    /// The hash of an entry is not that of its content behind the entry before it.
    #[error(
        "entry {index}: its hash is not that of what stands there: it was changed, or an entry before \
         it was changed, dropped, added or moved"
    )]
    Hash {
        /// Which entry, from 0.
        index: usize,
    },
    /// The last hash is another one than that of the last entry.
    #[error(
        "hashChain is not the hash of the last of {entries} entries: entries were dropped or added at \
         the end"
    )]
    HashChain {
        /// How many entries there are.
        entries: usize,
    },
    /// The members of an entry are not those of one.
    #[error("entry {index}: {why}")]
    NotAnEntry {
        /// Which entry, from 0.
        index: usize,
        /// What is wrong with them.
        why: String,
    },
    /// An entry that cannot stand where it does.
    #[error("entry {index}: {fault}")]
    Entry {
        /// Which entry, from 0.
        index: usize,
        /// Why the entry does not hold.
        fault: EntryFault,
    },
    /// A member that contradicts the history.
    #[error("{member} is not what the history says")]
    Member {
        /// Name of the member.
        member: &'static str,
    },
}

impl PageError {
    /// The entry that it is about, from 0.
    #[must_use]
    pub fn index(&self) -> Option<usize> {
        match self {
            PageError::Hash { index }
            | PageError::NotAnEntry { index, .. }
            | PageError::Entry { index, .. } => Some(*index),
            PageError::Json(_)
            | PageError::Profile { .. }
            | PageError::NotAPage { .. }
            | PageError::Id { .. }
            | PageError::OneParty
            | PageError::Empty
            | PageError::HashChain { .. }
            | PageError::Member { .. } => None,
        }
    }
}

/// Why an entry cannot stand where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    /// It has terms where its action takes none, or has none where it takes them (XN-5).
    #[error("an offer and a counter have terms, an accept and a reject have none")]
    Terms,
    /// Its agent is neither party (XN-4).
    #[error("its agent is no party to the contract")]
    Stranger,
    /// The first entry is no offer (XN-3).
    #[error("a contract begins with an offer")]
    NoOffer,
    /// The offer is by somebody other than the initiator (XN-1).
    #[error("the offer is not by the initiator")]
    NotTheInitiator,
    /// There is a second offer (XN-3).
    #[error("a second offer: other terms are a counter")]
    SecondOffer,
    /// It follows the entry that ended the contract (XN-2).
    #[error("it stands behind the accept or reject that ended the contract")]
    AfterTheEnd,
    /// A party answers its own terms (XN-4, XX-2).
    #[error("the author of the last terms may only withdraw them")]
    OwnTerms,
    /// The ledger's clock never goes back.
    #[error("its time is before that of the entry before it")]
    Earlier,
    /// It came when the terms that it answers had expired (XX-3).
    #[error("its time is not before expiresAt")]
    Late,
}

/// Moments as the ledger spells them: RFC 3339 in UTC with milliseconds and `Z`, and no other way.
mod moment {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::time::TimestampMs;

    pub(super) fn serialize<S: Serializer>(at: &TimestampMs, writer: S) -> Result<S::Ok, S::Error> {
        writer.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        reader: D,
    ) -> Result<TimestampMs, D::Error> {
        read(&String::deserialize(reader)?).map_err(D::Error::custom)
    }

    fn read(text: &str) -> Result<TimestampMs, String> {
        let at = TimestampMs::parse_rfc3339(text).map_err(|error| error.to_string())?;
        match at.to_rfc3339() {
            spelled if spelled == text => Ok(at),
            spelled => Err(format!("the time {text:?} is spelled {spelled:?} here")),
        }
    }

    pub(super) mod or_null {
        use serde::de::Error as _;
        use serde::{Deserialize as _, Deserializer, Serializer};

        use crate::time::TimestampMs;

        pub(crate) fn serialize<S: Serializer>(
            at: &Option<TimestampMs>,
            writer: S,
        ) -> Result<S::Ok, S::Error> {
            match at {
                Some(at) => writer.collect_str(at),
                None => writer.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            reader: D,
        ) -> Result<Option<TimestampMs>, D::Error> {
            let text: Option<String> = Option::deserialize(reader)?;
            let read = text.as_deref().map(super::read).transpose();
            read.map_err(D::Error::custom)
        }
    }
}
