//! Where an export goes: a file that appears whole or not at all, or standard output.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::Path;

use crate::whole::Whole;

/// What is written to; [`Sink::finish`] makes it count.
pub(super) enum Sink {
    StandardOutput(BufWriter<Stdout>),
    File(Whole),
}

impl Sink {
    /// `-` is standard output.
    pub(super) fn open(target: &Path) -> io::Result<Sink> {
        if target == Path::new("-") {
            return Ok(Sink::StandardOutput(BufWriter::new(io::stdout())));
        }
        Whole::at(target).map(Sink::File)
    }

    /// Makes what was written durable and gives it its name.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Sink::StandardOutput(mut out) => out.flush(),
            Sink::File(file) => file.finish(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::StandardOutput(out) => out.write(bytes),
            Sink::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::StandardOutput(out) => out.flush(),
            Sink::File(file) => file.flush(),
        }
    }
}
