//! Whether the paths of a data directory still name the files that this process has open.
//!
//! A file that was removed or replaced while it is open is written to as before, and what is written is
//! gone with the process. Device and inode of an open file are nobody else's, so they tell. On file
//! systems that make inode numbers up, an open file keeps its number.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::data_dir::COMPANIONS;

/// Where Linux lists the open files of a process.
const DESCRIPTORS: &str = "/proc/self/fd";

/// Files of a data directory as they were when they were opened.
#[derive(Debug)]
pub(super) struct OpenFiles(Vec<OpenFile>);

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    id: FileId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(metadata: &Metadata) -> FileId {
        FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// An open file that its path does not name any more.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} was {}", path.display(), fate)]
pub struct Displaced {
    /// The path it was opened by.
    pub path: PathBuf,
    /// What became of the file.
    pub fate: Fate,
}

/// What became of an open file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fate {
    /// It has no name any more.
    #[error("removed while the ledger ran")]
    Removed,
    /// It has another name.
    #[error("moved to {} while the ledger ran", .0.display())]
    Moved(PathBuf),
    /// The path names no file, or another one; the system does not say what became of the open one.
    #[error("removed or replaced while the ledger ran")]
    Unknown,
}

impl OpenFiles {
    /// Notes the files at `paths`, which are open; a path that names none is left out.
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> OpenFiles {
        let files = paths.into_iter().filter_map(|path| {
            let id = FileId::of(&path.metadata().ok()?);
            Some(OpenFile { path, id })
        });
        OpenFiles(files.collect())
    }

    /// The same with one more.
    pub(super) fn and(mut self, path: PathBuf) -> OpenFiles {
        self.0.extend(OpenFiles::of([path]).0);
        self
    }

    /// The first of the files that its path does not name any more.
    pub(super) fn displaced(&self) -> Option<Displaced> {
        let displaced = self.0.iter().find(|file| !file.is_there())?;
        Some(Displaced {
            path: displaced.path.clone(),
            fate: displaced.fate(),
        })
    }

    /// Removes the write-ahead log and its index where they are still in place. Left behind, they would
    /// be replayed into the next database of that name.
    pub(super) fn remove_companions(&self) {
        let is_companion = |file: &&OpenFile| {
            let name = file.path.as_os_str().as_encoded_bytes();
            COMPANIONS
                .iter()
                .any(|suffix| name.ends_with(suffix.as_bytes()))
        };
        for file in self.0.iter().filter(is_companion) {
            if !file.is_there() {
                continue;
            }
            if let Err(error) = fs::remove_file(&file.path) {
                let path = file.path.display();
                tracing::warn!(%path, %error, "a file of a database that was removed is left behind");
            }
        }
    }
}

impl OpenFile {
    /// A path that cannot be looked at says nothing about the file.
    fn is_there(&self) -> bool {
        match self.path.metadata() {
            Ok(metadata) => FileId::of(&metadata) == self.id,
            Err(error) => !is_gone(&error),
        }
    }

    fn fate(&self) -> Fate {
        let found = fs::read_dir(DESCRIPTORS).ok().and_then(|entries| {
            let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
            paths.find_map(|descriptor| self.name_by(&descriptor))
        });
        match found {
            None => Fate::Unknown,
            Some(None) => Fate::Removed,
            Some(Some(path)) => Fate::Moved(path),
        }
    }

    /// Its present name, or that it has none, if `descriptor` is of this file.
    fn name_by(&self, descriptor: &Path) -> Option<Option<PathBuf>> {
        let metadata = descriptor.metadata().ok()?;
        if FileId::of(&metadata) != self.id {
            return None;
        }
        let name = descriptor.read_link().ok();
        // The name of a file that was removed and has others is none of them.
        Some(name.filter(|name| name.metadata().is_ok_and(|it| FileId::of(&it) == self.id)))
    }
}

fn is_gone(error: &io::Error) -> bool {
    [
        io::ErrorKind::NotFound,
        io::ErrorKind::NotADirectory,
        io::ErrorKind::StaleNetworkFileHandle,
    ]
    .contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// An open file, its path, and what is noted of it.
    fn opened(dir: &Path) -> (File, PathBuf, OpenFiles) {
        let path = dir.join("ledger.db");
        let file = File::create(&path).unwrap();
        let noted = OpenFiles::of([path.clone(), dir.join("ledger.db-wal")]);
        assert_eq!(noted.displaced(), None);
        (file, path, noted)
    }

    #[test]
    fn reliability_an_open_file_without_a_name_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let (_file, path, noted) = opened(dir.path());
        fs::remove_file(&path).unwrap();
        let displaced = noted.displaced().unwrap();
        assert_eq!((&displaced.path, &displaced.fate), (&path, &Fate::Removed));
        fs::write(&path, "another").unwrap();
        assert!(noted.displaced().is_some(), "another file of that name");
    }

    #[test]
    fn reliability_an_open_file_under_another_name_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (_file, path, noted) = opened(dir.path());
        let away = dir.path().canonicalize().unwrap().join("away");
        fs::copy(&path, dir.path().join("copy")).unwrap();
        fs::rename(&path, &away).unwrap();
        fs::rename(dir.path().join("copy"), &path).unwrap();
        let displaced = noted.displaced().unwrap();
        assert_eq!(displaced.fate, Fate::Moved(away.clone()));
        let said = displaced.to_string();
        assert!(
            said.contains(&format!("moved to {}", away.display())),
            "{said}"
        );
    }

    #[test]
    fn reliability_a_file_that_is_written_is_still_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let (file, path, noted) = opened(dir.path());
        file.set_len(9).unwrap();
        fs::write(&path, "x").unwrap();
        fs::write(dir.path().join("ledger.db-wal"), "x").unwrap();
        assert_eq!(noted.displaced(), None, "the second did not exist");
    }
}
