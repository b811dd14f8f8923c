//! A log, or one interaction of it, as one line file: what an auditor takes away and checks offline.
//! `FORMAT.md` of `x811-eventlog` says it all for a second reader; this is the short form.
//!
//! # Format, version 2; of one interaction or other subject 3
//!
//! UTF-8 text; every line ends with one LF, the last one too; no CR, no blank line, nothing behind
//! the trailer. JSON is in RFC 8785 form, so no line holds a line end of its own.
//!
//! ```text
//! {"did":…,"format":1,"keys":…,"log_id":…,"origin":…,"reader":2,"rules_version":2,"scope":"log","x811_export":2}
//! r <leaf of position 0>
//! r <leaf of position 1>
//! r <leaf of position 2>
//! b <body of position 2>
//! c <checkpoint over 3 records>
//! …
//! {"head":…,"root":…,"size":N,"x811_trailer":1}
//! ```
//!
//! | line | holds |
//! |---|---|
//! | header, the first | what the `ledger_opened` of position 0 says; `scope`: `"log"`, `{"interaction":ID}`, or another kind of subject in its place; and `x811_export`, the version of this format |
//! | `r ` | the leaf bytes of the next record, as stored (record.md section 1) |
//! | `b ` | the body of the envelope in the record just above, as stored; absent when the body was erased |
//! | `c ` | a signed checkpoint, the note as a JSON string: in a log just behind the last record that it covers |
//! | trailer, the last | record hash of the last record, root of the Merkle tree over all, number of records, and `x811_trailer`, 1 |
//!
//! A *bundle* of one interaction holds its stream and every stream that its replay rests on, in
//! order of position: `ledger`, `network:` of the parameters it was opened under, `agent:` of both
//! parties, and the `contract:` that it was opened by. That of a contract holds its stream, `ledger` and
//! `agent:` of both parties. All is under one checkpoint, which stands just behind the header, and behind it the keys
//! statement of the same records ([`SignedKeys`](crate::keys_statement::SignedKeys)). Each record has
//! behind it, and behind its body:
//!
//! | line | holds |
//! |---|---|
//! | `k ` | the keys statement, once, behind the checkpoint |
//! | `p ` | the inclusion path of the record just above under the checkpoint: an array of hashes |
//! | `e ` | behind the last record, one for each stream: where it ends, signed ([`SignedEnd`]) |
//!
//! Its trailer has `records`, how many are in the file; `size` and `root` are the checkpoint's.
//!
//! A leaf's hash is `SHA-256(0x00 ‖ leaf bytes)`, the bytes between `r ` and the line end; a body's
//! digest is SHA-256 of the bytes between `b ` and the line end. The trailer is as good as where it
//! came from: compare its `head` with one you noted yourself.
//!
//! A reader refuses every other version.

mod bundle;
mod end;
mod foreign;
mod header;
mod links;
mod opening;
mod reader;
mod tiles;
mod trailer;
mod writer;

pub use bundle::{BundleError, SubjectBundle};
pub use end::{LastRecord, SignedEnd, StreamEnd};
pub use foreign::foreign_file;
pub use header::{BUNDLE_VERSION, EXPORT_VERSION, Header, Scope};
pub(crate) use links::links;
pub(crate) use opening::Opening;
pub use reader::{
    Body, CheckpointLine, EndLine, Fault, FaultKind, Item, KeysLine, MAX_LINE_BYTES, PathLine,
    Reader, RecordLine,
};
pub use tiles::{TilesError, write_tiles};
pub use trailer::{TRAILER_VERSION, Trailer};
pub use writer::{UpTo, WriteError, write};

use serde::Deserialize as _;
use serde_json::Value;
use x811_eventlog::Hash;
use x811_protocol::canonical::to_canonical;
use x811_protocol::json::{Limits, parse_strict};

/// Most bytes of the header, the trailer or a checkpoint.
const MAX_MARK_BYTES: usize = 65_535;

/// Most bytes of a path: as many hashes as the tallest tree has levels.
const MAX_PATH_BYTES: usize = 64 * 67 + 1;

/// Reads a header or trailer: canonical JSON with one of the `known` versions under `mark`, which
/// is taken out.
fn read_mark(bytes: &[u8], mark: &str, known: &[u64]) -> Result<(u64, Value), String> {
    let mut value = read_canonical(bytes, MAX_MARK_BYTES)?;
    let version = value
        .as_object_mut()
        .and_then(|members| members.remove(mark))
        .ok_or_else(|| format!("it has no member `{mark}`"))?;
    match version.as_u64().filter(|version| known.contains(version)) {
        Some(version) => Ok((version, value)),
        None => {
            let known: Vec<String> = known.iter().map(u64::to_string).collect();
            let known = known.join(" and ");
            Err(format!(
                "unknown version: `{mark}` is {version}, this program knows {known}; use the version of \
                 x811 that wrote the file, or export it again"
            ))
        }
    }
}

/// Writes a header or trailer.
fn write_mark(mut value: Value, mark: &str, version: u64) -> Vec<u8> {
    if let Some(members) = value.as_object_mut() {
        members.insert(mark.to_owned(), version.into());
    }
    to_canonical(&value)
}

/// Reads a line of JSON, which has to be in RFC 8785 form.
fn read_canonical(bytes: &[u8], most: usize) -> Result<Value, String> {
    let value = parse_strict(bytes, &Limits::bytes(most)).map_err(|error| error.to_string())?;
    if to_canonical(&value) == bytes {
        Ok(value)
    } else {
        Err("it is not in RFC 8785 form".to_owned())
    }
}

/// Reads a checkpoint's line: the note.
fn read_note(line: &[u8]) -> Result<String, String> {
    let value = read_canonical(line, MAX_MARK_BYTES)?;
    let note = value.as_str().ok_or("it is no JSON string")?;
    Ok(note.to_owned())
}

/// Reads a path.
fn read_path(line: &[u8]) -> Result<Vec<Hash>, String> {
    let value = read_canonical(line, MAX_PATH_BYTES)?;
    Vec::deserialize(value).map_err(|error| error.to_string())
}
