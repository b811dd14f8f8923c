-- The guards of inserts roll back the transaction and not only their statement: nobody goes on with
-- what is left of a batch, and to be able to, SQLite would copy every page before it changes it.

DROP TRIGGER records_append_only;

CREATE TRIGGER records_append_only BEFORE INSERT ON records
WHEN NEW.position <> (SELECT coalesce(max(position) + 1, 0) FROM records)
BEGIN
    SELECT RAISE(ROLLBACK, 'records are append-only: a record goes to the end of the log and nowhere else');
END;

DROP TRIGGER bodies_append_only;

CREATE TRIGGER bodies_append_only BEFORE INSERT ON bodies
WHEN EXISTS (SELECT 1 FROM bodies WHERE position = NEW.position)
BEGIN
    SELECT RAISE(ROLLBACK, 'bodies are append-only: this position has its body');
END;

DROP TRIGGER envelope_ids_append_only;

CREATE TRIGGER envelope_ids_append_only BEFORE INSERT ON envelope_ids
WHEN EXISTS (SELECT 1 FROM envelope_ids WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ROLLBACK, 'envelope ids are append-only: this id is taken for ever');
END;

DROP TRIGGER claims_append_only;

CREATE TRIGGER claims_append_only BEFORE INSERT ON claims
WHEN EXISTS (
    SELECT 1 FROM claims
    WHERE chain_id = NEW.chain_id AND tx_hash = NEW.tx_hash AND ordinal = NEW.ordinal
)
BEGIN
    SELECT RAISE(ROLLBACK, 'claims are append-only: this transfer is claimed for ever');
END;
