//! What works, and is seldom meant: said at every start, with what to do about it.

use crate::config::ServerConfig;
use std::path::{Path, PathBuf};

/// Says it in the log.
pub(super) fn give(config: &ServerConfig) {
    for sentence in advice(config) {
        tracing::warn!("{sentence}");
    }
}

/// A sentence for each.
fn advice(config: &ServerConfig) -> Vec<&'static str> {
    let mut advice = Vec::new();
    if config.open_reads {
        advice.push(
            "open reads show every inbox to whoever reaches this port, and a proxy on this machine \
             that calls it by a loopback name lets everybody in: never run one in front of it",
        );
    }
    if !config.listen.ip().is_loopback() && config.public_authorities.is_empty() {
        advice.push(
            "others can reach this address, but signed reads are taken under the address itself \
             and the loopback names alone: set --public-authority to the host and port that \
             clients use",
        );
    }
    if !config.public_authorities.is_empty()
        && config.listen.ip().is_loopback()
        && !config.rate_limits.limit_loopback
    {
        advice.push(
            "clients come past a proxy on this machine, for the ledger listens on a loopback address \
             and has a public name: have it set X-Forwarded-For and keep the Host header, or all its \
             clients share one address's limits, or none. x811_requests_unattributed counts those \
             that it says nothing of",
        );
    }
    if lies_inside(config) {
        advice.push(
            "the checkpoint lies inside the data directory: whoever restores an older copy restores \
             it too, and nothing tells that records are missing. Give another --checkpoint-dir, on \
             another disk if there is one",
        );
    }
    advice
}

fn lies_inside(config: &ServerConfig) -> bool {
    let directory = config.checkpoint_directory();
    directory.is_some_and(|directory| found(&directory).starts_with(found(&config.data_dir)))
}

/// The place itself, whatever links lead there, as far as it is there already.
fn found(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for there in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (there.canonicalize(), absolute.strip_prefix(there)) {
            return real.join(rest);
        }
    }
    absolute
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NetworkConfig, RpcUrl};

    fn config(data_dir: &Path) -> ServerConfig {
        let network = NetworkConfig::base(RpcUrl::new("http://127.0.0.1:8545"));
        ServerConfig::new(data_dir, network)
    }

    #[test]
    fn what_is_usual_needs_no_advice() {
        let mut config = config(Path::new("data"));
        assert!(advice(&config).is_empty());
        config.listen = "0.0.0.0:8811".parse().unwrap();
        config.public_authorities = vec!["ledger.example.org".to_owned()];
        config.checkpoint_dir = Some("data-2".into());
        assert!(advice(&config).is_empty());
    }

    #[test]
    fn promise_7_what_is_seldom_meant_is_said_with_what_to_do() {
        type Spoil = fn(&mut ServerConfig);
        let table: [(Spoil, &str); 4] = [
            (
                |c| c.public_authorities = vec!["ledger.example.org".to_owned()],
                "have it set X-Forwarded-For",
            ),
            (|c| c.open_reads = true, "never run one in front of it"),
            (
                |c| c.listen = "[::]:8811".parse().unwrap(),
                "set --public-authority",
            ),
            (
                |c| c.checkpoint_dir = Some(c.data_dir.join("deep/checkpoint")),
                "Give another --checkpoint-dir",
            ),
        ];
        for (spoil, what_to_do) in table {
            let mut config = config(Path::new("data"));
            spoil(&mut config);
            let [sentence] = advice(&config)[..] else {
                panic!("{:?}", advice(&config));
            };
            assert!(sentence.contains(what_to_do), "{sentence}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_hides_no_checkpoint_in_the_data_directory() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().join("data");
        std::fs::create_dir(&data_dir).unwrap();
        let link = dir.path().join("elsewhere");
        std::os::unix::fs::symlink(&data_dir, &link).unwrap();
        let mut config = config(&data_dir);
        config.checkpoint_dir = Some(link.join("checkpoint"));
        assert_eq!(advice(&config).len(), 1);
    }
}
