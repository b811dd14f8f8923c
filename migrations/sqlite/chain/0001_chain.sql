-- The blocks that the watchers hold, in a file of its own that may be thrown away: a start without
-- it only asks the endpoints again.

CREATE TABLE blocks (
    network     TEXT NOT NULL,
    number      INTEGER NOT NULL,
    hash        BLOB NOT NULL CHECK (length(hash) = 32),
    parent      BLOB NOT NULL CHECK (length(parent) = 32),
    timestamp_s INTEGER NOT NULL,
    moved       BLOB NOT NULL,
    PRIMARY KEY (network, number)
) STRICT;
