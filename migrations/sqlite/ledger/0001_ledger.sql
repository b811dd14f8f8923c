-- The ledger: log, bodies, nonce journal and decision indexes, written in one transaction.
--
-- Everything on the commit path is keyed by position or by time; a random key stands only where
-- one per interaction is needed. What is append-only is so for every connection, also for one
-- that does not come from this program: a BEFORE INSERT trigger refuses a stored key, because
-- INSERT OR REPLACE deletes the old row without firing a DELETE trigger. The guards of inserts roll back
-- the transaction and not only their statement: nobody goes on with what is left of a batch, and to be
-- able to, SQLite would copy every page before it changes it.

CREATE TABLE records (
    position INTEGER PRIMARY KEY,
    leaf     BLOB NOT NULL
) STRICT;

CREATE TRIGGER records_append_only BEFORE INSERT ON records
WHEN NEW.position <> (SELECT coalesce(max(position) + 1, 0) FROM records)
BEGIN
    SELECT RAISE(ROLLBACK, 'records are append-only: a record goes to the end of the log and nowhere else');
END;

CREATE TRIGGER records_never_updated BEFORE UPDATE ON records
BEGIN
    SELECT RAISE(ABORT, 'records are append-only: a stored record is never changed');
END;

CREATE TRIGGER records_never_deleted BEFORE DELETE ON records
BEGIN
    SELECT RAISE(ABORT, 'records are append-only: a stored record is never deleted');
END;

-- One body per position is enough here: a body is stored in the transaction of its record, so no
-- fenced writer can leave one behind at a position that another writer uses.
CREATE TABLE bodies (
    position INTEGER PRIMARY KEY,
    digest   BLOB NOT NULL CHECK (length(digest) = 32),
    bytes    BLOB NOT NULL
) STRICT;

CREATE TRIGGER bodies_append_only BEFORE INSERT ON bodies
WHEN EXISTS (SELECT 1 FROM bodies WHERE position = NEW.position)
BEGIN
    SELECT RAISE(ROLLBACK, 'bodies are append-only: this position has its body');
END;

CREATE TRIGGER bodies_never_updated BEFORE UPDATE ON bodies
WHEN NEW.position <> OLD.position
  OR NEW.digest <> OLD.digest
  OR NEW.bytes <> zeroblob(length(OLD.bytes))
  OR NOT EXISTS (SELECT 1 FROM erased WHERE position = OLD.position)
BEGIN
    SELECT RAISE(ABORT, 'bodies are append-only: a stored body is never changed');
END;

CREATE TRIGGER bodies_never_deleted BEFORE DELETE ON bodies
BEGIN
    SELECT RAISE(ABORT, 'bodies are append-only: a stored body is never deleted');
END;

-- Bodies that an operator erased (record.md section 4, `bodies_erased`).
--
-- A body is erased by a row here, which is taken only when the record it names says so, and never
-- goes away. The row of the body stays and its bytes become zeros of the same length: SQLite then
-- overwrites them where they lie. Deleting the row would free its place, also under secure_delete,
-- but the pages beside it would be packed anew, and what had been packed out of a page stays behind
-- in its gap, where nothing overwrites it when its own row is erased later.

CREATE TABLE erased (
    position INTEGER PRIMARY KEY,
    -- Position of the record that says so.
    record   INTEGER NOT NULL
) STRICT;

CREATE TRIGGER erased_as_recorded BEFORE INSERT ON erased
WHEN NOT EXISTS (
    SELECT 1
    FROM records AS said, json_each(CAST(said.leaf AS TEXT), '$.event.positions') AS named
    WHERE said.position = NEW.record
      AND json_extract(CAST(said.leaf AS TEXT), '$.stream') = 'ledger'
      AND json_extract(CAST(said.leaf AS TEXT), '$.event.type') = 'bodies_erased'
      AND named.value = NEW.position
)
BEGIN
    SELECT RAISE(ABORT, 'bodies are append-only: only what a record of the log says was erased is erased');
END;

CREATE TRIGGER erased_append_only BEFORE INSERT ON erased
WHEN EXISTS (SELECT 1 FROM erased WHERE position = NEW.position)
BEGIN
    SELECT RAISE(ABORT, 'erasures are append-only: this body is erased');
END;

CREATE TRIGGER erased_never_updated BEFORE UPDATE ON erased
BEGIN
    SELECT RAISE(ABORT, 'erasures are append-only: an erasure keeps its record');
END;

CREATE TRIGGER erased_never_deleted BEFORE DELETE ON erased
BEGIN
    SELECT RAISE(ABORT, 'erasures are append-only: what is erased stays so');
END;

CREATE TRIGGER erased_is_overwritten AFTER INSERT ON erased
BEGIN
    UPDATE bodies SET bytes = zeroblob(length(bytes)) WHERE position = NEW.position;
END;

-- Nonces spent without a record, in order of arrival. Purged from the front; never looked up by
-- tag, so it has no index.
CREATE TABLE nonce_journal (
    seq               INTEGER PRIMARY KEY,
    at_ms             INTEGER NOT NULL,
    tag               BLOB NOT NULL CHECK (length(tag) = 32),
    refused_code      TEXT,
    repeated_position INTEGER,
    CHECK ((refused_code IS NULL) <> (repeated_position IS NULL))
) STRICT;

-- UUIDv7 held to their time by the rules, so that new keys fall at the end.
CREATE TABLE envelope_ids (
    id       BLOB PRIMARY KEY CHECK (length(id) = 16),
    position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER envelope_ids_append_only BEFORE INSERT ON envelope_ids
WHEN EXISTS (SELECT 1 FROM envelope_ids WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ROLLBACK, 'envelope ids are append-only: this id is taken for ever');
END;

CREATE TRIGGER envelope_ids_never_updated BEFORE UPDATE ON envelope_ids
BEGIN
    SELECT RAISE(ABORT, 'envelope ids are append-only: an id keeps its position');
END;

CREATE TRIGGER envelope_ids_never_deleted BEFORE DELETE ON envelope_ids
BEGIN
    SELECT RAISE(ABORT, 'envelope ids are append-only: an id is never freed');
END;

CREATE TABLE idempotency (
    tag      BLOB PRIMARY KEY CHECK (length(tag) = 32),
    position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A tag that came while the round was under way may be filed once more.
CREATE TRIGGER idempotency_append_only BEFORE INSERT ON idempotency
WHEN EXISTS (SELECT 1 FROM idempotency WHERE tag = NEW.tag AND position <> NEW.position)
BEGIN
    SELECT RAISE(ROLLBACK, 'idempotency tags are append-only: this tag is taken for ever');
END;

CREATE TRIGGER idempotency_never_updated BEFORE UPDATE ON idempotency
BEGIN
    SELECT RAISE(ABORT, 'idempotency tags are append-only: a tag keeps its REQUEST');
END;

CREATE TRIGGER idempotency_never_deleted BEFORE DELETE ON idempotency
BEGIN
    SELECT RAISE(ABORT, 'idempotency tags are append-only: a tag is never freed');
END;

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

-- One transfer pays one interaction, for ever.
CREATE TABLE claims (
    chain_id INTEGER NOT NULL,
    tx_hash  BLOB NOT NULL CHECK (length(tx_hash) = 32),
    ordinal  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (chain_id, tx_hash, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER claims_append_only BEFORE INSERT ON claims
WHEN EXISTS (
    SELECT 1 FROM claims
    WHERE chain_id = NEW.chain_id AND tx_hash = NEW.tx_hash AND ordinal = NEW.ordinal
)
BEGIN
    SELECT RAISE(ROLLBACK, 'claims are append-only: this transfer is claimed for ever');
END;

CREATE TRIGGER claims_never_updated BEFORE UPDATE ON claims
BEGIN
    SELECT RAISE(ABORT, 'claims are append-only: a claim is never moved');
END;

CREATE TRIGGER claims_never_deleted BEFORE DELETE ON claims
BEGIN
    SELECT RAISE(ABORT, 'claims are append-only: a claim is never freed');
END;

-- Raised by one whenever a writer opens the ledger; a commit under an older epoch is refused.
CREATE TABLE writer (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 0),
    epoch    INTEGER NOT NULL
) STRICT;

INSERT INTO writer (only_row, epoch) VALUES (0, 0);

-- Running state of the Merkle tree over the first `size` records.
CREATE TABLE tree (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 0),
    size     INTEGER NOT NULL,
    frontier BLOB NOT NULL
) STRICT;

-- When the ledger was last known to be up.
CREATE TABLE tick (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 0),
    at_ms    INTEGER NOT NULL
) STRICT;
