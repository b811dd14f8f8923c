//! Two short lives of a ledger, the same each time: start, two registrations, messages, stop. The
//! first begins with an empty directory. The later one finds what the first left, which is a log,
//! snapshots and blocks, and a key that waits to be replaced.

use super::client::{Acknowledged, Agent, Told, ledger_did, post};
use super::ledger::{Ended, Place};
use x811_tests::binary::run;

/// Messages after the registrations.
const MESSAGES: usize = 6;

/// So many records are snapshotted that a start reads one and a life writes two.
const SNAPSHOT_EVERY_RECORDS: &str = "4";

/// More records than any of these logs has.
pub(crate) const MOST_RECORDS: usize = 64;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Script {
    First,
    Later,
}

/// Where such lives begin.
pub(crate) struct Stage {
    left: Place,
    acknowledged: Acknowledged,
}

impl Stage {
    /// Lives the first life, for the later ones.
    pub(crate) async fn set() -> Stage {
        let left = first();
        let life = live(&left).await;
        assert!(life.ended.status.success(), "{life:?}");
        let data_dir = left.data_dir.to_str().unwrap();
        let prepared = run(&["ledger", "rotate-key", "receipt", data_dir]);
        assert_eq!(prepared.code, Some(0), "{prepared:?}");
        Stage {
            left,
            acknowledged: life.acknowledged,
        }
    }

    pub(crate) fn place(&self, script: Script) -> Place {
        match script {
            Script::First => first(),
            Script::Later => self.left.copied(),
        }
    }

    /// Lives it in that place.
    pub(crate) async fn live(&self, script: Script, place: &Place) -> Life {
        let mut life = live(place).await;
        if script == Script::Later {
            life.acknowledged.extend(self.acknowledged.clone());
        }
        life
    }
}

fn first() -> Place {
    let mut place = Place::new();
    let option = ["--snapshot-every-records", SNAPSHOT_EVERY_RECORDS];
    place.options.extend(option.map(str::to_owned));
    place
}

/// How such a life went.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) acknowledged: Acknowledged,
    /// Codes of the messages that were refused.
    pub(crate) refusals: Vec<String>,
    /// Messages that nobody answered.
    pub(crate) unanswered: usize,
    /// Whether it came as far as listening.
    pub(crate) has_started: bool,
    pub(crate) ended: Ended,
}

/// Lives it. What is not answered or refused is left; the next message follows.
async fn live(place: &Place) -> Life {
    let mut acknowledged = Acknowledged::default();
    let mut refusals = Vec::new();
    let mut unanswered = 0;
    let ledger = match place.try_start() {
        Ok(ledger) => ledger,
        Err(ended) => {
            return Life {
                acknowledged,
                refusals,
                unanswered,
                has_started: false,
                ended,
            };
        }
    };
    if let Some(did) = ledger_did(&ledger.url).await {
        let (mut anna, bob) = (Agent::new("anna"), Agent::new("bob"));
        let mut due = vec![anna.registration(did), bob.registration(did)];
        due.extend((0..MESSAGES).map(|_| anna.message(bob.identity.did, 100)));
        for envelope in due {
            match post(&ledger.url, &envelope).await {
                Told::Accepted(answer) => acknowledged.note(&answer),
                Told::Refused(_, body) => {
                    refusals.push(body["code"].as_str().unwrap_or_default().to_owned());
                }
                Told::Nothing => unanswered += 1,
            }
        }
    }
    Life {
        acknowledged,
        refusals,
        unanswered,
        has_started: true,
        ended: ledger.stop(),
    }
}

/// What must hold after any life: a start without faults works, everything acknowledged is there,
/// and the audit is clean.
pub(crate) async fn assert_whole(place: &Place, life: &Life, fault: &str) {
    let ledger = place.try_start();
    let ledger =
        ledger.unwrap_or_else(|ended| panic!("after {fault}: {ended:?}; before: {life:?}"));
    life.acknowledged.assert_found(&ledger.url, || true).await;
    let ended = ledger.stop();
    assert!(ended.status.success(), "after {fault}: {ended:?}");
    place.clean(life.acknowledged.head());
}
