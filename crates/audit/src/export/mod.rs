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
//! statement of the same records ([`SignedKeys`](x811_world::keys_statement::SignedKeys)). Each record has
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

mod end;
mod foreign;
mod header;
mod line;
mod links;
mod reader;
mod trailer;

pub use end::{LastRecord, SignedEnd, StreamEnd};
pub use foreign::foreign_file;
pub use header::{BUNDLE_VERSION, EXPORT_VERSION, Header, Scope};
pub use links::{has_links, links, opening};
pub use reader::{
    Body, CheckpointLine, EndLine, Fault, FaultKind, Item, KeysLine, MAX_LINE_BYTES, PathLine,
    Reader, RecordLine,
};
pub use trailer::{TRAILER_VERSION, Trailer};
