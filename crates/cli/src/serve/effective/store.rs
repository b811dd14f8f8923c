//! `[store]`: a database for the log, and which of its standbys count.

use x811_store::{Database, PostgresError, Quorum};

use super::{address, hidden};
use crate::failure::Failure;
use crate::serve::settings::Store;

/// The database that is given, if one is.
pub(super) fn database(given: Store) -> Result<Option<Database>, Failure> {
    let Some(url) = address(given.url, given.url_file, "store url")? else {
        return match (given.quorum, given.standbys) {
            (None, None) => Ok(None),
            _ => Err(Failure::usage(
                "standbys or a quorum are given without a database: give --store-url, too",
            )),
        };
    };
    let url = url
        .parse()
        .map_err(|error: PostgresError| Failure::local("config", error.to_string()))?;
    let quorum = match (given.quorum, given.standbys) {
        (None, None) => None,
        (quorum, standbys) => {
            let quorum = Quorum::of(quorum.unwrap_or(1), standbys.unwrap_or_default());
            Some(quorum.ok_or_else(|| {
                Failure::usage(
                    "the quorum must be 1 to as many as there are standbys, each named once, in \
                     lower case letters, digits and underscores",
                )
            })?)
        }
    };
    Ok(Some(Database { url, quorum }))
}

/// As a file would have to say it, but for the address.
pub(super) fn shown(database: Option<&Database>) -> Store {
    let quorum = database.and_then(|database| database.quorum.as_ref());
    Store {
        url: database.map(|_| hidden()),
        url_file: None,
        quorum: quorum.map(Quorum::needed),
        standbys: quorum.map(|quorum| quorum.standbys().to_vec()),
    }
}
