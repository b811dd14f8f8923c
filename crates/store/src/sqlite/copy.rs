//! Copies made while the original is in use.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use sqlx::sqlite::SqliteConnection;

use super::error::{OpenError, StoreError};
use super::readers::Readers;

/// Copies the database behind `readers`, as of one commit, into `target`, which must not exist.
/// The copy has mode 0600, no WAL, and is durable when this returns.
pub(super) async fn copy(readers: &Readers, target: &Path) -> Result<(), OpenError> {
    let reader = readers.get().await;
    let mut reader = reader.map_err(|source| OpenError::Database {
        file: target.to_owned(),
        source,
    })?;
    copy_by(&mut reader, target).await
}

/// The same by one connection.
pub(super) async fn copy_by(
    connection: &mut SqliteConnection,
    target: &Path,
) -> Result<(), OpenError> {
    let unusable = |source: io::Error| OpenError::File {
        path: target.to_owned(),
        source,
    };
    create_new(target).map_err(unusable)?;
    let name = target.to_str().ok_or_else(|| {
        unusable(io::Error::new(
            io::ErrorKind::InvalidInput,
            "SQLite takes only UTF-8 file names",
        ))
    })?;
    vacuum_into(connection, name)
        .await
        .map_err(|source| OpenError::Database {
            file: target.to_owned(),
            source,
        })?;
    sync(target).map_err(unusable)
}

async fn vacuum_into(connection: &mut SqliteConnection, target: &str) -> Result<(), StoreError> {
    sqlx::query("VACUUM INTO ?")
        .bind(target)
        .execute(connection)
        .await?;
    Ok(())
}

fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a file and its name durable.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        Some(_) | None => File::open(".")?.sync_all(),
    }
}
