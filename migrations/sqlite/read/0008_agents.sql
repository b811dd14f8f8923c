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

-- Rows that were written before know no agents: everything is written again from the log.
DELETE FROM interactions;
DELETE FROM deliveries;
DELETE FROM stream_records;
DELETE FROM tiles;
DELETE FROM subjects;
DELETE FROM subject_members;
UPDATE applied SET size = 0;
