//! The last signed checkpoint as a row, replaced by compare-and-swap on its text.

use sqlx::PgPool;
use x811_ledger::checkpoint::{CheckpointStore, CheckpointStoreError};

use super::error::PostgresError;

/// The one row.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointRow {
    pool: PgPool,
}

impl CheckpointRow {
    pub(super) fn over(pool: PgPool) -> CheckpointRow {
        CheckpointRow { pool }
    }
}

impl CheckpointStore for CheckpointRow {
    async fn load(&self) -> Result<Option<String>, CheckpointStoreError> {
        let note = sqlx::query_scalar("SELECT note FROM checkpoint");
        note.fetch_optional(&self.pool).await.map_err(failed)
    }

    async fn compare_and_swap(
        &self,
        previous: Option<String>,
        next: String,
    ) -> Result<(), CheckpointStoreError> {
        let swap = match previous {
            None => sqlx::query(
                "INSERT INTO checkpoint (only_row, note) VALUES (0, $1) ON CONFLICT DO NOTHING",
            )
            .bind(next),
            Some(previous) => sqlx::query("UPDATE checkpoint SET note = $1 WHERE note = $2")
                .bind(next)
                .bind(previous),
        };
        match swap
            .execute(&self.pool)
            .await
            .map_err(failed)?
            .rows_affected()
        {
            1 => Ok(()),
            _ => Err(CheckpointStoreError::Conflict),
        }
    }
}

fn failed(error: sqlx::Error) -> CheckpointStoreError {
    CheckpointStoreError::Backend(Box::new(PostgresError::from(error)))
}
