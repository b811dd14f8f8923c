//! The metadata of a stream, as far as it decides which records the server shows and keeps.

use serde_json::Value;

use super::error::KurrentError;

/// Settings by which a server hides records of a stream, and removes them with the next scavenge.
const HIDING: [&str; 3] = [MAX_COUNT, MAX_AGE, TRUNCATE_BEFORE];
const MAX_COUNT: &str = "$maxCount";
const MAX_AGE: &str = "$maxAge";
const TRUNCATE_BEFORE: &str = "$tb";

/// `$tb` after a soft delete.
const DELETED: i64 = i64::MAX;

/// Returns the setting of `metadata` that hides records of `stream`, if there is one.
pub(super) fn hides(stream: &str, metadata: &[u8]) -> Option<KurrentError> {
    let metadata: Value = serde_json::from_slice(metadata).ok()?;
    let stream = stream.to_owned();
    if metadata.get(TRUNCATE_BEFORE).and_then(Value::as_i64) == Some(DELETED) {
        return Some(KurrentError::SoftDeleted { stream });
    }
    let mut hiding = HIDING.into_iter();
    let setting = hiding.find(|name| metadata.get(name).is_some_and(|value| !value.is_null()))?;
    Some(KurrentError::Hides { stream, setting })
}
