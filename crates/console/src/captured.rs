//! An output that keeps what is printed, for the tests of whatever prints.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::output::Out;

/// The bytes printed so far.
#[derive(Debug, Clone, Default)]
pub struct CapturedBytes(Arc<Mutex<Vec<u8>>>);

impl CapturedBytes {
    /// The text as it was printed.
    #[must_use]
    pub fn raw(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The text without our own styles; whatever else a terminal acts on stays.
    #[must_use]
    pub fn text(&self) -> String {
        let styles = ["0", "1", "2", "31", "32", "33"];
        let strip = |text: String, style| text.replace(&format!("\x1b[{style}m"), "");
        styles.into_iter().fold(self.raw(), strip)
    }
}

impl Write for CapturedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut captured = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        captured.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Out {
    /// An output with its standard output and its standard error.
    #[must_use]
    pub fn captured(json: bool) -> (Out, CapturedBytes, CapturedBytes) {
        let (out, err) = (CapturedBytes::default(), CapturedBytes::default());
        let printing = Out::new(json, Box::new(out.clone()), Box::new(err.clone()));
        (printing, out, err)
    }
}
