//! A ledger's data directory, opened to be read: for whoever audits, examines, exports or copies it.

use std::io;
use std::path::Path;

use x811_store::{Backend, OpenError};

use crate::failure::Failure;

/// The log of a data directory, to be read; its ledger may be running.
pub(crate) async fn open_store(directory: &Path) -> Result<Backend, Failure> {
    expect_directory(directory)?;
    let opened = Backend::open_read_only(directory).await;
    opened.map_err(|error| {
        let failure = unopened(error);
        let noted = directory.join("store-url");
        if failure.what_to_do.is_empty() && noted.exists() {
            let noted = noted.display();
            return failure.hint(format!(
                "{noted} has the address of the database that was asked"
            ));
        }
        failure
    })
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
    if let OpenError::NoLedger { directory } = &error {
        return without_log(directory);
    }
    Failure::local("data_dir", error.to_string())
}

/// A data directory without a log: its contents, and the next step.
fn without_log(directory: &Path) -> Failure {
    let has = |name: &str| directory.join(name).exists();
    let shown = directory.display();
    let files = std::fs::read_dir(directory).map(Iterator::count);
    let (found, next) = if files.is_ok_and(|files| files == 0) {
        (
            "the directory is empty".to_owned(),
            format!(
                "name the data directory of a ledger, or begin one here with `x811 serve --data-dir {shown}`"
            ),
        )
    } else if has("keys") || has("read.db") {
        let parts = [("keys", "keys"), ("read.db", "a read model")];
        let parts: Vec<&str> = parts
            .into_iter()
            .filter_map(|(name, part)| has(name).then_some(part))
            .collect();
        (
            format!(
                "it has {} of one, and no log: neither ledger.db, nor store-url with the address of a database",
                parts.join(" and ")
            ),
            "if the log is in PostgreSQL, this host has not written to it yet: run the command on the \
             host that writes, or start this one with --store-url. If the log was in ledger.db, put \
             that file back, or restore a backup with `x811 restore`"
                .to_owned(),
        )
    } else {
        (
            "it has other files only".to_owned(),
            "name the data directory of a ledger".to_owned(),
        )
    };
    Failure::local(
        "no_ledger",
        format!("there is no ledger in {shown}: {found}"),
    )
    .hint(next)
}
