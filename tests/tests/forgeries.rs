//! Forged logs before the reader in `tests/verifiers`, which was written from the texts: of what it
//! can judge it says what the audit says. The forger seals everything anew, as in
//! `crates/ledger/tests/adversary`.

#![expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]

#[path = "../../crates/ledger/tests/adversary/changes.rs"]
#[expect(dead_code, reason = "the test of every member uses the rest")]
mod changes;
#[path = "../../crates/ledger/tests/adversary/keys.rs"]
mod keys;
#[path = "../../crates/ledger/tests/adversary/ledgers_hand.rs"]
mod ledgers_hand;
#[path = "../../crates/ledger/tests/adversary/lies.rs"]
mod lies;
#[path = "../../crates/ledger/tests/adversary/log.rs"]
#[expect(dead_code, reason = "whole stories use the rest")]
mod log;
#[path = "../../crates/ledger/tests/adversary/members.rs"]
mod members;
#[path = "../../crates/ledger/tests/sequencer/party.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod party;
#[path = "../../crates/ledger/tests/adversary/roots.rs"]
mod roots;
#[path = "../../crates/ledger/tests/adversary/table.rs"]
#[expect(dead_code, reason = "the test of every member uses the rest")]
mod table;

use std::collections::BTreeMap;
use std::fs;

use x811_ledger::audit::{Cause, Report, audit_export};
use x811_tests::anvil::checkout;
use x811_tests::verifiers::{Job, Verifier};

use changes::{SaidBy, lies};
use log::Log;
use members::Pool;
use table::Known;

/// One of how many lies is told. The second log is more than twice as long as the first,
/// and each lie about it is a whole log to read.
const ONE_IN: usize = 71;
const ONE_IN_OF_RULES_2: usize = 211;

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

#[test]
fn lc_9_a_reader_by_the_texts_refuses_what_it_can_judge_under_rules_2() {
    let counts = refuses_what_it_can_judge("log-every-event-r2", ONE_IN_OF_RULES_2);
    println!("{counts:?}");
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
    for lie in all.step_by(one_in) {
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
    assert!(jobs.len() > 150, "{}", jobs.len());
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
    assert!(
        counts.len() == 3 && counts["refused by both"] > 100,
        "{counts:?}"
    );
    counts
}
