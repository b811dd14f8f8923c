//! Lies about two machines of which one acts on the other: the cause and every effect are told so that the records
//! agree with each other. Each is found for one reason alone, which its row names, or is the ledger's word.
//!
//! [`links`] makes simpler lies of every link between records of two streams.

mod agreement_interaction;
mod bodies;
mod clocks;
mod conduct_session;
mod contract_interaction;
mod descriptor_session;
mod human_round;
mod interaction_conduct;
mod links;
mod parameters;
mod registrar;
mod registry_agreement;
mod registry_contract;
mod registry_interaction;
mod registry_round;
mod registry_session;
mod round_round;

use std::collections::BTreeSet;

use x811_audit::{Outcome, Report};

use super::super::verdict::judge;
use super::Story;
use super::words::WORDS;

/// The requirement that a lie offends and what it is about, what the audit says of it, and how it is told.
type Lie = (&'static str, &'static str, fn(&mut Story));

/// What the audit says of a lie that [`WORDS`] calls the ledger's word.
const WORD: &str = "nothing";

/// Lies about what one machine does to another.
struct Pair {
    cause: &'static str,
    effect: &'static str,
    lies: &'static [&'static [Lie]],
}

const PAIRS: [Pair; 14] = [
    contract_interaction::PAIR,
    agreement_interaction::PAIR,
    interaction_conduct::PAIR,
    conduct_session::PAIR,
    round_round::PAIR,
    human_round::PAIR,
    registry_interaction::PAIR,
    registry_contract::PAIR,
    registry_session::PAIR,
    registry_round::PAIR,
    registry_agreement::PAIR,
    descriptor_session::PAIR,
    parameters::PAIR,
    clocks::PAIR,
];

/// Lies of each pair, and of all together, that have to be found.
const FOUND_EACH: usize = 6;
const FOUND: usize = 60;

/// Why the audit does not believe it: its first finding, or what it misses.
fn reason(report: &Report) -> Option<String> {
    let found = report.findings.first();
    let found = found.map(|it| format!("{}: {}", it.field, it.sentence));
    let missed = report.undecided.first().map(|it| it.sentence.clone());
    found.or(missed)
}

/// Why the lie does not come out as its row says; `None` where it does.
fn fault(honest: &Story, (name, due, tell): &Lie) -> Option<String> {
    let mut story = honest.clone();
    tell(&mut story);
    let report = story.report();
    let (reason, is_clean) = (reason(&report), judge(&report) == Outcome::Clean);
    let is_as_due = match *due {
        WORD => is_clean,
        due => reason.is_some_and(|reason| reason.contains(due)),
    };
    (!is_as_due).then(|| {
        let findings = report.findings.iter();
        let findings = findings.map(|it| format!("{} {}: {}", it.position, it.field, it.sentence));
        let missed = report.undecided.iter().map(|it| it.sentence.clone());
        let said: Vec<String> = findings.chain(missed).collect();
        format!("{name}, due {due:?}:\n    {}", said.join("\n    "))
    })
}

/// Holds the audit to each of these lies about that honest log.
#[track_caller]
fn hold(honest: &Story, lies: &[Lie]) {
    honest.is_clean();
    let faults: Vec<String> = lies.iter().filter_map(|lie| fault(honest, lie)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn lc_9_every_pair_of_machines_is_lied_about() {
    let (mut names, mut found) = (BTreeSet::new(), 0);
    for Pair {
        cause,
        effect,
        lies,
    } in PAIRS
    {
        let lies: Vec<&Lie> = lies.iter().flat_map(|lies| lies.iter()).collect();
        for (name, due, _) in &lies {
            assert!(names.insert(*name), "{name} is told twice");
            let is_word = WORDS.iter().any(|(word, ..)| word == name);
            assert_eq!(is_word, *due == WORD, "{name}");
        }
        let of_pair = lies.iter().filter(|(_, due, _)| *due != WORD).count();
        assert!(of_pair >= FOUND_EACH, "{cause} and {effect}: {of_pair}");
        found += of_pair;
    }
    assert!(found >= FOUND, "{found}");
}
