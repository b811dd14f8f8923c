//! Multi-row inserts. Row by row, a message costs ten times as much.

use sqlx::Sqlite;
use sqlx::query_builder::{QueryBuilder, Separated};
use sqlx::sqlite::SqliteConnection;

use super::error::{StoreError, UniqueKey};

/// Most bound values in one statement, `SQLITE_MAX_VARIABLE_NUMBER`.
const MAX_VARIABLES: usize = 32_766;

/// The bound values of one row, in the order of the table's columns.
pub(super) type Row<'a> = Separated<'a, Sqlite, &'static str>;

/// A table to insert into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    /// `INSERT INTO table (column, …) `
    pub(super) insert: &'static str,
    /// What follows the rows: a conflict clause, or nothing.
    pub(super) on_conflict: &'static str,
    /// Number of columns named in `insert`.
    pub(super) columns: usize,
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
    for chunk in items.chunks(MAX_VARIABLES / table.columns) {
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
