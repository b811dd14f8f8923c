//! Bundles of rounds whose log was told otherwise and signed anew: states, tally and outcome follow from the
//! bundle alone, as far as the round's own records tell.

use std::fs;

use serde_json::{Value, json};
use x811_audit::audit_export;
use x811_audit::export::{Item, Reader, Scope};
use x811_protocol::stream::Subject;
use x811_tests::anvil::checkout;
use x811_tests::verifiers::{Job, Verifier};

use super::Rounds;
use super::extract::bundle_of;
use super::log::Written;

/// A golden bundle, and the log that it is of.
struct Bundled {
    log: Rounds,
    honest: Vec<u8>,
    /// The round's.
    stream: String,
}

impl Bundled {
    fn golden(name: &str) -> Bundled {
        let path = format!("tests/vectors/bundle/round-{name}.x811");
        let honest = fs::read(checkout().join(path)).unwrap();
        let Item::Header(header) = Reader::new(&honest[..]).next().unwrap().unwrap() else {
            panic!("a file begins with its header");
        };
        let Scope::Of(Subject::Round(round)) = header.scope else {
            panic!("it is of a round");
        };
        let is_of_circle = ["circle", "silent-again"].contains(&name);
        let log = ["log-rounds", "log-circle"][usize::from(is_of_circle)];
        Bundled {
            log: Rounds::of(log),
            honest,
            stream: format!("round:{round}"),
        }
    }

    /// The last record of that type in the round.
    fn last(&self, event_type: &str) -> usize {
        let is_it = |it: &Written| it.stream == self.stream && it.event_type() == event_type;
        *self.log.places(is_it).last().unwrap()
    }

    fn set(mut self, event_type: &str, pointer: &str, value: Value) -> Vec<u8> {
        let place = self.last(event_type);
        self.log = self.log.set(place, pointer, value);
        self.told()
    }

    fn without(mut self, event_type: &str) -> Vec<u8> {
        let place = self.last(event_type);
        self.log = self.log.without(place);
        self.told()
    }

    /// As its log has it now.
    fn told(&self) -> Vec<u8> {
        let Rounds(log) = &self.log;
        bundle_of(&log.sealed().unwrap(), &self.honest, &log.hand)
    }
}

const NAMES: [&str; 6] = [
    "circle",
    "held",
    "sealed",
    "silent",
    "silent-again",
    "drawn",
];

/// What is told otherwise, and why the reader refuses it.
fn told_otherwise() -> Vec<(String, Vec<u8>, &'static str)> {
    let mut cases = Vec::new();
    let mut case = |name: &str, bytes: Vec<u8>, why| cases.push((name.to_owned(), bytes, why));
    for name in NAMES {
        let set = |pointer: &str, value| Bundled::golden(name).set("round_decided", pointer, value);
        let [more, digest] = [
            set("/tally/approve", json!(9)),
            set("/votes_digest", json!("0".repeat(64))),
        ];
        case(&format!("{name}: votes more"), more, "the tally");
        case(&format!("{name}: other votes"), digest, "the tally");
        let undecided = Bundled::golden(name).without("round_decided");
        case(&format!("{name}: undecided"), undecided, "");
    }
    for name in ["silent", "silent-again"] {
        let set =
            |pointer: &str, value| Bundled::golden(name).set("round_escalated", pointer, value);
        let [cause, reason] = [set("/cause", json!(1)), set("/reason", json!("retries"))];
        case(&format!("{name}: another cause"), cause, "");
        case(&format!("{name}: for retries"), reason, "");
    }
    let unasked = Bundled::golden("silent").without("round_escalated");
    case("humans are not asked", unasked, "what is due");
    let superseded = Bundled::golden("circle");
    let [oldest, first, second] = superseded.of_circle();
    let loser = superseded
        .log
        .places(|it| it.stream == first && it.event["winner"].is_string())[0];
    let other = superseded
        .log
        .set(loser, "/winner", json!(second.strip_prefix("round:")));
    let other = Bundled {
        log: other,
        honest: superseded.honest,
        stream: oldest,
    };
    case("another one of the circle stays", other.told(), "the tally");
    let winner = Bundled::golden("drawn");
    let drawn = winner.log.drawn();
    let event = &winner.log.0.records[drawn].event;
    let both = event["rounds"].as_array().unwrap();
    let loser = both
        .iter()
        .find(|it| **it != event["winner"])
        .unwrap()
        .clone();
    let log = winner.log.set(drawn, "/winner", loser);
    let other = Bundled { log, ..winner };
    case("the block draws the other", other.told(), "the draw");
    cases
}

impl Bundled {
    /// Streams of the three, the oldest first.
    fn of_circle(&self) -> [String; 3] {
        let opened = self.log.places(|it| it.event_type() == "round_opened");
        let streams = opened[..3]
            .iter()
            .map(|at| self.log.0.records[*at].stream.clone());
        streams.collect::<Vec<_>>().try_into().unwrap()
    }
}

/// The audit and the reader, which shares nothing with it, find each of them, and take those that are as they
/// were.
#[test]
fn cx_10_a_reader_by_the_texts_counts_rounds_of_bundles_again() {
    let place = tempfile::tempdir().unwrap();
    let mut cases = told_otherwise();
    for name in NAMES {
        cases.push((String::new(), Bundled::golden(name).told(), ""));
    }
    let mut jobs = Vec::new();
    for (number, (_, bytes, _)) in cases.iter().enumerate() {
        let file = place.path().join(format!("{number}.x811"));
        fs::write(&file, bytes).unwrap();
        jobs.push(Job::export(&file));
    }
    let verdicts = Verifier::Reader.judge_all(&jobs);
    for ((what, bytes, why), verdict) in cases.iter().zip(verdicts) {
        let report = audit_export(&bytes[..], None).unwrap();
        let is_good = what.is_empty();
        assert_eq!(
            (report.findings.is_empty(), verdict.is_ok()),
            (is_good, is_good),
            "{what}: {verdict:?}, {:?}",
            report.findings
        );
        if let Err(said) = verdict {
            assert!(said.contains(why), "{what}: {said}");
        }
    }
}
