//! Multi-row inserts. Row by row, a message costs ten times as much.

use std::borrow::Borrow;
use std::sync::OnceLock;

use sqlx::Sqlite;
use sqlx::encode::Encode;
use sqlx::error::BoxDynError;
use sqlx::query_builder::{QueryBuilder, Separated};
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{Arguments as _, Type, query_with};

use super::error::{StoreError, UniqueKey};

/// Most rows of one statement.
const MAX_ROWS: usize = 512;

/// Lengths of statements, powers of two: each is written and prepared once and found again, for
/// SQLite takes as long to prepare a row as to write it. Rows that are missing are left out by the
/// statement: to leave out a hundred costs less than to wait for one more statement.
const LENGTHS: usize = MAX_ROWS.ilog2() as usize + 1;

/// A table to insert into, and how an item becomes a row of it.
#[derive(Debug)]
pub(super) struct Table<T> {
    /// `table (column, …)`
    pub(super) into: &'static str,
    /// How many columns those are. The first is never null.
    pub(super) columns: usize,
    /// What follows the rows: a conflict clause, or nothing.
    pub(super) on_conflict: &'static str,
    /// What its key is.
    pub(super) key: UniqueKey,
    /// Adds an item's values.
    pub(super) bind: fn(&mut Row, &T),
    pub(super) statements: Statements,
}

/// One statement for each length, once they are needed.
pub(super) type Statements = OnceLock<[String; LENGTHS]>;

impl<T> Table<T> {
    /// The shortest statement that takes so many rows, at most [`MAX_ROWS`].
    fn statement(&'static self, rows: usize) -> &'static str {
        let statements = self
            .statements
            .get_or_init(|| std::array::from_fn(|length| self.write_statement(1 << length)));
        &statements[rows.next_power_of_two().ilog2() as usize]
    }

    /// What cannot be inserted ends the transaction: to undo the statement alone, SQLite would copy
    /// every page before it changes it.
    fn write_statement(&self, rows: usize) -> String {
        let columns: Vec<String> = (1..=self.columns).map(|n| format!("column{n}")).collect();
        let row = format!("({})", vec!["?"; self.columns].join(", "));
        format!(
            "INSERT OR ROLLBACK INTO {} SELECT {} FROM (VALUES {}) WHERE column1 IS NOT NULL{}",
            self.into,
            columns.join(", "),
            vec![row; rows].join(", "),
            self.on_conflict,
        )
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
pub(super) async fn insert<T>(
    connection: &mut SqliteConnection,
    table: &'static Table<T>,
    items: &[impl Borrow<T> + Sync],
) -> Result<(), StoreError> {
    for chunk in items.chunks(MAX_ROWS) {
        let mut row = Row::default();
        row.arguments.reserve(chunk.len() * table.columns, 0);
        for item in chunk {
            (table.bind)(&mut row, item.borrow());
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
    use sqlx::Connection as _;

    static PAIRS: Table<(u64, Option<u64>)> = Table {
        into: "pairs (one, two)",
        columns: 2,
        on_conflict: " ON CONFLICT (one) DO UPDATE SET two = excluded.two",
        key: UniqueKey::Position,
        bind: |row, (one, two)| {
            row.push_bind(one.cast_signed())
                .push_bind(two.map(u64::cast_signed));
        },
        statements: Statements::new(),
    };

    #[tokio::test]
    async fn every_row_is_written_once_however_many_there_are() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        sqlx::query("CREATE TABLE pairs (one INTEGER PRIMARY KEY, two INTEGER)")
            .execute(&mut connection)
            .await
            .unwrap();
        for count in [0, 1, 2, 3, 4, 5, 63, 64, 65, 511, 512, 513, 1_200] {
            sqlx::query("DELETE FROM pairs")
                .execute(&mut connection)
                .await
                .unwrap();
            let items: Vec<_> = (0..count).map(|n| (n, (n % 3 > 0).then_some(n))).collect();
            insert(&mut connection, &PAIRS, &items).await.unwrap();
            insert(&mut connection, &PAIRS, &items).await.unwrap();
            let stored: Vec<(i64, Option<i64>)> =
                sqlx::query_as("SELECT one, two FROM pairs ORDER BY one")
                    .fetch_all(&mut connection)
                    .await
                    .unwrap();
            let signed = items
                .iter()
                .map(|(one, two)| (one.cast_signed(), two.map(u64::cast_signed)));
            assert!(stored.into_iter().eq(signed), "{count}");
        }
    }
}
