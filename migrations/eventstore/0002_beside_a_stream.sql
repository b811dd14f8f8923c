-- What lies beside a log in EventStoreDB or KurrentDB, besides the tables of 0001 (postgres/): there
-- `records` has the leaves of the stream, as far as what lies beside them has come.

-- The stream that has the log. Drawn once: who loses this database finds no log, and the last
-- checkpoint then refuses to begin another one.
CREATE TABLE stream (
    only_row integer PRIMARY KEY CHECK (only_row = 0),
    name     text NOT NULL
);

INSERT INTO stream (only_row, name)
    VALUES (0, 'ledgerlog-' || replace(gen_random_uuid()::text, '-', ''));

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON stream
    FOR EACH ROW EXECUTE FUNCTION x811_never();
CREATE TRIGGER never_truncated BEFORE TRUNCATE ON stream
    FOR EACH STATEMENT EXECUTE FUNCTION x811_never();

-- Bodies whose records are not in the stream yet. Under their digests: a writer that was replaced
-- may stage another body for a position that it then does not get.
CREATE TABLE staged_bodies (
    position bigint NOT NULL,
    digest   bytea NOT NULL CHECK (length(digest) = 32),
    bytes    bytea NOT NULL,
    PRIMARY KEY (position, digest)
);
