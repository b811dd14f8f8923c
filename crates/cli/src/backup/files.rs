//! The files of a backup: private, and durable before anybody is told of them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::Manifest;
use crate::failure::Failure;

const KEYS: &str = "keys";
const MANIFEST: &str = "backup.json";

/// Makes a directory that must not exist, mode 0700.
pub(crate) fn make_directory(path: &Path) -> Result<(), Failure> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            return unusable(path, &error);
        }
        let message = format!("{} is there already; nothing was changed", path.display());
        Failure::local("exists", message).hint("name a directory that is not there yet: it is made")
    })
}

/// Copies `keys` from one directory to the other.
pub(crate) fn copy_keys(from: &Path, to: &Path) -> Result<(), Failure> {
    let (from, to) = (from.join(KEYS), to.join(KEYS));
    let entries = fs::read_dir(&from).map_err(|error| unusable(&from, &error))?;
    make_directory(&to)?;
    for entry in entries {
        let entry = entry.map_err(|error| unusable(&from, &error))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        copy_private(&source, &target).map_err(|error| unusable(&source, &error))?;
    }
    sync_directory(&to)
}

/// Copies `keys`, instead of a part of them that an interrupted copy left.
pub(crate) fn replace_keys(from: &Path, to: &Path) -> Result<(), Failure> {
    let part = to.join(KEYS);
    match fs::remove_dir_all(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(&part, &error)),
        Ok(()) | Err(_) => copy_keys(from, to),
    }
}

/// Copies one file, mode 0600, durably.
pub(crate) fn copy_private(source: &Path, target: &Path) -> io::Result<()> {
    let mut from = File::open(source)?;
    let mut to = create_new(target)?;
    io::copy(&mut from, &mut to)?;
    to.sync_all()
}

/// Whether there are keys in a directory.
pub(crate) fn has_keys(path: &Path) -> bool {
    path.join(KEYS).is_dir()
}

/// Reading SQLite leaves an empty WAL and its index behind; a backup has neither.
pub(crate) fn remove_side_files(path: &Path) -> Result<(), Failure> {
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        let file = path.join(name);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(unusable(&file, &error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Says what is in the backup; written last, so that half a backup has none.
pub(crate) fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), Failure> {
    let file = path.join(MANIFEST);
    let written = create_new(&file).and_then(|mut out| {
        serde_json::to_writer_pretty(&mut out, manifest)?;
        out.write_all(b"\n")?;
        out.sync_all()
    });
    written.map_err(|error| unusable(&file, &error))?;
    sync_directory(path)
}

/// What is in a backup.
pub(crate) fn read_manifest(path: &Path) -> Result<Manifest, Failure> {
    let file = path.join(MANIFEST);
    let hint = "name a directory that `x811 backup` finished";
    let text = fs::read(&file).map_err(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            return unusable(&file, &error).hint(hint);
        }
        let message = format!("{} is no backup: it has no {MANIFEST}", path.display());
        Failure::local("no_backup", message).hint(hint)
    })?;
    serde_json::from_slice(&text).map_err(|error| {
        let file = file.display();
        Failure::local("manifest", format!("{file} cannot be read: {error}"))
            .hint("it was changed, or made by another version")
    })
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Failure> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(|error| unusable(path, &error))
}

/// Makes a file that must not exist, mode 0600.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

pub(crate) fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::local("file", format!("{}: {error}", path.display()))
        .hint("check that it can be read or made, and that there is room")
}
