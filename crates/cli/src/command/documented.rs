//! What README and `docs/` tell people to type is what the command line takes.

use std::fs;
use std::path::Path;

use super::tests::{built, leaves};
use super::*;

const DID: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";
const ACCOUNT: &str = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F";

/// Words of the pages that stand for something of the reader's, and one such thing.
const STAND_INS: [(&str, &str); 12] = [
    ("$ID", ID),
    ("$BERT", DID),
    ("$WALLET", ACCOUNT),
    (
        "DID#KEY",
        "did:x811:019c8c61-8129-7511-9f31-aa5142e65448#z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw",
    ),
    ("DID", DID),
    ("SESSION", ID),
    ("agreement_id=AGREEMENT", "agreement_id=x"),
    ("AGREEMENT", ID),
    ("ROUND", ID),
    ("OTHER", ID),
    ("INTERACTION", ID),
    ("0x5a5A5a5a5A5a5a5a5a5A5a5a5A5a5a5A5A5A5A5A", ACCOUNT),
];

/// Whether a line begins as a command does and is none: a text that is signed, or what the demo prints.
fn is_none(line: &str) -> bool {
    line.ends_with(" v1") || line.starts_with("x811 demo: ")
}

/// Every page for people, with its name.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let pages = docs.map(|entry| entry.unwrap().path());
    let pages = pages.chain([root.join("README.md")]);
    let pages = pages.filter(|page| page.extension().is_some_and(|it| it == "md"));
    let text = |page: &Path| fs::read_to_string(page).unwrap();
    pages
        .map(|page| (page.display().to_string(), text(&page)))
        .collect()
}

/// The commands in the blocks of a page, each in one line.
fn commands(page: &str) -> Vec<String> {
    let (mut is_block, mut found, mut open) = (false, Vec::new(), String::new());
    for line in page.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
            continue;
        }
        let line = format!("{open}{}", line.trim().trim_start_matches("$ "));
        open.clear();
        if !is_block || !line.starts_with("x811 ") || is_none(&line) {
            continue;
        }
        match line.strip_suffix('\\') {
            Some(part) => part.clone_into(&mut open),
            None => found.push(line),
        }
    }
    found
}

/// A line as a shell splits it: quotes, and a comment at its end.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (None, '#') if word.is_none() => break,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(end), _) if letter == end => quote = None,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    let known = |word: &String| STAND_INS.iter().find(|(name, _)| name == word);
    let words = words.into_iter();
    words
        .map(|word| known(&word).map_or(word.clone(), |(_, thing)| (*thing).to_owned()))
        .collect()
}

/// Whoever types what the pages say is understood.
#[test]
fn every_command_of_the_pages_is_understood() {
    let mut count = 0;
    for (page, text) in pages() {
        for line in commands(&text) {
            // A long signature is shortened there.
            let mut words = words(&line.replace('…', ""));
            // The pages set X811_RPC_URL before.
            if words.iter().any(|word| word == "pay") {
                words.extend(["--rpc".to_owned(), "http://127.0.0.1:8545".to_owned()]);
            }
            if let Err(error) = Cli::read(words.into_iter().map(OsString::from)) {
                panic!("{page}: {line}\n{error}");
            }
            count += 1;
        }
    }
    assert!(count > 80, "{count} commands");
}

/// What the pages name in the text is there: `x811 receipt refresh`, say.
#[test]
fn every_verb_that_the_pages_name_is_there() {
    let built = built();
    let mut count = 0;
    for (page, text) in pages() {
        for named in text.split('`').skip(1).step_by(2) {
            let Some(verbs) = named.strip_prefix("x811 ").filter(|_| !is_none(named)) else {
                continue;
            };
            let mut command = &built;
            for word in verbs
                .split_whitespace()
                .map(|word| word.trim_end_matches(','))
            {
                if !command.has_subcommands()
                    || !word.starts_with(|it: char| it.is_ascii_lowercase())
                {
                    break;
                }
                command = command
                    .find_subcommand(word)
                    .unwrap_or_else(|| panic!("{page}: x811 {named}"));
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count} verbs");
}

/// A verb with an argument of the same id as an option of every command shadows it, and clap gives up on
/// whichever is read first: `x811 --agent bert capability conduct` once ended in a panic.
#[test]
fn cc_113_no_verb_shadows_an_option_of_every_command() {
    let globals = Cli::command();
    let globals = globals
        .get_arguments()
        .filter(|argument| argument.is_global_set());
    let globals: Vec<_> = globals.cloned().collect();
    assert_eq!(globals.len(), 4);
    let mut found = Vec::new();
    leaves(&built(), "", &mut found);
    for (verb, command) in found {
        for global in &globals {
            let known = command
                .get_arguments()
                .find(|argument| argument.get_id() == global.get_id());
            let long = known.and_then(clap::Arg::get_long);
            assert_eq!(long, global.get_long(), "{verb}: {}", global.get_id());
        }
    }
    for line in [
        format!("x811 --agent bert capability conduct {DID}"),
        "x811 capability conduct --agent bert".to_owned(),
        format!("x811 --agent op capability lift {DID}"),
    ] {
        let cli = Cli::read(words(&line).into_iter().map(OsString::from)).unwrap();
        assert!(cli.global.agent.is_some(), "{line}");
    }
}
