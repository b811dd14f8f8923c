//! Multi-row inserts. Row by row, a message costs ten times as much.

use std::sync::OnceLock;

use sqlx::Sqlite;
use sqlx::encode::Encode;
use sqlx::error::BoxDynError;
use sqlx::query_builder::{QueryBuilder, Separated};
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{Arguments as _, Type, query_with};

use super::error::{StoreError, UniqueKey};

/// Rows of one statement. There are few lengths, so that each statement is written and prepared
/// once and found again: SQLite takes as long to prepare a row as to write it.
const CHUNK_ROWS: [usize; 5] = [256, 64, 16, 4, 1];

/// A table to insert into, and how an item becomes a row of it.
#[derive(Debug)]
pub(super) struct Table<T> {
    /// `INSERT INTO table (column, …) `
    pub(super) insert: &'static str,
    /// How many columns those are.
    pub(super) columns: usize,
    /// What follows the rows: a conflict clause, or nothing.
    pub(super) on_conflict: &'static str,
    /// What its key is.
    pub(super) key: UniqueKey,
    /// Adds an item's values.
    pub(super) bind: fn(&mut Row, &T),
    pub(super) statements: Statements,
}

/// One statement for each of [`CHUNK_ROWS`], once they are needed.
pub(super) type Statements = OnceLock<[String; CHUNK_ROWS.len()]>;

impl<T> Table<T> {
    /// The statement for that number of rows, which is one of [`CHUNK_ROWS`].
    fn statement(&'static self, rows: usize) -> &'static str {
        let statements = self.statements.get_or_init(|| {
            CHUNK_ROWS.map(|rows| {
                let row = format!("({})", vec!["?"; self.columns].join(", "));
                let rows = vec![row; rows].join(", ");
                format!("{}VALUES {rows}{}", self.insert, self.on_conflict)
            })
        });
        let known = CHUNK_ROWS.iter().position(|known| *known == rows);
        known.map_or("", |index| &statements[index])
    }
}

/// The values of the rows of one statement, in the order of the table's columns.
#[derive(Debug, Default)]
pub(super) struct Row {
    arguments: SqliteArguments,
    failed: Option<BoxDynError>,
}

impl Row {
    /// Adds the value of the next column.
    pub(super) fn push_bind<'t>(
        &mut self,
        value: impl Encode<'t, Sqlite> + Type<Sqlite>,
    ) -> &mut Self {
        if let Err(error) = self.arguments.add(value) {
            self.failed = Some(error);
        }
        self
    }
}

/// Inserts `items`, each as the row that the table makes of it.
pub(super) async fn insert<T: Sync>(
    connection: &mut SqliteConnection,
    table: &'static Table<T>,
    items: &[T],
) -> Result<(), StoreError> {
    let mut rest = items;
    while let Some((chunk, behind)) = next_chunk(rest) {
        rest = behind;
        let mut row = Row::default();
        row.arguments.reserve(chunk.len() * table.columns, 0);
        for item in chunk {
            (table.bind)(&mut row, item);
        }
        if let Some(error) = row.failed {
            return Err(sqlx::Error::Encode(error).into());
        }
        query_with::<Sqlite, _>(table.statement(chunk.len()), row.arguments)
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
    bind: fn(&mut Separated<'_, Sqlite, &'static str>, &T),
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
