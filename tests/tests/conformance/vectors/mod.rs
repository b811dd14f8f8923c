//! The golden corpus, `tests/vectors`: files of every format, good ones and such as were changed,
//! with what a verifier has to say of each in the tables of its README. Our own verifiers and those
//! of other authors are held to them.

#![expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]

mod bundle;
mod checkpoint;
mod consistency;
mod generate;
mod keys;
mod log;
mod proof;
mod receipt;
mod strict;
mod table;
mod tiles;
mod witness;

use std::path::PathBuf;

use x811_tests::anvil::checkout;
use x811_tests::verifiers::{Job, Verifier};

/// The corpus.
fn folder() -> PathBuf {
    checkout().join("tests/vectors")
}

/// One line of a table, as far as every kind of file has it.
struct Case {
    what: String,
    job: Job,
    verdict: String,
    /// Other verifiers that take it although we do not.
    taken_by: Vec<Verifier>,
}

impl Case {
    /// The cells of a row, with what its file is to be asked.
    fn new(job: Job, name: &str, what: &str, verdict: String, taken_by: &str) -> Case {
        Case {
            what: format!("{name}: {what}"),
            job,
            verdict,
            taken_by: table::verifiers(taken_by),
        }
    }
}

/// Files of a folder by their names, without their ends.
type Named = Vec<(&'static str, Vec<u8>)>;

/// We say of each what its row says.
fn hold_us_to<'a>(said: impl IntoIterator<Item = (&'a Case, String)>) {
    let differs = |(case, said): &(&Case, String)| *said != case.verdict;
    let faults = said.into_iter().filter(differs);
    let faults: Vec<String> = faults
        .map(|(case, said)| format!("{}: {said}", case.what))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Every verifier of other authors takes what we take, and refuses the rest, but for those that the
/// table names.
fn hold_others_to(cases: &[Case]) {
    hold_to(&Verifier::ALL, cases);
}

fn hold_to(verifiers: &[Verifier], cases: &[Case]) {
    let jobs: Vec<Job> = cases.iter().map(|case| case.job.clone()).collect();
    let mut faults = Vec::new();
    for verifier in verifiers {
        for (case, verdict) in cases.iter().zip(verifier.judge_all(&jobs)) {
            let is_due = case.verdict == "good" || case.taken_by.contains(verifier);
            if verdict.is_ok() != is_due {
                faults.push(format!("{}: {verifier:?} says {verdict:?}", case.what));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
