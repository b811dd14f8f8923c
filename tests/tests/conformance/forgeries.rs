//! Forged logs before the reader in `tests/verifiers`, which was written from the texts: of what it
//! can judge it says what the audit says. The forger seals everything anew, as in
//! `crates/ledger/tests/suite/adversary`.

#![expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]

#[path = "forgeries/bundles.rs"]
mod bundles;
#[path = "../../../crates/ledger/tests/suite/adversary/changes.rs"]
#[expect(dead_code, reason = "the test of every member uses the rest")]
mod changes;
#[path = "../../../crates/ledger/tests/suite/adversary/extract.rs"]
mod extract;
#[path = "../../../crates/ledger/tests/suite/adversary/keys.rs"]
mod keys;
#[path = "../../../crates/ledger/tests/suite/adversary/ledgers_hand.rs"]
mod ledgers_hand;
#[path = "../../../crates/ledger/tests/suite/adversary/lies.rs"]
mod lies;
#[path = "../../../crates/ledger/tests/suite/adversary/log.rs"]
#[expect(dead_code, reason = "whole stories use the rest")]
mod log;
#[path = "../../../crates/ledger/tests/suite/adversary/members.rs"]
mod members;
#[path = "../../../crates/ledger/tests/suite/support/party.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod party;
#[path = "../../../crates/ledger/tests/suite/adversary/roots.rs"]
mod roots;
#[path = "../../../crates/ledger/tests/suite/audit/states.rs"]
mod states;
#[path = "../../../crates/ledger/tests/suite/adversary/table.rs"]
pub(crate) mod table;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use x811_audit::{Cause, Report, audit_export};
use x811_tests::anvil::checkout;
use x811_tests::size::from_environment;
use x811_tests::verifiers::{Job, Verifier};

use changes::{SaidBy, lies};
use log::{Log, Written};
use members::Pool;
use table::Known;

/// One of how many lies is told in the gate; `X811_READ_FORGERIES` times as many where it is set. Each lie is a
/// whole log to read.
const ONE_IN: usize = 2_532;
const ONE_IN_OF_ROUNDS: usize = 2_172;

/// Bytes, hashes, signatures, messages and facts: what the reader checks too.
const JUDGED_BY_BOTH: [Cause; 15] = [
    Cause::FormatBroken,
    Cause::HeaderDiffers,
    Cause::BytesChanged,
    Cause::Missing,
    Cause::Reordered,
    Cause::Duplicated,
    Cause::TimeRanBack,
    Cause::StreamGap,
    Cause::SignatureInvalid,
    Cause::BodyChanged,
    Cause::EnvelopeDiffers,
    Cause::FactsDiffer,
    Cause::TrailerDiffers,
    Cause::CheckpointInvalid,
    Cause::CheckpointDiffers,
];

/// Whether the reader has to refuse it too. That the ledger would not have taken a message, for its
/// version say, is a rule of trade.
fn is_for_both(report: &Report) -> bool {
    let mut findings = report.findings.iter();
    findings.any(|finding| {
        let is_a_refusal = finding.sentence.starts_with("X811-");
        JUDGED_BY_BOTH.contains(&finding.cause) && !is_a_refusal
    })
}

#[test]
fn lc_9_a_reader_by_the_texts_refuses_what_it_can_judge() {
    println!("{:?}", refuses_what_it_can_judge("log-every-event", ONE_IN));
}

/// Multiple of the gate's number of lies.
fn times() -> usize {
    from_environment("X811_READ_FORGERIES").map_or(1, |times| times.try_into().unwrap())
}

/// How many lies about that log are told how; none that both can judge is taken.
fn refuses_what_it_can_judge(vector: &str, one_in: usize) -> BTreeMap<&'static str, u64> {
    let path = checkout().join(format!("tests/vectors/bundle/{vector}.x811"));
    let honest = Log::of(&fs::read(path).unwrap(), keys::all());
    let known = Known::read(&fs::read_to_string(checkout().join("tests/AUDIT.md")).unwrap());
    let (pool, said_by) = (Pool::of(&honest, &known), SaidBy::of(&honest));
    let places = 0..honest.records.len();
    let all = places.flat_map(|at| lies(&honest, &pool, &said_by, at));
    let place = tempfile::tempdir().unwrap();
    let (mut jobs, mut reports) = (Vec::new(), Vec::new());
    let times = times();
    for lie in all.step_by(one_in / times) {
        if lie.written_twice().is_some() {
            continue;
        }
        let (records, _) = lie.told(&honest);
        let hand = honest.hand.clone();
        let Some(bytes) = (Log { records, hand }).sealed() else {
            continue;
        };
        let file = place.path().join(format!("{}.x811", jobs.len()));
        fs::write(&file, &bytes).unwrap();
        jobs.push(Job::export(&file));
        let report = audit_export(&bytes[..], None).unwrap();
        reports.push((lie.what(&honest), report));
    }
    assert!(jobs.len() > 12 * times, "{}", jobs.len());
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut faults = Vec::new();
    for (verdict, (what, report)) in Verifier::Reader.judge_all(&jobs).iter().zip(&reports) {
        let said = match (report.findings.is_empty(), verdict) {
            (true, Ok(_)) => "taken by both",
            (false, Err(_)) => "refused by both",
            (false, Ok(_)) if !is_for_both(report) => "refused by the audit, by rules of trade",
            (false, Ok(_)) => {
                faults.push(format!("{what}: taken, and {:?}", report.findings));
                continue;
            }
            (true, Err(why)) => {
                faults.push(format!("{what}: refused, and the audit takes it: {why}"));
                continue;
            }
        };
        *counts.entry(said).or_default() += 1;
    }
    assert!(faults.is_empty(), "{} {faults:#?}", faults.len());
    let refused_by_both = counts.get("refused by both").copied().unwrap_or_default();
    assert!(refused_by_both > 8 * times as u64, "{counts:?}");
    // A small sample may have none that both take.
    assert!(times < 6 || counts.len() == 3, "{counts:?}");
    counts
}

/// The golden log of rounds of version 2, told otherwise.
struct Rounds(Log);

impl Rounds {
    fn golden() -> Rounds {
        Rounds::of("log-rounds")
    }

    fn of(name: &str) -> Rounds {
        let path = checkout().join(format!("tests/vectors/bundle/{name}.x811"));
        Rounds(Log::of(&fs::read(path).unwrap(), keys::all()))
    }

    /// Places of what is so.
    fn places(&self, is_it: impl Fn(&Written) -> bool) -> Vec<usize> {
        let records = self.0.records.iter().enumerate();
        let places = records.filter_map(|(place, written)| is_it(written).then_some(place));
        places.collect()
    }

    /// The first event of that type that has the member so.
    fn first(&self, event_type: &str, member: &str, value: &str) -> usize {
        self.places(|it| it.event_type() == event_type && it.event[member] == value)[0]
    }

    fn drawn(&self) -> usize {
        let of_two = |it: &Written| {
            it.event["rounds"]
                .as_array()
                .is_some_and(|it| it.len() == 2)
        };
        self.places(|it| it.event_type() == "cycle_drawn" && of_two(it))[0]
    }

    fn set(mut self, place: usize, pointer: &str, value: Value) -> Rounds {
        let written = Arc::make_mut(&mut self.0.records[place]);
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        written.event.pointer_mut(parent).unwrap()[member] = value;
        self
    }

    fn unset(mut self, place: usize, parent: &str, member: &str) -> Rounds {
        let written = Arc::make_mut(&mut self.0.records[place]);
        let parent = written.event.pointer_mut(parent).unwrap();
        parent.as_object_mut().unwrap().remove(member).unwrap();
        self
    }

    fn without(mut self, place: usize) -> Rounds {
        self.0.records.remove(place);
        self
    }

    /// The ledger tells it otherwise than it was, and signs the envelope anew.
    fn told(mut self, place: usize, member: &str, value: Value) -> Rounds {
        let written = Arc::make_mut(&mut self.0.records[place]);
        let mut message: Value = serde_json::from_slice(written.body.as_ref().unwrap()).unwrap();
        message["payload"][member] = value;
        written.body = Some(message.to_string().into_bytes());
        written.says_more = true;
        self
    }

    /// The notice of that event.
    fn notice(&self, event_type: &str) -> usize {
        let tells = |it: &Written| {
            let text = it.body.as_deref().unwrap_or_default();
            let message: Value = serde_json::from_slice(text).unwrap_or_default();
            it.event_type() == "notice_issued" && message["payload"]["event"] == event_type
        };
        self.places(tells)[0]
    }
}

/// A log told otherwise: what is, and why the reader refuses it.
type Told = (&'static str, Rounds, &'static str);

/// What the holder of all keys gains by: another tally.
fn tallies_told_otherwise() -> Vec<Told> {
    let log = Rounds::golden;
    let accepted = log().first("round_decided", "reason", "accepted");
    let deadlock = log().first("round_decided", "reason", "deadlock");
    let escalated = log().first("round_escalated", "reason", "deadlock");
    let set = |place: usize, pointer: &str, value: Value| log().set(place, pointer, value);
    let [more, less] = [("approve", 5), ("received", 3)]
        .map(|(name, count)| set(accepted, &format!("/tally/{name}"), json!(count)));
    let digest = set(accepted, "/votes_digest", json!("0".repeat(64)));
    let failed = set(deadlock, "/reason", json!("no_quorum"));
    let retries = set(escalated, "/reason", json!("retries"));
    let unasked = log().without(escalated);
    vec![
        ("a vote more", more, "the tally"),
        ("a vote less", less, "the tally"),
        ("another digest", digest, "the tally"),
        ("no deadlock", failed, "the tally"),
        ("humans are asked for retries", retries, "why at"),
        ("humans are not asked", unasked, "what is due"),
    ]
}

/// Another rival, or one that is not let go.
fn rivals_told_otherwise() -> Vec<Told> {
    let log = Rounds::golden;
    let superseded = log().first("round_decided", "reason", "superseded");
    let (hold, draw) = (
        log().first("lapsed", "window", "hold"),
        log().first("lapsed", "window", "draw"),
    );
    let accepted = log()
        .set(superseded, "/outcome", json!("commit"))
        .set(superseded, "/reason", json!("accepted"))
        .unset(superseded, "", "winner");
    let drawn = log().0.records[log().drawn()].event["winner"].clone();
    let other = log().set(superseded, "/winner", drawn);
    vec![
        ("a superseded round is accepted", accepted, "the tally"),
        ("another winner", other, "the tally"),
        ("it is not let go", log().without(hold), "what is due"),
        ("no draw is let pass", log().without(draw), "what is due"),
    ]
}

/// Another draw.
fn draws_told_otherwise() -> Vec<Told> {
    let log = Rounds::golden;
    let drawn = log().drawn();
    let event = log().0.records[drawn].event.clone();
    let winner = &event["winner"];
    let both = event["rounds"].as_array().unwrap();
    let loser = both.iter().find(|it| *it != winner).unwrap();
    let number = |name: &Value| usize::try_from(name.as_u64().unwrap()).unwrap();
    let height = number(&event["block"]["number"]);
    let set = |pointer: &str, value: Value| log().set(drawn, pointer, value);
    let hash = format!("0x{}", "ab".repeat(32));
    let unnamed = log().unset(number(&event["closing"]), "/derived", "seed");
    vec![
        (
            "the other is drawn",
            set("/winner", loser.clone()),
            "the draw",
        ),
        (
            "one is left out",
            set("/rounds", json!([winner])),
            "who is drawn",
        ),
        (
            "another height",
            set("/block/number", json!(height + 1)),
            "the height",
        ),
        (
            "a block from before",
            set("/block/timestamp_s", json!(1)),
            "the block",
        ),
        ("another block", set("/block/hash", json!(hash)), ""),
        ("no block is named", unnamed, ""),
    ]
}

/// Members hear of something else than what is recorded.
fn notices_told_otherwise() -> Vec<Told> {
    let told = |event_type: &str, member: &str, value: Value| {
        let log = Rounds::golden();
        let notice = log.notice(event_type);
        log.told(notice, member, value)
    };
    let outcome = told("round_decided", "outcome", json!("abort"));
    let votes = told("round_escalated", "votes", json!([1]));
    let kind = told("anomaly_noted", "kind", json!("unrevealed"));
    vec![
        ("another outcome is told", outcome, ""),
        ("other votes are told", votes, "what is told"),
        ("another anomaly is told", kind, "what is told"),
    ]
}

/// The audit and the reader, which shares nothing with it, find each of them; the log as it was they take.
#[test]
fn cx_26_a_reader_by_the_texts_counts_rounds_again() {
    let place = tempfile::tempdir().unwrap();
    let mut cases = tallies_told_otherwise();
    cases.extend(rivals_told_otherwise());
    cases.extend(draws_told_otherwise());
    cases.extend(notices_told_otherwise());
    cases.push(("as it was", Rounds::golden(), ""));
    let mut jobs = Vec::new();
    let mut logs = Vec::new();
    for (number, (_, log, _)) in cases.iter().enumerate() {
        let bytes = log.0.sealed().unwrap();
        let file = place.path().join(format!("{number}.x811"));
        fs::write(&file, &bytes).unwrap();
        jobs.push(Job::export(&file));
        logs.push(bytes);
    }
    let verdicts = Verifier::Reader.judge_all(&jobs);
    for (((what, _, why), bytes), verdict) in cases.iter().zip(&logs).zip(verdicts) {
        let is_clean = audit_export(&bytes[..], None).unwrap().findings.is_empty();
        assert_eq!(
            (is_clean, verdict.is_ok()),
            (*what == "as it was", *what == "as it was"),
            "{what}: {verdict:?}"
        );
        if let Err(said) = verdict {
            assert!(said.contains(why), "{what}: {said}");
        }
    }
}

/// As of the other logs, lies of every kind.
#[test]
fn cx_26_a_reader_by_the_texts_refuses_what_it_can_judge_of_rounds() {
    let counts = refuses_what_it_can_judge("log-rounds", ONE_IN_OF_ROUNDS);
    println!("{counts:?}");
}
