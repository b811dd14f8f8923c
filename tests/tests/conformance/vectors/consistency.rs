//! `consistency/`: that a log only grew, in the form in which witnesses are asked for their word
//! (C2SP tlog-witness, the body of `add-checkpoint`), and the older checkpoints that are known.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x811_eventlog::{ConsistencyProof, Hash};
use x811_tests::verifiers::Job;

use super::generate::Files;
use super::keys::{self, signed};
use super::log::Log;
use super::{Case, folder, hold_others_to, hold_us_to, table};

/// Sizes of the older tree and the newer one.
const GOOD: [(u64, u64); 10] = [
    (0, 7),
    (1, 2),
    (3, 7),
    (4, 7),
    (6, 19),
    (8, 19),
    (19, 19),
    (255, 256),
    (256, 270),
    (257, 270),
];

/// Where the other log goes its own way.
const FORKED_AT: u64 = 4;

/// A request: the older size, the hashes, the newer checkpoint.
#[derive(Clone)]
pub(crate) struct Request {
    old_size: u64,
    path: Vec<Hash>,
    pub(crate) checkpoint: String,
}

impl Request {
    pub(crate) fn of(log: &Log, old_size: u64, new_size: u64) -> Request {
        Request {
            old_size,
            path: log.consistency(old_size, new_size),
            checkpoint: log.signed(new_size),
        }
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("old {}\n", self.old_size);
        for hash in &self.path {
            text.push_str(&STANDARD.encode(hash.as_bytes()));
            text.push('\n');
        }
        text + "\n" + &self.checkpoint
    }

    fn from_text(text: &str) -> Option<Request> {
        let (head, checkpoint) = text.split_once("\n\n")?;
        let mut lines = head.split('\n');
        let digits = lines.next()?.strip_prefix("old ")?;
        let old_size: u64 = digits.parse().ok()?;
        let hash = |line| {
            let bytes = STANDARD.decode(line).ok()?.try_into().ok()?;
            Some(Hash::from_bytes(bytes))
        };
        (old_size.to_string() == digits).then_some(())?;
        Some(Request {
            old_size,
            path: lines.map(hash).collect::<Option<_>>()?,
            checkpoint: checkpoint.to_owned(),
        })
    }
}

pub(crate) fn files() -> Files {
    let (log, forked) = (Log::new(), Log::forked_at(FORKED_AT));
    let mut files = Files::new();
    for (old_size, new_size) in GOOD {
        let name = format!("consistency/{old_size}-to-{new_size}.add-checkpoint");
        let request = Request::of(&log, old_size, new_size);
        files.insert(name, request.to_text().into_bytes());
        let older = format!("consistency/older-{old_size}");
        files.insert(older, log.signed(old_size).into_bytes());
    }
    let older = "consistency/older-6-forked".to_owned();
    files.insert(older, forked.signed(6).into_bytes());
    for (name, text) in changed(&log, &forked) {
        let name = format!("consistency/{name}.add-checkpoint");
        files.insert(name, text.into_bytes());
    }
    files
}

/// That the tree of 19 goes on where that of 6 ended, and does not.
fn changed(log: &Log, forked: &Log) -> Vec<(&'static str, String)> {
    let good = Request::of(log, 6, 19);
    let with = |name, change: &dyn Fn(&mut Request)| {
        let mut bad = good.clone();
        change(&mut bad);
        (name, bad.to_text())
    };
    let text = log.checkpoint(19).to_text();
    let by_other = format!("{text}\n{}", signed(&text, &keys::other()));
    vec![
        with("hash-changed", &|bad| bad.path[1] = Hash::of_leaf(b"")),
        with("hashes-swapped", &|bad| bad.path.swap(1, 2)),
        with("hash-missing", &|bad| bad.path.truncate(bad.path.len() - 1)),
        with("hash-added", &|bad| bad.path.push(Hash::of_leaf(b""))),
        with("no-hashes", &|bad| bad.path.clear()),
        with("other-old-size", &|bad| bad.old_size = 7),
        ("forked", Request::of(forked, 6, 19).to_text()),
        with("shrunk", &|bad| bad.checkpoint = log.signed(3)),
        with("other-new-size", &|bad| bad.checkpoint = log.signed(20)),
        with("checkpoint-of-other-key", &|bad| {
            bad.checkpoint = by_other.clone()
        }),
        with("from-nothing-with-hashes", &|bad| {
            (bad.old_size, bad.path) = (0, vec![Hash::of_nothing()])
        }),
        (
            "same-size-other-root",
            Request::of(forked, 19, 19).to_text(),
        ),
        (
            "old-leading-zero",
            good.to_text().replace("old 6", "old 06"),
        ),
    ]
}

/// What we say of a request to one who knows the checkpoint `older`.
fn check(file: &[u8], older: &[u8], policy: &str) -> Result<(), String> {
    let text = std::str::from_utf8(file).unwrap();
    let request = Request::from_text(text).ok_or("form")?;
    let older = keys::check(older, policy)?.checkpoint;
    let newer = keys::check(request.checkpoint.as_bytes(), policy)?.checkpoint;
    if request.old_size != older.size {
        return Err("old".to_owned());
    }
    let proof = ConsistencyProof {
        old_size: older.size,
        new_size: newer.size,
        path: request.path,
    };
    let proven = proof.verify(older.root, newer.root);
    proven.map_err(|why| keys::word(&why))
}

/// | file | older | what it is | verdict | taken by |
fn cases() -> Vec<(String, String, Case)> {
    let policy = fs::read_to_string(folder().join("policy/log")).unwrap();
    let (vkey, _) = keys::vkeys(&policy);
    let place = folder().join("consistency");
    let rows = table::rows("consistency", 5).into_iter();
    rows.map(|row| {
        let [file, older, what, verdict, taken_by] = row.try_into().unwrap();
        let file = format!("{file}.add-checkpoint");
        let job = Job::consistency(&place.join(&file), &place.join(&older), &vkey);
        let case = Case::new(job, &file, &what, verdict, &taken_by);
        (file, older, case)
    })
    .collect()
}

#[test]
fn c2sp_we_say_of_every_growth_what_the_table_says() {
    let cases = cases();
    let files = cases.iter().flat_map(|(file, older, _)| [file, older]);
    table::assert_complete("consistency", files.cloned());
    let policy = fs::read_to_string(folder().join("policy/log")).unwrap();
    let read = |name| fs::read(folder().join("consistency").join(name)).unwrap();
    hold_us_to(cases.iter().map(|(file, older, case)| {
        let verdict = check(&read(file), &read(older), &policy);
        (
            case,
            verdict.map_or_else(|cause| cause, |()| "good".to_owned()),
        )
    }));
}

#[test]
fn c2sp_others_say_of_every_growth_what_the_table_says() {
    let cases: Vec<Case> = cases().into_iter().map(|(.., case)| case).collect();
    hold_others_to(&cases);
}
