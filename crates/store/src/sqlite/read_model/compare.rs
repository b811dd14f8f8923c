//! Two sets of rows, compared as a whole by SQLite.

use std::path::Path;

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::sqlite::error::StoreError;

/// Every table of rows with a text of the columns that name one.
const TABLES: [(&str, &str); 9] = [
    ("subjects", "kind || ' ' || hex(id)"),
    (
        "subject_members",
        "kind || ' ' || hex(member) || ' ' || hex(id)",
    ),
    ("agents", "'' || registered_position"),
    ("agent_capabilities", "name || ' ' || registered_position"),
    ("trust", "hex(did) || ' ' || position"),
    ("trust_payers", "hex(did) || ' ' || hex(account)"),
    ("deliveries", "hex(recipient) || ' ' || position"),
    ("stream_records", "stream || ' ' || stream_seq"),
    ("tiles", "level || ' ' || tile"),
];

/// How one table of rows differs from what the log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowDifference {
    /// Name of the table.
    pub table: &'static str,
    /// Rows that are not, or not so, what the log says.
    pub unfounded: u64,
    /// Rows that the log calls for and that are not there, or not so.
    pub missing: u64,
    /// The key of one of them.
    pub example: String,
}

/// Compares the databases `found` and `due`; nobody may be writing them.
pub(super) async fn compare(found: &Path, due: &Path) -> Result<Vec<RowDifference>, StoreError> {
    let options = SqliteConnectOptions::new().filename(found).read_only(true);
    let mut connection = options.connect().await?;
    sqlx::query("ATTACH ? AS due")
        .bind(due.to_string_lossy().into_owned())
        .execute(&mut connection)
        .await?;
    let mut differences = Vec::new();
    for (table, key) in TABLES {
        let (unfounded, one) = rows_only_in(&mut connection, "main", "due", table, key).await?;
        let (missing, other) = rows_only_in(&mut connection, "due", "main", table, key).await?;
        if let Some(example) = one.or(other) {
            differences.push(RowDifference {
                table,
                unfounded,
                missing,
                example,
            });
        }
    }
    connection.close().await?;
    Ok(differences)
}

/// How many rows there are in `this` and not in `that`, and the key of one.
async fn rows_only_in(
    connection: &mut SqliteConnection,
    this: &str,
    that: &str,
    table: &str,
    key: &str,
) -> Result<(u64, Option<String>), StoreError> {
    // All parts are constants of this file.
    let statement = format!(
        "SELECT count(*), min({key}) FROM \
         (SELECT * FROM {this}.{table} EXCEPT SELECT * FROM {that}.{table})"
    );
    let row = sqlx::query(AssertSqlSafe(statement))
        .fetch_one(connection)
        .await?;
    let rows: i64 = row.try_get(0)?;
    Ok((rows.cast_unsigned(), row.try_get(1)?))
}
