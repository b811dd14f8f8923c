//! A stream whose settings change under a running ledger, and addresses that cannot be used.

use super::Stores;
use crate::faults::client::{Acknowledged, Agent, Told, get, ledger_did, post};
use crate::faults::ledger::{Ledger, Place};
use serde_json::Value;
use std::time::Duration;
use x811_protocol::did::Did;
use x811_tests::binary::x811;
use x811_tests::eventstore::Double;
use x811_tests::postgres::Node;

/// The time between two looks, and the most of them: the ledger looks at its stream every 5 s.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOKS: u32 = 600;

/// A ledger whose log is a stream, and an agent of it.
struct Used {
    stores: Stores,
    place: Place,
    ledger: Ledger,
    did: Did,
    agent: Agent,
    acknowledged: Acknowledged,
}

impl Used {
    async fn begin() -> Used {
        let stores = Stores::start().await;
        let place = Place {
            options: stores.words.to_vec(),
            ..Place::new()
        };
        let ledger = place.start();
        let did = ledger_did(&ledger.url).await.unwrap();
        let agent = Agent::new("anna");
        let mut acknowledged = Acknowledged::default();
        let Told::Accepted(answer) = post(&ledger.url, &agent.registration(did)).await else {
            panic!("a registration is accepted");
        };
        acknowledged.note(&answer);
        Used {
            stores,
            place,
            ledger,
            did,
            agent,
            acknowledged,
        }
    }

    /// Waits until `/ready` has that status, and returns it.
    async fn ready(&self, status: u16) -> Value {
        let mut last = Value::Null;
        for _ in 0..LOOKS {
            let (found, ready) = get(&self.ledger.url, "/ready").await.unwrap();
            if found == status {
                return ready;
            }
            last = ready;
            tokio::time::sleep(LOOK_EVERY).await;
        }
        panic!("not {status}: {last}");
    }

    /// Sends a message, which must be refused for now.
    async fn is_refused(&mut self) {
        let message = self.agent.message(self.did, 100);
        let told = post(&self.ledger.url, &message).await;
        let Told::Refused(status, body) = told else {
            panic!("{told:?}");
        };
        assert_eq!((status.as_u16(), &body["code"]), (503, &"X811-9002".into()));
        let sentence = body["message"].as_str().unwrap_or_default();
        assert!(sentence.contains("is suspended"), "{body}");
    }

    async fn is_accepted(&mut self) {
        let message = self.agent.message(self.did, 100);
        let told = post(&self.ledger.url, &message).await;
        let Told::Accepted(answer) = told else {
            panic!("{told:?}");
        };
        self.acknowledged.note(&answer);
    }
}

/// Who gains: whoever may write the metadata, and have the ledger acknowledge what readers no longer find.
#[tokio::test]
async fn hidden_records_suspend_the_ledger_until_the_setting_is_removed() {
    let mut used = Used::begin().await;
    for (line, word) in [
        ("metadata {\"$maxCount\":2}", "$maxCount"),
        ("soft-delete", "soft delete"),
    ] {
        used.stores.double.say(line);
        let ready = used.ready(503).await;
        let why = ready["why"].to_string();
        assert!(
            why.contains(word) && why.contains("nothing is lost"),
            "{why}"
        );
        assert!(!why.contains("disk"), "{why}");
        assert!(
            !ready["attention"].to_string().contains("backup"),
            "{ready}"
        );
        used.is_refused().await;
        // Doctor and audit name the setting, and advise no backup.
        let (code, said) = used.place.doctor_says();
        assert_eq!(code, Some(4), "{said}");
        assert!(said.contains(word) && !said.contains("restore"), "{said}");
        let audit = used.place.audit(None);
        let said = format!("{}{}", audit.stdout, audit.stderr);
        assert!(said.contains(word) && !said.contains("restore"), "{said}");
        // A soft delete takes two removals.
        used.stores.double.say("metadata {}");
        used.stores.double.say("metadata {}");
        used.ready(200).await;
        used.is_accepted().await;
    }
    assert!(used.ledger.stop().status.success());
    used.place.clean(used.acknowledged.head());
}

#[tokio::test]
async fn a_tombstone_ends_the_process_with_the_sentence_that_says_so() {
    let mut used = Used::begin().await;
    used.stores.double.say("tombstone");
    let message = used.agent.message(used.did, 100);
    let told = post(&used.ledger.url, &message).await;
    assert!(!matches!(told, Told::Accepted(_)), "{told:?}");
    let ended = used.ledger.ended();
    assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
    for words in ["for ever", "x811 log copy FROM TO --from-database"] {
        assert!(ended.said.contains(words), "{}", ended.said);
    }
    assert!(
        !ended.said.contains("says whether the log is whole"),
        "{}",
        ended.said
    );
}

/// Each wrong setting has a sentence of its own, at once, and none shows the password.
#[tokio::test]
async fn an_address_that_cannot_be_used_is_refused_by_its_cause() {
    let profile = x811().parent().unwrap().to_owned();
    let node = Node::start(&[]).await;
    let users = ["--user", "ledger:s3cret"];
    let plain = Double::start_with(&profile, 3, &users);
    let secure = Double::start_with(&profile, 3, &["--tls", users[0], users[1]]);
    let ca = |url: &str, file: &str| {
        let (before, _) = url.split_once("tlsCaFile=").unwrap();
        format!("{before}tlsCaFile={file}")
    };
    let own = secure.url_as("ledger", "s3cret");
    let (without_query, _) = own.split_once('?').unwrap();
    let other = Double::start_with(&profile, 1, &["--tls"]);
    let (_, other_ca) = other.url().split_once("tlsCaFile=").unwrap();
    for (url, words) in [
        (plain.url_as("ledger", "wr0ng"), &["password"][..]),
        (secure.url_as("ledger", "wr0ng"), &["password"]),
        (
            ca(&own, "/nowhere/ca.pem"),
            &["/nowhere/ca.pem", "tlsCaFile"],
        ),
        (ca(&own, other_ca), &["certificate", "tlsCaFile"]),
        (without_query.to_owned(), &["certificate", "tlsCaFile"]),
        (format!("{without_query}?tls=false"), &["TLS"]),
        (
            plain
                .url_as("ledger", "s3cret")
                .replace("tls=false", "tls=true"),
            &["TLS", "tls=false"],
        ),
        (
            "kurrentdb://ledger:s3cret@127.0.0.1:1?tls=false".to_owned(),
            &["127.0.0.1:1", "refused"],
        ),
    ] {
        let place = Place {
            options: vec![
                "--store-url".to_owned(),
                node.url().await,
                "--store-log-url".to_owned(),
                url.clone(),
            ],
            ..Place::new()
        };
        let ended = place.try_start().err().unwrap();
        assert_eq!(ended.status.code(), Some(4), "{url}: {}", ended.said);
        for word in words {
            assert!(
                ended.said.contains(word),
                "{url}: no {word:?} in {}",
                ended.said
            );
        }
        for secret in ["s3cret", "wr0ng"] {
            assert!(!ended.said.contains(secret), "{url}: {}", ended.said);
        }
        assert!(!ended.said.contains("discovery attempt"), "{}", ended.said);
    }
}
