//! Two files that bind the old and the new place of a log to each other, so that one log never goes
//! on in two places: `MOVED` in the old data directory names the new one, and `COPYING` in the new
//! one, until the copy is whole, the old one.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::backup::files::{create_new, sync_directory, unusable};
use crate::failure::Failure;

/// In the old place: where the log is now.
pub(crate) const MOVED: &str = "MOVED";

/// In the new place: where the log comes from.
pub(super) const COPYING: &str = "COPYING";

/// The directory that a note names, if there is one.
pub(super) fn read(directory: &Path, name: &str) -> Result<Option<PathBuf>, Failure> {
    let file = directory.join(name);
    match fs::read_to_string(&file) {
        Ok(text) => Ok(Some(PathBuf::from(text.trim_end()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(&file, &error)),
    }
}

/// Notes `other`, durably; a note that is there is replaced.
pub(crate) fn write(directory: &Path, name: &str, other: &Path) -> Result<(), Failure> {
    let other = other.to_str().ok_or_else(|| {
        Failure::usage("the path of a data directory must be UTF-8 for its log to be moved")
    })?;
    remove(directory, name)?;
    let file = directory.join(name);
    let written = create_new(&file).and_then(|mut note| {
        note.write_all(format!("{other}\n").as_bytes())?;
        note.sync_all()
    });
    written.map_err(|error| unusable(&file, &error))?;
    sync_directory(directory)
}

/// Removes a note.
pub(super) fn remove(directory: &Path, name: &str) -> Result<(), Failure> {
    let file = directory.join(name);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(&file, &error)),
        Ok(()) | Err(_) => sync_directory(directory),
    }
}

/// The path by which a directory is always found.
pub(crate) fn real(directory: &Path) -> Result<PathBuf, Failure> {
    fs::canonicalize(directory).map_err(|error| unusable(directory, &error))
}
