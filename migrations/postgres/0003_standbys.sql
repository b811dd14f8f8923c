-- What ledger processes that stand by read: how many records are known to lie wherever they must,
-- written by the writer with each renewal of its lease and shortly after each commit. What a commit
-- has written beyond it may yet vanish, and is shown to nobody.
ALTER TABLE lease ADD COLUMN published bigint NOT NULL DEFAULT 0;

-- Who follows the log, and how far: for the operator alone, it decides nothing.
CREATE TABLE followers (
    name    text PRIMARY KEY,
    size    bigint NOT NULL,
    seen_at timestamptz NOT NULL
);
