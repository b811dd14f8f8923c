//! The bytes of a snapshot.
//!
//! ```text
//! "x811 snapshot\n" | length of header, 4 bytes | header, JSON | signature, 64 bytes | sections
//! ```
//!
//! The header names log, ledger, head, tree and the SHA-256 of the sections; the ledger's envelope
//! key signs it, after the line `x811 snapshot v1`. Sections follow one another: the rest as one
//! JSON object, agents, their trust and the subjects of each machine as lines of JSON, nonces and
//! envelope ids in rows of fixed width. Lines and tables are read on all cores.

use super::{Rejection, packed};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use uuid::Uuid;
use x811_eventlog::{Frontier, Head};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{LedgerOpened, RulesChanged};
use x811_protocol::key::{PublicKey, SecretKey};
use x811_protocol::parameters::Parameters;
use x811_protocol::signature::Signature;
use x811_protocol::time::TimestampMs;
use x811_world::agent::Agent;
use x811_world::keyring::Keyring;
use x811_world::{
    OwedNotice, Roots, Sighted, StoredFailed, StoredSubjects, Subjects, World, WorldContent,
    for_each_machine,
};

/// Layout of the bytes.
pub const FORMAT: u32 = 1;

/// Meaning of the state in them: raised whenever the same log adds up to another state, or the
/// state is written in another way.
pub const SCHEMA: u32 = 18;

const MAGIC: &[u8] = b"x811 snapshot\n";
const SIGNED_AS: &[u8] = b"x811 snapshot v1\n";
const SIGNATURE_BYTES: usize = 64;
/// Far more than any header has.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// A snapshot that was read and is this ledger's own.
#[derive(Debug)]
pub struct Snapshot {
    /// The state, without the heads of networks that no record names.
    pub world: World,
    /// When it was taken, by the recorded clock: what was seen long before that is not in it.
    pub taken_at_ms: TimestampMs,
}

/// Why a world cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// Before the first record there is nothing to write.
    #[error("the log is empty")]
    Empty,
    /// A member has no stored form.
    #[error("the state cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

#[derive(Serialize, Deserialize)]
struct Version {
    format: u32,
    schema: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    schema: u32,
    log_id: Uuid,
    ledger: Did,
    head: Head,
    taken_at_ms: TimestampMs,
    /// [`Frontier::to_bytes`] in hex.
    frontier: String,
    /// Lengths of the sections.
    section_bytes: [u64; SECTIONS],
    sections_sha256: Digest,
}

/// One for each machine, and five. A snapshot with another number of them is refused like one of another schema.
const SECTIONS: usize = 5 + Subjects::KINDS.len();

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    identity: Option<Arc<LedgerOpened>>,
    keyring: Option<Arc<Keyring>>,
    state_root: Option<Digest>,
    roots_seq: u64,
    rules: RulesChanged,
    parameters: Vec<(u64, Arc<Parameters>)>,
    ledger_seq: u64,
    networks: Vec<Sighted>,
    owed: Vec<(u64, Did, OwedNotice)>,
    /// Left out of what was stored before there was any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    charged: Vec<(Did, (u64, u64))>,
    /// Left out of what was stored before there was any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failed: Vec<StoredFailed>,
}

/// The bytes of a snapshot of `world`, signed with the ledger's envelope key.
///
/// # Errors
/// An empty log has no snapshot.
pub fn encode(
    world: &World,
    taken_at_ms: TimestampMs,
    key: &SecretKey,
) -> Result<Vec<u8>, EncodeError> {
    let content = world.content();
    let identity = content.identity.clone().ok_or(EncodeError::Empty)?;
    let (head, frontier) = (content.head, content.frontier.to_bytes());
    let sections = sections(content)?;
    let parts: Vec<&[u8]> = sections.iter().map(Vec::as_slice).collect();
    let header = serde_json::to_vec(&Header {
        format: FORMAT,
        schema: SCHEMA,
        log_id: identity.log_id,
        ledger: identity.did,
        head,
        taken_at_ms,
        frontier: hex::encode(frontier),
        section_bytes: std::array::from_fn(|at| sections[at].len() as u64),
        sections_sha256: Digest::of_parts(&parts),
    })?;
    let signature = key.sign(&signed(&header));
    // A header is some hundred bytes; a longer one than this is refused when it is read.
    let header_bytes = u32::try_from(header.len()).unwrap_or(u32::MAX);
    let front = [
        MAGIC,
        &header_bytes.to_be_bytes(),
        &header,
        signature.as_bytes(),
    ];
    Ok([front.as_slice(), &parts].concat().concat())
}

/// Reads a snapshot of the ledger `identity` that must be signed by `key`, its envelope key at that
/// time. Whether its log is this one is not known from the bytes: compare the record hash at its
/// head.
///
/// # Errors
/// Why it is to be ignored.
pub fn decode(
    bytes: &[u8],
    identity: &LedgerOpened,
    key: PublicKey,
) -> Result<Snapshot, Rejection> {
    let (header, signature, sections) = split(bytes)?;
    let version: Version = serde_json::from_slice(header).map_err(|_| Rejection::NotASnapshot)?;
    if (version.format, version.schema) != (FORMAT, SCHEMA) {
        return Err(Rejection::Version {
            format: version.format,
            schema: version.schema,
        });
    }
    let parsed: Header = serde_json::from_slice(header).map_err(|_| Rejection::NotASnapshot)?;
    if (parsed.log_id, parsed.ledger) != (identity.log_id, identity.did) {
        return Err(Rejection::OtherLedger(parsed.ledger));
    }
    if !key.verify(&signed(header), &signature) {
        return Err(Rejection::Signature);
    }
    let sections = signed_sections(&parsed, sections)?;
    let taken_at_ms = parsed.taken_at_ms;
    let world = World::from_content(content(&parsed, sections)?).map_err(unreadable)?;
    Ok(Snapshot { world, taken_at_ms })
}

fn signed(header: &[u8]) -> Vec<u8> {
    [SIGNED_AS, header].concat()
}

fn split(bytes: &[u8]) -> Result<(&[u8], Signature, &[u8]), Rejection> {
    let parts = || {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        if length > MAX_HEADER_BYTES {
            return None;
        }
        let (header, rest) = rest.split_at_checked(length)?;
        let (signature, sections) = rest.split_first_chunk::<SIGNATURE_BYTES>()?;
        Some((header, Signature::from_bytes(*signature), sections))
    };
    parts().ok_or(Rejection::NotASnapshot)
}

/// The sections, once they are known to be the signed ones.
fn signed_sections<'a>(
    header: &Header,
    mut bytes: &'a [u8],
) -> Result<[&'a [u8]; SECTIONS], Rejection> {
    let rejection = Rejection::Content {
        expected: header
            .section_bytes
            .iter()
            .fold(0, |sum, bytes| sum.saturating_add(*bytes)),
        found: bytes.len() as u64,
    };
    if Digest::of(bytes) != header.sections_sha256 {
        return Err(rejection);
    }
    let mut sections = [bytes; SECTIONS];
    for (section, length) in sections.iter_mut().zip(header.section_bytes) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some((this, rest)) = bytes.split_at_checked(length) else {
            return Err(rejection);
        };
        (*section, bytes) = (this, rest);
    }
    Ok(sections)
}

fn sections(content: WorldContent) -> Result<Vec<Vec<u8>>, serde_json::Error> {
    let rest = serde_json::to_vec(&Rest {
        identity: content.identity,
        keyring: content.keyring,
        state_root: content.roots.running,
        roots_seq: content.roots.next_seq,
        rules: content.rules,
        parameters: content.parameters,
        ledger_seq: content.ledger_seq,
        networks: content.networks,
        owed: content.owed,
        charged: content.charged,
        failed: content.failed,
    })?;
    let mut sections = vec![rest, lines(&content.agents)?, lines(&content.trust)?];
    sections.extend(subject_sections(&content.subjects)?);
    sections.push(packed::nonces(&content.nonces));
    sections.push(packed::envelope_ids(&content.envelope_ids));
    Ok(sections)
}

macro_rules! sections_of_subjects {
    ($($held:ident: $subject:ident($machine:ty), $kind:literal;)+) => {
        fn subject_sections(subjects: &StoredSubjects) -> Result<Vec<Vec<u8>>, serde_json::Error> {
            Ok(vec![$(lines(&subjects.$held)?),+])
        }

        fn read_subjects([$($held),+]: [&[u8]; Subjects::KINDS.len()]) -> Result<StoredSubjects, Rejection> {
            Ok(StoredSubjects {
                $($held: read_lines($held)?,)+
            })
        }
    };
}

for_each_machine!(sections_of_subjects);

fn content(header: &Header, sections: [&[u8]; SECTIONS]) -> Result<WorldContent, Rejection> {
    let [rest, agents, trust, subjects @ .., nonces, envelope_ids] = sections;
    let frontier = hex::decode(&header.frontier).map_err(unreadable)?;
    let frontier = Frontier::from_bytes(&frontier).map_err(unreadable)?;
    let rest: Rest = serde_json::from_slice(rest).map_err(unreadable)?;
    let ((agents, subjects), (nonces, envelope_ids)) = rayon::join(
        || {
            (
                read_lines::<(Did, Arc<Agent>)>(agents),
                read_subjects(subjects),
            )
        },
        || {
            (
                packed::read_nonces(nonces),
                packed::read_envelope_ids(envelope_ids),
            )
        },
    );
    Ok(WorldContent {
        head: header.head,
        frontier,
        roots: Roots {
            running: rest.state_root,
            next_seq: rest.roots_seq,
        },
        identity: rest.identity,
        keyring: rest.keyring,
        rules: rest.rules,
        parameters: rest.parameters,
        ledger_seq: rest.ledger_seq,
        networks: rest.networks,
        agents: agents?,
        trust: read_lines(trust)?,
        subjects: subjects?,
        owed: rest.owed,
        charged: rest.charged,
        failed: rest.failed,
        nonces: nonces?,
        envelope_ids: envelope_ids?,
    })
}

/// One JSON value a line; JSON as it is written here has no line breaks of its own.
fn lines<T: Serialize>(items: &[T]) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    for item in items {
        serde_json::to_writer(&mut bytes, item)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn read_lines<T: DeserializeOwned + Send>(bytes: &[u8]) -> Result<Vec<T>, Rejection> {
    bytes
        .par_split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).map_err(unreadable))
        .collect()
}

fn unreadable(error: impl ToString) -> Rejection {
    Rejection::Unreadable(error.to_string())
}
