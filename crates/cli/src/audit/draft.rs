//! A page or a table on its way to its place: whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// A file beside its place, which it takes only when it is whole. It is made before the audit, so
/// that nobody waits for a report that cannot be written; it goes away when it is not finished.
pub(super) struct Draft {
    file: NamedTempFile,
    place: PathBuf,
}

impl Draft {
    /// A draft of the file at `place`, about `source`.
    pub(super) fn of(place: &Path, source: &Path) -> Result<Draft, Failure> {
        let is_source = || Some(place.canonicalize().ok()? == source.canonicalize().ok()?);
        if place.is_dir() || is_source() == Some(true) {
            let message = format!("{} is no place for a report", place.display());
            return Err(Failure::usage(&message));
        }
        let folder = place.parent().filter(|folder| *folder != Path::new(""));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".x811-audit-").suffix(".part");
        // Handed to others, unlike a temporary file; the process's mask still holds.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")));
        Ok(Draft {
            file: file.map_err(|error| unwritten(place, &error))?,
            place: place.to_owned(),
        })
    }

    /// Puts `text` in its place.
    pub(super) fn finish(self, text: &str) -> Result<(), Failure> {
        self.finish_with(|out| out.write_all(text.as_bytes()))
    }

    /// Puts what `write` writes in its place.
    pub(super) fn finish_with(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut out = BufWriter::new(&mut self.file);
        let written = write(&mut out).and_then(|()| out.flush());
        drop(out);
        let written = written.and_then(|()| self.file.as_file().sync_all());
        written.map_err(|error| unwritten(&self.place, &error))?;
        let kept = self.file.persist(&self.place);
        kept.map_err(|error| unwritten(&self.place, &error.error))?;
        Ok(())
    }
}

fn unwritten(place: &Path, error: &io::Error) -> Failure {
    let message = format!("{} cannot be written: {error}", place.display());
    Failure::local("file", message).hint("name a file in a folder that you may write to")
}
