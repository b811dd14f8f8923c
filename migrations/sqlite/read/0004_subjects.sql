-- Subjects of machines beside interactions, such as negotiations of contracts.

CREATE TABLE subjects (
    kind           TEXT NOT NULL,
    id             TEXT NOT NULL,
    state          TEXT NOT NULL,
    members        TEXT NOT NULL,
    deadline_at_ms INTEGER,
    deadline_kind  TEXT CHECK (deadline_kind IN ('ledger', 'signed')),
    opened_at_ms   INTEGER NOT NULL,
    updated_at_ms  INTEGER NOT NULL,
    last_position  INTEGER NOT NULL,
    detail         TEXT NOT NULL,
    sum            BLOB NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;

CREATE TABLE subject_members (
    kind   TEXT NOT NULL,
    member BLOB NOT NULL,
    id     TEXT NOT NULL,
    PRIMARY KEY (kind, member, id)
) STRICT, WITHOUT ROWID;
