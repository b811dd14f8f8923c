//! `[store]`: a database for the log, and which of its standbys count.

use x811_server::{NoPeer, Peer};
use x811_store::{Database, LogUrl, NotALogUrl, PostgresError, Quorum, Wait};

use super::{address, hidden};
use crate::failure::Failure;
use crate::serve::settings::Store;

/// The database that is given, if one is.
pub(super) fn database(given: Store) -> Result<Option<Database>, Failure> {
    let log = address(given.log_url, given.log_url_file, "store log_url")?;
    let Some(url) = address(given.url, given.url_file, "store url")? else {
        return match (given.quorum, given.standbys, log, given.wait) {
            (None, None, None, None | Some(false)) => Ok(None),
            _ => Err(Failure::usage(
                "standbys, a quorum, a cluster or a wait are given without a database: give --store-url, too",
            )),
        };
    };
    let log: Option<LogUrl> = log
        .map(|url| url.parse())
        .transpose()
        .map_err(|error: NotALogUrl| Failure::local("config", error.to_string()))?;
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
    let wait = match given.wait {
        Some(true) => Wait::ForTheWriter,
        Some(false) | None => Wait::ForTheLease,
    };
    Ok(Some(Database {
        url,
        quorum,
        log,
        wait,
    }))
}

/// The other processes of the ledger that are given.
pub(super) fn peers(given: Option<&[String]>) -> Result<Vec<Peer>, Failure> {
    let peers = given.unwrap_or_default().iter().map(|peer| {
        let parsed = peer.parse();
        parsed.map_err(|error: NoPeer| Failure::local("config", format!("{peer:?}: {error}")))
    });
    peers.collect()
}

/// As a file would have to say it, but for the address.
pub(super) fn shown(database: Option<&Database>, peers: &[Peer]) -> Store {
    let quorum = database.and_then(|database| database.quorum.as_ref());
    Store {
        url: database.map(|_| hidden()),
        url_file: None,
        log_url: database
            .and_then(|database| database.log.as_ref())
            .map(|_| hidden()),
        log_url_file: None,
        wait: database.map(|database| database.wait == Wait::ForTheWriter),
        peers: (!peers.is_empty()).then(|| peers.iter().map(ToString::to_string).collect()),
        quorum: quorum.map(Quorum::needed),
        standbys: quorum.map(|quorum| quorum.standbys().to_vec()),
    }
}
