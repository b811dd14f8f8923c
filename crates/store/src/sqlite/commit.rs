//! One group commit: everything it holds, in the transaction the caller opened.

use sqlx::sqlite::SqliteConnection;
use x811_eventlog::{AppendError, Head, ReadError, Record, check_batch};
use x811_ledger::port::{Body, Commit, Erased, NonceOutcome, SpentNonce};
use x811_protocol::event::Claim;
use x811_protocol::id::EnvelopeId;

use super::error::{StoreError, UniqueKey};
use super::insert::{Row, Statements, Table, insert};
use super::log::{head_behind, last_record};

static RECORDS: Table<Record> = Table {
    into: "records (position, leaf)",
    columns: 2,
    on_conflict: "",
    key: UniqueKey::Position,
    bind: bind_record,
    statements: Statements::new(),
};

static BODIES: Table<Body> = Table {
    into: "bodies (position, digest, bytes)",
    columns: 3,
    on_conflict: "",
    key: UniqueKey::Body,
    bind: bind_body,
    statements: Statements::new(),
};

/// Its key is the place in the journal, which SQLite gives.
static NONCES: Table<SpentNonce> = Table {
    into: "nonce_journal (at_ms, tag, refused_code, repeated_position)",
    columns: 4,
    on_conflict: "",
    key: UniqueKey::Position,
    bind: bind_nonce,
    statements: Statements::new(),
};

static ENVELOPE_IDS: Table<(EnvelopeId, u64)> = Table {
    into: "envelope_ids (id, position)",
    columns: 2,
    on_conflict: "",
    key: UniqueKey::EnvelopeId,
    bind: bind_id,
    statements: Statements::new(),
};

static CLAIMS: Table<(Claim, u64)> = Table {
    into: "claims (chain_id, tx_hash, ordinal, position)",
    columns: 4,
    on_conflict: "",
    key: UniqueKey::Claim,
    bind: bind_claim,
    statements: Statements::new(),
};

/// What it names is overwritten by a trigger.
static ERASED: Table<Erased> = Table {
    into: "erased (position, record)",
    columns: 2,
    on_conflict: "",
    key: UniqueKey::Erased,
    bind: bind_erased,
    statements: Statements::new(),
};

/// Checks that `commit` continues the log, and writes all of it but the idempotency tags, which are
/// for [`super::tags`]. Gives the head it leads to.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    commit: &Commit,
) -> Result<Head, AppendError> {
    let head = match stored_head(&mut *connection, commit).await {
        Ok(head) => head,
        Err(ReadError::Backend(source)) => return Err(AppendError::Backend(source)),
        Err(damaged @ ReadError::Damaged(_)) => {
            return Err(AppendError::Backend(Box::new(damaged)));
        }
    };
    let head = check_batch(&head, commit.expected_size, &commit.records)?;
    insert(connection, &RECORDS, &commit.records).await?;
    insert(connection, &BODIES, &commit.bodies).await?;
    insert(connection, &NONCES, &commit.nonces).await?;
    insert(connection, &ENVELOPE_IDS, &commit.envelope_ids).await?;
    insert(connection, &CLAIMS, &commit.claims).await?;
    insert(connection, &ERASED, &commit.erased).await?;
    Ok(head)
}

/// The head before `commit`. The tree that it leads to is written on the way: to wait for one more
/// statement takes longer than to do it, and who does not continue the log is rolled back.
async fn stored_head(
    connection: &mut SqliteConnection,
    commit: &Commit,
) -> Result<Head, ReadError> {
    const HEAD: &str = last_record!();
    const TREE_AND_HEAD: &str = concat!(
        "INSERT OR REPLACE INTO tree (only_row, size, frontier) VALUES (0, ?, ?); ",
        last_record!(),
    );
    let query = if commit.frontier.is_empty() {
        sqlx::query(HEAD)
    } else {
        let size = commit
            .expected_size
            .saturating_add(commit.records.len() as u64);
        sqlx::query(TREE_AND_HEAD)
            .bind(size.cast_signed())
            .bind(&*commit.frontier)
    };
    let last = query.fetch_optional(connection).await;
    head_behind(last.map_err(StoreError::from)?)
}

fn bind_record(row: &mut Row, record: &Record) {
    row.push_bind(record.position().cast_signed())
        .push_bind(record.bytes());
}

fn bind_body(row: &mut Row, body: &Body) {
    row.push_bind(body.position.cast_signed())
        .push_bind(body.digest.as_bytes().as_slice())
        .push_bind(&*body.bytes);
}

fn bind_nonce(row: &mut Row, nonce: &SpentNonce) {
    let (code, position) = match nonce.outcome {
        NonceOutcome::Refused(code) => (Some(code.as_str()), None),
        NonceOutcome::Repeated { position } => (None, Some(position.cast_signed())),
    };
    row.push_bind(nonce.at_ms.as_ms().cast_signed())
        .push_bind(nonce.tag.as_bytes().as_slice())
        .push_bind(code)
        .push_bind(position);
}

fn bind_id(row: &mut Row, (id, position): &(EnvelopeId, u64)) {
    row.push_bind(id.uuid().as_bytes().as_slice())
        .push_bind(position.cast_signed());
}

fn bind_claim(row: &mut Row, (claim, position): &(Claim, u64)) {
    row.push_bind(claim.chain_id.as_u64().cast_signed())
        .push_bind(claim.tx_hash.as_bytes().as_slice())
        .push_bind(claim.ordinal.cast_signed())
        .push_bind(position.cast_signed());
}

fn bind_erased(row: &mut Row, erased: &Erased) {
    row.push_bind(erased.position.cast_signed())
        .push_bind(erased.record.cast_signed());
}
