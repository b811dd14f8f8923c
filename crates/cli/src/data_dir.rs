//! A ledger's data directory, opened to be read: for whoever audits, examines, exports or copies it.

use std::io;
use std::path::Path;

use x811_store::{Backend, OpenError};

use crate::failure::Failure;

/// The log of a data directory, to be read; its ledger may be running.
pub(crate) async fn open_store(directory: &Path) -> Result<Backend, Failure> {
    expect_directory(directory)?;
    Backend::open_read_only(directory).await.map_err(unopened)
}

/// That what was named as a data directory is a directory.
pub(crate) fn expect_directory(path: &Path) -> Result<(), Failure> {
    let (path, what) = match path.metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => (
            path.display(),
            "a file: of an export `x811 audit` says whether it holds",
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (path.display(), "not there"),
        Err(error) => return Err(unreadable(path, &error)),
    };
    let message = format!("there is no ledger in {path}: it is {what}");
    Err(Failure::local("no_ledger", message).hint("name the data directory of a ledger"))
}

/// A data directory or an export that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("{} cannot be read: {error}", path.display());
    Failure::local("file", message).hint("name a data directory or an export file")
}

/// A data directory that cannot be opened for reading.
pub(crate) fn unopened(error: OpenError) -> Failure {
    let is_empty = matches!(error, OpenError::NoLedger { .. });
    let code = if is_empty { "no_ledger" } else { "data_dir" };
    Failure::local(code, error.to_string())
}
