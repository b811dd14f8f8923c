//! Where an export goes: a file that appears whole or not at all, or standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

/// What is written to; [`Sink::finish`] makes it count.
pub(super) enum Sink {
    StandardOutput(BufWriter<Stdout>),
    File(Part),
}

/// A file that is written beside its target.
pub(super) struct Part {
    file: BufWriter<File>,
    part: PathBuf,
    target: PathBuf,
    is_finished: bool,
}

impl Sink {
    /// `-` is standard output.
    pub(super) fn open(target: &Path) -> io::Result<Sink> {
        if target == Path::new("-") {
            return Ok(Sink::StandardOutput(BufWriter::new(io::stdout())));
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = target.with_file_name(name);
        Ok(Sink::File(Part {
            file: BufWriter::new(File::create(&part)?),
            part,
            target: target.to_owned(),
            is_finished: false,
        }))
    }

    /// Makes what was written durable and gives it its name.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Sink::StandardOutput(mut out) => out.flush(),
            Sink::File(mut part) => {
                part.file.flush()?;
                part.file.get_ref().sync_all()?;
                fs::rename(&part.part, &part.target)?;
                part.is_finished = true;
                Ok(())
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::StandardOutput(out) => out.write(bytes),
            Sink::File(part) => part.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::StandardOutput(out) => out.flush(),
            Sink::File(part) => part.file.flush(),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_finished {
            // What is left of it is of no use; that it cannot be removed changes nothing.
            let _ = fs::remove_file(&self.part);
        }
    }
}
