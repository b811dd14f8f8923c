//! The data directory: its files, who owns it, and who may read it.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::error::OpenError;
use super::wal_file;

const LOCK: &str = "LOCK";
const LEDGER: &str = "ledger.db";
const READ_MODEL: &str = "read.db";
const CHAIN: &str = "chain.db";
const FEED: &str = "feed.db";
const STORE_URL: &str = "store-url";

/// Held while an address is noted.
static NOTING: Mutex<()> = Mutex::new(());

/// Files that SQLite keeps beside a database while it is open: the write-ahead log and its index.
pub(super) const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// A directory that holds a ledger.
#[derive(Debug, Clone)]
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    /// Names the directory; nothing is touched.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Makes the directory, mode 0700, unless it exists.
    pub(crate) fn create(path: &Path) -> Result<Self, OpenError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(path)
            .map_err(|source| file_error(path, source))?;
        Ok(Self::at(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.0.join(LEDGER)
    }

    pub(crate) fn read_model(&self) -> PathBuf {
        self.0.join(READ_MODEL)
    }

    /// The file that the writing process holds locked.
    pub(super) fn lock(&self) -> PathBuf {
        self.0.join(LOCK)
    }

    pub(super) fn chain(&self) -> PathBuf {
        self.0.join(CHAIN)
    }

    pub(super) fn feed(&self) -> PathBuf {
        self.0.join(FEED)
    }

    /// The address of the database that has this ledger's log; `None` where it is here.
    /// A second one is that of the cluster that has the log itself.
    pub(crate) fn store_url(&self) -> Result<Option<(String, Option<String>)>, OpenError> {
        let path = self.0.join(STORE_URL);
        match std::fs::read_to_string(&path) {
            Ok(noted) => {
                let mut lines = noted.lines().map(|line| line.trim_end().to_owned());
                Ok(Some((lines.next().unwrap_or_default(), lines.next())))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(file_error(&path, source)),
        }
    }

    /// Notes it for those who read the ledger of this directory. It may hold a password: like the
    /// keys it is for the ledger's user alone.
    pub(crate) fn note_store_url(&self, url: &str, log: Option<&str>) -> Result<(), OpenError> {
        // A process that stands by notes it while the same process takes over.
        let _alone = NOTING.lock().unwrap_or_else(PoisonError::into_inner);
        if self.store_url()? == Some((url.to_owned(), log.map(str::to_owned))) {
            return Ok(());
        }
        let lines: Vec<&str> = [url].into_iter().chain(log).collect();
        let (path, unfinished) = (self.0.join(STORE_URL), self.0.join("store-url.unfinished"));
        let write = || -> io::Result<()> {
            let mut file = create_private(&unfinished)?;
            file.set_len(0)?;
            io::Write::write_all(&mut file, format!("{}\n", lines.join("\n")).as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&unfinished, &path)?;
            File::open(&self.0)?.sync_all()
        };
        write().map_err(|source| file_error(&path, source))
    }

    /// Takes the exclusive lock; it is held until the file is dropped or the process ends.
    pub(crate) fn own(&self) -> Result<File, OpenError> {
        let path = self.lock();
        let file = create_private(&path).map_err(|source| file_error(&path, source))?;
        loop {
            return match file.try_lock() {
                Ok(()) => Ok(file),
                Err(TryLockError::WouldBlock) => Err(OpenError::Owned {
                    directory: self.0.clone(),
                }),
                Err(TryLockError::Error(source)) if is_interrupted(&source) => continue,
                Err(TryLockError::Error(source)) => Err(file_error(&path, source)),
            };
        }
    }

    /// Makes an empty database file, mode 0600, unless it exists. SQLite gives the WAL and its
    /// index the mode of the database. The name is durable before anything is written under it.
    pub(super) fn create_database(&self, file: &Path) -> Result<(), OpenError> {
        create_private(file).map_err(|source| file_error(file, source))?;
        #[cfg(unix)]
        File::open(&self.0)
            .and_then(|directory| directory.sync_all())
            .map_err(|source| file_error(&self.0, source))?;
        Ok(())
    }

    /// Looks into the write-ahead log of a database before SQLite does; nobody may be writing it.
    pub(super) fn check_wal(file: &Path) -> Result<(), OpenError> {
        let wal = beside(file, "-wal");
        match wal_file::broken(&wal) {
            Ok(None) => Ok(()),
            Ok(Some(broken)) => Err(OpenError::Wal {
                file: wal,
                frame: broken.frame,
                commits: broken.commits,
            }),
            Err(source) => Err(file_error(&wal, source)),
        }
    }

    /// Removes a database with its WAL and index; nothing happens when it is not there.
    pub(super) fn remove_database(file: &Path) -> Result<(), OpenError> {
        // The WAL first: left behind alone, it would be replayed into the next database.
        for suffix in ["-wal", "-shm", ""] {
            let path = beside(file, suffix);
            match std::fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(OpenError::File { path, source });
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// A file that SQLite keeps beside a database.
pub(super) fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A signal came; the call is made again.
fn is_interrupted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

fn file_error(path: &Path, source: io::Error) -> OpenError {
    OpenError::File {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_2_an_address_is_noted_by_two_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::at(folder.path());
        std::thread::scope(|scope| {
            for log in [None, Some("kurrentdb://a:2113")] {
                let directory = &directory;
                scope.spawn(move || {
                    for _ in 0..50 {
                        directory.note_store_url("postgres://a/x", log).unwrap();
                    }
                });
            }
        });
        let (url, _) = directory.store_url().unwrap().unwrap();
        assert_eq!(url, "postgres://a/x");
    }
}
