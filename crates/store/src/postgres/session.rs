//! Sessions with the settings that the ledger needs, whatever the role, the database or a pooler says.
//!
//! Settings that every supported server knows are sent when a session begins: there they win over `ALTER
//! ROLE … SET`. A pooler may drop them, so they are read back. Settings that older servers do not know are
//! changed afterwards, on servers that have them.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _};

use super::error::PostgresError;

/// A setting of a session, with its value as `pg_settings` has it: times in milliseconds.
struct Setting {
    name: &'static str,
    due: &'static str,
    source: SettingSource,
}

/// The way a session gets a setting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingSource {
    /// Sent when the session begins.
    Startup,
    /// Changed afterwards, where the server has it.
    Statement,
    /// Left as the operator has it; a session that writes is refused with another value.
    Operator,
}

use SettingSource::{Operator, Startup, Statement};

/// `synchronous_commit` is absent: each commit reads it (`append.rs`), and the renewal of the lease turns
/// it off.
static SETTINGS: [Setting; 7] = [
    // The ledger has its own limit for a statement, and waits for standbys in one.
    setting("statement_timeout", "0", Startup),
    setting("lock_timeout", "1000", Startup),
    setting("idle_in_transaction_session_timeout", "2000", Startup),
    // The session that writes may have nothing to do for hours.
    setting("idle_session_timeout", "0", Statement),
    // From PostgreSQL 17.
    setting("transaction_timeout", "0", Statement),
    // At a stricter level a commit fails when another session has renewed the lease meanwhile.
    setting("default_transaction_isolation", "read committed", Startup),
    // Managed servers turn it on when their disk is full.
    setting("default_transaction_read_only", "off", Operator),
];

const fn setting(name: &'static str, due: &'static str, source: SettingSource) -> Setting {
    Setting { name, due, source }
}

/// The settings that are sent when a session begins.
pub(super) fn sent() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sent = SETTINGS.iter().filter(|setting| setting.source == Startup);
    sent.map(|setting| (setting.name, setting.due))
}

/// Begins a session.
pub(super) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, PostgresError> {
    let connected = options.connect().await;
    let mut connection = connected.map_err(PostgresError::of_connecting)?;
    settle(&mut connection, search_path(options).as_deref()).await?;
    Ok(connection)
}

/// A pool of at most `sessions` sessions, one of which is waited for as long as `patience`.
pub(super) async fn pool(
    options: PgConnectOptions,
    sessions: u32,
    patience: Duration,
) -> Result<PgPool, PostgresError> {
    // A pool would connect again until its patience ends, and not say why it failed.
    connect(&options).await?.close().await?;
    let search_path = search_path(&options);
    let pool = PgPoolOptions::new()
        .max_connections(sessions)
        .acquire_timeout(patience)
        .after_connect(move |connection, _| {
            let search_path = search_path.clone();
            Box::pin(async move {
                let settled = settle(connection, search_path.as_deref()).await;
                settled.map_err(|error| sqlx::Error::Configuration(Box::new(error)))
            })
        });
    Ok(pool.connect_with(options).await?)
}

/// Refuses a session in which the operator has turned writing off.
pub(super) async fn check_writable(connection: &mut PgConnection) -> Result<(), PostgresError> {
    verify(connection, |source| source == Operator).await
}

/// Changes what could not be sent, and reads everything back.
pub(super) async fn settle(
    connection: &mut PgConnection,
    search_path: Option<&str>,
) -> Result<(), PostgresError> {
    let later = SETTINGS
        .iter()
        .filter(|setting| setting.source == Statement);
    let (names, due): (Vec<_>, Vec<_>) = later.map(|setting| (setting.name, setting.due)).unzip();
    sqlx::query(
        "SELECT set_config(name, due, false)
         FROM unnest($1::text[], $2::text[]) AS wanted (name, due) JOIN pg_settings USING (name)
         WHERE setting <> due",
    )
    .bind(names)
    .bind(due)
    .execute(&mut *connection)
    .await?;
    verify(connection, |source| source != Operator).await?;
    match search_path {
        Some(due) => verify_search_path(connection, due).await,
        None => Ok(()),
    }
}

/// Refuses a session in which a setting of such a source has another value.
async fn verify(
    connection: &mut PgConnection,
    is_checked: fn(SettingSource) -> bool,
) -> Result<(), PostgresError> {
    let checked = SETTINGS.iter().filter(|setting| is_checked(setting.source));
    let checked: Vec<&Setting> = checked.collect();
    let names: Vec<&str> = checked.iter().map(|setting| setting.name).collect();
    let found: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT name, setting, current_setting(name) FROM pg_settings WHERE name = ANY($1)",
    )
    .bind(names)
    .fetch_all(connection)
    .await?;
    for setting in checked {
        let found = found.iter().find(|(name, ..)| name == setting.name);
        if let Some((_, value, shown)) = found
            && value != setting.due
        {
            return Err(setting.refused(shown));
        }
    }
    Ok(())
}

impl Setting {
    fn refused(&self, found: &str) -> PostgresError {
        let (name, found, due) = (self.name, found.to_owned(), self.due.to_owned());
        match self.source {
            Startup | Statement => PostgresError::Dropped { name, found, due },
            Operator => PostgresError::NotWritable { name, found, due },
        }
    }
}

/// Refuses a session in another schema than that of the address.
async fn verify_search_path(connection: &mut PgConnection, due: &str) -> Result<(), PostgresError> {
    let found: String = sqlx::query_scalar("SELECT current_setting('search_path')")
        .fetch_one(connection)
        .await?;
    if found == due {
        return Ok(());
    }
    Err(PostgresError::Dropped {
        name: "search_path",
        found,
        due: due.to_owned(),
    })
}

/// The `search_path` in the address; `None` where there is none, or one with escaped characters.
fn search_path(options: &PgConnectOptions) -> Option<String> {
    let words = options.get_options()?.split_whitespace();
    let mut paths = words.filter_map(|word| {
        let named = word.trim_start_matches("-c").trim_start_matches("--");
        named.strip_prefix("search_path=")
    });
    let path = paths.next_back()?;
    (!path.contains('\\')).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_path_of_an_address_is_found_however_it_is_written() {
        for (options, due) in [
            ("options=-csearch_path%3Dledger2", Some("ledger2")),
            ("options=-c%20search_path%3Dledger2", Some("ledger2")),
            ("options=--search_path%3Dledger2", Some("ledger2")),
            ("options[search_path]=ledger2", Some("ledger2")),
            (
                "options=-csearch_path%3Da%20-csearch_path%3Db,public",
                Some("b,public"),
            ),
            ("options[search_path]=a,%20b", None),
            ("options=-cgeqo%3Doff", None),
            ("", None),
        ] {
            let url = format!("postgres://a@localhost/x?{options}");
            let found = search_path(&url.parse().unwrap());
            assert_eq!(found.as_deref(), due, "{options}");
        }
    }
}
