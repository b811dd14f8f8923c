//! Versions of the forms of files, as refusals name them.

use serde_json::Value;

/// The number of a version, or that there is none: what else stands there may be long.
pub(crate) fn named(version: &Value) -> String {
    let number = version.as_u64();
    number.map_or_else(|| "no number".to_owned(), |number| number.to_string())
}
