//! Which PostgreSQL cluster a log lies in, and on which of its timelines: each promotion of a standby begins a
//! new one. A primary that comes back after one of its standbys was promoted is on the old timeline, and
//! must not be written to again (stores.md section 3).

use std::fmt;
use std::str::FromStr;

use sqlx::PgPool;

use super::error::PostgresError;

/// The place of a log, as one line of text: the ledger's `log_id`, the cluster's system identifier, and the
/// timeline in eight hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timeline {
    log_id: String,
    system: String,
    timeline: u32,
}

impl Timeline {
    /// That of the server behind `pool`; `None` of a standby, which does not say.
    pub(super) async fn of(log_id: &str, pool: &PgPool) -> Result<Option<Timeline>, PostgresError> {
        // What pg_control_checkpoint() says is as old as the last checkpoint.
        let found: Option<(String, String)> = sqlx::query_as(
            "SELECT system_identifier::text, left(pg_walfile_name(pg_current_wal_lsn()), 8)
             FROM pg_control_system() WHERE NOT pg_is_in_recovery()",
        )
        .fetch_optional(pool)
        .await?;
        Ok(found
            .and_then(|(system, timeline)| format!("{log_id} {system} {timeline}").parse().ok()))
    }

    /// Whether this is the place of the same log in the same cluster, before a promotion that `noted` has
    /// seen.
    pub(crate) fn is_before(&self, noted: &Timeline) -> bool {
        self.log_id == noted.log_id && self.system == noted.system && self.timeline < noted.timeline
    }

    /// The refusal to go on here.
    pub(crate) fn refused(&self, noted: &Timeline) -> PostgresError {
        PostgresError::OldTimeline {
            found: self.timeline,
            noted: noted.timeline,
        }
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {:08X}", self.log_id, self.system, self.timeline)
    }
}

impl FromStr for Timeline {
    type Err = ();

    fn from_str(line: &str) -> Result<Timeline, ()> {
        let mut words = line.split_ascii_whitespace();
        let mut next = || words.next().ok_or(());
        let (log_id, system) = (next()?.to_owned(), next()?.to_owned());
        let timeline = u32::from_str_radix(next()?, 16).map_err(|_| ())?;
        Ok(Timeline {
            log_id,
            system,
            timeline,
        })
    }
}
