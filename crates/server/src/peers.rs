//! Comparison of this process's log with those of its peers before it writes (stores.md section 2).
//!
//! A process that slept, or was cut off, may find its old database again after another server was
//! promoted: there it still has the lease, and what it writes is a second log under the same keys. Its
//! peers know better. A checkpoint is signed by the ledger's key and believed as such; an epoch is read
//! over an unsigned endpoint, and can therefore stop this process but never let it write. Peers that do
//! not answer do not count, so that a cluster starts after a power cut.

use crate::config::ServerConfig;
use crate::keys::Identity;
use crate::passing::Peer;
use futures_util::future::join_all;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::Duration;
use x811_eventlog::{Checkpoint, Hash};
use x811_ledger::checkpoint::CheckpointSigner;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;
use x811_store::Published;

/// The most that all answers together may take.
const PATIENCE: Duration = Duration::from_millis(500);

/// The longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1_024;

/// Epochs from here on stand for a log that was moved, and for no writer.
const NO_EPOCH: u64 = (i64::MAX - 1).unsigned_abs();

/// The role of a process that writes, in `/ready`.
const WRITER: &str = "writer";

/// The other processes of this ledger, and what their checkpoints are verified by.
pub(crate) struct Peers {
    peers: Vec<Peer>,
    http: Option<reqwest::Client>,
    log_id: String,
    /// By the key in force, and by one that this start replaced.
    signers: Vec<CheckpointSigner>,
}

/// How far this process's database has the log, and whose lease is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnLog {
    pub(crate) size: u64,
    lease: PeerLease,
}

impl OwnLog {
    /// A log of `size` records, whose database said `published`.
    pub(crate) fn of(size: u64, published: &Published) -> OwnLog {
        let lease = PeerLease {
            epoch: published.epoch,
            holder: published.holder.clone(),
        };
        OwnLog { size, lease }
    }
}

/// What one peer says of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerLog {
    peer: String,
    /// Its last checkpoint, by this ledger's key.
    pub(crate) checkpoint: Option<Checkpoint>,
    /// The lease that it writes by. A process that stands by may follow a database that was left behind,
    /// whose epoch says nothing.
    lease: Option<PeerLease>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct PeerLease {
    epoch: u64,
    holder: Option<String>,
}

/// What is read of `/ready`.
#[derive(Deserialize)]
struct ReadyAnswer {
    role: Option<String>,
    store: Option<PeerLease>,
}

impl ReadyAnswer {
    /// The lease of a process that writes.
    fn lease(self) -> Option<PeerLease> {
        let is_writer = self.role.as_deref() == Some(WRITER);
        self.store.filter(|_| is_writer)
    }
}

/// What is read of `/.well-known/x811.json`.
#[derive(Deserialize)]
struct LedgerAnswer {
    log_id: String,
}

/// A peer is ahead: this process must not write.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{peer} {difference}. The database that this process is connected to was left behind by the promotion of \
     another server, or was restored from an older copy, and nothing is written to it. Point [store] at the \
     server that was promoted, and let this one follow it (pg_rewind). Only if that peer is the wrong one, stop \
     it for good and start this process again"
)]
pub struct LeftBehind {
    peer: String,
    difference: Difference,
}

/// In what a peer is ahead.
#[derive(Debug, PartialEq, Eq)]
enum Difference {
    Epoch { theirs: u64, own: u64 },
    Writer { epoch: u64 },
    Records { theirs: u64, own: u64 },
    Root { size: u64 },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Epoch { theirs, own } => write!(
                f,
                "writes under epoch {theirs}, and here the epoch is {own}"
            ),
            Difference::Writer { epoch } => {
                write!(f, "writes under the same epoch {epoch} as this process")
            }
            Difference::Records { theirs, own } => write!(
                f,
                "shows that {theirs} records were acknowledged and signed, and here are {own}"
            ),
            Difference::Root { size } => {
                write!(f, "shows a signed checkpoint over {size} other records")
            }
        }
    }
}

/// Whether `peer` is ahead of this process's log; `root` is the own root at the size of its checkpoint,
/// where that is known.
fn verdict(own: &OwnLog, peer: &PeerLog, root: Option<Hash>) -> Option<Difference> {
    if let Some(difference) = later_lease(own, peer) {
        return Some(difference);
    }
    let checkpoint = peer.checkpoint.as_ref()?;
    if checkpoint.size > own.size {
        return Some(Difference::Records {
            theirs: checkpoint.size,
            own: own.size,
        });
    }
    let size = checkpoint.size;
    let is_other = root.is_some_and(|root| root != checkpoint.root);
    is_other.then_some(Difference::Root { size })
}

/// Whether `peer` sees a later lease than this process's database has.
fn later_lease(own: &OwnLog, peer: &PeerLog) -> Option<Difference> {
    let (own, theirs) = (&own.lease, peer.lease.as_ref()?);
    if theirs.epoch >= NO_EPOCH || theirs.epoch < own.epoch {
        return None;
    }
    if theirs.epoch > own.epoch {
        return Some(Difference::Epoch {
            theirs: theirs.epoch,
            own: own.epoch,
        });
    }
    let epoch = own.epoch;
    (theirs.holder != own.holder).then_some(Difference::Writer { epoch })
}

/// Refuses to write where one of `peers` is ahead. `root` gives the own root at the size of a checkpoint.
pub(crate) fn compare(
    own: &OwnLog,
    peers: &[PeerLog],
    root: impl Fn(&Checkpoint) -> Option<Hash>,
) -> Result<(), LeftBehind> {
    for peer in peers {
        let known = peer.checkpoint.as_ref().and_then(&root);
        if let Some(difference) = verdict(own, peer, known) {
            let peer = peer.peer.clone();
            return Err(LeftBehind { peer, difference });
        }
    }
    Ok(())
}

/// Refuses to write on where one of `peers` sees a later lease: records that it lacks or has are left to
/// whoever has the later one.
pub(crate) fn compare_leases(own: &OwnLog, peers: &[PeerLog]) -> Result<(), LeftBehind> {
    for peer in peers {
        if let Some(difference) = later_lease(own, peer) {
            let peer = peer.peer.clone();
            return Err(LeftBehind { peer, difference });
        }
    }
    Ok(())
}

impl Peers {
    pub(crate) fn of(config: &ServerConfig, identity: &Identity) -> Peers {
        let signer = |key: &SecretKey| CheckpointSigner::new(&identity.opened.origin, key.clone());
        let replaced = identity.replaced.iter();
        let replaced = replaced.filter(|replaced| replaced.role == LedgerRole::Checkpoint);
        let mut signers = vec![signer(&identity.checkpoint_key)];
        signers.extend(replaced.map(|replaced| signer(&replaced.key)));
        Peers {
            http: http(&config.peers),
            peers: config.peers.clone(),
            log_id: identity.opened.log_id.to_string(),
            signers,
        }
    }

    /// Asks all of them at the same time; nothing is returned of those that do not answer in time.
    pub(crate) async fn ask(&self) -> Vec<PeerLog> {
        let Some(http) = &self.http else {
            return Vec::new();
        };
        join_all(self.peers.iter().map(|peer| self.ask_one(http, peer))).await
    }

    async fn ask_one(&self, http: &reqwest::Client, peer: &Peer) -> PeerLog {
        let (checkpoint, ready, ledger) = tokio::join!(
            answer(http, peer, "/log/checkpoint"),
            parsed::<ReadyAnswer>(http, peer, "/ready"),
            parsed::<LedgerAnswer>(http, peer, "/.well-known/x811.json"),
        );
        let is_ours = ledger.is_some_and(|ledger| ledger.log_id == self.log_id);
        let lease = ready.and_then(ReadyAnswer::lease);
        PeerLog {
            peer: peer.to_string(),
            checkpoint: checkpoint.and_then(|note| self.opened(&note)),
            lease: lease.filter(|_| is_ours),
        }
    }

    /// The checkpoint in `note`, if this ledger signed it.
    fn opened(&self, note: &[u8]) -> Option<Checkpoint> {
        let note = std::str::from_utf8(note).ok()?;
        let mut signers = self.signers.iter();
        signers.find_map(|signer| signer.open(note).ok())
    }
}

fn http(peers: &[Peer]) -> Option<reqwest::Client> {
    // Without others nobody is asked.
    if peers.is_empty() {
        return None;
    }
    let built = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build();
    match built {
        Ok(http) => Some(http),
        Err(error) => {
            tracing::warn!(%error, "the other processes of the ledger cannot be asked how far they are");
            None
        }
    }
}

async fn parsed<T: DeserializeOwned>(http: &reqwest::Client, peer: &Peer, path: &str) -> Option<T> {
    let answer = answer(http, peer, path).await?;
    serde_json::from_slice(&answer).ok()
}

/// The body of an answer of any status, if it is short enough: a process that is not ready says so by 503.
async fn answer(http: &reqwest::Client, peer: &Peer, path: &str) -> Option<Vec<u8>> {
    let mut answer = http.get(format!("{peer}{path}")).send().await.ok()?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.ok()? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(epoch: u64, holder: &str) -> PeerLease {
        PeerLease {
            epoch,
            holder: Some(holder.to_owned()),
        }
    }

    fn peer(checkpoint: Option<(u64, u8)>, lease: Option<PeerLease>) -> PeerLog {
        let checkpoint = checkpoint.map(|(size, root)| Checkpoint {
            origin: "x811/test".to_owned(),
            size,
            root: Hash::from_bytes([root; 32]),
        });
        PeerLog {
            peer: "http://b:8811".to_owned(),
            checkpoint,
            lease,
        }
    }

    #[test]
    fn stores_2_a_process_that_was_left_behind_is_told_by_its_peers() {
        let own = OwnLog {
            size: 100,
            lease: lease(5, "a"),
        };
        let root = Some(Hash::from_bytes([1; 32]));
        for (peer, refused) in [
            // Silent, or of another ledger.
            (peer(None, None), None),
            // It follows this very database, or was its writer before.
            (peer(Some((100, 1)), Some(lease(5, "a"))), None),
            (peer(Some((99, 1)), Some(lease(4, "b"))), None),
            (peer(None, Some(lease(i64::MAX.unsigned_abs(), "b"))), None),
            (
                peer(None, Some(lease(6, "b"))),
                Some(Difference::Epoch { theirs: 6, own: 5 }),
            ),
            (
                peer(Some((90, 1)), Some(lease(5, "b"))),
                Some(Difference::Writer { epoch: 5 }),
            ),
            (
                peer(Some((101, 1)), Some(lease(4, "b"))),
                Some(Difference::Records {
                    theirs: 101,
                    own: 100,
                }),
            ),
            (
                peer(Some((90, 2)), None),
                Some(Difference::Root { size: 90 }),
            ),
        ] {
            assert_eq!(verdict(&own, &peer, root), refused, "{peer:?}");
        }
        let unknown = peer(Some((90, 2)), None);
        assert_eq!(verdict(&own, &unknown, None), None);
    }

    #[test]
    fn stores_2_the_epoch_of_a_process_that_stands_by_counts_for_nothing() {
        for (answer, counts) in [
            (
                r#"{"role":"writer","store":{"epoch":7,"holder":"b","more":1}}"#,
                true,
            ),
            (
                r#"{"role":"standby","store":{"epoch":7,"holder":"b"}}"#,
                false,
            ),
            (r#"{"role":"writer","store":null}"#, false),
            (r#"{"code":"X811-9002"}"#, false),
        ] {
            let answer: ReadyAnswer = serde_json::from_str(answer).unwrap();
            assert_eq!(answer.lease().is_some(), counts);
        }
    }

    #[test]
    fn stores_2_a_refusal_says_which_peer_and_what_to_do() {
        let own = OwnLog {
            size: 100,
            lease: lease(5, "a"),
        };
        let peers = [peer(None, None), peer(Some((120, 1)), None)];
        let refused = compare(&own, &peers, |_| None).unwrap_err().to_string();
        for words in [
            "http://b:8811",
            "120 records were acknowledged and signed, and here are 100",
            "left behind",
            "pg_rewind",
        ] {
            assert!(refused.contains(words), "{words}: {refused}");
        }
        // Who writes under the later epoch is not stopped by the longer log of an earlier one.
        assert_eq!(compare_leases(&own, &peers), Ok(()));
        let later = [peer(Some((7, 1)), Some(lease(9, "b")))];
        assert!(compare_leases(&own, &later).is_err());
    }
}
