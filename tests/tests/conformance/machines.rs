//! What a new machine touches (ARCHITECTURE.md, "A machine"): the files that know every machine there is are
//! the ones that the list names, and no others. A list that nobody holds to the source is wrong within a month.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use x811_world::Subjects;

/// Machines besides `interaction`, as identifiers begin with them.
fn machines() -> impl Iterator<Item = &'static str> {
    let kinds = Subjects::KINDS.iter().copied();
    kinds.filter(|kind| *kind != "interaction")
}

/// Who knows all but one of them has an arm, a field or a line for each; the one that is missing has no such
/// thing, as no message is about conduct.
fn knows_all(source: &str) -> bool {
    known(source) + 1 >= machines().count()
}

/// The block under this line names them.
const HEADING: &str = "These files know every machine:";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Without comments, texts, and the tests at its end.
fn code(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    let outside = |line: &str| -> String { line.split('"').step_by(2).collect() };
    lines.map(|line| outside(line) + "\n").collect()
}

/// Whether an identifier begins with that machine's name: `RoundId`, `rounds`, `round_window`.
fn is_of(identifier: &str, machine: &str) -> bool {
    let (first, rest) = identifier.split_at_checked(1).unwrap_or_default();
    let lower = first.to_ascii_lowercase() + rest;
    lower.strip_prefix(machine).is_some_and(|rest| {
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        rest.chars()
            .next()
            .is_none_or(|next| next == '_' || next.is_ascii_uppercase())
    })
}

/// How many machines the source knows.
fn known(source: &str) -> usize {
    let code = code(source);
    let identifiers = code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let identifiers: BTreeSet<&str> = identifiers.collect();
    let is_known = |machine: &&str| identifiers.iter().any(|one| is_of(one, machine));
    machines().filter(is_known).count()
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Every file of a crate's own code that knows them, as ARCHITECTURE.md writes it.
fn found() -> BTreeSet<String> {
    let crates = root().join("crates");
    let mut files = Vec::new();
    for member in fs::read_dir(&crates).unwrap() {
        sources(&member.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 500, "{}", files.len());
    let all = files
        .iter()
        .filter(|file| knows_all(&fs::read_to_string(file).unwrap()));
    let named = all.map(|file| {
        let file = file.strip_prefix(&crates).unwrap();
        file.to_str().unwrap().to_owned()
    });
    named.collect()
}

fn listed() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let Some((_, after)) = text.split_once(HEADING) else {
        panic!("ARCHITECTURE.md has no line {HEADING:?}");
    };
    let block = after.split("```").nth(1).unwrap();
    let files = block.split_whitespace().skip(1);
    files.map(str::to_owned).collect()
}

#[test]
fn what_a_machine_touches_is_the_list_of_architecture_md() {
    let (found, listed) = (found(), listed());
    let unlisted: Vec<&String> = found.difference(&listed).collect();
    assert!(
        unlisted.is_empty(),
        "these know every machine, and ARCHITECTURE.md does not say so: {unlisted:?}. Let one function that \
         is in the list answer for them, or add them to it"
    );
    let gone: Vec<&String> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "these need no arm any more: {gone:?}");
}

#[test]
fn who_knows_a_machine_is_seen_in_code_alone() {
    let arms = machines().map(|machine| {
        let (first, rest) = machine.split_at(1);
        format!(
            "Subject::{}{rest}(id) => {machine}(id),",
            first.to_uppercase()
        )
    });
    let arms: Vec<String> = arms.collect();
    assert_eq!(known(&arms.join("\n")), arms.len());
    let fields = "contracts, descriptors, sessions, agreements, rounds, conducts";
    assert_eq!(known(fields), arms.len());
    for nothing in [
        format!("// {fields}"),
        format!("let text = \"{fields}\";"),
        format!("#[cfg(test)]\nmod tests {{ {fields} }}"),
        "let contractor = rounded(sessional); // session".to_owned(),
    ] {
        assert_eq!(known(&nothing), 0, "{nothing}");
    }
}
