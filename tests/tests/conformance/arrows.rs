//! The arrows between our crates (ARCHITECTURE.md, "The crates"), held over `cargo metadata` and
//! `cargo tree`: who may name whom, and what a crate must never reach.

use std::collections::BTreeSet;
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand, Package};
use x811_tests::anvil::checkout;

struct Rule {
    package: &'static str,
    /// The workspace crates it may name, in any kind of dependency.
    may_use: &'static [&'static str],
    /// Crate families that must not be in the closure of its normal dependencies.
    never_reaches: &'static [&'static str],
}

const PURE: &[&str] = &[
    "tokio",
    "alloy",
    "sqlx",
    "reqwest",
    "axum",
    "rand",
    "getrandom",
];

const RULES: &[Rule] = &[
    Rule {
        package: "x811-protocol",
        may_use: &[],
        never_reaches: PURE,
    },
    Rule {
        package: "x811-eventlog",
        may_use: &[],
        never_reaches: PURE,
    },
    Rule {
        package: "x811-world",
        may_use: &["x811-protocol", "x811-eventlog"],
        never_reaches: PURE,
    },
    Rule {
        package: "x811-audit",
        may_use: &["x811-protocol", "x811-eventlog", "x811-world"],
        never_reaches: PURE,
    },
    Rule {
        package: "x811-ledger",
        may_use: CORE,
        never_reaches: &["axum", "sqlx", "alloy", "reqwest"],
    },
    Rule {
        package: "x811-store",
        may_use: &[
            "x811-protocol",
            "x811-eventlog",
            "x811-world",
            "x811-audit",
            "x811-ledger",
        ],
        // sqlx's macros link the driver: SQLite would be compiled twice.
        never_reaches: &["axum", "alloy", "reqwest", "sqlx-macros"],
    },
    Rule {
        package: "x811-watcher",
        may_use: &["x811-protocol"],
        never_reaches: &["axum", "sqlx"],
    },
    Rule {
        package: "x811-client",
        may_use: &["x811-protocol"],
        never_reaches: &["axum", "sqlx"],
    },
    Rule {
        package: "x811-console",
        may_use: &["x811-protocol", "x811-client"],
        never_reaches: &["axum", "sqlx"],
    },
    Rule {
        package: "x811-server",
        may_use: LIBRARIES,
        never_reaches: &[],
    },
    Rule {
        package: "x811-devchain",
        may_use: BELOW_DEVCHAIN,
        never_reaches: &[],
    },
    Rule {
        package: "x811-cli",
        may_use: BELOW_PROGRAMS,
        never_reaches: &[],
    },
    Rule {
        package: "x811-bench",
        may_use: BELOW_PROGRAMS,
        never_reaches: &[],
    },
    Rule {
        package: "x811-tests",
        may_use: LIBRARIES_AND_SERVER,
        never_reaches: &[],
    },
];

/// The crates that an auditor has to trust.
const CORE: &[&str] = &["x811-protocol", "x811-eventlog", "x811-world", "x811-audit"];

const LIBRARIES: &[&str] = &[
    "x811-protocol",
    "x811-eventlog",
    "x811-world",
    "x811-audit",
    "x811-ledger",
    "x811-store",
    "x811-watcher",
    "x811-client",
];

const LIBRARIES_AND_SERVER: &[&str] = &[
    "x811-protocol",
    "x811-eventlog",
    "x811-world",
    "x811-audit",
    "x811-ledger",
    "x811-store",
    "x811-watcher",
    "x811-client",
    "x811-server",
];

const BELOW_DEVCHAIN: &[&str] = &[
    "x811-protocol",
    "x811-eventlog",
    "x811-world",
    "x811-audit",
    "x811-ledger",
    "x811-store",
    "x811-watcher",
    "x811-client",
    "x811-server",
    "x811-console",
];

/// What the programs may use: everything but each other.
const BELOW_PROGRAMS: &[&str] = &[
    "x811-protocol",
    "x811-eventlog",
    "x811-world",
    "x811-audit",
    "x811-ledger",
    "x811-store",
    "x811-watcher",
    "x811-client",
    "x811-server",
    "x811-console",
    "x811-devchain",
];

/// External families that only these crates may name.
const RESERVED: &[(&str, &[&str])] = &[
    ("alloy", &["x811-watcher", "x811-client", "x811-tests"]),
    ("sqlx", &["x811-store", "x811-tests"]),
];

#[test]
fn every_workspace_crate_has_a_rule_and_every_rule_a_crate() {
    let metadata = metadata();
    let crates: BTreeSet<&str> = metadata
        .workspace_packages()
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let ruled: BTreeSet<&str> = RULES.iter().map(|rule| rule.package).collect();
    assert_eq!(
        crates, ruled,
        "left: the workspace, right: the rules of this test"
    );
}

#[test]
fn crates_name_only_the_siblings_they_may() {
    let metadata = metadata();
    let siblings: BTreeSet<&str> = RULES.iter().map(|rule| rule.package).collect();
    let mut faults = Vec::new();
    for rule in RULES {
        for dependency in &member(&metadata, rule.package).dependencies {
            let name = dependency.name.as_str();
            if siblings.contains(name) && !rule.may_use.contains(&name) {
                faults.push(format!("{} -> {name} ({})", rule.package, dependency.kind));
            }
        }
    }
    assert!(faults.is_empty(), "arrows that must not be: {faults:#?}");
}

#[test]
fn chain_and_sql_crates_are_named_only_by_their_adapters() {
    let metadata = metadata();
    let mut faults = Vec::new();
    for package in metadata.workspace_packages() {
        for dependency in &package.dependencies {
            for (family, owners) in RESERVED {
                if belongs(&dependency.name, family) && !owners.contains(&package.name.as_str()) {
                    faults.push(format!("{} -> {}", package.name, dependency.name));
                }
            }
        }
    }
    assert!(
        faults.is_empty(),
        "only an adapter may name these: {faults:#?}"
    );
}

#[test]
fn crates_reach_nothing_they_must_never_contain() {
    let mut faults = Vec::new();
    for rule in RULES {
        for way in ways_from(rule.package) {
            let reached = way.last().map(String::as_str).unwrap_or_default();
            if rule
                .never_reaches
                .iter()
                .any(|family| belongs(reached, family))
            {
                faults.push(way.join(" -> "));
            }
        }
    }
    assert!(faults.is_empty(), "reachable, and must not be: {faults:#?}");
}

#[expect(clippy::expect_used, reason = "a test without its input must stop")]
fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(checkout().join("Cargo.toml"))
        .exec()
        .expect("cargo metadata reads the workspace")
}

#[expect(clippy::expect_used, reason = "a test without its input must stop")]
fn member<'m>(metadata: &'m Metadata, name: &str) -> &'m Package {
    metadata
        .workspace_packages()
        .into_iter()
        .find(|package| package.name == name)
        .expect("every rule has a crate, as the first test says")
}

/// `alloy` and `alloy-provider` are of the family `alloy`; `rand_core` is not of `rand`.
fn belongs(name: &str, family: &str) -> bool {
    name.strip_prefix(family)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The way from `package` to each crate its normal dependencies reach, on any platform.
///
/// From `cargo tree`, because `cargo metadata` merges the features of the whole workspace: there
/// the signer of the tests would put a random number generator under the pure crates.
#[expect(clippy::expect_used, reason = "a test without its input must stop")]
fn ways_from(package: &str) -> Vec<Vec<String>> {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree", "--edges", "normal", "--target", "all", "--prefix", "depth",
        ])
        .args(["--format", "{p}", "--package", package])
        .current_dir(checkout())
        .output()
        .expect("cargo runs");
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );

    let mut way = Vec::new();
    let mut ways = Vec::new();
    for line in String::from_utf8_lossy(&tree.stdout).lines() {
        let (depth, name) = depth_and_name(line).expect("a line is `<depth><name> v<version> …`");
        way.truncate(depth);
        way.push(name.to_owned());
        ways.push(way.clone());
    }
    assert!(
        !ways.is_empty(),
        "cargo tree lists at least {package} itself"
    );
    ways
}

fn depth_and_name(line: &str) -> Option<(usize, &str)> {
    let start = line.find(|c: char| !c.is_ascii_digit())?;
    let (name, _version) = line[start..].split_once(' ')?;
    Some((line[..start].parse().ok()?, name))
}
