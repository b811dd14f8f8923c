//! The migrations of each database file.
//!
//! Listed by hand: `sqlx::migrate!` is a procedural macro that links the driver, so SQLite would be
//! compiled twice in every build, once of it for the compiler alone.

use std::sync::LazyLock;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Number, words and statements of one migration.
pub(crate) type Step = (i64, &'static str, &'static str);

macro_rules! sql {
    ($file:literal) => {
        include_str!(concat!("../../../../migrations/sqlite/", $file, ".sql"))
    };
}

/// Migrations of `ledger.db`.
pub(super) static LEDGER: LazyLock<Migrator> =
    LazyLock::new(|| migrator(&[(1, "ledger", sql!("ledger/0001_ledger"))]));

/// Migrations of `read.db`, the rows for readers.
pub(super) static READ: LazyLock<Migrator> =
    LazyLock::new(|| migrator(&[(1, "read model", sql!("read/0001_read_model"))]));

/// Migrations of `chain.db`.
pub(super) static CHAIN: LazyLock<Migrator> =
    LazyLock::new(|| migrator(&[(1, "chain", sql!("chain/0001_chain"))]));

/// Migrations of `feed.db`.
pub(super) static FEED: LazyLock<Migrator> =
    LazyLock::new(|| migrator(&[(1, "feed", sql!("feed/0001_feed"))]));

pub(crate) fn migrator(steps: &[Step]) -> Migrator {
    let migration = |&(version, words, sql): &Step| {
        let sql = sql.into_sql_str();
        Migration::new(version, words.into(), MigrationType::Simple, sql, false)
    };
    Migrator::with_migrations(steps.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Checksums too: from the first release on, a database that an earlier version migrated opens without a word.
    #[tokio::test]
    async fn every_file_of_the_folders_is_listed_as_sqlx_reads_it() {
        let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations/sqlite");
        let all_files = [
            ("ledger", &LEDGER),
            ("read", &READ),
            ("chain", &CHAIN),
            ("feed", &FEED),
        ];
        for (folder, listed) in all_files {
            let read = Migrator::new(folders.join(folder)).await.unwrap();
            let all = |migrator: &Migrator| -> Vec<_> {
                let steps = migrator.iter();
                let step = |step: &Migration| {
                    let checksum = step.checksum.clone();
                    (step.version, step.description.clone(), checksum, step.no_tx)
                };
                steps.map(step).collect()
            };
            assert_eq!(all(listed), all(&read), "{folder}");
        }
    }
}
