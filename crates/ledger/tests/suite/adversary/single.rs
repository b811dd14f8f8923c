//! Every member of every event of every record is changed, removed and doubled, and every record
//! dropped, doubled and swapped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::json;
use x811_audit::Outcome;
use x811_eventlog::{Draft, Hash, Record};

use super::branches::branches;
use super::bundles::signed;
use super::cases;
use super::changes::{Lie, SaidBy, lies};
use super::deal::{Deal, Until};
use super::every_event::every_event;
use super::ledgerbox::Ledgerbox;
use super::log::Log;
use super::members::Pool;
use super::rarer::{quiet, rarer};
use super::scene::exported_under;
use super::size::size;
use super::table::Known;
use super::verdict::Honest;

/// Set to `all`, every lie is told; to a number N, the first of each kind about each member and every
/// Nth of the others. Where it is not set, one kind about each member, as `X811_SEED` has it, and every
/// `ONE_IN`th of the others.
const VARIABLE: &str = "X811_FORGERIES";

/// The gate tells one of this many of the other lies.
const ONE_IN: usize = 240;

/// At which places a root of all states stands.
const ROOT_EVERY: usize = 1_000;

#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
fn one_in() -> Option<usize> {
    match std::env::var(VARIABLE).as_deref() {
        Ok("all") => Some(1),
        Ok(number) => Some(number.parse().expect("`all`, or a number")),
        Err(_) => None,
    }
}

/// The tables.
pub(crate) fn known() -> Known {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/AUDIT.md");
    Known::read(&std::fs::read_to_string(path).unwrap())
}

/// What the ledger wrote, taken apart.
pub(crate) async fn written_by(ledgerbox: &Ledgerbox) -> Log {
    let note = signed(ledgerbox, ledgerbox.records().await.len()).await;
    let export = exported_under(ledgerbox, Some(&note)).await;
    Log::of(&export, super::keys::all())
}

/// The first log: every event that a ledger writes.
async fn of_every_event() -> Log {
    let mut ledgerbox = every_event().await;
    rarer(&mut ledgerbox).await;
    let mut log = written_by(&ledgerbox).await;
    Arc::make_mut(&mut log.records[0]).event["continues"] = json!({
        "origin": "before.example/x811",
        "root": "5b".repeat(32),
        "size": 7,
    });
    log
}

/// The second: rules that change, endpoints that must agree, and branches.
async fn of_branches() -> Log {
    written_by(&branches().await).await
}

/// All lies about all records of a log.
fn all_lies(log: &Log) -> Vec<Lie> {
    let (pool, said_by) = (Pool::of(log, &known()), SaidBy::of(log));
    let places = 0..log.records.len();
    places
        .flat_map(|at| lies(log, &pool, &said_by, at))
        .collect()
}

/// Selects the lies to tell: the first of each event, member and kind of change, or of one kind, and every Nth.
pub(crate) fn some_of(all: &[Lie]) -> Vec<Lie> {
    let mut kinds = BTreeSet::new();
    let mut firsts: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, lie) in all.iter().enumerate() {
        if kinds.insert((&lie.event, &lie.member, lie.how)) {
            let of_member = firsts.entry((&lie.event, &lie.member)).or_default();
            of_member.push(at);
        }
    }
    let asked = one_in();
    let seed = size("X811_SEED", 0) as usize;
    let mut told: BTreeSet<usize> = (0..all.len()).step_by(asked.unwrap_or(ONE_IN)).collect();
    for (number, of_member) in firsts.values().enumerate() {
        match asked {
            Some(_) => told.extend(of_member),
            None => drop(told.insert(of_member[(seed + number) % of_member.len()])),
        }
    }
    told.into_iter().map(|at| all[at].clone()).collect()
}

/// Event and member.
type Place = (String, String);

/// What became of many lies.
#[derive(Debug, Default)]
struct Told {
    by_verdict: BTreeMap<Outcome, u64>,
    /// Found by nobody, although they are not the ledger's word.
    misses: BTreeMap<Place, Vec<String>>,
    /// The ledger's word, by its table.
    words: BTreeMap<Place, Vec<String>>,
}

impl Told {
    fn of(honest: &Honest, told: Vec<Lie>) -> Told {
        let known = known();
        let threads = rayon::ThreadPoolBuilder::new().build().unwrap();
        let verdicts: Vec<(Lie, Outcome)> = threads.install(|| {
            let told = told.into_par_iter();
            told.map(|lie| (verdict(honest, &lie), lie))
                .map(|(verdict, lie)| (lie, verdict))
                .collect()
        });
        let mut told = Told::default();
        for (lie, verdict) in verdicts {
            *told.by_verdict.entry(verdict).or_default() += 1;
            if verdict == Outcome::Clean {
                let missed = match is_its_word(&known, &honest.log, &lie) {
                    true => &mut told.words,
                    false => &mut told.misses,
                };
                let place = (lie.event.clone(), lie.member.clone());
                let texts = missed.entry(place).or_default();
                texts.push(lie.what(&honest.log));
            }
        }
        told
    }

    /// Says it to whoever reads the test's output, and with examples in a file.
    #[expect(clippy::print_stdout, reason = "the counts are what the test is for")]
    fn report(&self, name: &str) {
        let count = |places: &BTreeMap<Place, Vec<String>>| -> usize {
            places.values().map(Vec::len).sum()
        };
        let mut text = format!(
            "{name}: {:?}; of the clean ones the ledger's word: {}, misses: {}\n",
            self.by_verdict,
            count(&self.words),
            count(&self.misses)
        );
        println!("{text}");
        for (title, places) in [("misses", &self.misses), ("word", &self.words)] {
            for ((event, member), lies) in places {
                writeln!(text, "{title}: {event} {member}: {}", lies.len()).unwrap();
                for lie in lies.iter().take(40) {
                    writeln!(text, "    {lie}").unwrap();
                }
            }
        }
        let path = format!("{}/forgeries-{name}.txt", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(path, text).unwrap();
    }
}

/// Whether the table calls it the ledger's word, at least in the case that it is about, or it rests on
/// a body that was erased.
pub(crate) fn is_its_word(known: &Known, log: &Log, lie: &Lie) -> bool {
    let case = cases::case_of(log, lie).unwrap_or(&lie.member);
    let Some(row) = known.of(&lie.event, case) else {
        return false;
    };
    let is_erased = log.records[lie.record].body.is_none();
    row.kind == "word" || is_erased && row.why.starts_with("the body")
}

/// Whether some lie of that case is found by nobody, as the table says.
fn is_still_a_word(honest: &Honest, all: &[Lie], event: &str, case: &str) -> bool {
    let mut lies = all.iter().filter(|lie| lie.event == event);
    lies.any(|lie| {
        cases::case_of(&honest.log, lie) == Some(case) && verdict(honest, lie) == Outcome::Clean
    })
}

#[tokio::test]
async fn lc_9_no_member_of_any_event_can_be_a_lie() {
    let honest = Honest::of(of_every_event().await);
    let all = all_lies(&honest.log);
    let told = Told::of(&honest, some_of(&all));
    told.report("members");
    assert!(
        told.misses.is_empty(),
        "found by nobody: {:#?}",
        told.misses
    );
    let found: Vec<_> = cases::all()
        .filter(|(event, case)| !is_still_a_word(&honest, &all, event, case))
        .collect();
    assert!(
        found.is_empty(),
        "found now, the ledger's word no longer: {found:#?}"
    );
}

#[tokio::test]
async fn lc_9_no_member_of_a_branch_or_a_quorum_can_be_a_lie() {
    let honest = Honest::of(of_branches().await);
    let told = Told::of(&honest, some_of(&all_lies(&honest.log)));
    told.report("branches");
    assert!(told.misses.is_empty(), "{:#?}", told.misses);
}

/// Members that these logs are too short for; `lc_9_no_member_of_a_root_can_be_a_lie` lies about them.
const OF_A_ROOT: [(&str, &str); 3] = [
    ("state_root", "position"),
    ("state_root", "root"),
    ("state_root", "schema"),
];

/// Members that these logs are too old for: the stories in `named::contests` lie about them.
const OF_CONTESTS: [(&str, &str); 12] = [
    ("cycle_drawn", "block"),
    ("cycle_drawn", "block.hash"),
    ("cycle_drawn", "block.number"),
    ("cycle_drawn", "block.timestamp_s"),
    ("cycle_drawn", "closing"),
    ("cycle_drawn", "rounds"),
    ("cycle_drawn", "winner"),
    ("envelope_accepted", "derived.seed"),
    ("envelope_accepted", "derived.seed.height"),
    ("envelope_accepted", "derived.seed.network"),
    ("round_decided", "seed"),
    ("round_decided", "winner"),
];

/// Members that are in no honest log, for nothing was lost: `named::away` adds them.
const OF_AN_ADOPTION: [(&str, &str); 1] = [("ledger_resumed", "checkpoint_adopted")];

/// Members that are in no honest log while there is one version of the rules: `named::keys` and
/// `audit::unknown_keys` put them in.
const OF_RULES: [(&str, &str); 2] = [
    ("rules_changed", "reader"),
    ("rules_changed", "rules_version"),
];

/// A row of the table that no lie is about would be a claim that nobody tried to break.
#[tokio::test]
async fn lc_9_every_row_of_the_table_is_lied_about() {
    let mut told: BTreeSet<Place> = BTreeSet::new();
    for log in [of_every_event().await, of_branches().await] {
        let lies = all_lies(&log).into_iter();
        told.extend(lies.map(|lie| (lie.event, lie.member)));
    }
    let known = known();
    let rows = known.rows().map(|(event, member, _)| (event, member));
    let is_told = |(event, member): &(&str, &str)| {
        member.starts_with('(') || told.contains(&((*event).to_owned(), (*member).to_owned()))
    };
    let not_told: Vec<_> = rows.filter(|row| !is_told(row)).collect();
    let mut listed = [&OF_CONTESTS[..], &OF_A_ROOT, &OF_AN_ADOPTION, &OF_RULES].concat();
    listed.sort_unstable();
    assert_eq!(not_told, listed);
}

#[tokio::test]
async fn lc_9_no_member_of_a_root_can_be_a_lie() {
    let mut ledgerbox = Ledgerbox::crowded().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let (from, to) = (deal.initiator.clone(), deal.provider.clone());
    while ledgerbox.records().await.len() < ROOT_EVERY + 2 {
        for _ in 0..50 {
            let letter = ledgerbox.seal(&from, "x811.test/hello", &to, json!({}));
            ledgerbox.accept(&letter).await;
            ledgerbox.advance_ms(100).await;
        }
    }
    quiet(&mut ledgerbox).await;
    let log = written_by(&ledgerbox).await;
    let at = ROOT_EVERY - 1;
    assert_eq!(log.records[at].event_type(), "state_root");
    let honest = Honest::changed_from(log, at - 1);
    let (pool, said_by) = (Pool::of(&honest.log, &known()), SaidBy::of(&honest.log));
    let lies = lies(&honest.log, &pool, &said_by, at);
    for (event, member) in OF_A_ROOT {
        let mut told = lies.iter();
        assert!(told.any(|lie| (&*lie.event, &*lie.member) == (event, member)));
    }
    let told = Told::of(&honest, lies);
    told.report("roots");
    assert!(told.misses.is_empty(), "{:#?}", told.misses);
}

fn verdict(honest: &Honest, lie: &Lie) -> Outcome {
    if let Some(pointer) = lie.written_twice() {
        return twice(honest, lie.record, pointer);
    }
    let (records, from) = lie.told(&honest.log);
    honest.verdict(records, from)
}

/// A member that stands twice in the text of a leaf.
fn twice(honest: &Honest, record: usize, pointer: &str) -> Outcome {
    const MARK: &str = "the-member-that-stands-twice";
    let written = &honest.log.records[record];
    let (mut event, name) = (written.event.clone(), pointer.rsplit('/').next().unwrap());
    let value = event.pointer(pointer).unwrap().to_string();
    *event.pointer_mut(pointer).unwrap() = json!(MARK);
    let draft = Draft {
        recorded_at_ms: written.at_ms,
        stream: written.stream.clone(),
        stream_seq: 0,
        event,
    };
    let sealed = Record::seal(record as u64, Hash::ZERO, draft).unwrap();
    let leaf = String::from_utf8(sealed.bytes().to_vec()).unwrap();
    let mark = format!("\"{MARK}\"");
    let doubled = leaf.replace(&mark, &format!("{value},\"{name}\":{value}"));
    assert_ne!(leaf, doubled);
    match Record::parse(doubled.into_bytes()) {
        Ok(_) => Outcome::Clean,
        Err(_) => Outcome::Broken,
    }
}
