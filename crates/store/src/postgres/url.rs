//! Where the database is. The address may hold a password: it is never shown.

use std::fmt;
use std::str::FromStr;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::error::PostgresError;
use super::session;

/// The address of a PostgreSQL database, `postgres://USER:PASSWORD@HOST:PORT/DATABASE?…`. What it
/// leaves out comes from `PGPASSWORD`, `~/.pgpass` and their like. The schema is the first one of
/// `options=-csearch_path=NAME`.
#[derive(Clone)]
pub struct StoreUrl {
    text: String,
    options: PgConnectOptions,
}

impl PartialEq for StoreUrl {
    fn eq(&self, other: &StoreUrl) -> bool {
        self.text == other.text
    }
}

impl Eq for StoreUrl {}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreUrl")
    }
}

impl FromStr for StoreUrl {
    type Err = PostgresError;

    /// Over a network nothing goes in the clear unless the URL says so: where it names no `sslmode`,
    /// the server must show a certificate for its name.
    fn from_str(url: &str) -> Result<StoreUrl, PostgresError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(PostgresError::Url);
        }
        let mut options = PgConnectOptions::from_str(url).map_err(|_| PostgresError::Url)?;
        let says_tls = url.contains("sslmode=") || url.contains("ssl-mode=");
        if !says_tls && !is_here(&options) {
            options = options.ssl_mode(PgSslMode::VerifyFull);
        }
        let options = options
            .options(session::sent())
            .options([
                ("tcp_keepalives_idle", "5"),
                ("client_min_messages", "warning"),
            ])
            .disable_statement_logging();
        let text = url.to_owned();
        Ok(StoreUrl { text, options })
    }
}

/// Whether the server is on this machine.
fn is_here(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    options.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || host
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

impl StoreUrl {
    /// The address, which may hold a password.
    pub(crate) fn reveal(&self) -> &str {
        &self.text
    }

    /// How to connect as `name`, by which sessions are found in `pg_stat_activity`.
    pub(super) fn as_session(&self, name: &str) -> PgConnectOptions {
        self.options.clone().application_name(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown_and_never_sent_in_the_clear_unasked() {
        let url: StoreUrl = "postgres://a:secret@db.example.org/x".parse().unwrap();
        assert!(!format!("{url:?}").contains("secret"));
        let tls = |url: &str| {
            format!(
                "{:?}",
                url.parse::<StoreUrl>().unwrap().options.get_ssl_mode()
            )
        };
        assert_eq!(tls("postgres://a@db.example.org/x"), "VerifyFull");
        assert_eq!(
            tls("postgres://a@db.example.org/x?sslmode=require"),
            "Require"
        );
        assert_eq!(tls("postgres://a@127.0.0.1/x"), "Prefer");
        let error = "mysql://a:secret@h/x".parse::<StoreUrl>().unwrap_err();
        assert!(!error.to_string().contains("secret"));
        assert!(!format!("{error:?}").contains("secret"));
    }
}
