-- The ledger: log, bodies, nonce journal and decision indexes, written in one transaction.
--
-- Everything on the commit path is keyed by position or by time; a random key stands only where
-- one per interaction is needed. What is append-only is so for every connection, also for one
-- that does not come from this program: a BEFORE INSERT trigger refuses a stored key, because
-- INSERT OR REPLACE deletes the old row without firing a DELETE trigger.

CREATE TABLE records (
    position INTEGER PRIMARY KEY,
    leaf     BLOB NOT NULL
) STRICT;

CREATE TRIGGER records_append_only BEFORE INSERT ON records
WHEN NEW.position <> (SELECT coalesce(max(position) + 1, 0) FROM records)
BEGIN
    SELECT RAISE(ABORT, 'records are append-only: a record goes to the end of the log and nowhere else');
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
    SELECT RAISE(ABORT, 'bodies are append-only: this position has its body');
END;

CREATE TRIGGER bodies_never_updated BEFORE UPDATE ON bodies
BEGIN
    SELECT RAISE(ABORT, 'bodies are append-only: a stored body is never changed');
END;

CREATE TRIGGER bodies_never_deleted BEFORE DELETE ON bodies
BEGIN
    SELECT RAISE(ABORT, 'bodies are append-only: a stored body is never deleted');
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
    SELECT RAISE(ABORT, 'envelope ids are append-only: this id is taken for ever');
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

CREATE TRIGGER idempotency_append_only BEFORE INSERT ON idempotency
WHEN EXISTS (SELECT 1 FROM idempotency WHERE tag = NEW.tag)
BEGIN
    SELECT RAISE(ABORT, 'idempotency tags are append-only: this tag is taken for ever');
END;

CREATE TRIGGER idempotency_never_updated BEFORE UPDATE ON idempotency
BEGIN
    SELECT RAISE(ABORT, 'idempotency tags are append-only: a tag keeps its REQUEST');
END;

CREATE TRIGGER idempotency_never_deleted BEFORE DELETE ON idempotency
BEGIN
    SELECT RAISE(ABORT, 'idempotency tags are append-only: a tag is never freed');
END;

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
    SELECT RAISE(ABORT, 'claims are append-only: this transfer is claimed for ever');
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
