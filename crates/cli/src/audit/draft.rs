//! A page or a table on its way to its place: whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::whole::{Whole, unwritten};

/// A file beside its place, which it takes only when it is whole. It is made before the audit, so
/// that nobody waits for a report that cannot be written; it goes away when it is not finished.
pub(super) struct FileDraft {
    file: Whole,
    place: PathBuf,
}

impl FileDraft {
    /// A draft of the file at `place`, about `source`.
    pub(super) fn of(place: &Path, source: &Path) -> Result<FileDraft, Failure> {
        let is_source = || Some(place.canonicalize().ok()? == source.canonicalize().ok()?);
        if place.is_dir() || is_source() == Some(true) {
            let message = format!("{} is no place for a report", place.display());
            return Err(Failure::usage(&message));
        }
        Ok(FileDraft {
            file: Whole::at(place).map_err(|error| unwritten(place, &error))?,
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
        let written = write(&mut self.file).and_then(|()| self.file.finish());
        written.map_err(|error| unwritten(&self.place, &error))
    }
}
