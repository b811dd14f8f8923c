//! Lines of an export.

use crate::version;
use serde::Deserialize as _;
use serde_json::Value;
use x811_eventlog::Hash;
use x811_protocol::canonical::to_canonical;
use x811_protocol::json::{Limits, parse_strict};

/// Most bytes of the header, the trailer or a checkpoint.
pub(super) const MAX_MARK_BYTES: usize = 65_535;

/// Most bytes of a path: as many hashes as the tallest tree has levels.
pub(super) const MAX_PATH_BYTES: usize = 64 * 67 + 1;

/// Reads a header or trailer: canonical JSON with one of the `known` versions under `mark`, which
/// is taken out.
pub(super) fn read_mark(bytes: &[u8], mark: &str, known: &[u64]) -> Result<(u64, Value), String> {
    let mut value = read_canonical(bytes, MAX_MARK_BYTES)?;
    let version = value
        .as_object_mut()
        .and_then(|members| members.remove(mark))
        .ok_or_else(|| format!("it has no member `{mark}`"))?;
    match version.as_u64().filter(|version| known.contains(version)) {
        Some(version) => Ok((version, value)),
        None => {
            let known: Vec<String> = known.iter().map(u64::to_string).collect();
            let known = known.join(" and ");
            let version = version::named(&version);
            Err(format!(
                "unknown version: `{mark}` is {version}, this program knows {known}; use the version of \
                 x811 that wrote the file, or export it again"
            ))
        }
    }
}

/// Writes a header or trailer.
pub(super) fn write_mark(mut value: Value, mark: &str, version: u64) -> Vec<u8> {
    if let Some(members) = value.as_object_mut() {
        members.insert(mark.to_owned(), version.into());
    }
    to_canonical(&value)
}

/// Reads a line of JSON, which has to be in RFC 8785 form.
pub(super) fn read_canonical(bytes: &[u8], most: usize) -> Result<Value, String> {
    let value = parse_strict(bytes, &Limits::bytes(most)).map_err(|error| error.to_string())?;
    if to_canonical(&value) == bytes {
        Ok(value)
    } else {
        Err("it is not in RFC 8785 form".to_owned())
    }
}

/// Reads a checkpoint's line: the note.
pub(super) fn read_note(line: &[u8]) -> Result<String, String> {
    let value = read_canonical(line, MAX_MARK_BYTES)?;
    let note = value.as_str().ok_or("it is no JSON string")?;
    Ok(note.to_owned())
}

/// Reads a path.
pub(super) fn read_path(line: &[u8]) -> Result<Vec<Hash>, String> {
    let value = read_canonical(line, MAX_PATH_BYTES)?;
    Vec::deserialize(value).map_err(|error| error.to_string())
}
