//! The sleeps of tests, each with its reason. A test does not sleep where it can be notified or move a clock.

use super::{SourceFile, sources};
use std::collections::BTreeMap;

/// A reason to sleep.
#[derive(Debug, Clone, Copy)]
enum Reason {
    /// On tokio's paused clock, which costs no time.
    Paused,
    /// Between two looks at another process or server, in a loop with an end: nothing else would notify the test.
    Look,
    /// The length of a fault, such as a frozen process, a cut connection or a life that ends in a kill.
    Fault,
    /// The rate of a load.
    Rate,
    /// Time that a server of somebody else takes, and does not report the end of.
    Settling,
}

use Reason::{Fault, Look, Paused, Rate, Settling};

/// Files with calls of `sleep`, each call with its reason.
const SLEEPS: [(&str, &[Reason]); 30] = [
    ("crates/server/tests/http/feed/mod.rs", &[Look]),
    ("crates/store/src/kurrent/tests/serve.rs", &[Fault]),
    ("crates/store/src/postgres/tests/conformance.rs", &[Look]),
    ("crates/store/src/postgres/tests/places.rs", &[Look, Look]),
    ("crates/store/src/postgres/tests/quorum.rs", &[Look, Look]),
    ("crates/watcher/tests/suite/watching/rules.rs", &[Paused]),
    ("crates/watcher/tests/suite/watching/scripted.rs", &[Paused]),
    ("crates/watcher/tests/suite/watching/rig.rs", &[Paused]),
    ("crates/watcher/tests/suite/watching/witness.rs", &[Paused]),
    ("tests/src/anvil.rs", &[Look, Look, Look]),
    ("tests/src/bin/bench_stores.rs", &[Settling]),
    ("tests/src/postgres.rs", &[Look, Look]),
    ("tests/src/proxy.rs", &[Fault]),
    ("tests/tests/program/eventstore/suspended.rs", &[Look]),
    ("tests/tests/program/faults/bits.rs", &[Look]),
    ("tests/tests/program/faults/cluster.rs", &[Settling]),
    ("tests/tests/program/faults/copies.rs", &[Fault]),
    ("tests/tests/program/faults/disk.rs", &[Look, Look]),
    ("tests/tests/program/faults/exported.rs", &[Rate]),
    ("tests/tests/program/faults/flood.rs", &[Rate]),
    ("tests/tests/program/faults/hosts.rs", &[Look]),
    ("tests/tests/program/faults/kills.rs", &[Look, Look, Fault]),
    ("tests/tests/program/faults/ledger.rs", &[Look]),
    (
        "tests/tests/program/faults/standing.rs",
        &[Look, Look, Look, Rate, Fault, Fault, Look],
    ),
    (
        "tests/tests/program/faults/takeovers.rs",
        &[Look, Look, Fault, Settling, Fault, Fault],
    ),
    ("tests/tests/program/faults/talking.rs", &[Rate]),
    ("tests/tests/program/operations/endpoints.rs", &[Look, Look]),
    ("tests/tests/program/packaging/unit.rs", &[Look]),
    (
        "tests/tests/program/soak/mod.rs",
        &[Fault, Fault, Look, Settling, Look],
    ),
    ("tests/tests/program/stories/rounds.rs", &[Look]),
];

fn is_test(file: &SourceFile) -> bool {
    file.path.starts_with("tests/")
        || file.path.contains("/tests/")
        || file.path.ends_with("/tests.rs")
}

#[test]
fn tests_sleep_for_a_reason() {
    let call = concat!("sl", "eep(");
    let found: BTreeMap<String, usize> = sources()
        .iter()
        .filter(|file| is_test(file))
        .map(|file| {
            let calls = file.text.matches(call).count();
            // A statement of SQL that sleeps in the server.
            let in_sql = file.text.matches(concat!("pg_sl", "eep(")).count();
            (file.path.clone(), calls - in_sql)
        })
        .filter(|(_, calls)| *calls > 0)
        .collect();
    let listed: BTreeMap<String, usize> = SLEEPS
        .iter()
        .map(|(path, reasons)| ((*path).to_owned(), reasons.len()))
        .collect();
    assert_eq!(
        found, listed,
        "a test sleeps without a reason here, or no longer does: move an injected clock, or wait for a \
         notification; else give the reason in tests/tests/conformance/tidy/sleeps.rs"
    );
}
