-- The tree over the log in tiles of hashes (C2SP tlog-tiles). A tile grows until it has 256 hashes
-- of 32 bytes; what is written of it never changes.

CREATE TABLE tiles (
    level  INTEGER NOT NULL CHECK (level BETWEEN 0 AND 63),
    tile   INTEGER NOT NULL CHECK (tile >= 0),
    hashes BLOB NOT NULL CHECK (length(hashes) BETWEEN 32 AND 8192 AND length(hashes) % 32 = 0),
    PRIMARY KEY (level, tile)
) STRICT;

-- Rows that were written before know no tiles: everything is written again from the log.
DELETE FROM interactions;
DELETE FROM deliveries;
DELETE FROM stream_records;
UPDATE applied SET size = 0;
