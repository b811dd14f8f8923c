//! Files that receipts are read from and written to.

use std::io::Write as _;
use std::path::Path;

use x811_audit::receipt::MAX_RECEIPT_BYTES;

use crate::failure::Failure;
use crate::whole::unwritten;
use crate::{bounded, whole};

/// Reads a receipt; of a file that is larger than any is, no more than that.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = bounded::read(file, MAX_RECEIPT_BYTES).map_err(|error| {
        let message = format!("{} cannot be read: {error}", file.display());
        Failure::local("file", message)
    })?;
    if bytes.len() <= MAX_RECEIPT_BYTES {
        return Ok(bytes);
    }
    let message = format!(
        "{} is no receipt: it has more than {} MiB, the most that one can have, and was not read \
         any further",
        file.display(),
        MAX_RECEIPT_BYTES >> 20
    );
    Err(Failure::local("file", message))
}

/// Writes `bytes` to `file`, or to standard output for `-`: then byte for byte, and `false`, because
/// nothing else may be printed.
pub(super) fn write(file: &Path, bytes: &[u8]) -> Result<bool, Failure> {
    let is_file = file.as_os_str() != "-";
    let written = if is_file {
        whole::write(file, bytes)
    } else {
        std::io::stdout().write_all(bytes)
    };
    written.map_err(|error| unwritten(file, &error))?;
    Ok(is_file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_no_receipt_can_be_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("receipt.json");
        for (size, is_read) in [
            (0, true),
            (MAX_RECEIPT_BYTES as u64, true),
            (MAX_RECEIPT_BYTES as u64 + 1, false),
            (1 << 40, false),
        ] {
            // Of a file with a hole the disk holds nothing.
            fs::File::create(&path).unwrap().set_len(size).unwrap();
            let read = read(&path);
            assert_eq!(read.is_ok(), is_read, "{size}");
            assert!(read.is_ok_and(|bytes| bytes.len() as u64 == size) == is_read);
        }
    }
}
