//! Whether a database is one that SQLite wrote, with the tables that our migrations make. What its
//! rows say is not asked here.

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::error::StoreError;
use super::readers::Readers;

/// What is wrong with the form of the database behind `readers`; empty when nothing is.
pub(super) async fn problems(
    readers: &Readers,
    migrator: &Migrator,
) -> Result<Vec<String>, StoreError> {
    let mut reader = readers.get().await?;
    let mut problems: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(20)")
        .fetch_all(&mut *reader)
        .await?;
    problems.retain(|problem| problem != "ok");
    let found = tables(&mut reader).await?;
    let mut due = SqliteConnectOptions::new().connect().await?;
    migrator
        .run_direct(None, &mut due, false)
        .await
        .map_err(|error| StoreError::Other(sqlx::Error::from(error)))?;
    if found != tables(&mut due).await? {
        problems.push("its tables are not those that this program makes".to_owned());
    }
    due.close().await?;
    Ok(problems)
}

/// How every table, index and guard was made, and by which migrations.
async fn tables(
    connection: &mut SqliteConnection,
) -> Result<(Vec<(String, String, String)>, Vec<(i64, Vec<u8>, bool)>), StoreError> {
    let made = sqlx::query_as(
        "SELECT name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY name, tbl_name",
    );
    let made = made.fetch_all(&mut *connection).await?;
    let by =
        sqlx::query_as("SELECT version, checksum, success FROM _sqlx_migrations ORDER BY version");
    Ok((made, by.fetch_all(connection).await?))
}
