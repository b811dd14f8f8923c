//! `proof/`: proof files, that a record is in a log.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x811_eventlog::{Checkpoint, Hash, TlogProof};
use x811_tests::verifiers::Job;

use super::generate::Files;
use super::keys::{self, signed};
use super::log::Log;
use super::{Case, folder, hold_others_to, hold_us_to, table};

/// Positions and sizes of trees in which they are proven.
const GOOD: [(u64, u64); 12] = [
    (0, 1),
    (0, 2),
    (1, 2),
    (2, 3),
    (0, 7),
    (3, 7),
    (6, 7),
    (5, 19),
    (255, 256),
    (256, 257),
    (0, 270),
    (269, 270),
];

pub(crate) fn files() -> Files {
    let log = Log::new();
    let good = GOOD.map(|(position, size)| {
        let name = format!("{position}-of-{size}");
        (name, proof(&log, position, size).to_text().into_bytes())
    });
    let bad = changed(&log).into_iter().chain(rewritten(&log));
    let bad = bad.map(|(name, text)| (name.to_owned(), text.into_bytes()));
    let files = good.into_iter().chain(bad);
    files
        .map(|(name, bytes)| (format!("proof/{name}.tlog-proof"), bytes))
        .collect()
}

fn proof(log: &Log, position: u64, size: u64) -> TlogProof {
    TlogProof {
        extra: Some(log.records[position as usize].bytes().to_vec()),
        index: position,
        path: log.inclusion(position, size),
        checkpoint: log.signed(size),
    }
}

/// That record 5 is in the tree of 19, and is not.
fn changed(log: &Log) -> Vec<(&'static str, String)> {
    let good = proof(log, 5, 19);
    let with = |name, change: &dyn Fn(&mut TlogProof)| {
        let mut bad = good.clone();
        change(&mut bad);
        (name, bad.to_text())
    };
    let by_other = |checkpoint: &Checkpoint| {
        let text = checkpoint.to_text();
        format!("{text}\n{}", signed(&text, &keys::other()))
    };
    let forked = Log::forked_at(5);
    vec![
        with("other-index", &|bad| bad.index = 6),
        with("index-beyond", &|bad| bad.index = 19),
        with("index-of-mirror", &|bad| bad.index = 13),
        with("other-record", &|bad| {
            bad.extra = Some(log.records[6].bytes().to_vec())
        }),
        with("record-changed", &|bad| {
            bad.extra = Some(forked.records[5].bytes().to_vec())
        }),
        with("record-empty", &|bad| bad.extra = Some(Vec::new())),
        with("hash-changed", &|bad| bad.path[2] = Hash::of_leaf(b"")),
        with("hashes-swapped", &|bad| bad.path.swap(1, 2)),
        with("hash-missing", &|bad| bad.path.truncate(4)),
        with("hash-added", &|bad| bad.path.push(Hash::of_leaf(b""))),
        with("no-hashes", &|bad| bad.path.clear()),
        with("other-size", &|bad| bad.checkpoint = log.signed(20)),
        with("other-log", &|bad| bad.checkpoint = forked.signed(19)),
        with("checkpoint-of-other-key", &|bad| {
            bad.checkpoint = by_other(&log.checkpoint(19))
        }),
        with("no-record", &|bad| bad.extra = None),
    ]
}

/// What says the same in another way, or too little.
fn rewritten(log: &Log) -> Vec<(&'static str, String)> {
    let good = proof(log, 5, 19).to_text();
    let first = STANDARD.encode(log.inclusion(5, 19)[0].as_bytes());
    vec![
        ("version", good.replace("@v1", "@v2")),
        ("index-leading-zero", good.replace("index 5", "index 05")),
        ("index-plus", good.replace("index 5", "index +5")),
        ("index-missing", good.replace("index 5\n", "")),
        ("extra-no-base64", good.replace("extra ", "extra *")),
        ("hash-short", good.replace(&first, &first[4..])),
        ("hash-no-padding", good.replace(&first, &first[..43])),
        ("line-added", good.replace("index 5\n", "index 5\nnote\n")),
        ("carriage-returns", good.replace('\n', "\r\n")),
        (
            "no-checkpoint",
            good.split_once("\n\n").unwrap().0.to_owned() + "\n\n",
        ),
        ("empty-line-missing", good.replacen("\n\n", "\n", 1)),
        ("empty-line-added", good.replacen("\n\n", "\n\n\n", 1)),
    ]
}

/// What we say of a proof file under the policy `log`.
fn check(file: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(file).unwrap();
    let proof = TlogProof::from_text(text).map_err(|why| keys::word(&why))?;
    let policy = fs::read_to_string(folder().join("policy/log")).unwrap();
    let trusted = keys::check(proof.checkpoint.as_bytes(), &policy)?;
    let leaf = proof.extra.as_ref().ok_or("no-record")?;
    let proven = proof.verify(Hash::of_leaf(leaf), &trusted.checkpoint);
    proven.map_err(|why| keys::word(&why))
}

/// | file | what it is | verdict | taken by |
fn cases() -> Vec<(String, Case)> {
    let policy = fs::read_to_string(folder().join("policy/log")).unwrap();
    let (vkey, _) = keys::vkeys(&policy);
    let rows = table::rows("proof", 4).into_iter();
    rows.map(|row| {
        let [file, what, verdict, taken_by] = row.try_into().unwrap();
        let file = format!("{file}.tlog-proof");
        let job = Job::proof(&folder().join("proof").join(&file), &vkey);
        let case = Case::new(job, &file, &what, verdict, &taken_by);
        (file, case)
    })
    .collect()
}

#[test]
fn c2sp_we_say_of_every_proof_what_the_table_says() {
    let cases = cases();
    table::assert_complete("proof", cases.iter().map(|(file, _)| file.clone()));
    hold_us_to(cases.iter().map(|(file, case)| {
        let bytes = fs::read(folder().join("proof").join(file)).unwrap();
        let verdict = check(&bytes).map_or_else(|cause| cause, |()| "good".to_owned());
        (case, verdict)
    }));
}

#[test]
fn c2sp_others_say_of_every_proof_what_the_table_says() {
    let cases: Vec<Case> = cases().into_iter().map(|(_, case)| case).collect();
    hold_others_to(&cases);
}
