//! The command line holds together, and every verb can explain itself and speak JSON.

use clap::{CommandFactory, Parser};

use super::*;

const DID: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";
/// An account with its checksum.
const CONTRACT: &str = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F";
const HASH: &str = "0x00000000000000000000000000000000000000000000000000000000000000ab";

/// Every command that can be run, with the words that lead to it.
pub(super) fn leaves(
    command: &clap::Command,
    words: &str,
    found: &mut Vec<(String, clap::Command)>,
) {
    let words = format!("{words} {}", command.get_name()).trim().to_owned();
    let verbs: Vec<_> = command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
        .collect();
    if verbs.is_empty() {
        found.push((words, command.clone()));
        return;
    }
    for verb in verbs {
        leaves(verb, &words, found);
    }
}

pub(super) fn built() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_verb_has_help_and_json() {
    let mut found = Vec::new();
    leaves(&built(), "", &mut found);
    assert!(found.len() >= 16, "{found:?}");
    for (words, command) in found {
        assert!(command.get_about().is_some(), "{words} says what it does");
        let has_json = command
            .get_arguments()
            .any(|argument| argument.get_id() == "json");
        assert!(has_json, "{words} takes --json");
        for argument in command.get_arguments() {
            assert!(
                argument.get_help().is_some(),
                "{words}: {}",
                argument.get_id()
            );
        }
        let mut asked: Vec<&str> = words.split(' ').collect();
        asked.push("--help");
        let error = Cli::try_parse_from(asked).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{words}");
        assert_eq!(error.exit_code(), 0, "{words}");
    }
}

#[test]
fn the_help_names_the_exit_codes_and_the_json_error() {
    let help = built().render_help().to_string();
    for text in [
        "Exit codes:",
        "10  `provider paid`: not yet",
        "{\"error\": {",
    ] {
        assert!(help.contains(text), "{help}");
    }
}

#[test]
fn the_story_of_a_newcomer_parses() {
    let lines = [
        "agent new alice".to_owned(),
        "agent new bob --no-wallet --profile direct".to_owned(),
        "agent register bob --capability echo --capability sum --endpoint https://bob.example"
            .to_owned(),
        "agent update bob --capability sum --endpoint none --expires 2027-01-01T00:00:00Z"
            .to_owned(),
        "agent update --expires none".to_owned(),
        format!("agent binding bob --wallet {CONTRACT}"),
        format!("agent register bob --contract-wallet {CONTRACT}=0x01"),
        format!("agent update --contract-wallet {CONTRACT}=0x0102 --capability sum"),
        "agent rotate bob".to_owned(),
        "agent deactivate bob".to_owned(),
        "agent reactivate bob".to_owned(),
        "agent revoke bob --for-ever".to_owned(),
        "agent show".to_owned(),
        format!("agent show --did {DID}"),
        format!("send request --to {DID} --task echo --budget 0.05 --deadline 60"),
        format!(
            "send request --to {DID} --task echo --budget 0.05 --deadline 60 --policy threshold \
             --threshold 0.01 --param a=1 --param b=x --idempotency-key k"
        ),
        "inbox --wait 60 --json".to_owned(),
        format!("--agent bob send offer {ID} --price 0.029 --time 30 --deliverable echo"),
        format!("send accept {ID} --agent alice"),
        format!("send reject {ID} --code PRICE_TOO_HIGH --reason dear"),
        format!("send result {ID} --content hello"),
        format!("send result {ID} --file out.bin --url https://bob.example/out"),
        format!("send verify {ID}"),
        format!("send verify {ID} --dispute QUALITY --reason poor"),
        format!("send payment {ID} --tx {HASH} --network base"),
        format!("send error --to {DID} --code X811-9002 --message oops --related {ID}"),
        format!("send custom --to {DID} --type x811.ext/hello --payload {{}}"),
        format!("pay {ID} --rpc http://127.0.0.1:8545 --wait 5"),
        format!("history {ID} --ledger http://127.0.0.1:9"),
        format!("provider paid {ID} --json"),
        format!("provider paid --interaction {ID} --watch"),
        "provider paid --last 20".to_owned(),
    ];
    for line in lines {
        let words = std::iter::once("x811").chain(line.split_whitespace());
        if let Err(error) = Cli::try_parse_from(words) {
            panic!("{line}: {error}");
        }
    }
}

/// One name for the endpoint everywhere; what was written down with the earlier one still runs.
#[test]
fn every_verb_that_asks_an_endpoint_calls_it_rpc() {
    let mut found = Vec::new();
    leaves(&built(), "", &mut found);
    let mut asking = 0;
    for (words, command) in found {
        for argument in command.get_arguments() {
            let long = argument.get_long().unwrap_or_default();
            assert!(!long.contains("rpc-url"), "{words} --{long}");
            if long == "rpc" {
                asking += 1;
                let aliases = argument.get_all_aliases().unwrap_or_default();
                assert_eq!(aliases, ["rpc-url"], "{words}");
                let by_environment = argument.get_env() == Some("X811_RPC_URL".as_ref());
                let in_help = argument.get_help().is_some_and(|help| {
                    let help = help.to_string();
                    help.contains("X811_RPC_URL")
                });
                assert!(by_environment || in_help, "{words} reads X811_RPC_URL");
            }
        }
    }
    assert!(asking >= 3, "{asking} verbs have --rpc");
}

/// A number with a unit, or with a sign, is answered with what to write.
#[test]
fn a_number_that_is_none_is_told_how_to_write_it() {
    for (line, wanted) in [
        (
            format!("send offer {ID} --price 1 --time 1m"),
            "whole seconds",
        ),
        (
            format!("send offer {ID} --price 1 --time -1"),
            "whole seconds",
        ),
        (
            format!("send offer {ID} --price -1 --time 5"),
            "plain decimal amount",
        ),
        ("inbox --wait 1m".to_owned(), "whole seconds"),
        (
            format!("provider paid --last -1 --ledger {DID}"),
            "whole number",
        ),
        ("provider paid --last 0".to_owned(), "whole number"),
        (
            "agents list --trust-min 0.555".to_owned(),
            "at most two digits",
        ),
        (
            "provider paid --last 99999999999999999999".to_owned(),
            "whole number",
        ),
    ] {
        let words = std::iter::once("x811").chain(line.split_whitespace());
        let error = Cli::read(words.map(OsString::from)).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line}");
        let said = explained(&error);
        assert!(said.contains(wanted), "{line}: {said}");
        assert!(!said.contains("-- -1"), "{line}: {said}");
    }
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    let upper = ID.to_uppercase();
    let lines = [
        String::new(),
        "pay".to_owned(),
        "agent new Alice".to_owned(),
        "agent new ../alice".to_owned(),
        "agent update bob".to_owned(),
        "agent update bob --expires tomorrow".to_owned(),
        "agent revoke bob".to_owned(),
        format!("agent show alice --did {DID}"),
        format!("send request --to {DID} --task echo --budget -1 --deadline 60"),
        format!("send request --to {DID} --task echo --budget 0.0000001 --deadline 60"),
        format!("send request --to {DID} --task echo --budget 1e3 --deadline 60"),
        format!("send request --to {DID} --task echo --budget 1 --deadline 60 --policy maybe"),
        "send request --to bob --task echo --budget 1 --deadline 60".to_owned(),
        format!("history {upper}"),
        format!("send result {ID}"),
        format!("send result {ID} --content a --file b"),
        format!("send verify {ID} --dispute QUALITY"),
        format!("send verify {ID} --dispute UGLY --reason ugly"),
        format!("send payment {ID} --tx 0x12"),
        format!(
            "send payment {ID} --tx {HASH} --payer 0x{}",
            "aB".repeat(20)
        ),
        format!("send error --to {DID} --code X811-0000 --message oops"),
        format!("send custom --to {DID} --type hello"),
        format!("pay {ID} --rpc"),
    ];
    for line in lines {
        let words = std::iter::once("x811").chain(line.split_whitespace());
        let error = match Cli::try_parse_from(words) {
            Err(error) => error,
            Ok(cli) => panic!("{line}: {cli:?}"),
        };
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}
