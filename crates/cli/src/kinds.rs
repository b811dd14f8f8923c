//! What a file of x811 is, by how it begins: whoever hands one to the wrong command is told the right one.

/// A file of x811.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Receipt,
    Agreement,
    Trace,
    Export,
    Proof,
    Checkpoint,
    Page,
}

const TRACE: &str = "it is a trace: `x811 trace verify` reads it, and `x811 audit LOG TRACE` holds it against a log";

/// How each begins, and which command reads it.
const KINDS: [(Kind, &[u8], &str); 9] = [
    (
        Kind::Receipt,
        b"{\"ask\":",
        "it is a receipt: `x811 receipt verify` reads it",
    ),
    (
        Kind::Agreement,
        b"{\"payload\":",
        "it is an agreement that two signed: `x811 capability verify` reads it",
    ),
    (Kind::Trace, b"{\"wid\":", TRACE),
    // Whatever wrote it anew may put its members in order.
    (Kind::Trace, b"{\"own\":", TRACE),
    (Kind::Trace, b"{\"tokens\":", TRACE),
    (
        Kind::Export,
        b"{\"did\":",
        "it is an export or a bundle: `x811 audit` reads it",
    ),
    (
        Kind::Proof,
        b"c2sp.org/tlog-proof",
        "it is the proof of a record: `x811 audit LOG --proofs FOLDER --key KEY` holds a log against it",
    ),
    (
        Kind::Checkpoint,
        b"x811/",
        "it is a signed checkpoint: `x811 audit LOG --checkpoint FILE` holds a log against it",
    ),
    (
        Kind::Page,
        b"<!doctype",
        "it is a page: nothing reads it but people",
    ),
];

fn known(first: &[u8]) -> Option<(Kind, &'static str)> {
    let dense = first.iter().filter(|byte| !byte.is_ascii_whitespace());
    let dense: Vec<u8> = dense.take(32).copied().collect();
    let mut kinds = KINDS.iter();
    let found = kinds.find(|(_, begin, _)| dense.starts_with(begin));
    found.map(|(kind, _, what)| (*kind, *what))
}

/// True for the first bytes of a file of that kind, blanks aside.
pub(crate) fn is(kind: Kind, first: &[u8]) -> bool {
    known(first).is_some_and(|(known, _)| known == kind)
}

/// What a file with these first bytes is, blanks aside; `None` for whatever is none of those.
pub(crate) fn what(first: &[u8]) -> Option<&'static str> {
    known(first).map(|(_, what)| what)
}

/// The same of a file that should be of the kind `expected`; `None` where it may be.
pub(crate) fn other_than(expected: Kind, first: &[u8]) -> Option<&'static str> {
    let other = known(first).filter(|(kind, _)| *kind != expected);
    other.map(|(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_9_a_file_for_another_command_is_known_by_how_it_begins() {
        let table: [(&[u8], &str); 10] = [
            (b"{\"ask\":\"/api/v1", "receipt verify"),
            (b"{\"payload\":\"eyJ", "capability verify"),
            (b"{\n  \"wid\": \"01\"", "trace verify"),
            (b"{\"own\":[],\"tokens\"", "audit LOG TRACE"),
            (b"{\"did\":\"did:x811:", "x811 audit"),
            (b"c2sp.org/tlog-proof@v1\n", "--proofs"),
            (b"x811/01a216a3\n12\n", "--checkpoint"),
            (b"<!doctype html>\n", "page"),
            (b"{\"chainProfile\":", ""),
            (b"\xff\xfe", ""),
        ];
        for (first, expected) in table {
            let what = what(first).unwrap_or_default();
            assert_eq!(what.is_empty(), expected.is_empty(), "{what}");
            assert!(what.contains(expected), "{what}");
        }
        let receipt = b"{\"ask\":";
        assert_eq!(other_than(Kind::Receipt, receipt), None);
        assert_eq!(other_than(Kind::Trace, receipt), what(receipt));
    }
}
