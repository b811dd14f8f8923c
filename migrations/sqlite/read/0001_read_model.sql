-- Rows for reading, rebuilt from the log at will. No decision asks them.

-- Interactions and the subjects of every other machine. With a rowid: the rows are too wide to lie in the
-- key's tree. `members` has sixteen bytes for each; `sum` is over the whole row, so that one that changed on
-- the disk is not shown: sixteen bytes of SHA-256.
CREATE TABLE subjects (
    kind           TEXT NOT NULL,
    id             BLOB NOT NULL CHECK (length(id) = 16),
    state          TEXT NOT NULL,
    members        BLOB NOT NULL CHECK (length(members) % 16 = 0),
    deadline_at_ms INTEGER,
    opened_at_ms   INTEGER NOT NULL,
    updated_at_ms  INTEGER NOT NULL,
    last_position  INTEGER NOT NULL,
    detail         TEXT NOT NULL,
    sum            BLOB NOT NULL CHECK (length(sum) = 16),
    PRIMARY KEY (kind, id)
) STRICT;

-- The subjects of each member, of kinds that agents are shown lists of.
CREATE TABLE subject_members (
    kind   TEXT NOT NULL,
    member BLOB NOT NULL,
    id     BLOB NOT NULL,
    PRIMARY KEY (kind, member, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    recipient   BLOB NOT NULL,
    position    INTEGER NOT NULL,
    envelope_id BLOB NOT NULL,
    PRIMARY KEY (recipient, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE stream_records (
    stream     TEXT NOT NULL,
    stream_seq INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    PRIMARY KEY (stream, stream_seq)
) STRICT, WITHOUT ROWID;

-- The tree over the log in tiles of hashes (C2SP tlog-tiles). A tile grows until it has 256 hashes
-- of 32 bytes; what is written of it never changes.

CREATE TABLE tiles (
    level  INTEGER NOT NULL CHECK (level BETWEEN 0 AND 63),
    tile   INTEGER NOT NULL CHECK (tile >= 0),
    hashes BLOB NOT NULL CHECK (length(hashes) BETWEEN 32 AND 8192 AND length(hashes) % 32 = 0),
    PRIMARY KEY (level, tile)
) STRICT;

-- Who is registered, in order of registration, and what they have earned.

CREATE TABLE agents (
    registered_position INTEGER PRIMARY KEY NOT NULL,
    did                 BLOB NOT NULL CHECK (length(did) = 16),
    status              TEXT NOT NULL,
    expires_at_ms       INTEGER,
    contested           INTEGER NOT NULL,
    d                   INTEGER NOT NULL,
    f                   INTEGER NOT NULL,
    s                   INTEGER NOT NULL,
    sum                 BLOB NOT NULL CHECK (length(sum) = 16)
) STRICT;

CREATE TABLE agent_capabilities (
    name                TEXT NOT NULL,
    registered_position INTEGER NOT NULL,
    PRIMARY KEY (name, registered_position)
) STRICT, WITHOUT ROWID;

CREATE INDEX capabilities_of_agent ON agent_capabilities (registered_position);

-- One row for each record that moved an agent's counters: what they are from it on.
CREATE TABLE trust (
    did       BLOB NOT NULL CHECK (length(did) = 16),
    position  INTEGER NOT NULL,
    contested INTEGER NOT NULL,
    d         INTEGER NOT NULL,
    f         INTEGER NOT NULL,
    s         INTEGER NOT NULL,
    sum       BLOB NOT NULL CHECK (length(sum) = 16),
    PRIMARY KEY (did, position)
) STRICT, WITHOUT ROWID;

-- The accounts that paid an agent, each with the record that confirmed its first payment.
CREATE TABLE trust_payers (
    did      BLOB NOT NULL CHECK (length(did) = 16),
    account  BLOB NOT NULL CHECK (length(account) = 20),
    position INTEGER NOT NULL,
    PRIMARY KEY (did, account)
) STRICT, WITHOUT ROWID;

-- How many records the rows reflect; moved in the transaction that applies them.
CREATE TABLE applied (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 0),
    size     INTEGER NOT NULL
) STRICT;

INSERT INTO applied (only_row, size) VALUES (0, 0);
