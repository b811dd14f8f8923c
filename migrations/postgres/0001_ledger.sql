-- Log, bodies, nonce journal, decision indexes, writer and last checkpoint of one ledger, in one
-- schema of a PostgreSQL database. Rows for readers are not here: they stay beside each process.
--
-- What is append-only is so by trigger for whoever owns the tables, and by privilege for the role of
-- the program, where that is another one (x811_store::PostgresStore::grant).

CREATE FUNCTION x811_never() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: what is stored is never changed or deleted', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TABLE records (
    position bigint PRIMARY KEY CHECK (position >= 0),
    leaf     bytea NOT NULL
);

-- Once for each statement: a row at a time would cost a question each.
CREATE FUNCTION x811_at_the_end() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    first bigint;
    count bigint;
    last  bigint;
BEGIN
    SELECT min(position), count(*), max(position) INTO first, count, last FROM added;
    IF count > 0 AND (last - first + 1 <> count
        OR first > 0 AND NOT EXISTS (SELECT FROM records WHERE position = first - 1)) THEN
        RAISE EXCEPTION 'records are append-only: a record goes to the end of the log'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER records_at_the_end AFTER INSERT ON records
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION x811_at_the_end();

-- One body a position is enough: it is stored in the statement of its record.
CREATE TABLE bodies (
    position bigint PRIMARY KEY,
    digest   bytea NOT NULL CHECK (length(digest) = 32),
    bytes    bytea NOT NULL
);

CREATE TABLE nonce_journal (
    seq               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms             bigint NOT NULL,
    tag               bytea NOT NULL CHECK (length(tag) = 32),
    refused_code      text,
    repeated_position bigint,
    CHECK ((refused_code IS NULL) <> (repeated_position IS NULL))
);

CREATE TABLE envelope_ids (
    id       bytea PRIMARY KEY CHECK (length(id) = 16),
    position bigint NOT NULL
);

CREATE TABLE idempotency (
    tag      bytea PRIMARY KEY CHECK (length(tag) = 32),
    position bigint NOT NULL
);

CREATE TABLE claims (
    chain_id bigint NOT NULL,
    tx_hash  bytea NOT NULL CHECK (length(tx_hash) = 32),
    ordinal  bigint NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (chain_id, tx_hash, ordinal)
);

-- A body is erased by a row here, which is taken only when the record it names says so. The row of
-- the body stays, with zeros of the same length.
CREATE TABLE erased (
    position bigint PRIMARY KEY,
    record   bigint NOT NULL
);

-- With the rights of the owner: the program may not change bodies in any other way. The record is
-- of the same statement, so this looks once the statement is done.
CREATE FUNCTION x811_erase() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    said jsonb;
BEGIN
    SELECT convert_from(leaf, 'UTF8')::jsonb INTO said FROM records WHERE position = NEW.record;
    IF said IS NULL OR said ->> 'stream' <> 'ledger'
        OR said -> 'event' ->> 'type' IS DISTINCT FROM 'bodies_erased'
        OR NOT coalesce(said -> 'event' -> 'positions' @> to_jsonb(NEW.position), false) THEN
        RAISE EXCEPTION 'bodies are append-only: only what a record says was erased is erased'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE bodies SET bytes = decode(repeat('00', length(bytes)), 'hex')
        WHERE position = NEW.position;
    RETURN NULL;
END $$;

CREATE TRIGGER erased_as_recorded AFTER INSERT ON erased
    FOR EACH ROW EXECUTE FUNCTION x811_erase();

CREATE FUNCTION x811_only_zeros() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.position <> OLD.position OR NEW.digest <> OLD.digest
        OR NEW.bytes <> decode(repeat('00', length(OLD.bytes)), 'hex')
        OR NOT EXISTS (SELECT FROM erased WHERE position = OLD.position) THEN
        RAISE EXCEPTION 'bodies are append-only: a stored body is never changed'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER bodies_only_zeros BEFORE UPDATE ON bodies
    FOR EACH ROW EXECUTE FUNCTION x811_only_zeros();

DO $$
DECLARE
    name text;
BEGIN
    -- The functions above find their tables where they were made, whoever calls.
    FOREACH name IN ARRAY ARRAY['x811_at_the_end', 'x811_erase', 'x811_only_zeros'] LOOP
        EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', name, current_schema());
    END LOOP;
    FOREACH name IN ARRAY ARRAY['records', 'envelope_ids', 'idempotency', 'claims', 'erased'] LOOP
        EXECUTE format('CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON %I
            FOR EACH ROW EXECUTE FUNCTION x811_never()', name);
    END LOOP;
    CREATE TRIGGER never_deleted BEFORE DELETE ON bodies
        FOR EACH ROW EXECUTE FUNCTION x811_never();
    FOREACH name IN ARRAY ARRAY['records', 'bodies', 'envelope_ids', 'idempotency', 'claims', 'erased'] LOOP
        EXECUTE format('CREATE TRIGGER never_truncated BEFORE TRUNCATE ON %I
            FOR EACH STATEMENT EXECUTE FUNCTION x811_never()', name);
    END LOOP;
END $$;

-- Who may write. Only taking over changes it: a commit reads it, under a share lock.
CREATE TABLE writer (
    only_row integer PRIMARY KEY CHECK (only_row = 0),
    epoch    bigint NOT NULL,
    holder   text
);

INSERT INTO writer (only_row, epoch) VALUES (0, 0);

-- That the writer lives, by this database's clock. Apart from `writer`: a commit that waits for
-- standbys holds its share lock there, and must not hold up who renews or takes over.
CREATE TABLE lease (
    only_row   integer PRIMARY KEY CHECK (only_row = 0),
    holder     text,
    renewed_at timestamptz NOT NULL
);

INSERT INTO lease (only_row, renewed_at) VALUES (0, 'epoch');

-- Running state of the Merkle tree over the first `size` records.
CREATE TABLE tree (
    only_row integer PRIMARY KEY CHECK (only_row = 0),
    size     bigint NOT NULL,
    frontier bytea NOT NULL
);

-- When the ledger was last known to be up.
CREATE TABLE tick (
    only_row integer PRIMARY KEY CHECK (only_row = 0),
    at_ms    bigint NOT NULL
);

-- The last signed checkpoint, as it was signed.
CREATE TABLE checkpoint (
    only_row integer PRIMARY KEY CHECK (only_row = 0),
    note     text NOT NULL
);
