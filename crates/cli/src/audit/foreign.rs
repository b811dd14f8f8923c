//! Files that somebody took for an export.

use x811_audit::export::foreign_file;

use crate::kinds;

/// How lines of an export begin; one that was damaged still has such lines.
const LINES: [&[u8]; 6] = [b"r ", b"b ", b"c ", b"k ", b"p ", b"e "];

/// What a file is instead of an export, by how it begins; `None` where it may be one, also a damaged
/// one, or one that was cut to nothing: that is for the audit to find.
pub(super) fn what_else(first: &[u8]) -> Option<&'static str> {
    if first.is_empty() {
        return None;
    }
    // A page has lines that begin as those of an export do.
    let page = kinds::what(first).filter(|_| first.starts_with(b"<"));
    if let Some(what) = foreign_file(first).or(page) {
        return Some(what);
    }
    let has = |word: &[u8]| first.windows(word.len()).any(|part| part == word);
    if has(b"x811_export") || first.split(|byte| *byte == b'\n').any(is_line) {
        return None;
    }
    if has(b"\"x811_receipt\"") {
        return Some("the file is a receipt: `x811 receipt verify` reads it");
    }
    kinds::what(first).or(Some(
        "it has neither the header of one nor any of its lines",
    ))
}

fn is_line(line: &[u8]) -> bool {
    LINES.iter().any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plainly_something_else_is_told_from_what_was_damaged() {
        let table: [(&[u8], Option<&str>); 11] = [
            (b"", None),
            (b"hello\n", Some("neither")),
            (b"{\"ask\":\"/api/v1/interactions/", Some("receipt verify")),
            (b"c2sp.org/tlog-proof@v1\nindex 1\n", Some("--proofs")),
            (b"<!doctype html>\np {}\n", Some("page")),
            (b"\x7fELF\x02\x01\0\n\0", Some("neither")),
            (b"\x1f\x8b\x08\0", Some("gunzip")),
            (
                b"{\"checkpoint\":\"\",\"x811_receipt\":2}\n",
                Some("receipt verify"),
            ),
            (b"{\"did\":1,\"x811_export\":2}\nr {}\n", None),
            (b"{\"did\":1,\"x811_exqort\":2}\nr {}\n", None),
            (b"r {}\nr {}\n", None),
        ];
        for (first, expected) in table {
            let what = what_else(first);
            let text = String::from_utf8_lossy(first);
            assert_eq!(what.is_some(), expected.is_some(), "{text}: {what:?}");
            let says = |word| what.is_some_and(|what| what.contains(word));
            assert!(expected.is_none_or(says), "{text}: {what:?}");
        }
    }
}
