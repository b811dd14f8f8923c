-- Rows for reading, rebuilt from the log at will. No decision asks them.

-- With a rowid: the rows are too wide to lie in the key's tree.
CREATE TABLE interactions (
    id               BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
    initiator        BLOB NOT NULL,
    provider         BLOB NOT NULL,
    state            TEXT NOT NULL,
    total_micro_usdc INTEGER,
    deadline_at_ms   INTEGER,
    opened_at_ms     INTEGER NOT NULL,
    updated_at_ms    INTEGER NOT NULL,
    last_position    INTEGER NOT NULL,
    detail           TEXT NOT NULL
) STRICT;

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

-- How many records the rows reflect; moved in the transaction that applies them.
CREATE TABLE applied (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 0),
    size     INTEGER NOT NULL
) STRICT;

INSERT INTO applied (only_row, size) VALUES (0, 0);
