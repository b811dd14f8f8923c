//! Files that somebody else may have put there, or sent: of none is more read than the longest that
//! it may be.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The bytes of `file`, or of standard input for `-`; of more than `most_bytes`, one byte more than
/// that, so that its length says so.
pub(crate) fn read(file: &Path, most_bytes: usize) -> io::Result<Vec<u8>> {
    let limit = most_bytes as u64 + 1;
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin().take(limit).read_to_end(&mut bytes)?;
    } else {
        File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The text of `file`, or of standard input for `-`.
///
/// # Errors
/// Also if it has more than `most_bytes`, is not UTF-8, or begins with a byte-order mark, which is invalid in JSON and
/// TOML.
pub(crate) fn text(file: &Path, most_bytes: usize) -> io::Result<String> {
    text_of(read(file, most_bytes)?.as_slice(), most_bytes)
}

/// The text of a file that is open.
///
/// # Errors
/// As [`text`].
pub(crate) fn text_of(input: impl Read, most_bytes: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.take(most_bytes as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most_bytes {
        let why = format!("it has more than {most_bytes} bytes, the most that is read");
        return Err(io::Error::other(why));
    }
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))?;
    if text.starts_with('\u{feff}') {
        let why = "it begins with a byte-order mark (U+FEFF): save it as UTF-8 without one";
        return Err(io::Error::other(why));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_9_a_file_of_somebody_else_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("paper");
        let most = 1 << 20;
        for (size, is_read) in [
            (0, 0),
            (most, most),
            (most + 1, most + 1),
            (1 << 40, most + 1),
        ] {
            // Of a file with a hole the disk holds nothing.
            File::create(&path).unwrap().set_len(size as u64).unwrap();
            assert_eq!(read(&path, most).unwrap().len(), is_read, "{size}");
            assert_eq!(text(&path, most).is_ok(), size <= most, "{size}");
        }
        std::fs::write(&path, b"\xff").unwrap();
        assert!(text(&path, most).unwrap_err().to_string().contains("UTF-8"));
        std::fs::write(&path, "\u{feff}{}").unwrap();
        let refusal = text(&path, most).unwrap_err().to_string();
        assert!(refusal.contains("byte-order mark"), "{refusal}");
    }
}
