-- How far each agent has acknowledged its feed, in a file of its own that may be thrown away: what
-- was acknowledged is then delivered again.

CREATE TABLE feed_acks (
    recipient        BLOB NOT NULL CHECK (length(recipient) = 16),
    through_position INTEGER NOT NULL CHECK (through_position >= 0),
    at_ms            INTEGER NOT NULL,
    PRIMARY KEY (recipient)
) STRICT, WITHOUT ROWID;
