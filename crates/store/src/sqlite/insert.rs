//! Multi-row inserts. Row by row, a message costs ten times as much.

use sqlx::Sqlite;
use sqlx::query_builder::{QueryBuilder, Separated};
use sqlx::sqlite::SqliteConnection;

use super::error::{StoreError, UniqueKey};

/// Rows of one statement. There are few lengths, so that each statement is prepared once and found
/// again: SQLite takes as long to prepare a row as to write it.
const CHUNK_ROWS: [usize; 5] = [256, 64, 16, 4, 1];

/// The bound values of one row, in the order of the table's columns.
pub(super) type Row<'a> = Separated<'a, Sqlite, &'static str>;

/// A table to insert into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    /// `INSERT INTO table (column, …) `
    pub(super) insert: &'static str,
    /// What follows the rows: a conflict clause, or nothing.
    pub(super) on_conflict: &'static str,
    /// What its key is.
    pub(super) key: UniqueKey,
}

/// Inserts `items`, each as the row that `bind` makes of it.
pub(super) async fn insert<T: Sync>(
    connection: &mut SqliteConnection,
    table: Table,
    items: &[T],
    bind: fn(&mut Row<'_>, &T),
) -> Result<(), StoreError> {
    let mut rest = items;
    while let Some((chunk, behind)) = next_chunk(rest) {
        rest = behind;
        let mut statement = QueryBuilder::<Sqlite>::new(table.insert);
        statement.push_values(chunk, |mut row, item| bind(&mut row, item));
        statement.push(table.on_conflict);
        statement
            .build()
            .execute(&mut *connection)
            .await
            .map_err(|error| StoreError::of_insert(table.key, error))?;
    }
    Ok(())
}

/// The rows of the next statement, and those after it; `None` when none are left.
fn next_chunk<T>(items: &[T]) -> Option<(&[T], &[T])> {
    CHUNK_ROWS
        .iter()
        .find_map(|rows| items.split_at_checked(*rows))
}

/// A statement `select` followed by `IN (…)` with the given values.
pub(super) fn select_in<T>(
    select: &'static str,
    values: &[T],
    bind: fn(&mut Row<'_>, &T),
) -> QueryBuilder<Sqlite> {
    let mut statement = QueryBuilder::new(select);
    statement.push(" IN (");
    let mut list = statement.separated(", ");
    for value in values {
        bind(&mut list, value);
    }
    statement.push(")");
    statement
}

/// Most values in one `IN (…)`.
pub(super) const MAX_IN: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_chunk() {
        for count in 0..1_200 {
            let items: Vec<usize> = (0..count).collect();
            let (mut rest, mut seen) = (items.as_slice(), Vec::new());
            while let Some((chunk, behind)) = next_chunk(rest) {
                assert!(CHUNK_ROWS.contains(&chunk.len()));
                seen.extend_from_slice(chunk);
                rest = behind;
            }
            assert_eq!(seen, items);
        }
    }
}
