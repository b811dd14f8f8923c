//! Reading the members of facts in their record form.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The largest integer that every JSON reader keeps exactly, 2^53 - 1 (record.md section 1).
pub(crate) const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The longest name of a task or capability, in characters (record.md section 1).
const TASK_NAME_CHARS: usize = 128;

/// The longest name of a network, in characters (record.md section 1).
const LABEL_CHARS: usize = 32;

/// 1 to 128 printable characters.
pub(crate) fn is_task_type(text: &str) -> bool {
    (1..=TASK_NAME_CHARS).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

/// 1 to 32 characters of `[a-z0-9-]`.
pub(crate) fn is_network_name(text: &str) -> bool {
    let label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_CHARS).contains(&text.len()) && text.bytes().all(label)
}

pub(super) fn task_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked_text(
        deserializer,
        is_task_type,
        "task_type must be 1 to 128 printable characters",
    )
}

pub(super) fn checked_text<'de, D: Deserializer<'de>>(
    deserializer: D,
    is_allowed: fn(&str) -> bool,
    rule: &'static str,
) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_allowed(&text) {
        Ok(text)
    } else {
        Err(D::Error::custom(rule))
    }
}

pub(super) fn positive_integer<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<u64, D::Error> {
    let integer = u64::deserialize(deserializer)?;
    if (1..=MAX_SAFE_INTEGER).contains(&integer) {
        Ok(integer)
    } else {
        Err(D::Error::custom("must be an integer from 1 to 2^53 - 1"))
    }
}

/// An optional member that is there: `null` is no way to leave it out (record.md section 1).
pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

pub(super) fn given_integer<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    match u64::deserialize(deserializer)? {
        integer @ 0..=MAX_SAFE_INTEGER => Ok(Some(integer)),
        _ => Err(D::Error::custom("must be an integer up to 2^53 - 1")),
    }
}
