//! Files that are taken for an export and are something else.

/// How files begin that are no export, and what to do with each.
const KNOWN: [(&[u8], &str); 9] = [
    (
        b"\x1f\x8b",
        "the file is packed with gzip: unpack it first (gunzip)",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "the file is packed with zstd: unpack it first (unzstd)",
    ),
    (
        b"\xfd7zXZ\0",
        "the file is packed with xz: unpack it first (unxz)",
    ),
    (
        b"BZh",
        "the file is packed with bzip2: unpack it first (bunzip2)",
    ),
    (
        b"PK\x03\x04",
        "the file is a zip archive: unpack it first (unzip)",
    ),
    (
        b"SQLite format 3\0",
        "the file is a ledger's database: name the data directory that it lies in",
    ),
    (
        b"\xef\xbb\xbf",
        "the file begins with a byte order mark: it was converted; export it again",
    ),
    (
        b"\xd2\x84",
        "the file is a compact receipt: `x811 receipt verify` reads it",
    ),
    (b"%PDF", "the file is a PDF document"),
];

/// What a file with these first bytes is, and what to do with it, where it is known to be no export.
#[must_use]
pub fn foreign_file(first: &[u8]) -> Option<&'static str> {
    let mut known = KNOWN.iter();
    known
        .find(|(magic, _)| first.starts_with(magic))
        .map(|(_, what)| *what)
}
