//! The metadata of a stream, as far as it decides which records the server shows and keeps.

use serde_json::Value;

use super::error::KurrentError;

/// Settings by which a server hides records of a stream, and removes them with the next scavenge.
const HIDING: [&str; 3] = ["$maxCount", "$maxAge", "$tb"];

/// `$tb` after a soft delete.
const DELETED: i64 = i64::MAX;

/// Returns the setting of `metadata` that hides records of `stream`, if there is one.
pub(super) fn hides(stream: &str, metadata: &[u8]) -> Option<KurrentError> {
    let metadata: Value = serde_json::from_slice(metadata).ok()?;
    let stream = stream.to_owned();
    if metadata.get("$tb").and_then(Value::as_i64) == Some(DELETED) {
        return Some(KurrentError::SoftDeleted { stream });
    }
    let setting = HIDING
        .into_iter()
        .find(|name| metadata.get(name).is_some())?;
    Some(KurrentError::Hides { stream, setting })
}
