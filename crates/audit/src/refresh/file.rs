//! The file: one JSON object in RFC 8785 form, and a line end.

use crate::version;
use serde::{Deserialize, Serialize};
use x811_eventlog::Hash;
use x811_protocol::canonical::to_canonical;
use x811_protocol::json::{Limits, parse_strict};
use x811_world::keys_statement::SignedKeys;

/// The version of the format, under `x811_refresh`.
pub const REFRESH_VERSION: u64 = 1;

const MARK: &str = "x811_refresh";

/// Most bytes of a file: a keys statement, a checkpoint with many witnesses and 64 hashes.
const MAX_BYTES: usize = 256 << 10;

/// The members, in the order of RFC 8785.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    checkpoint: String,
    #[serde(with = "crate::in_base64")]
    hashes: Vec<Hash>,
    keys: SignedKeys,
    size: u64,
    #[serde(rename = "x811_refresh")]
    version: u64,
}

/// What the ledger says now of a paper's checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    /// The newest keys statement: which key was in force when.
    pub keys: SignedKeys,
    /// That the log goes on where the paper's checkpoint ended; absent in a file that is the ledger's
    /// keys statement alone.
    pub link: Option<Link>,
}

/// That a newer checkpoint goes on where an older one ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The newer one, as it was signed, with all its signature lines.
    pub checkpoint: String,
    /// The consistency proof, from `size` to the newer checkpoint's size.
    pub hashes: Vec<Hash>,
    /// Records that the older one covers.
    pub size: u64,
}

/// Why a file is none that refreshes a paper.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotARefresh {
    /// The file is no JSON.
    #[error("the file is no JSON: {0}")]
    Json(String),
    /// A form that this program does not know.
    #[error(
        "unknown version: `{MARK}` is {0}, this program knows {REFRESH_VERSION}; use the version of x811 that \
         wrote the file, or ask the ledger for it again"
    )]
    Version(String),
    /// A member is missing, malformed or unknown.
    #[error("the file is neither a refreshed proof nor a keys statement: {0}")]
    Member(String),
    /// The bytes are not the one spelling that a refresh file has.
    #[error("the file is not in RFC 8785 form with one line end")]
    Form,
}

impl Refresh {
    /// The bytes of the file: RFC 8785 JSON and one line end.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = match &self.link {
            None => self.keys.to_json(),
            Some(link) => to_canonical(&Members {
                checkpoint: link.checkpoint.clone(),
                hashes: link.hashes.clone(),
                keys: self.keys.clone(),
                size: link.size,
                version: REFRESH_VERSION,
            }),
        };
        bytes.push(b'\n');
        bytes
    }

    /// Reads a file: what [`Refresh::to_bytes`] writes. Nothing is verified.
    ///
    /// # Errors
    /// [`NotARefresh`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Refresh, NotARefresh> {
        let json = bytes.strip_suffix(b"\n").ok_or(NotARefresh::Form)?;
        let value = parse_strict(json, &Limits::bytes(MAX_BYTES))
            .map_err(|error| NotARefresh::Json(error.to_string()))?;
        let refresh = match value.get(MARK) {
            None => Refresh {
                keys: member(value)?,
                link: None,
            },
            Some(version) if *version == REFRESH_VERSION => {
                let members: Members = member(value)?;
                Refresh {
                    keys: members.keys,
                    link: Some(Link {
                        checkpoint: members.checkpoint,
                        hashes: members.hashes,
                        size: members.size,
                    }),
                }
            }
            Some(version) => return Err(NotARefresh::Version(version::named(version))),
        };
        if refresh.to_bytes() == bytes {
            Ok(refresh)
        } else {
            Err(NotARefresh::Form)
        }
    }
}

fn member<T: for<'de> Deserialize<'de>>(value: serde_json::Value) -> Result<T, NotARefresh> {
    T::deserialize(value).map_err(|error| NotARefresh::Member(error.to_string()))
}
