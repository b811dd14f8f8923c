//! That what was committed lies on standbys (stores.md section 3).
//!
//! A commit that returned proves nothing: somebody may have cancelled its wait, or emptied
//! `synchronous_standby_names` meanwhile. So nothing is acknowledged before the standbys that were
//! configured say themselves that they have flushed it.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use tokio::time::{Instant, sleep};

use super::error::PostgresError;

/// How long standbys have to confirm what was committed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two looks at what they have.
const LOOK_EVERY: Duration = Duration::from_millis(2);

macro_rules! standbys_that_have {
    ($mark:literal) => {
        concat!(
            "WITH due AS MATERIALIZED (SELECT coalesce($1::pg_lsn, ",
            $mark,
            "()) AS lsn)
             SELECT due.lsn::text,
                    (SELECT count(DISTINCT application_name) FROM pg_stat_replication
                     WHERE application_name = ANY($2) AND state = 'streaming'
                       AND flush_lsn >= due.lsn)
             FROM due"
        )
    };
}

/// How many standbys have what this server has flushed.
const FLUSHED: &str = standbys_that_have!("pg_current_wal_flush_lsn");

/// How many standbys have all that this server has, flushed or not.
const INSERTED: &str = standbys_that_have!("pg_current_wal_insert_lsn");

/// Which standbys must have what was committed before anybody is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quorum {
    needed: u64,
    standbys: Vec<String>,
}

impl Quorum {
    /// `needed` of `standbys`, by their `application_name`; `None` where that is none of them, or
    /// more than there are, or a name twice.
    #[must_use]
    pub fn of(needed: u64, standbys: Vec<String>) -> Option<Quorum> {
        let mut names: Vec<&String> = standbys.iter().collect();
        names.sort_unstable();
        names.dedup();
        let fits = names.len() == standbys.len()
            && (1..=standbys.len() as u64).contains(&needed)
            && names.iter().all(|name| is_plain(name));
        fits.then_some(Quorum { needed, standbys })
    }

    /// How many must have a commit.
    #[must_use]
    pub fn needed(&self) -> u64 {
        self.needed
    }

    /// The names that count.
    #[must_use]
    pub fn standbys(&self) -> &[String] {
        &self.standbys
    }

    /// Commits must wait for these standbys, and for the disk.
    pub(super) async fn check_settings(
        &self,
        connection: &mut PgConnection,
    ) -> Result<(), PostgresError> {
        let found: String =
            sqlx::query_scalar("SELECT current_setting('synchronous_standby_names')")
                .fetch_one(connection)
                .await?;
        if self.is_named_by(&found) {
            return Ok(());
        }
        Err(PostgresError::Names {
            found,
            needed: self.needed,
            standbys: self.standbys.join(", "),
        })
    }

    fn is_named_by(&self, setting: &str) -> bool {
        let Some(rest) = setting.trim().strip_prefix("ANY ") else {
            return false;
        };
        let Some((count, names)) = rest.trim().split_once('(') else {
            return false;
        };
        let names = names.trim_end().trim_end_matches(')').split(',');
        let mut names: Vec<_> = names.map(|name| name.trim().trim_matches('"')).collect();
        let mut due: Vec<_> = self.standbys.iter().map(String::as_str).collect();
        names.sort_unstable();
        due.sort_unstable();
        count.trim().parse() == Ok(self.needed) && names == due
    }

    /// Waits until the standbys have flushed what a synchronous commit that has returned wrote, whether
    /// it waited for them or not: this server had flushed its own log that far before it returned.
    ///
    /// Not what is inserted there by now: commits of others that wait for no disk, as renewals of the
    /// lease are, lie behind it until the server's WAL writer comes by, up to 0.6 s later.
    pub(super) async fn confirm(&self, connection: &mut PgConnection) -> Result<(), PostgresError> {
        self.reach(connection, FLUSHED).await
    }

    /// Waits until the standbys have flushed everything that is in the log of this server now, and
    /// thereby everything that can be read of it, however it was committed.
    pub(super) async fn confirm_all(
        &self,
        connection: &mut PgConnection,
    ) -> Result<(), PostgresError> {
        self.reach(connection, INSERTED).await
    }

    /// Waits until the standbys have flushed as far as `mark` says now.
    async fn reach(
        &self,
        connection: &mut PgConnection,
        mark: &'static str,
    ) -> Result<(), PostgresError> {
        let begun = Instant::now();
        let mut due: Option<String> = None;
        loop {
            let (lsn, confirmed) = self.confirmed(connection, mark, due.as_deref()).await?;
            if confirmed >= self.needed {
                return Ok(());
            }
            if begun.elapsed() >= PATIENCE {
                return Err(PostgresError::TooFewStandbys {
                    confirmed,
                    needed: self.needed,
                    standbys: self.standbys.join(", "),
                });
            }
            due = Some(lsn);
            sleep(LOOK_EVERY).await;
        }
    }

    /// The place in the log that is asked about, `mark` unless it is `due`, and how many standbys have
    /// flushed it.
    async fn confirmed(
        &self,
        connection: &mut PgConnection,
        mark: &'static str,
        due: Option<&str>,
    ) -> Result<(String, u64), PostgresError> {
        let (lsn, confirmed): (String, i64) = sqlx::query_as(mark)
            .bind(due)
            .bind(&self.standbys)
            .fetch_one(connection)
            .await?;
        Ok((lsn, confirmed.cast_unsigned()))
    }
}

/// Names that mean themselves in `synchronous_standby_names`.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quorum_is_of_names_that_there_are() {
        let of = |needed, names: &[&str]| {
            Quorum::of(needed, names.iter().map(ToString::to_string).collect())
        };
        assert!(of(1, &["s2", "s3"]).is_some());
        for (needed, names) in [
            (0, &["s2"][..]),
            (2, &["s2"]),
            (1, &[]),
            (1, &["s2", "s2"]),
            (1, &["*"]),
            (1, &[""]),
        ] {
            assert_eq!(of(needed, names), None, "{needed} of {names:?}");
        }
        let quorum = of(1, &["s2", "s3"]).unwrap();
        for (setting, is_due) in [
            ("ANY 1 (s2,s3)", true),
            ("ANY 1 (\"s3\", s2)", true),
            ("ANY 2 (s2, s3)", false),
            ("FIRST 1 (s2, s3)", false),
            ("ANY 1 (s2, s3, s4)", false),
            ("s2", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(quorum.is_named_by(setting), is_due, "{setting:?}");
        }
    }
}
