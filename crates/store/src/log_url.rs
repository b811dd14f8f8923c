//! Where the cluster is that has a log. The address may hold a password: it is never shown.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// How the address of a cluster begins.
const SCHEMES: [&str; 4] = ["kurrentdb", "kdb", "esdb", "kurrent"];

/// The address of an EventStoreDB or KurrentDB cluster, `kurrentdb://USER:PASSWORD@HOST:PORT,…?…`,
/// with all its nodes. The older `esdb://` is read, too.
#[derive(Clone, PartialEq, Eq)]
pub struct LogUrl(String);

/// The address cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the log's URL is none of EventStoreDB's: write kurrentdb://USER:PASSWORD@HOST:2113 with all nodes \
     of the cluster, separated by commas, and see docs/scale.md"
)]
pub struct NotALogUrl;

impl fmt::Debug for LogUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogUrl")
    }
}

impl FromStr for LogUrl {
    type Err = NotALogUrl;

    fn from_str(url: &str) -> Result<LogUrl, NotALogUrl> {
        let (scheme, rest) = url.split_once("://").ok_or(NotALogUrl)?;
        let scheme = scheme.strip_suffix("+discover").unwrap_or(scheme);
        let is_one = SCHEMES.contains(&scheme) && !rest.is_empty();
        is_one.then(|| LogUrl(url.to_owned())).ok_or(NotALogUrl)
    }
}

impl LogUrl {
    /// The address, which may hold a password.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_of_a_cluster_is_never_shown() {
        let url: LogUrl = "kurrentdb://admin:secret@a:2113,b:2113".parse().unwrap();
        assert!(!format!("{url:?}").contains("secret"));
        for bad in [
            "postgres://admin:secret@a/x",
            "kurrentdb://",
            "admin:secret",
        ] {
            let error = bad.parse::<LogUrl>().unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
