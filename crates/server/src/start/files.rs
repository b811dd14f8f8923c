//! How many files this process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside connections: databases, snapshots, endpoints, metrics, and those that are about to go.
const OTHERS: u64 = 512;

/// Fewer files may be open than connections need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{connections} connections need {needed} open files, and the system allows this process {allowed}: \
     raise that (LimitNOFILE= of its unit, or ulimit -Hn), or lower --max-connections"
)]
pub struct TooFewFiles {
    /// Connections that are configured.
    pub connections: u64,
    /// Files they need.
    pub needed: u64,
    /// The most this process may have.
    pub allowed: u64,
}

/// Raises the limit as far as `max_connections` need it.
pub(super) fn allow(max_connections: usize) -> Result<(), TooFewFiles> {
    let limit = getrlimit(Resource::Nofile);
    let Some(raised) = raised(limit, max_connections)? else {
        return Ok(());
    };
    // What the system told us may be had; if not after all, taking connections says so.
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    Ok(())
}

/// The limit to set; `None` where the present one will do. No limit is written as none.
fn raised(limit: Rlimit, max_connections: usize) -> Result<Option<Rlimit>, TooFewFiles> {
    let connections = u64::try_from(max_connections).unwrap_or(u64::MAX);
    let needed = connections.saturating_add(OTHERS);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(None);
    }
    match limit.maximum {
        Some(allowed) if allowed < needed => Err(TooFewFiles {
            connections,
            needed,
            allowed,
        }),
        maximum => Ok(Some(Rlimit {
            current: Some(needed),
            maximum,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(current: u64, maximum: Option<u64>) -> Rlimit {
        Rlimit {
            current: Some(current),
            maximum,
        }
    }

    #[test]
    fn limits_files_are_raised_to_what_connections_need_or_the_start_is_refused() {
        assert_eq!(raised(limit(1_536, Some(4_096)), 1_024), Ok(None));
        for maximum in [Some(1_536), Some(1_048_576), None] {
            let set = raised(limit(1_024, maximum), 1_024).unwrap();
            assert_eq!(set, Some(limit(1_536, maximum)));
        }
        let refused = raised(limit(1_024, Some(1_024)), 1_024).unwrap_err();
        let sentence = refused.to_string();
        assert!(
            sentence.contains("1024 connections need 1536"),
            "{sentence}"
        );
        assert!(sentence.contains("--max-connections"), "{sentence}");
    }
}
