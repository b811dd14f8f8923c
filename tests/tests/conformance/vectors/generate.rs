//! Writes what the corpus has of our own making, and holds what is committed to it.

use std::collections::BTreeMap;
use std::fs;

use super::{bundle, checkpoint, consistency, folder, keys, proof, receipt, table, tiles};

/// Files by their path in the corpus.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Set to `write`, the files are written.
const VARIABLE: &str = "X811_VECTORS";

#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
pub(crate) fn is_to_be_written() -> bool {
    std::env::var(VARIABLE).is_ok_and(|value| value == "write")
}

/// `X811_VECTORS=write cargo nextest run --profile gate -p x811-tests --test conformance vectors generate` writes them anew.
/// Without it they have to be there, byte for byte.
#[test]
fn generate() {
    let mut files = keys::policies();
    files.extend(checkpoint::files());
    files.extend(proof::files());
    files.extend(consistency::files());
    files.extend(tiles::files());
    files.extend(bundle::files());
    files.extend(receipt::files());
    let is_written = is_to_be_written();
    let mut changed = Vec::new();
    for (name, bytes) in files {
        let path = folder().join(&name);
        if is_written {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        } else if fs::read(path).ok() != Some(bytes) {
            changed.push(name);
        }
    }
    let policies = table::rows("policy", 2)
        .into_iter()
        .map(|row| row[0].clone());
    table::assert_complete("policy", policies);
    assert!(
        changed.is_empty(),
        "what is written has changed; formats are frozen: {changed:#?}"
    );
}
