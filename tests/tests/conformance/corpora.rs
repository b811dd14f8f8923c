//! Every input that fuzzing found worth keeping, replayed through the properties of its target.
//! `scripts/fuzz.sh` finds more.

#![expect(
    clippy::expect_used,
    unreachable_pub,
    reason = "a property that panics has failed; the fuzz targets use the same files"
)]

#[path = "../../../fuzz/properties/document.rs"]
mod document;
#[path = "../../../fuzz/properties/envelope.rs"]
mod envelope;
#[path = "../../../fuzz/properties/export.rs"]
mod export;
#[path = "../../../fuzz/properties/note.rs"]
mod note;
#[path = "../../../fuzz/properties/payload.rs"]
mod payload;
#[path = "../../../fuzz/properties/policy.rs"]
mod policy;
#[path = "../../../fuzz/properties/receipt.rs"]
mod receipt;
#[path = "../../../fuzz/properties/record.rs"]
mod record;
#[path = "../../../fuzz/properties/registry.rs"]
mod registry;
#[path = "../../../fuzz/properties/signed_read.rs"]
mod signed_read;
#[path = "../../../fuzz/properties/tile.rs"]
mod tile;
#[path = "../../../fuzz/properties/tlog_proof.rs"]
mod tlog_proof;

use std::fs;
use std::panic::catch_unwind;

use x811_tests::anvil::checkout;

/// Runs `holds` on every input of `target`, and names the one that breaks it.
fn replay(target: &str, holds: fn(&[u8])) {
    let corpus = checkout().join("tests/vectors/fuzz").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(&corpus).expect("the corpus is in the checkout") {
        let path = entry.expect("it can be listed").path();
        let bytes = fs::read(&path).expect("it can be read");
        assert!(catch_unwind(|| holds(&bytes)).is_ok(), "{}", path.display());
        inputs += 1;
    }
    assert!(inputs >= 25, "{inputs} inputs of {target}");
}

#[test]
fn ae_077_payloads() {
    replay("payload", payload::holds);
}

#[test]
fn ae_079_envelopes() {
    replay("envelope", envelope::holds);
}

#[test]
fn ae_092_documents() {
    replay("document", document::holds);
}

#[test]
fn rec_1_leaves() {
    replay("record", record::holds);
}

#[test]
fn rec_1_exports() {
    replay("export", export::holds);
}

#[test]
fn lc_4_registry_messages() {
    replay("registry", registry::holds);
}

#[test]
fn ax_044_signed_reads() {
    replay("signed_read", signed_read::holds);
}

#[test]
fn c2sp_signed_notes() {
    replay("note", note::holds);
}

#[test]
fn c2sp_policies() {
    replay("policy", policy::holds);
}

#[test]
fn c2sp_tiles() {
    replay("tile", tile::holds);
}

#[test]
fn c2sp_proof_files() {
    replay("tlog_proof", tlog_proof::holds);
}

#[test]
fn promise_5_receipts() {
    replay("receipt", receipt::holds);
}

/// A target that is not replayed, or a folder that nobody fuzzes, would be forgotten.
#[test]
fn every_target_has_a_corpus_and_a_replay() {
    let names = |folder: &str| {
        let mut names: Vec<String> = fs::read_dir(checkout().join(folder))
            .expect("it is in the checkout")
            .map(|entry| {
                let name = entry.expect("it can be listed").file_name();
                name.to_string_lossy().trim_end_matches(".rs").to_owned()
            })
            .collect();
        names.sort();
        names
    };
    let replayed = [
        "document",
        "envelope",
        "export",
        "note",
        "payload",
        "policy",
        "receipt",
        "record",
        "registry",
        "signed_read",
        "tile",
        "tlog_proof",
    ];
    assert_eq!(names("fuzz/fuzz_targets"), replayed);
    assert_eq!(names("fuzz/properties"), replayed);
    assert_eq!(names("tests/vectors/fuzz"), replayed);
}
