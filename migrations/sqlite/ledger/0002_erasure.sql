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

DROP TRIGGER bodies_never_updated;

CREATE TRIGGER bodies_never_updated BEFORE UPDATE ON bodies
WHEN NEW.position <> OLD.position
  OR NEW.digest <> OLD.digest
  OR NEW.bytes <> zeroblob(length(OLD.bytes))
  OR NOT EXISTS (SELECT 1 FROM erased WHERE position = OLD.position)
BEGIN
    SELECT RAISE(ABORT, 'bodies are append-only: a stored body is never changed');
END;
