//! A ledger that is written to is exported at any moment, whole, with its tail, and one interaction
//! at a time: no audit of that ever says *broken*, and a day later each file says the same.
//!
//! A longer run: `X811_EXPORTS=500 cargo nextest run --profile full -p x811-tests --test program exported`.

use super::client::{Agent, ledger_did};
use super::dealing::Pair;
use super::dice::Dice;
use super::ledger::Place;
use super::takeovers::wrong_clock;
use super::talking::{Client, talk};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use x811_tests::binary::{run, x811};
use x811_tests::size::from_environment;

/// Exports in a usual run.
const EXPORTS: u64 = 6;

/// The longest pause between two exports, in milliseconds.
const PAUSE_MS: u64 = 400;

/// Exit codes of an audit without a key: nothing contradicts. 22 is a tail that is nobody's word.
const UNPROVEN: i32 = 21;
const INCOMPLETE: i32 = 22;

/// What is exported.
#[derive(Debug, Clone, Copy)]
enum Part {
    Log,
    Tail,
    Interaction,
}

/// Where the parts come to lie, and what was found in them.
struct Kept {
    place: Place,
    files: Vec<(PathBuf, i32, String)>,
}

impl Kept {
    /// Exports that part while the ledger runs, and audits it.
    fn export(&mut self, part: Part, dice: &mut Dice) {
        let name = format!("{}.x811", self.files.len());
        let file = self.place.folder.path().join(name);
        let (data_dir, target) = (self.place.data_dir.to_str(), file.to_str());
        let (data_dir, target) = (data_dir.unwrap().to_owned(), target.unwrap().to_owned());
        let checkpoint_dir = self.place.checkpoint_dir.to_str().unwrap().to_owned();
        let mut words = vec!["export", &data_dir, "-o", &target];
        words.extend(["--checkpoint-dir", &checkpoint_dir]);
        let interaction = self.some_interaction(dice);
        match (part, &interaction) {
            (Part::Log, _) => {}
            (Part::Tail, _) => words.push("--tail"),
            (Part::Interaction, None) => return,
            (Part::Interaction, Some(id)) => words.extend(["--interaction", id]),
        }
        let _ = run(&words).ok();
        let (code, said) = audited(&file, &[]);
        let report: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(report["findings"], serde_json::json!([]), "{part:?} {said}");
        let verdict = match part {
            Part::Log | Part::Interaction => code == UNPROVEN,
            Part::Tail => matches!(code, UNPROVEN | INCOMPLETE),
        };
        assert!(verdict, "{part:?}: {code} {said}");
        self.files.push((file, code, said));
    }

    /// An interaction that the first export has a record of.
    fn some_interaction(&self, dice: &mut Dice) -> Option<String> {
        let (file, ..) = self.files.first()?;
        let log = fs::read_to_string(file).unwrap();
        let mark = "\"stream\":\"interaction:";
        let ids: Vec<&str> = log
            .split(mark)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        let at = dice.below(ids.len() as u64);
        ids.get(usize::try_from(at).unwrap())
            .map(|id| (*id).to_owned())
    }
}

/// Exit code and report, of a program that runs under those words.
fn audited(file: &Path, under: &[&str]) -> (i32, String) {
    let program = x811();
    let mut words = under.to_vec();
    words.extend([program.to_str().unwrap(), "--json", "audit"]);
    let mut command = Command::new(words[0]);
    let command = command.args(&words[1..]).arg(file);
    let ended = command.output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    (ended.status.code().unwrap(), said)
}

/// Seconds of the clock that a program under those words sees.
fn clock_s(under: &[&str]) -> u64 {
    let words = [under, &["date", "+%s"]].concat();
    let ended = Command::new(words[0]).args(&words[1..]).output().unwrap();
    let text = String::from_utf8(ended.stdout).unwrap();
    text.trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lc_9_a_ledger_under_load_is_never_broken_and_a_day_later_says_the_same() {
    let mut dice = Dice::roll("exports");
    let place = Place::new();
    let running = place.start();
    let ledger = ledger_did(&running.url).await.unwrap();
    let (_whereabouts, at) = watch::channel(Some(running.url.clone()));
    let (ending, end) = watch::channel(false);
    let counted = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    let talker = Client::Talker {
        agent: Box::new(Agent::new("talker")),
        is_registered: false,
    };
    let dealer = Client::Dealer(Box::new(Pair::new("pair")));
    for client in [talker, dealer] {
        let (counted, at, end) = (counted.clone(), at.clone(), end.clone());
        clients.spawn(talk(counted, client, ledger, at, end));
    }
    let mut kept = Kept {
        place,
        files: Vec::new(),
    };
    let parts = [Part::Log, Part::Tail, Part::Interaction]
        .into_iter()
        .cycle();
    let exports = from_environment("X811_EXPORTS").unwrap_or(EXPORTS);
    for part in parts.take(usize::try_from(exports).unwrap()) {
        let before = counted.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(dice.below(PAUSE_MS))).await;
        while counted.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
        tokio::task::block_in_place(|| kept.export(part, &mut dice));
        assert_ne!(kept.place.audit(None).code, Some(20), "where it runs");
    }
    ending.send_replace(true);
    while let Some(done) = clients.join_next().await {
        done.unwrap();
    }
    assert!(running.stop().status.success());

    let tomorrow = wrong_clock("+1d");
    let tomorrow: Vec<&str> = tomorrow.iter().map(String::as_str).collect();
    assert!(
        clock_s(&tomorrow) >= clock_s(&[]) + 86_000,
        "no other clock"
    );
    for (file, code, said) in &kept.files {
        assert_eq!(
            audited(file, &tomorrow),
            (*code, said.clone()),
            "{}",
            file.display()
        );
    }
    println!(
        "{} exports under {} messages, 0 broken, the same a day later",
        kept.files.len(),
        counted.load(Ordering::Relaxed)
    );
}
