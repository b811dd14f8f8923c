//! The columns that name a row, as text for an error: of a row that may hold anything.

use std::ops::Range;

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

/// The values of these columns, separated by spaces: text and integers as they are, blobs in hex.
pub(super) fn named(row: &SqliteRow, columns: Range<usize>) -> String {
    let values: Vec<String> = columns.map(|column| value(row, column)).collect();
    values.join(" ")
}

fn value(row: &SqliteRow, column: usize) -> String {
    if let Ok(text) = row.try_get::<String, _>(column) {
        return text;
    }
    if let Ok(number) = row.try_get::<i64, _>(column) {
        return number.to_string();
    }
    let bytes: Result<Vec<u8>, _> = row.try_get(column);
    let in_hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.map_or_else(|_| "?".to_owned(), in_hex)
}
