//! How little a new machine touches (ARCHITECTURE.md, "A machine"): a small one, which is in no build, is laid
//! into a copy of the crates, compiled there, and runs through submission, lapse, effect, row, notice, bundle,
//! audit and root.
//!
//! `tests/trial/machine` has the files of its own, where they would lie in `crates`, with its story.
//! `tests/trial/arms.txt` has what it adds to files that exist.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines that stand over a block of files in ARCHITECTURE.md: what knows every machine, and what such a
/// machine has lines in besides.
const KNOWS_ALL: &str = "These files know every machine:";
const HAS_LINES: &str = "with a message, a window and an effect has lines in these too:";

/// What a build of the ledger reads: the members that are not built are there for their manifests.
const COPIED: [&str; 7] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "crates",
    "tests/Cargo.toml",
    "tests/src",
    "tests/tests",
];

const STORY: &str = "ledger/tests/trial/main.rs";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files by their paths below some folder.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn read(folder: &Path, path: &Path, into: &mut Files) {
    let at = folder.join(path);
    if !at.is_dir() {
        into.insert(path.to_owned(), fs::read(&at).unwrap());
        return;
    }
    for entry in fs::read_dir(&at).unwrap() {
        read(folder, &path.join(entry.unwrap().file_name()), into);
    }
}

/// The files of the machine's own, by their paths below `crates`.
fn own() -> Files {
    let folder = root().join("tests/trial/machine");
    let mut files = Files::new();
    read(&folder, Path::new(""), &mut files);
    files
}

/// What it adds to files that exist, by their paths below `crates`.
fn arms() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join("tests/trial/arms.txt")).unwrap();
    let files = text.split("\n== ").skip(1);
    let of_file = |file: &str| {
        let (path, arms) = file.split_once('\n').unwrap();
        let arms = arms.split("\n--\n").map(str::to_owned);
        (path.to_owned(), arms.collect())
    };
    files.map(of_file).collect()
}

/// A text without white space, and where each of its characters stood.
fn squeezed(text: &str) -> (String, Vec<usize>) {
    let characters = text.char_indices().filter(|(_, c)| !c.is_whitespace());
    let (places, text) = characters.unzip();
    (text, places)
}

/// The source with what stands between the brackets of an arm, at the one place that has what stands around
/// them; how lines are broken makes no difference.
fn laid_in(source: &str, arm: &str) -> Result<String, String> {
    let pieces: Vec<&str> = arm.split(['⟦', '⟧']).collect();
    if pieces.len() < 3 || pieces.len().is_multiple_of(2) {
        return Err("nothing stands between ⟦ and ⟧".to_owned());
    }
    let (source_text, places) = squeezed(source);
    let (around, _) = squeezed(&pieces.iter().step_by(2).copied().collect::<String>());
    let found: Vec<usize> = source_text
        .match_indices(&around)
        .map(|(at, _)| at)
        .collect();
    let [at] = found[..] else {
        return Err(format!(
            "the text around the brackets stands there {} times, and has to stand there once: the file has \
             changed at that place. Write the text as it is now, or more of it until it is the only one",
            found.len()
        ));
    };
    let mut passed = source_text[..at].chars().count();
    let (mut result, mut copied) = (String::new(), 0);
    for (number, piece) in pieces.iter().enumerate() {
        if number.is_multiple_of(2) {
            passed += squeezed(piece).1.len();
            continue;
        }
        let until = match passed.checked_sub(1) {
            Some(last) if number > 1 || !squeezed(pieces[0]).0.is_empty() => {
                let after = source[places[last]..].chars().next().unwrap();
                places[last] + after.len_utf8()
            }
            Some(_) | None => places[passed],
        };
        result += &source[copied..until];
        result += &format!("\n{piece}\n");
        copied = until;
    }
    Ok(result + &source[copied..])
}

/// The copy with the machine in it.
fn with_machine() -> Files {
    let mut files = Files::new();
    for path in COPIED {
        read(&root(), Path::new(path), &mut files);
    }
    let crates = Path::new("crates");
    for (path, arms) in arms() {
        let file = files.get_mut(&crates.join(&path));
        let file = file.unwrap_or_else(|| panic!("arms.txt: there is no crates/{path}"));
        let mut source = String::from_utf8(file.clone()).unwrap();
        for arm in arms {
            source = laid_in(&source, &arm)
                .unwrap_or_else(|why| panic!("tests/trial/arms.txt, crates/{path}: {why}.\n{arm}"));
        }
        *file = source.into_bytes();
    }
    for (path, own) in own() {
        let before = files.insert(crates.join(&path), own);
        assert!(
            before.is_none(),
            "crates/{} is there already",
            path.display()
        );
    }
    files
}

/// The files in the block of ARCHITECTURE.md under that line.
fn block(heading: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let Some((_, after)) = text.split_once(heading) else {
        panic!("ARCHITECTURE.md has no line {heading:?}");
    };
    let block = after.split("```").nth(1).unwrap();
    let files = block.split_whitespace().skip(1);
    files.map(str::to_owned).collect()
}

/// Makes the folder hold these files. What has not changed keeps its time, so that it is not compiled again.
fn put(folder: &Path, files: &Files) {
    let mut present = Files::new();
    if folder.exists() {
        read(folder, Path::new(""), &mut present);
    }
    for path in present.keys().filter(|path| !files.contains_key(*path)) {
        fs::remove_file(folder.join(path)).unwrap();
    }
    for (path, text) in files {
        if present.get(path) != Some(text) {
            let at = folder.join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, text).unwrap();
        }
    }
}

#[test]
fn the_trial_machine_touches_no_file_that_architecture_md_does_not_name() {
    let touched: BTreeSet<String> = arms().into_iter().map(|(path, _)| path).collect();
    let (every, these) = (block(KNOWS_ALL), block(HAS_LINES));
    let unnamed: Vec<&String> = touched
        .iter()
        .filter(|path| !every.contains(*path) && !these.contains(*path))
        .collect();
    assert!(
        unnamed.is_empty(),
        "a machine has lines in these, and ARCHITECTURE.md does not say so: {unnamed:?}. Let a file that it \
         names answer for them, or name them"
    );
    let gone: Vec<&String> = these.difference(&touched).collect();
    assert!(gone.is_empty(), "no lines are in these any more: {gone:?}");
    with_machine();
}

/// Minutes where nothing is built yet, seconds where nothing has changed (decision 0272).
#[test]
#[ignore = "compiles the ledger's crates once more: part trial of scripts/test.sh --full"]
fn the_trial_machine_runs_from_submission_to_root() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trial");
    let source = folder.join("source");
    put(&source, &with_machine());
    let run = Command::new(env!("CARGO"))
        .args("test --offline --locked --package x811-ledger --test trial".split(' '))
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .current_dir(&source)
        .output()
        .unwrap();
    let [said, errors] = [run.stdout, run.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(
        run.status.success(),
        "a machine that ran before does not run any more. Where the compiler asks for an arm, put it into \
         tests/trial/arms.txt; where a story fails, nothing asks for what is missing: let something ask.\n\
         {said}\n{errors}"
    );
    let story = String::from_utf8(own()[Path::new(STORY)].clone()).unwrap();
    let parts = story.matches("#[tokio::test]").count();
    assert!(parts > 0);
    let passed = format!("test result: ok. {parts} passed; 0 failed; 0 ignored");
    assert!(said.contains(&passed), "{said}");
}

#[test]
fn an_arm_is_laid_in_at_one_place_however_lines_are_broken() {
    let source = "match it {\n    One(_) |\n    Two(_) => 1,\n}\n";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let at_end = laid_in(source, "One(_) | Two(_) ⟦| Three(_)⟧ => 1,").unwrap();
    assert_eq!(
        words(&at_end),
        "match it { One(_) | Two(_) | Three(_) => 1, }"
    );
    let in_front = laid_in(source, "⟦Zero => 0,⟧ One(_) |").unwrap();
    assert_eq!(
        words(&in_front),
        "match it { Zero => 0, One(_) | Two(_) => 1, }"
    );
    let both = laid_in(source, "⟦Zero |⟧ One(_) | Two(_) ⟦| Three⟧").unwrap();
    assert_eq!(
        words(&both),
        "match it { Zero | One(_) | Two(_) | Three => 1, }"
    );
    for (arm, says) in [
        ("Four(_) ⟦| Three(_)⟧ => 1", "0 times"),
        ("(_) ⟦| Three(_)⟧", "2 times"),
        ("Two(_)", "nothing stands"),
    ] {
        let why = laid_in(source, arm).unwrap_err();
        assert!(why.contains(says), "{why}");
    }
}
