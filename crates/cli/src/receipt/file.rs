//! Files that receipts are read from and written to.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::failure::Failure;

pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|error| {
        let message = format!("{} cannot be read: {error}", file.display());
        Failure::local("file", message)
    })
}

/// Writes `bytes` to `file`, or to standard output for `-`: then byte for byte, and `false`, because
/// nothing else may be printed.
pub(super) fn write(file: &Path, bytes: &[u8]) -> Result<bool, Failure> {
    let is_file = file.as_os_str() != "-";
    let written = if is_file {
        fs::write(file, bytes)
    } else {
        std::io::stdout().write_all(bytes)
    };
    written.map_err(|error| {
        let message = format!("{} cannot be written: {error}", file.display());
        Failure::local("file", message)
    })?;
    Ok(is_file)
}
