//! Files that are removed, moved or replaced while a ledger has them open.

use super::client::{Acknowledged, Agent, Told, ledger_did, post};
use super::ledger::{Ended, Ledger, Place};
use super::restored::run;
use std::fs;
use std::path::{Path, PathBuf};
use x811_protocol::did::Did;

/// A ledger that acknowledged a registration, in `ledger.db-wal` alone.
struct Used {
    place: Place,
    ledger: Ledger,
    did: Did,
    agent: Agent,
    acknowledged: Acknowledged,
}

impl Used {
    async fn begin() -> Used {
        let place = Place::new();
        let ledger = place.start();
        let did = ledger_did(&ledger.url).await.unwrap();
        let agent = Agent::new("anna");
        let mut acknowledged = Acknowledged::default();
        let told = post(&ledger.url, &agent.registration(did)).await;
        let Told::Accepted(answer) = told else {
            panic!("{told:?}");
        };
        acknowledged.note(&answer);
        Used {
            place,
            ledger,
            did,
            agent,
            acknowledged,
        }
    }

    /// Sends a message, which must not be acknowledged, and waits for the end with these words.
    async fn ends(&mut self, words: &[&str]) -> Ended {
        let message = self.agent.message(self.did, 100);
        let told = post(&self.ledger.url, &message).await;
        assert!(!matches!(told, Told::Accepted(_)), "{told:?}");
        self.ended(words)
    }

    #[track_caller]
    fn ended(&mut self, words: &[&str]) -> Ended {
        let ended = self.ledger.ended();
        assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
        for word in words {
            assert!(ended.said.contains(word), "no {word:?} in: {}", ended.said);
        }
        ended
    }

    /// Puts a rescued log in its place, as the ledger said.
    fn put_back(&self, copy: &Path) {
        fs::create_dir_all(&self.place.data_dir).unwrap();
        for name in ["ledger.db-wal", "ledger.db-shm"] {
            // A start that was refused may have left them.
            let _ = fs::remove_file(self.file(name));
        }
        fs::rename(copy, self.file("ledger.db")).unwrap();
    }

    /// The next start has everything that was acknowledged.
    async fn is_whole(&self) {
        let ledger = self.place.start();
        self.acknowledged.assert_found(&ledger.url, || true).await;
        assert!(ledger.stop().status.success());
        self.place.clean(self.acknowledged.head());
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.data_dir.join(name)
    }
}

/// The copy that a ledger made before it ended, by what it said.
fn rescued(ended: &Ended) -> PathBuf {
    let said = ended.said.split("was copied to ").last().unwrap();
    PathBuf::from(said.split(". Move").next().unwrap())
}

#[tokio::test]
async fn reliability_a_log_that_is_removed_under_its_ledger_is_rescued() {
    let mut used = Used::begin().await;
    fs::remove_file(used.file("ledger.db")).unwrap();
    let ended = used
        .ends(&[
            "ledger.db was removed while the ledger ran",
            "was copied to",
        ])
        .await;
    let copy = rescued(&ended);
    assert!(copy.starts_with(&used.place.data_dir), "{}", copy.display());
    // Nothing starts without it, and no second log begins.
    used.place
        .refused(&["no log", "put it back", "--store-url"]);
    for left in ["ledger.db-wal", "ledger.db-shm"] {
        assert!(!used.file(left).exists(), "{left} would be replayed");
    }
    used.put_back(&copy);
    used.is_whole().await;
}

#[tokio::test]
async fn reliability_a_data_directory_that_is_removed_under_its_ledger_is_rescued() {
    let mut used = Used::begin().await;
    let keys = used.place.folder.path().join("keys");
    fs::rename(used.file("keys"), &keys).unwrap();
    fs::remove_dir_all(&used.place.data_dir).unwrap();
    let words = [
        "ledger.db was removed",
        "was copied to",
        "put the directory `keys` back",
    ];
    let ended = used.ends(&words).await;
    used.place.refused(&["is the checkpoint of a ledger"]);
    used.put_back(&rescued(&ended));
    fs::rename(keys, used.file("keys")).unwrap();
    used.is_whole().await;
}

#[tokio::test]
async fn reliability_a_data_directory_that_is_moved_under_its_ledger_is_named() {
    let mut used = Used::begin().await;
    let away = used.place.folder.path().join("away");
    fs::rename(&used.place.data_dir, &away).unwrap();
    let moved = format!("moved to {}", away.join("ledger.db").display());
    used.ends(&[moved.as_str(), "every record is in"]).await;
    fs::remove_dir_all(&used.place.data_dir).unwrap_or_default();
    fs::rename(&away, &used.place.data_dir).unwrap();
    used.is_whole().await;
}

/// A copy takes the place of what is open: nothing that was acknowledged is in it.
#[tokio::test]
async fn reliability_a_data_directory_that_is_replaced_under_its_ledger_is_noticed() {
    let mut used = Used::begin().await;
    let [copy, away] = ["copy", "away"].map(|name| used.place.folder.path().join(name));
    used.place.copy_data(&copy);
    // The copy's write-ahead log is older than the file that it would be replayed over.
    let message = used.agent.message(used.did, 100);
    let Told::Accepted(answer) = post(&used.ledger.url, &message).await else {
        panic!("nothing has happened yet");
    };
    used.acknowledged.note(&answer);
    fs::rename(&used.place.data_dir, &away).unwrap();
    fs::rename(&copy, &used.place.data_dir).unwrap();
    let words = ["ledger.db was moved to", "every record was copied to"];
    let ended = used.ends(&words).await;
    used.put_back(&rescued(&ended));
    used.is_whole().await;
}

#[tokio::test]
async fn reliability_a_write_ahead_log_that_is_removed_under_its_ledger_is_written_out() {
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        let mut used = Used::begin().await;
        fs::remove_file(used.file(name)).unwrap();
        let words = format!("{name} was removed");
        let words = [
            words.as_str(),
            "every record is in",
            "Start the ledger again",
        ];
        used.ends(&words).await;
        used.is_whole().await;
    }
}

/// Nobody has to send anything.
#[tokio::test]
async fn reliability_a_read_model_or_a_lock_that_is_removed_ends_an_idle_ledger() {
    for (name, words) in [
        ("read.db", "the next start rebuilds"),
        ("LOCK", "another writer"),
    ] {
        let mut used = Used::begin().await;
        fs::remove_file(used.file(name)).unwrap();
        let removed = format!("{name} was removed");
        used.ended(&[removed.as_str(), words]);
        used.is_whole().await;
    }
}

/// A host that only stood by has a read model, and no log of its own.
#[tokio::test]
async fn reliability_a_start_without_the_log_names_the_reason() {
    let place = Place::new();
    run(&place).await;
    let away = place.folder.path().join("away");
    fs::rename(place.data_dir.join("ledger.db"), &away).unwrap();
    place.refused(&[
        "has the read model of a ledger",
        "--store-url",
        "x811 restore",
    ]);
    assert!(!place.data_dir.join("ledger.db").exists(), "none is begun");
    fs::rename(&away, place.data_dir.join("ledger.db")).unwrap();
    run(&place).await;
}
