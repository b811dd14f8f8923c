//! What nobody finds yet.

/// Event, member, and why a lie about it is not found. A member that is found now has to leave.
pub(crate) const OPEN_MEMBERS: &[(&str, &str, &str)] = &[
    (
        "late",
        "evidence[].block.hash",
        "the block of a refuted transaction is not held to where it was seen",
    ),
    ("ledger_opened", "format", "nothing reads it"),
    (
        "looked",
        "finding[].depth",
        "of a refuted transaction nothing reads it",
    ),
    (
        "refuted",
        "(record)",
        "two of one moment may change places, and the code of the dispute with them",
    ),
];
