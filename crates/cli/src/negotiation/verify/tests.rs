//! The verb over files that the published SDK made, and over what it did not.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::*;

const CHAIN: &str = include_str!("../../../../client/tests/vectors/xap/xap-sdk.json");
const KEYS: &str = include_str!("../../../../client/tests/vectors/xap/keys.json");

/// How the verb ends, and what it says.
fn verified(chain: &[u8], keys: Option<&str>, json: bool) -> (Result<Exit, Failure>, String) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("chain.json");
    fs::write(&file, chain).unwrap();
    let keys = keys.map(|text| {
        let file = folder.path().join("keys.json");
        fs::write(&file, text).unwrap();
        file
    });
    let (mut out, said, _) = Out::captured(json);
    let exit = run(Args { file, keys }, &mut out);
    (exit, said.text())
}

#[test]
fn xn_7_the_exit_code_says_what_is_proven() {
    let (exit, said) = verified(CHAIN.as_bytes(), Some(KEYS), false);
    assert_eq!(exit, Ok(Exit::Ok));
    assert!(said.starts_with("the chain holds: accepted\n"), "{said}");
    assert_eq!(said.matches("xap-sdk").count(), 1, "named once: {said}");

    let (exit, said) = verified(CHAIN.as_bytes(), None, false);
    assert_eq!(exit, Ok(Exit::Unverified));
    assert!(said.contains("--keys FILE"), "{said}");

    let one_key = KEYS.replace("agent_a1a1a1a1", "agent_00000000");
    let (exit, said) = verified(CHAIN.as_bytes(), Some(&one_key), false);
    assert_eq!(exit, Ok(Exit::Unverified));
    assert!(said.contains("lacks their agent"), "{said}");
}

#[test]
fn xn_7_the_first_bad_step_is_named_by_its_index() {
    let changed = CHAIN.replace("\"amount_minor_units\":900", "\"amount_minor_units\":901");
    let (exit, said) = verified(changed.as_bytes(), Some(KEYS), false);
    assert_eq!(exit, Ok(Exit::Findings));
    assert!(
        said.contains("step 1:") && said.contains("step 0 holds"),
        "{said}"
    );
    let (exit, said) = verified(changed.as_bytes(), None, true);
    assert_eq!(exit, Ok(Exit::Findings));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&said["verdict"], &said["step"]),
        (&"broken".into(), &2.into())
    );
    assert_eq!(said["profile"], "xap-sdk");
}

#[test]
fn text_of_a_chain_reaches_no_terminal_as_it_is() {
    let evil = CHAIN.replacen("\"state\"", "\"\\u001b[2J\\u202e\":1,\"state\"", 1);
    for json in [false, true] {
        let (exit, said) = verified(evil.as_bytes(), Some(KEYS), json);
        assert_eq!(exit, Ok(Exit::Findings));
        let is_hidden = |c: char| c == '\u{1b}' || c == '\u{202e}';
        assert!(said.contains("[2J") && !said.contains(is_hidden), "{said}");
    }
}

#[test]
fn what_is_no_chain_and_what_is_no_file_of_keys_is_said() {
    let large = [CHAIN.as_bytes(), &vec![b' '; 10 << 20]].concat();
    for (chain, code) in [
        (&large[..], "no_chain"),
        (b"[]", "no_chain"),
        (b"{", "no_chain"),
    ] {
        let failure = verified(chain, Some(KEYS), false).0.unwrap_err();
        assert_eq!((failure.exit, failure.code.as_str()), (Exit::Local, code));
    }
    let failure = verified(CHAIN.as_bytes(), Some("[]"), false).0.unwrap_err();
    assert_eq!((failure.exit, failure.code.as_str()), (Exit::Local, "keys"));
    let (mut out, ..) = Out::captured(false);
    let nowhere = Args {
        file: "no-such-file.json".into(),
        keys: None,
    };
    let failure = run(nowhere, &mut out).unwrap_err();
    assert_eq!(failure.code, "file");
}
