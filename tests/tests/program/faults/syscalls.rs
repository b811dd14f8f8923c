//! Every file system call of a scripted run fails once, is interrupted once, fails together with the
//! one after it, and the process dies at every one of them. What is not hit, and why, stands in
//! `FAULTS.md`.
//!
//! strace counts the calls of each thread apart, so with `when=n` the n-th call of *every* thread
//! that gets so far is hit: usually one, sometimes a few in one run. A usual run takes a sample;
//! all of them, or as many as it says: `X811_SWEEP=all cargo nextest run --profile full -p x811-tests --test program
//! syscalls`.

use super::dice::Dice;
use super::ledger::Place;
use super::scripted::{Life, MOST_RECORDS, Script, Stage, assert_whole};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Calls that change files or make changes durable.
const WRITES: &[&str] = &[
    "openat",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "write",
    "writev",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "ftruncate",
    "fallocate",
    "copy_file_range",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchown",
    "flock",
    "mmap",
];

/// Calls that only look.
const READS: &[&str] = &[
    "pread64",
    "preadv",
    "read",
    "readv",
    "stat",
    "lstat",
    "fstat",
    "newfstatat",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getdents64",
    "lseek",
];

/// The locks of SQLite.
const LOCKS: &[&str] = &["fcntl"];

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
type Faults = (Script, Vec<String>);

/// The calls of each thread of a life, in order.
type Threads = (Script, Vec<Vec<String>>);

/// Lives in a sample of one kind.
const SAMPLE: u64 = 6;

/// Lives in a sample of what costs more than it finds.
const SMALL_SAMPLE: u64 = 3;

/// Lives in a sample of locks: one whose release fails is held for the rest of its life.
const LOCK_SAMPLE: u64 = 1;

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
    let mut names: Vec<String> = ["", "/LOCK", "/keys", "/keys.unfinished", "/snapshots"]
        .map(str::to_owned)
        .into();
    let keys = [
        "identity.json",
        "envelope.seed",
        "checkpoint.seed",
        "receipt.seed",
        "receipt.seed.next",
    ];
    for folder in ["keys", "keys.unfinished"] {
        names.extend(keys.map(|name| format!("/{folder}/{name}")));
    }
    for database in ["ledger.db", "read.db", "chain.db", "feed.db"] {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            names.push(format!("/{database}{suffix}"));
        }
    }
    for size in 0..=MOST_RECORDS {
        names.extend(["x811", "unfinished"].map(|suffix| format!("/snapshots/{size}.{suffix}")));
    }
    let data_dir = place.data_dir.display();
    let mut files: Vec<String> = names
        .iter()
        .map(|name| format!("{data_dir}{name}"))
        .collect();
    let checkpoint = ["", "/LOCK", "/checkpoint", "/checkpoint.unfinished"];
    files.extend(checkpoint.map(|name| format!("{}{name}", place.checkpoint_dir.display())));
    files
}

/// The calls of both lives without faults.
async fn traced(stage: &Stage, trace: &[&str]) -> [Threads; 2] {
    [
        traced_life(stage, Script::First, trace).await,
        traced_life(stage, Script::Later, trace).await,
    ]
}

async fn traced_life(stage: &Stage, script: Script, trace: &[&str]) -> Threads {
    let mut place = stage.place(script);
    let log = under_strace(&mut place, &[], trace);
    let life = stage.live(script, &place).await;
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
        // The second half of one that another thread's came between is told as `<... `.
        if trace.contains(&call) {
            threads.entry(thread).or_default().push(call.to_owned());
        }
    }
    let threads: Vec<_> = threads.into_values().collect();
    let most = most(&threads);
    println!("{script:?} life, calls of one thread: {most:?}");
    assert!(!most.is_empty(), "no call");
    (script, threads)
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
fn single(lives: &[Threads], kinds: &[&str]) -> Vec<Faults> {
    let mut all = Vec::new();
    for (script, threads) in lives {
        for (call, most) in most(threads) {
            for kind in kinds {
                let faults = (1..=most).map(|n| vec![format!("{call}:{kind}:when={n}")]);
                all.extend(faults.map(|faults| (*script, faults)));
            }
        }
    }
    all
}

/// Two faults a life: every call and the one that its thread makes next.
fn pairs(lives: &[Threads], first: &str, second: &str) -> Vec<Faults> {
    let mut all = BTreeSet::new();
    for (script, threads) in lives {
        for calls in threads {
            let pairs = pairs_of(calls, first, second).into_iter();
            all.extend(pairs.map(|faults| (*script, faults)));
        }
    }
    all.into_iter().collect()
}

fn pairs_of(calls: &[String], first: &str, second: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    let mut before: Option<(&String, usize)> = None;
    for call in calls {
        let count = counts.entry(call).or_default();
        *count += 1;
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
        before = Some((call, *count));
    }
    all
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
async fn sweep(stage: &Stage, all: Vec<Faults>, check: fn(&Life, &str)) {
    let (mut refused, mut stopped, mut went_on) = (0, 0, 0);
    for (script, faults) in all {
        let calls = faults.iter().map(|fault| fault.split(':').next().unwrap());
        let calls: BTreeSet<&str> = calls.collect();
        let mut place = stage.place(script);
        under_strace(&mut place, &faults, &Vec::from_iter(calls));
        let life = stage.live(script, &place).await;
        place.under.clear();
        let fault = format!("{script:?} life, {}", faults.join(" and "));
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
    let (mut dice, stage) = (Dice::roll("failing calls"), Stage::set().await);
    let written = single(
        &traced(&stage, WRITES).await,
        &["error=EIO", "error=ENOSPC"],
    );
    let read = single(&traced(&stage, READS).await, &["error=EIO"]);
    for faults in [written, read] {
        let faults = chosen(faults, SAMPLE, &mut dice);
        sweep(&stage, faults, says_why).await;
    }
}

/// Locks that the system cannot give, and locks that somebody else has.
#[tokio::test]
async fn reliability_every_lock_fails_once_and_nothing_is_lost() {
    require_strace();
    let (mut dice, stage) = (Dice::roll("failing locks"), Stage::set().await);
    let locks = single(&traced(&stage, LOCKS).await, &["error=EIO", "error=EAGAIN"]);
    sweep(&stage, chosen(locks, LOCK_SAMPLE, &mut dice), says_why).await;
}

#[tokio::test]
async fn reliability_an_interrupted_call_is_made_again_and_nobody_notices() {
    require_strace();
    let (mut dice, stage) = (Dice::roll("interrupted calls"), Stage::set().await);
    let calls = traced(&stage, &[INTERRUPTIBLE, &["fsync", "fdatasync"]].concat()).await;
    let (syncs, others): (Vec<_>, Vec<_>) = single(&calls, &["error=EINTR"])
        .into_iter()
        .partition(|(_, faults)| faults[0].contains("sync:"));
    sweep(&stage, chosen(others, SMALL_SAMPLE, &mut dice), invisible).await;
    sweep(&stage, chosen(syncs, 2, &mut dice), says_why).await;
}

/// The recovery from a fault meets the next one.
#[tokio::test]
async fn reliability_two_calls_in_a_row_fail_and_nothing_is_lost() {
    require_strace();
    let (mut dice, stage) = (Dice::roll("failing pairs"), Stage::set().await);
    let all = [WRITES, READS, LOCKS].concat();
    let lives = traced(&stage, &all).await;
    for (first, second) in [
        ("error=EIO", "error=EIO"),
        ("error=ENOSPC", "error=EIO"),
        ("error=EIO", "signal=KILL"),
    ] {
        let pairs = chosen(pairs(&lives, first, second), SMALL_SAMPLE / 2, &mut dice);
        sweep(&stage, pairs, says_why_or_is_dead).await;
    }
}

/// The crash table of ledger-contract.md section 1, on the real binary: death at every step of
/// every commit.
#[tokio::test]
async fn lc_1_crash_table_death_at_every_file_system_call_loses_nothing() {
    require_strace();
    let (mut dice, stage) = (Dice::roll("deaths"), Stage::set().await);
    let lives = traced(&stage, &[WRITES, LOCKS].concat()).await;
    let deaths = single(&lives, &["signal=KILL"]);
    sweep(&stage, chosen(deaths, SAMPLE, &mut dice), is_dead).await;
}

fn require_strace() {
    let found = Command::new("strace").arg("-V").output();
    assert!(
        found.is_ok_and(|found| found.status.success()),
        "strace is missing: run scripts/test.sh, or `apt-get install strace`"
    );
}
