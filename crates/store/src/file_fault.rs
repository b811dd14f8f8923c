//! Errors of files and directories, each with the step that resolves it.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use thiserror::Error;

/// A file or directory that could not be used.
#[derive(Debug, Error)]
#[error("{} could not be used ({source}): {}", path.display(), next_step(path, source))]
pub struct FileFault {
    path: PathBuf,
    source: io::Error,
}

impl FileFault {
    /// A call on `path` that returned `source`.
    #[must_use]
    pub fn new(path: &Path, source: io::Error) -> FileFault {
        FileFault {
            path: path.to_owned(),
            source,
        }
    }
}

/// Returns what to do about `error`, which a call on `path` returned.
#[must_use]
pub fn next_step(path: &Path, error: &io::Error) -> String {
    let kind = error.kind();
    if kind == io::ErrorKind::PermissionDenied {
        return permission(path);
    }
    if kind == io::ErrorKind::ReadOnlyFilesystem {
        return "its file system is mounted read-only; mount it for writing. `x811 audit`, `doctor` \
                and `export` read it as it is"
            .to_owned();
    }
    if kind == io::ErrorKind::StorageFull || kind == io::ErrorKind::QuotaExceeded {
        return "make room on its file system".to_owned();
    }
    match missing(path) {
        Some(sentence) => sentence,
        None => "check that it exists and is yours".to_owned(),
    }
}

/// The directory of `path` that is not there, or is a file.
fn missing(path: &Path) -> Option<String> {
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty())?;
    let shown = directory.display();
    match directory.metadata() {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some(format!("{shown} is a file; name a directory")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(format!(
            "the directory {shown} does not exist; check the path, and that its disk is mounted"
        )),
        Err(_) => None,
    }
}

/// Names the owner and the mode of `path`, or of the first directory above it that can be looked at.
fn permission(path: &Path) -> String {
    let mut places = path.ancestors();
    let found = places.find_map(|place| Some((place, place.metadata().ok()?)));
    let Some((place, metadata)) = found else {
        return "check its owner and mode".to_owned();
    };
    let (place, mode, owner) = (place.display(), metadata.mode() & 0o7777, metadata.uid());
    let own = geteuid().as_raw();
    if owner == own {
        return format!("{place} has mode {mode:04o}; run `chmod u+rwX {place}`");
    }
    format!(
        "{place} belongs to user {owner} and has mode {mode:04o}, and this process runs as user {own}; \
         run x811 as user {owner}, or give the files to user {own} with chown"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn said(path: &Path, kind: io::ErrorKind) -> String {
        FileFault::new(path, kind.into()).to_string()
    }

    #[test]
    fn reliability_an_error_of_a_file_names_its_path_and_the_next_step() {
        let dir = tempfile::tempdir().unwrap();
        let (file, gone) = (dir.path().join("LOCK"), dir.path().join("gone/LOCK"));
        fs::write(&file, "").unwrap();
        let within = file.join("LOCK");
        let own = format!("user {}", geteuid().as_raw());
        for (path, kind, words) in [
            (
                &file,
                io::ErrorKind::ReadOnlyFilesystem,
                "mounted read-only",
            ),
            (&file, io::ErrorKind::StorageFull, "make room"),
            (&file, io::ErrorKind::PermissionDenied, "chmod u+rwX"),
            (&gone, io::ErrorKind::NotFound, "does not exist"),
            (&within, io::ErrorKind::NotADirectory, "is a file"),
            (&file, io::ErrorKind::Other, "check that it exists"),
        ] {
            let said = said(path, kind);
            assert!(said.contains(words), "{said}");
            assert!(said.contains(path.to_str().unwrap()), "{said}");
        }
        let foreign = said(Path::new("/proc/1/mem"), io::ErrorKind::PermissionDenied);
        assert!(
            foreign.contains("0600") || foreign.contains(&own),
            "{foreign}"
        );
    }
}
