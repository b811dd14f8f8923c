//! The last signed checkpoint as a row, replaced by compare-and-swap on its text.

use sqlx::PgPool;
use x811_ledger::checkpoint::{CheckpointStore, CheckpointStoreError};

use super::error::PostgresError;
use super::line::Owner;
use super::timeline::Timeline;

/// The one row. Only the writer of the log replaces it: one that slept through its lease would else
/// put a checkpoint of a shorter log there, and stop the one that took over.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointRow {
    pool: PgPool,
    /// Epoch and holder; absent where the log was opened for reading.
    writer: Option<(i64, String)>,
}

impl CheckpointRow {
    pub(super) fn over(pool: PgPool, owner: Option<&Owner>) -> CheckpointRow {
        let writer = owner.map(|owner| (owner.epoch.cast_signed(), owner.holder.clone()));
        CheckpointRow { pool, writer }
    }

    /// Where the log `log_id` lies in the database; `None` of a standby, which does not say.
    pub(crate) async fn timeline(
        &self,
        log_id: &str,
    ) -> Result<Option<Timeline>, CheckpointStoreError> {
        let timeline = Timeline::of(log_id, &self.pool).await;
        timeline.map_err(|error| CheckpointStoreError::Backend(Box::new(error)))
    }

    /// Whether that epoch and holder are still the writer's.
    async fn is_writer(&self, epoch: i64, holder: &str) -> Result<bool, CheckpointStoreError> {
        let mine = "SELECT EXISTS (SELECT FROM writer WHERE epoch = $1 AND holder = $2)";
        let is_writer = sqlx::query_scalar(mine).bind(epoch).bind(holder);
        is_writer.fetch_one(&self.pool).await.map_err(failed)
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
        let Some((epoch, holder)) = &self.writer else {
            return Err(CheckpointStoreError::Backend(Box::new(
                PostgresError::ReadOnly,
            )));
        };
        let swap = match previous {
            None => sqlx::query(
                "WITH mine AS MATERIALIZED (
                     SELECT FROM writer WHERE epoch = $2 AND holder = $3 FOR SHARE)
                 INSERT INTO checkpoint (only_row, note) SELECT 0, $1 FROM mine
                 ON CONFLICT DO NOTHING",
            )
            .bind(next)
            .bind(epoch)
            .bind(holder),
            Some(previous) => sqlx::query(
                "WITH mine AS MATERIALIZED (
                     SELECT FROM writer WHERE epoch = $3 AND holder = $4 FOR SHARE)
                 UPDATE checkpoint SET note = $1 FROM mine WHERE note = $2",
            )
            .bind(next)
            .bind(previous)
            .bind(epoch)
            .bind(holder),
        };
        match swap
            .execute(&self.pool)
            .await
            .map_err(failed)?
            .rows_affected()
        {
            1 => Ok(()),
            _ if self.is_writer(*epoch, holder).await? => Err(CheckpointStoreError::Conflict),
            _ => Err(CheckpointStoreError::Fenced),
        }
    }
}

fn failed(error: sqlx::Error) -> CheckpointStoreError {
    CheckpointStoreError::Backend(Box::new(PostgresError::from(error)))
}
