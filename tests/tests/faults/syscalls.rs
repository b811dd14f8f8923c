//! Every file system call of a scripted run fails once, and the process dies at every one of them.
//!
//! strace counts the calls of each thread apart, so with `when=n` the n-th call of *every* thread
//! that gets so far is hit: usually one, sometimes a few in one run. A usual run takes a sample;
//! all of them: `X811_SWEEP=all cargo nextest run -p x811-tests --test faults every_file_system`.

use crate::dice::Dice;
use crate::ledger::Place;
use crate::scripted::{Life, assert_whole, live};
use std::collections::BTreeMap;
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

/// Runs in a sample of one fault.
const SAMPLE: u64 = 10;

/// The scripted run under strace, which hits calls on the ledger's own files only.
fn under_strace(place: &mut Place, inject: Option<&str>, trace: &[&str]) -> String {
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
    if let Some(inject) = inject {
        words.extend(["-e".to_owned(), format!("inject={inject}")]);
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

/// The most calls any thread makes, by name of the call, in a run without faults.
async fn counted(trace: &[&str]) -> BTreeMap<String, u64> {
    let mut place = Place::new();
    let log = under_strace(&mut place, None, trace);
    let life = live(&place).await;
    assert!(
        life.ended.status.success() && life.refusals.is_empty(),
        "{life:?}"
    );
    let text = std::fs::read_to_string(log).unwrap();
    let mut by_thread: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some((call, _)) = rest.trim_start().split_once('(') else {
            continue;
        };
        *by_thread.entry((thread, call)).or_default() += 1;
    }
    let mut most: BTreeMap<String, u64> = BTreeMap::new();
    for ((_, call), count) in by_thread {
        let most = most.entry(call.to_owned()).or_default();
        *most = count.max(*most);
    }
    println!("calls of one thread: {most:?}");
    assert!(
        most.contains_key("fdatasync") || most.contains_key("fsync"),
        "no sync: {most:?}"
    );
    most
}

/// All faults, or a sample of them.
fn chosen(most: &BTreeMap<String, u64>, kinds: &[&str], dice: &mut Dice) -> Vec<String> {
    let mut all = Vec::new();
    for (call, most) in most {
        for kind in kinds {
            all.extend((1..=*most).map(|n| format!("{call}:{kind}:when={n}")));
        }
    }
    let points = all.len();
    if std::env::var("X811_SWEEP").as_deref() != Ok("all") {
        while all.len() as u64 > SAMPLE {
            let out = usize::try_from(dice.below(all.len() as u64)).unwrap();
            all.swap_remove(out);
        }
    }
    println!("{} of {points} faults", all.len());
    all
}

/// Lives once with every fault; returns how the lives ended.
async fn sweep(faults: Vec<String>, check: fn(&Life, &str)) {
    let (mut refused, mut stopped, mut went_on) = (0, 0, 0);
    for fault in faults {
        let call = fault.split(':').next().unwrap().to_owned();
        let mut place = Place::new();
        under_strace(&mut place, Some(&fault), &[&call]);
        let life = live(&place).await;
        place.under.clear();
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

#[tokio::test]
async fn reliability_every_file_system_call_fails_once_and_nothing_is_lost() {
    require_strace();
    let mut dice = Dice::roll("failing calls");
    let written = counted(WRITES).await;
    let mut faults = chosen(&written, &["error=EIO", "error=ENOSPC"], &mut dice);
    let read = counted(&[READS, &["fsync", "fdatasync"]].concat()).await;
    faults.extend(chosen(&read, &["error=EIO"], &mut dice));
    sweep(faults, says_why).await;
}

/// The crash table of ledger-contract.md section 1, on the real binary: death at every step of
/// every commit.
#[tokio::test]
async fn lc_1_crash_table_death_at_every_file_system_call_loses_nothing() {
    require_strace();
    let mut dice = Dice::roll("deaths");
    let written = counted(WRITES).await;
    let faults = chosen(&written, &["signal=KILL"], &mut dice);
    sweep(faults, |life, fault| {
        let is_dead = life.ended.status.code().is_none() || life.ended.status.success();
        assert!(is_dead, "{fault}: {life:?}");
    })
    .await;
}

fn require_strace() {
    let found = Command::new("strace").arg("-V").output();
    assert!(
        found.is_ok_and(|found| found.status.success()),
        "strace is missing: run scripts/test.sh, or `apt-get install strace`"
    );
}
