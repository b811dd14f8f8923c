//! Files that appear whole or not at all, so that what was there before is not lost to a full disk.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// A file on its way to its place, which it takes when it is [finished](Whole::finish); until then it lies
/// beside it, and goes away when it is dropped.
pub(crate) struct Whole {
    out: BufWriter<Target>,
    place: PathBuf,
}

enum Target {
    Draft(NamedTempFile),
    /// A pipe or a device: it is written to, and never replaced by a file.
    Stream(File),
}

impl Whole {
    /// Begins a file that will take `place`.
    pub(crate) fn at(place: &Path) -> io::Result<Whole> {
        let is_stream = fs::metadata(place).is_ok_and(|found| !found.is_file());
        let target = match is_stream {
            true => Target::Stream(File::options().write(true).open(place)?),
            false => Target::Draft(draft_of(place)?),
        };
        Ok(Whole {
            out: BufWriter::new(target),
            place: place.to_owned(),
        })
    }

    /// Makes what was written durable and gives it its name.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.out.into_inner().map_err(|error| error.into_error())? {
            Target::Stream(_) => Ok(()),
            Target::Draft(file) => {
                file.as_file().sync_all()?;
                file.persist(&self.place).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

/// Handed to others, unlike a temporary file; the process's mask still holds.
fn draft_of(place: &Path) -> io::Result<NamedTempFile> {
    let folder = place.parent().filter(|folder| *folder != Path::new(""));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".x811-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

/// Writes a file of these bytes.
pub(crate) fn write(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut whole = Whole::at(place)?;
    whole.write_all(bytes)?;
    whole.finish()
}

/// A file that cannot be put in its place.
pub(crate) fn unwritten(place: &Path, error: &io::Error) -> Failure {
    let message = format!("{} cannot be written: {error}", place.display());
    Failure::local("file", message)
        .hint("name a file in a folder that you may write to, with room on its disk")
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Draft(file) => file.write(bytes),
            Target::Stream(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Draft(file) => file.flush(),
            Target::Stream(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promise_9_a_file_is_replaced_whole_or_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("receipt.json");
        write(&place, b"old").unwrap();
        let mut given_up = Whole::at(&place).unwrap();
        given_up.write_all(b"ne").unwrap();
        drop(given_up);
        assert_eq!(fs::read(&place).unwrap(), b"old");
        write(&place, b"new").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(folder.path(), b"new").is_err());
    }

    /// A rename onto `/dev/null` would take it away from everybody.
    #[cfg(unix)]
    #[test]
    fn promise_9_a_device_is_written_to_and_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("out");
        std::os::unix::fs::symlink("/dev/null", &place).unwrap();
        write(&place, b"gone").unwrap();
        let found = fs::symlink_metadata(&place).unwrap();
        assert!(found.is_symlink(), "{found:?}");
        assert!(!fs::metadata(&place).unwrap().is_file());
    }
}
