//! Rules over the source itself that no lint can say: short files, no leftovers, no clock in the
//! pure crates, names that mean something, nothing that ties the code to one machine.

mod sleeps;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use x811_tests::anvil::checkout;

const MAX_FILE_LINES: usize = 700;
const SOURCE_ROOTS: [&str; 2] = ["crates", "tests"];
const PURE_CRATES: [&str; 2] = ["crates/protocol/", "crates/eventlog/"];
/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] = [
    "utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff",
];

// Split, so that this file does not contain what it forbids.
const ALLOW_ATTRIBUTES: [&str; 2] = [concat!("#[", "allow("), concat!("#![", "allow(")];
const LEFTOVERS: [&str; 4] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];
const CLOCKS: [&str; 2] = [concat!("SystemTime", "::now"), concat!("Instant", "::now")];
const MACHINE_PATHS: [&str; 4] = [
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
];

struct SourceFile {
    /// From the checkout, with `/`.
    path: String,
    text: String,
}

#[test]
fn files_stay_short() {
    let faults: Vec<String> = sources()
        .iter()
        .map(|file| (file.text.lines().count(), &file.path))
        .filter(|(lines, _)| *lines > MAX_FILE_LINES)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert!(
        faults.is_empty(),
        "split these, at most {MAX_FILE_LINES} lines: {faults:#?}"
    );
}

#[test]
fn lints_are_expected_with_a_reason_never_allowed() {
    assert_absent(&ALLOW_ATTRIBUTES, |_| true);
}

#[test]
fn nothing_is_left_for_later() {
    let faults: Vec<String> = lines_of(&sources())
        .filter(|(_, line)| LEFTOVERS.iter().any(|word| has_word(line, word)))
        .map(|(place, line)| format!("{place}: {}", line.trim()))
        .collect();
    assert!(
        faults.is_empty(),
        "finish it, or file an issue: {faults:#?}"
    );
}

#[test]
fn pure_crates_read_no_clock() {
    assert_absent(&CLOCKS, |path| {
        PURE_CRATES.iter().any(|pure| path.starts_with(pure))
    });
}

#[test]
fn no_path_of_one_machine() {
    assert_absent(&MACHINE_PATHS, |_| true);
}

#[test]
fn names_say_what_is_inside() {
    let mut faults = BTreeSet::new();
    for file in sources() {
        for part in file.path.split('/') {
            if EMPTY_NAMES.contains(&part.trim_end_matches(".rs")) {
                faults.insert(file.path.clone());
            }
        }
        for name in file.text.lines().filter_map(declared_module) {
            if EMPTY_NAMES.contains(&name) {
                faults.insert(format!("{}: mod {name}", file.path));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "name these for what they hold: {faults:#?}"
    );
}

/// What the list of incidents has to hold, each as its tests are named (tests/INCIDENTS.md).
const INCIDENTS: [&str; 24] = [
    "bit_flip_in_a_stored_entry_before_signing_yeti",
    "write_fails_and_the_reload_fails_too_raio",
    "restored_backup_is_refused_until_a_newer_one_is_there_trustasia",
    "restored_backup_signs_a_fork_venafi",
    "row_lost_in_migration_oak",
    "clock_skew_mammoth",
    "directory_fsync_on_an_evicted_inode_tessera_749",
    "disk_full_then_restart_kurrentdb_3642",
    "segment_before_the_last_never_verified_kurrentdb_1653",
    "audit_that_compares_roots_only_immudb_2063_2091",
    "more_pending_than_the_limit_at_crash_immudb_1_11_1",
    "special_characters_in_hashed_text_ledger_787",
    "two_tenants_share_a_key_space_ledger_1413",
    "reader_passes_an_invisible_position_marten_4964",
    "ack_without_persist_eventuous_553",
    "same_id_appended_twice_umadb_6",
    "same_id_appended_twice_after_the_keys_ttl_f3",
    "separator_injection_in_the_pre_image_blnk",
    "forged_proof_shape_immudb_ghsa",
    "path_parser_panic_tlog_tiles",
    "receipts_unverifiable_after_key_change_ccf_3343",
    "notices_unverifiable_after_key_change_ccf_3343",
    "a_checkpoint_by_another_key_or_of_another_log_rekor_2069",
    "a_ledger_without_its_disk_is_refused",
];

#[test]
fn every_incident_is_listed_with_its_test() {
    const PREFIX: &str = "incident_";
    let list = fs::read_to_string(checkout().join("tests/INCIDENTS.md")).expect("it is kept");
    let quoted = list.split('`').filter(|part| part.starts_with(PREFIX));
    let listed: BTreeSet<String> = quoted.map(str::to_owned).collect();
    let sources = sources();
    let tests: BTreeSet<String> = lines_of(&sources)
        .filter_map(|(_, line)| {
            let (_, name) = line.split_once(concat!("fn ", "incident_"))?;
            Some(format!("{PREFIX}{}", name.split('(').next()?))
        })
        .collect();
    assert_eq!(listed, tests);
    let missing = INCIDENTS.map(|name| format!("{PREFIX}{name}"));
    let missing = missing.iter().filter(|name| !tests.contains(*name));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn every_rule_of_settlement_is_listed_with_its_tests() {
    let list = fs::read_to_string(checkout().join("tests/SETTLEMENT.md")).expect("it is kept");
    let (rules, cases) = list
        .split_once("## Tests to write first")
        .expect("three tables");
    let (cases, faults) = cases
        .split_once("## What went wrong once")
        .expect("three tables");
    let tests = names_of_tests(&sources());
    let mut listed = Vec::new();
    for row in rules.lines().chain(cases.lines()).chain(faults.lines()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, first, .., named, _] = cells.as_slice() else {
            continue;
        };
        if first.starts_with("---") || ["rule", "case", "what happened"].contains(first) {
            continue;
        }
        listed.extend(first.parse::<u64>());
        let named: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test defends {row}");
        let missing: Vec<&&str> = named
            .iter()
            .filter(|name| !tests.contains(**name))
            .collect();
        assert!(missing.is_empty(), "{missing:?} are no tests");
    }
    assert_eq!(listed, (1..=31).collect::<Vec<u64>>());
    let cases = cases.lines().filter(|row| row.contains('`')).count();
    assert_eq!(cases, 23, "22 tests and the property");
    let faults = faults
        .lines()
        .filter(|row| row.starts_with("| ") && row.contains('`'));
    assert_eq!(faults.count(), 13);
}

/// The names of all functions that are run as tests.
fn names_of_tests(sources: &[SourceFile]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut is_test = false;
    for (_, line) in lines_of(sources) {
        let line = line.trim_start();
        if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else if let Some((_, rest)) = line.split_once("fn ")
            && std::mem::take(&mut is_test)
            && let Some(name) = rest.split('(').next()
        {
            names.insert(name.to_owned());
        }
    }
    names
}

#[test]
fn every_crate_root_says_why_it_exists() {
    let roots: Vec<SourceFile> = sources()
        .into_iter()
        .filter(|file| is_crate_root(&file.path))
        .collect();
    assert!(
        roots.len() >= 9,
        "eight crates and the tests package have a root: {}",
        roots.len()
    );
    let faults: Vec<&str> = roots
        .iter()
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| file.path.as_str())
        .collect();
    assert!(faults.is_empty(), "start these with `//!`: {faults:#?}");
}

fn assert_absent(forbidden: &[&str], applies: impl Fn(&str) -> bool) {
    let sources: Vec<SourceFile> = sources()
        .into_iter()
        .filter(|file| applies(&file.path))
        .collect();
    assert!(
        !sources.is_empty(),
        "the rule looks at no file: its paths are out of date"
    );
    let faults: Vec<String> = lines_of(&sources)
        .filter(|(_, line)| forbidden.iter().any(|text| line.contains(text)))
        .map(|(place, line)| format!("{place}: {}", line.trim()))
        .collect();
    assert!(
        faults.is_empty(),
        "{forbidden:?} must not be in: {faults:#?}"
    );
}

fn lines_of(sources: &[SourceFile]) -> impl Iterator<Item = (String, &str)> {
    sources.iter().flat_map(|file| {
        file.text
            .lines()
            .enumerate()
            .map(|(index, line)| (format!("{}:{}", file.path, index + 1), line))
    })
}

/// Whether `word` stands alone in `line`, not inside a longer identifier or a base58 key.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}

/// The name in `mod name {` or `pub(crate) mod name;`.
fn declared_module(line: &str) -> Option<&str> {
    let (before, after) = line.trim().split_once("mod ")?;
    let is_declaration = before.is_empty() || before.starts_with("pub");
    let name = after.trim_end_matches(['{', ';', ' ']);
    is_declaration.then_some(name)
}

fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts[..],
        ["crates", _, "src", "lib.rs" | "main.rs"] | ["tests", "src", "lib.rs"]
    )
}

fn sources() -> Vec<SourceFile> {
    let mut found = Vec::new();
    for root in SOURCE_ROOTS {
        walk(&checkout().join(root), &mut found);
    }
    assert!(
        !found.is_empty(),
        "no source was found in {}",
        checkout().display()
    );
    found
}

#[expect(clippy::expect_used, reason = "a test without its input must stop")]
fn walk(folder: &Path, found: &mut Vec<SourceFile>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder can be listed")
        .map(|entry| entry.expect("the folder can be listed").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path
                .strip_prefix(checkout())
                .expect("the walk starts in the checkout");
            let text = fs::read_to_string(&path).expect("source is UTF-8");
            found.push(SourceFile {
                path: relative.to_string_lossy().replace('\\', "/"),
                text,
            });
        }
    }
}
