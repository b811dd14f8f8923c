//! Every file system call of a scripted run fails once, is interrupted once, fails together with the
//! one after it, and the process dies at every one of them.
//!
//! strace counts the calls of each thread apart, so with `when=n` the n-th call of *every* thread
//! that gets so far is hit: usually one, sometimes a few in one run. A usual run takes a sample;
//! all of them, or as many as it says: `X811_SWEEP=all cargo nextest run -p x811-tests --test faults
//! syscalls`.

use crate::dice::Dice;
use crate::ledger::Place;
use crate::scripted::{Life, assert_whole, live};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Calls that change files or make changes durable.
const WRITES: &[&str] = &[
    "openat",
    "pwrite64",
    "write",
    "fsync",
    "fdatasync",
    "ftruncate",
    "unlink",
    "rename",
    "mkdir",
    "fallocate",
    "flock",
    "mmap",
];

/// Calls that only look.
const READS: &[&str] = &["pread64", "read", "fstat", "newfstatat", "lseek"];

/// Calls that a signal may interrupt, and that are simply made again then. Not the syncs: one that
/// did not say that it was done has failed, whatever it says.
const INTERRUPTIBLE: &[&str] = &[
    "openat",
    "pwrite64",
    "write",
    "ftruncate",
    "flock",
    "pread64",
    "read",
];

/// What is done in one life: injections of strace, at different calls.
type Faults = Vec<String>;

/// Lives in a sample of one kind.
const SAMPLE: u64 = 10;

/// Lives in a sample of what costs more than it finds.
const SMALL_SAMPLE: u64 = 6;

/// The scripted run under strace, which hits calls on the ledger's own files only.
fn under_strace(place: &mut Place, faults: &[String], trace: &[&str]) -> String {
    let log = place
        .folder
        .path()
        .join("calls")
        .to_str()
        .unwrap()
        .to_owned();
    let mut words = vec!["strace".to_owned(), "-D".to_owned(), "-f".to_owned()];
    words.extend(["-qq".to_owned(), "-o".to_owned(), log.clone()]);
    words.extend(["-e".to_owned(), format!("trace={}", trace.join(","))]);
    for fault in faults {
        words.extend(["-e".to_owned(), format!("inject={fault}")]);
    }
    for path in files(place) {
        words.extend(["-P".to_owned(), path]);
    }
    place.under = words;
    log
}

/// Every file a ledger has.
fn files(place: &Place) -> Vec<String> {
    let mut files = Vec::new();
    let data = ["", "/LOCK", "/keys", "/keys.unfinished"];
    let keys = [
        "identity.json",
        "envelope.seed",
        "checkpoint.seed",
        "receipt.seed",
    ];
    files.extend(
        data.iter()
            .map(|name| format!("{}{name}", place.data_dir.display())),
    );
    for folder in ["keys", "keys.unfinished"] {
        files.extend(keys.map(|name| format!("{}/{folder}/{name}", place.data_dir.display())));
    }
    for database in ["ledger.db", "read.db"] {
        for suffix in ["", "-wal", "-shm"] {
            files.push(format!("{}/{database}{suffix}", place.data_dir.display()));
        }
    }
    let checkpoint = ["", "/LOCK", "/checkpoint", "/checkpoint.unfinished"];
    files.extend(checkpoint.map(|name| format!("{}{name}", place.checkpoint_dir.display())));
    files
}

/// The calls of each thread, in order, in a run without faults.
async fn traced(trace: &[&str]) -> Vec<Vec<String>> {
    let mut place = Place::new();
    let log = under_strace(&mut place, &[], trace);
    let life = live(&place).await;
    invisible(&life, "no fault");
    let text = std::fs::read_to_string(log).unwrap();
    let mut threads: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some((call, _)) = rest.trim_start().split_once('(') else {
            continue;
        };
        threads.entry(thread).or_default().push(call.to_owned());
    }
    let threads: Vec<_> = threads.into_values().collect();
    let most = most(&threads);
    println!("calls of one thread: {most:?}");
    assert!(
        most.contains_key("fdatasync") || most.contains_key("fsync"),
        "no sync: {most:?}"
    );
    threads
}

/// The most calls any thread makes, by name of the call.
fn most(threads: &[Vec<String>]) -> BTreeMap<String, usize> {
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    for calls in threads {
        let mut of_thread: BTreeMap<&String, usize> = BTreeMap::new();
        for call in calls {
            let count = of_thread.entry(call).or_default();
            *count += 1;
            let most = most.entry(call.clone()).or_default();
            *most = (*count).max(*most);
        }
    }
    most
}

/// One fault a life: every call, in each of these ways.
fn single(threads: &[Vec<String>], kinds: &[&str]) -> Vec<Faults> {
    let mut all = Vec::new();
    for (call, most) in most(threads) {
        for kind in kinds {
            all.extend((1..=most).map(|n| vec![format!("{call}:{kind}:when={n}")]));
        }
    }
    all
}

/// Two faults a life: every call and the one that its thread makes next.
fn pairs(threads: &[Vec<String>], first: &str, second: &str) -> Vec<Faults> {
    let mut all = BTreeSet::new();
    for calls in threads {
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        let mut before: Option<(&String, usize)> = None;
        for call in calls {
            let count = counts.entry(call).or_default();
            *count += 1;
            let here = (call, *count);
            all.extend(before.map(|(name, n)| {
                if name == call && first == second {
                    vec![format!("{name}:{first}:when={n}..{}", n + 1)]
                } else {
                    // The same call twice in two ways: strace takes the second one alone.
                    vec![
                        format!("{name}:{first}:when={n}"),
                        format!("{call}:{second}:when={count}"),
                    ]
                }
            }));
            before = Some(here);
        }
    }
    all.into_iter().collect()
}

/// A sample of them; all of them, or another number, when `X811_SWEEP` says so.
fn chosen(mut all: Vec<Faults>, sample: u64, dice: &mut Dice) -> Vec<Faults> {
    let points = all.len();
    let sample = match std::env::var("X811_SWEEP").as_deref() {
        Ok("all") => u64::MAX,
        Ok(number) => number.parse().unwrap(),
        Err(_) => sample,
    };
    while all.len() as u64 > sample {
        let out = usize::try_from(dice.below(all.len() as u64)).unwrap();
        all.swap_remove(out);
    }
    println!("{} of {points} faults", all.len());
    all
}

/// Lives once with each of these; prints how the lives ended.
async fn sweep(all: Vec<Faults>, check: fn(&Life, &str)) {
    let (mut refused, mut stopped, mut went_on) = (0, 0, 0);
    for faults in all {
        let calls = faults.iter().map(|fault| fault.split(':').next().unwrap());
        let calls: BTreeSet<&str> = calls.collect();
        let mut place = Place::new();
        under_strace(&mut place, &faults, &Vec::from_iter(calls));
        let life = live(&place).await;
        place.under.clear();
        let fault = faults.join(" and ");
        check(&life, &fault);
        assert_whole(&place, &life, &fault).await;
        match (life.has_started, life.ended.status.success()) {
            (false, _) => refused += 1,
            (true, false) => stopped += 1,
            (true, true) => went_on += 1,
        }
    }
    println!("{refused} did not start, {stopped} stopped, {went_on} went on; all whole, 0 lost");
}

/// Nobody notices.
fn invisible(life: &Life, fault: &str) {
    let is_served = life.has_started && life.refusals.is_empty() && life.unanswered == 0;
    assert!(
        is_served && life.ended.status.success(),
        "{fault}: {life:?}"
    );
}

/// Killed, or at the end of its way.
fn is_dead(life: &Life, fault: &str) {
    let is_dead = life.ended.status.code().is_none() || life.ended.status.success();
    assert!(is_dead, "{fault}: {life:?}");
}

/// A call that fails never brings the process down in a panic, and never without a sentence.
fn says_why(life: &Life, fault: &str) {
    let ended = &life.ended;
    assert!(!ended.said.contains("panicked"), "{fault}: {life:?}");
    let said_why = ended.status.success() || ended.said.len() > 20;
    assert!(
        said_why && ended.status.code().is_some(),
        "{fault}: {life:?}"
    );
}

/// The second fault may be the end.
fn says_why_or_is_dead(life: &Life, fault: &str) {
    match life.ended.status.code() {
        Some(_) => says_why(life, fault),
        None => assert!(fault.contains("KILL"), "{fault}: {life:?}"),
    }
}

#[tokio::test]
async fn reliability_every_file_system_call_fails_once_and_nothing_is_lost() {
    require_strace();
    let mut dice = Dice::roll("failing calls");
    let written = single(&traced(WRITES).await, &["error=EIO", "error=ENOSPC"]);
    let read = traced(&[READS, &["fsync", "fdatasync"]].concat()).await;
    let mut faults = chosen(written, SAMPLE, &mut dice);
    faults.extend(chosen(single(&read, &["error=EIO"]), SAMPLE, &mut dice));
    sweep(faults, says_why).await;
}

#[tokio::test]
async fn reliability_an_interrupted_call_is_made_again_and_nobody_notices() {
    require_strace();
    let mut dice = Dice::roll("interrupted calls");
    let calls = traced(&[INTERRUPTIBLE, &["fsync", "fdatasync"]].concat()).await;
    let (syncs, others): (Vec<_>, Vec<_>) = single(&calls, &["error=EINTR"])
        .into_iter()
        .partition(|faults| faults[0].contains("sync:"));
    sweep(chosen(others, SMALL_SAMPLE, &mut dice), invisible).await;
    sweep(chosen(syncs, 2, &mut dice), says_why).await;
}

/// The recovery from a fault meets the next one.
#[tokio::test]
async fn reliability_two_calls_in_a_row_fail_and_nothing_is_lost() {
    require_strace();
    let mut dice = Dice::roll("failing pairs");
    let all = [WRITES, READS].concat();
    let threads = traced(&all).await;
    let mut faults = Vec::new();
    for (first, second) in [
        ("error=EIO", "error=EIO"),
        ("error=ENOSPC", "error=EIO"),
        ("error=EIO", "signal=KILL"),
    ] {
        let pairs = pairs(&threads, first, second);
        faults.extend(chosen(pairs, SMALL_SAMPLE / 2, &mut dice));
    }
    sweep(faults, says_why_or_is_dead).await;
}

/// The crash table of ledger-contract.md section 1, on the real binary: death at every step of
/// every commit.
#[tokio::test]
async fn lc_1_crash_table_death_at_every_file_system_call_loses_nothing() {
    require_strace();
    let mut dice = Dice::roll("deaths");
    let deaths = single(&traced(WRITES).await, &["signal=KILL"]);
    sweep(chosen(deaths, SAMPLE, &mut dice), is_dead).await;
}

fn require_strace() {
    let found = Command::new("strace").arg("-V").output();
    assert!(
        found.is_ok_and(|found| found.status.success()),
        "strace is missing: run scripts/test.sh, or `apt-get install strace`"
    );
}
