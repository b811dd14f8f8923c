//! Snapshots as files: `snapshots/<size>.x811` in the data directory.
//!
//! A file appears under its name only once it is whole and on the disk. Two are kept; one of a
//! longer log than the newest is of no use to anybody and goes too.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use x811_ledger::snapshot::SnapshotStore;

use crate::file_fault::FileFault;

const FOLDER: &str = "snapshots";
const EXTENSION: &str = "x811";
const UNFINISHED: &str = "unfinished";

/// So much is written before it is waited for: a commit that comes meanwhile waits for no more.
const AT_ONCE_BYTES: usize = 4 * 1_048_576;

/// How many snapshots are kept: a damaged newest one costs a longer replay, not a full one.
const KEPT: usize = 2;

/// The snapshots of a data directory. Blocks while it reads and writes.
#[derive(Debug)]
pub struct FileSnapshots {
    folder: PathBuf,
    /// One save at a time.
    saving: Mutex<()>,
}

impl FileSnapshots {
    /// Those of `data_dir`; nothing is touched before the first save.
    pub fn of(data_dir: &Path) -> FileSnapshots {
        FileSnapshots {
            folder: data_dir.join(FOLDER),
            saving: Mutex::new(()),
        }
    }

    fn write(&self, size: u64, bytes: &[u8]) -> io::Result<()> {
        create_folder(&self.folder)?;
        let file = self.file(size);
        let unfinished = file.with_extension(UNFINISHED);
        write_private(&unfinished, bytes)?;
        fs::rename(&unfinished, &file)?;
        sync(&self.folder)?;
        self.tidy(size)
    }

    fn file(&self, size: u64) -> PathBuf {
        self.folder.join(format!("{size}.{EXTENSION}"))
    }

    /// Drops what a save that was cut off left, and all but the newest of size `newest` or less.
    fn tidy(&self, newest: u64) -> io::Result<()> {
        for path in self.paths()? {
            if path.extension() == Some(OsStr::new(UNFINISHED)) {
                fs::remove_file(path)?;
            }
        }
        let sizes = self.sizes()?;
        let (of_use, useless): (Vec<u64>, Vec<u64>) =
            sizes.into_iter().partition(|size| *size <= newest);
        for size in useless.iter().chain(of_use.iter().skip(KEPT)) {
            fs::remove_file(self.file(*size))?;
        }
        Ok(())
    }

    fn paths(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        entries.map(|entry| Ok(entry?.path())).collect()
    }
}

impl SnapshotStore for FileSnapshots {
    fn save(&self, size: u64, bytes: &[u8]) -> io::Result<()> {
        let _one = self.saving.lock().map_err(|_| {
            io::Error::other("an earlier save ended in a panic: no more are tried until a restart")
        })?;
        self.write(size, bytes)
            .map_err(|error| io::Error::new(error.kind(), FileFault::new(&self.folder, error)))
    }

    fn sizes(&self) -> io::Result<Vec<u64>> {
        let mut sizes: Vec<u64> = self
            .paths()?
            .iter()
            .filter(|path| path.extension() == Some(OsStr::new(EXTENSION)))
            .filter_map(|path| path.file_stem()?.to_str()?.parse().ok())
            .collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        Ok(sizes)
    }

    fn load(&self, size: u64) -> io::Result<Vec<u8>> {
        fs::read(self.file(size))
    }
}

fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    for chunk in bytes.chunks(AT_ONCE_BYTES) {
        file.write_all(chunk)?;
        file.sync_data()?;
    }
    file.sync_all()
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_are_kept_whole_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let snapshots = FileSnapshots::of(dir.path());
        assert!(snapshots.sizes().unwrap().is_empty());
        for size in [7, 100, 1_000] {
            snapshots.save(size, &size.to_be_bytes()).unwrap();
        }
        assert_eq!(snapshots.sizes().unwrap(), [1_000, 100]);
        assert_eq!(snapshots.load(100).unwrap(), 100_u64.to_be_bytes());
        let missing = snapshots.load(7).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        #[cfg(unix)]
        for (path, mode) in [("snapshots", 0o700), ("snapshots/100.x811", 0o600)] {
            use std::os::unix::fs::PermissionsExt as _;
            let metadata = fs::metadata(dir.path().join(path)).unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, mode, "{path}");
        }
    }

    #[test]
    fn leftovers_and_snapshots_of_a_longer_log_go_with_the_next_save() {
        let dir = tempfile::tempdir().unwrap();
        let snapshots = FileSnapshots::of(dir.path());
        snapshots
            .save(900, b"of a log that was restored since")
            .unwrap();
        let unfinished = dir.path().join("snapshots/50.unfinished");
        fs::write(&unfinished, b"half").unwrap();
        fs::write(dir.path().join("snapshots/README"), b"mine").unwrap();
        assert_eq!(snapshots.sizes().unwrap(), [900]);
        snapshots.save(60, b"new").unwrap();
        assert_eq!(snapshots.sizes().unwrap(), [60]);
        assert!(!unfinished.exists());
        assert!(dir.path().join("snapshots/README").exists());
    }
}
