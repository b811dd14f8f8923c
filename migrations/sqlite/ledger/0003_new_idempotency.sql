-- Idempotency tags on their way into their index.
--
-- Tags are hashes, so each has its place in a page of its own, and a page of the index was written
-- for every REQUEST, the more surely the more there were. So a tag is committed here, in order of
-- arrival, and filed in `idempotency` with its neighbours, later.
-- A tag is found in either table, and leaves this one only after it has been filed.

CREATE TABLE new_idempotency (
    position INTEGER PRIMARY KEY,
    tag      BLOB NOT NULL CHECK (length(tag) = 32)
) STRICT;

CREATE TRIGGER new_idempotency_append_only BEFORE INSERT ON new_idempotency
WHEN NEW.position <= (SELECT max(position) FROM new_idempotency)
  OR EXISTS (SELECT 1 FROM idempotency WHERE tag = NEW.tag)
BEGIN
    SELECT RAISE(ROLLBACK, 'idempotency tags are append-only: this tag is taken for ever');
END;

CREATE TRIGGER new_idempotency_never_updated BEFORE UPDATE ON new_idempotency
BEGIN
    SELECT RAISE(ABORT, 'idempotency tags are append-only: a tag keeps its REQUEST');
END;

CREATE TRIGGER new_idempotency_never_deleted BEFORE DELETE ON new_idempotency
WHEN OLD.position >= (SELECT filed_to FROM filing)
BEGIN
    SELECT RAISE(ROLLBACK, 'idempotency tags are append-only: a tag leaves this table for its index alone');
END;

-- How far the tags have been filed: in the round through the index that is under way, up to the tag
-- `next` those of lower positions than `round_from`; in the rounds before, those of lower positions
-- than `filed_to`, which leave the table now.
CREATE TABLE filing (
    only_row   INTEGER PRIMARY KEY CHECK (only_row = 0),
    next       BLOB NOT NULL CHECK (length(next) = 32),
    round_from INTEGER NOT NULL,
    filed_to   INTEGER NOT NULL
) STRICT;

INSERT INTO filing (only_row, next, round_from, filed_to) VALUES (0, zeroblob(32), 0, 0);

-- A tag that came while the round was under way may be filed once more.
DROP TRIGGER idempotency_append_only;

CREATE TRIGGER idempotency_append_only BEFORE INSERT ON idempotency
WHEN EXISTS (SELECT 1 FROM idempotency WHERE tag = NEW.tag AND position <> NEW.position)
BEGIN
    SELECT RAISE(ROLLBACK, 'idempotency tags are append-only: this tag is taken for ever');
END;
