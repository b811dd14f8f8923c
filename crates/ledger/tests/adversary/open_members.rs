//! What nobody finds yet.

/// Event, member, and why a lie about it is not found. A member that is found now has to leave.
pub(crate) const OPEN_MEMBERS: &[(&str, &str, &str)] = &[
    (
        "confirmed",
        "evidence",
        "evidence of one transaction may stand there twice",
    ),
    (
        "confirmed",
        "evidence[].authorization_nonce",
        "nothing reads it",
    ),
    (
        "confirmed",
        "evidence[].transfers[].to",
        "it is not held to what was seen",
    ),
    (
        "envelope_accepted",
        "derived",
        "of a message in mail nothing reads it",
    ),
    ("envelope_accepted", "derived.deadline_at_ms", "likewise"),
    ("envelope_accepted", "derived.parameters", "likewise"),
    ("envelope_accepted", "derived.payee", "likewise"),
    ("envelope_accepted", "derived.payer_binding", "likewise"),
    (
        "late",
        "evidence",
        "evidence of one transaction may stand there twice",
    ),
    (
        "late",
        "evidence[].block.hash",
        "the block of a refuted transaction is not held to where it was seen",
    ),
    ("late", "evidence[].block.number", "likewise"),
    ("late", "evidence[].block.timestamp_s", "likewise"),
    (
        "late",
        "evidence[].transfers",
        "they are not held to what was seen",
    ),
    ("late", "evidence[].transfers[].amount", "likewise"),
    ("ledger_opened", "format", "nothing reads it"),
    (
        "looked",
        "finding[].depth",
        "of a refuted transaction, or one that was not seen, nothing reads it",
    ),
    (
        "looked",
        "finding[].status",
        "it is not held to what was seen",
    ),
    ("notice_issued", "envelope.created_ms", "nothing reads it"),
    (
        "refuted",
        "(record)",
        "two of one moment may change places, and the code of the dispute with them",
    ),
    (
        "refuted",
        "evidence.transfers",
        "they are not held to what was seen",
    ),
    ("refuted", "evidence.transfers[].amount", "likewise"),
];
