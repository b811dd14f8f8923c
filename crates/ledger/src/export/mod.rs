//! A log as one line file: what an auditor takes away and checks offline.
//!
//! # Format, version 1
//!
//! UTF-8 text; every line ends with one LF, the last one too; no CR, no blank line, nothing behind
//! the trailer. JSON is in RFC 8785 form, so no line holds a line end of its own.
//!
//! ```text
//! {"did":…,"format":1,"keys":…,"log_id":…,"origin":…,"rules_version":1,"x811_export":1}
//! r <leaf of position 0>
//! r <leaf of position 1>
//! r <leaf of position 2>
//! b <body of position 2>
//! …
//! {"head":…,"root":…,"size":N,"x811_trailer":1}
//! ```
//!
//! | line | holds |
//! |---|---|
//! | header, the first | what the `ledger_opened` of position 0 says, and `x811_export`, the version of this format |
//! | `r ` | the leaf bytes of the next record, as stored (record.md section 1) |
//! | `b ` | the body of the envelope in the record just above, as stored; absent when the body was erased |
//! | trailer, the last | record hash of the last record, root of the Merkle tree over all, number of records, and `x811_trailer`, 1 |
//!
//! A leaf's hash is `SHA-256(0x00 ‖ leaf bytes)`, the bytes between `r ` and the line end; a body's
//! digest is SHA-256 of the bytes between `b ` and the line end. The trailer is as good as where it
//! came from: compare its `head` with one you noted yourself.
//!
//! Later sections (proofs, checkpoints) will be lines with letters of their own between the last
//! record and the trailer, under a new number in `x811_export`. A reader refuses what it does not
//! know.

mod header;
mod reader;
mod tiles;
mod trailer;
mod writer;

pub use header::{EXPORT_VERSION, Header};
pub use reader::{Body, Fault, FaultKind, Item, MAX_LINE_BYTES, Reader, RecordLine};
pub use tiles::{TilesError, write_tiles};
pub use trailer::{TRAILER_VERSION, Trailer};
pub use writer::{WriteError, write};

use serde_json::Value;
use x811_protocol::canonical::to_canonical;
use x811_protocol::json::{Limits, parse_strict};

/// Most bytes of the header or the trailer.
const MAX_MARK_BYTES: usize = 65_535;

/// Reads a header or trailer: canonical JSON with the number 1 under `mark`, which is taken out.
fn read_mark(bytes: &[u8], mark: &str) -> Result<Value, String> {
    let mut value =
        parse_strict(bytes, &Limits::bytes(MAX_MARK_BYTES)).map_err(|error| error.to_string())?;
    if to_canonical(&value) != bytes {
        return Err("it is not in RFC 8785 form".to_owned());
    }
    let version = value
        .as_object_mut()
        .and_then(|members| members.remove(mark))
        .ok_or_else(|| format!("it has no member `{mark}`"))?;
    if version != 1 {
        return Err(format!("`{mark}` is {version}, this reader knows 1"));
    }
    Ok(value)
}

/// Writes a header or trailer.
fn write_mark(mut value: Value, mark: &str) -> Vec<u8> {
    if let Some(members) = value.as_object_mut() {
        members.insert(mark.to_owned(), 1.into());
    }
    to_canonical(&value)
}
