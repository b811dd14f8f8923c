//! What holds for every file that is read as an export, and for the audit of it.

use std::io::BufReader;
use x811_audit::audit_export;
use x811_audit::export::{Item, Reader};
use x811_protocol::canonical::to_canonical;

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let items: Vec<_> = Reader::new(bytes).collect();
    // However the bytes arrive, they say the same.
    let trickled: Vec<_> = Reader::new(BufReader::with_capacity(3, bytes)).collect();
    assert_eq!(format!("{items:?}"), format!("{trickled:?}"));
    let lines = bytes.split(|byte| *byte == b'\n').count();
    // A line is at most one item, in its wrong place, with a carriage return; two faults are the end's.
    assert!(
        items.len() <= 3 * lines + 2,
        "{} of {lines} lines",
        items.len()
    );

    let report = audit_export(bytes, None).expect("bytes in memory are always read");
    let is_well_formed = items.iter().all(Result::is_ok);
    assert!(is_well_formed || !report.is_clean(), "a fault is a finding");
    if report.is_clean() {
        assert_eq!(rewritten(&items), bytes, "a clean export has one form");
    }
}

fn rewritten(items: &[Result<Item, x811_audit::export::Fault>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut line = |prefix: &[u8], text: &[u8]| {
        bytes.extend_from_slice(prefix);
        bytes.extend_from_slice(text);
        bytes.push(b'\n');
    };
    for item in items.iter().flatten() {
        match item {
            Item::Header(header) => line(b"", &header.to_line().expect("a header is plain JSON")),
            Item::Record(record) => {
                line(b"r ", &record.leaf);
                if let Some(body) = &record.body {
                    line(b"b ", &body.bytes);
                }
                if let Some(path) = &record.path {
                    line(b"p ", &to_canonical(&path.hashes));
                }
            }
            Item::Checkpoint(checkpoint) => line(b"c ", &to_canonical(&checkpoint.note)),
            Item::Keys(keys) => line(b"k ", &keys.signed.to_json()),
            Item::End(end) => line(b"e ", &end.signed.to_line()),
            Item::Trailer { trailer, .. } => {
                line(b"", &trailer.to_line().expect("a trailer is plain JSON"));
            }
        }
    }
    bytes
}
