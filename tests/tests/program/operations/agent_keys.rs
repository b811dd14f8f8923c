//! An auditor names the keys of agents, and an agent verifies its own part of a log against its own keys.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs;

use serde_json::Value;
use x811_protocol::key::SecretKey;
use x811_tests::binary::{Finished, run};

use super::place::Place;

/// A stopped ledger with a REQUEST of `ada`, who replaced her key, to `bert`.
fn rotated() -> Place {
    let place = Place::new();
    let server = place.serve();
    for name in ["ada", "bert"] {
        place.x811(&server, &["agent", "new", name]);
        let register = ["--agent", name, "agent", "register", "--capability", "echo"];
        place.x811(&server, &register);
    }
    place.x811(&server, &["agent", "rotate", "ada"]);
    place.request(&server);
    server.stop();
    place
}

fn own(place: &Place, words: &[&str]) -> Finished {
    let home = place.path("agents");
    run(&[&["--home", home.to_str().unwrap()], words].concat())
}

fn shown(place: &Place, name: &str, member: &str) -> String {
    let shown = own(place, &["--json", "agent", "show", name]).ok().json();
    shown["agents"][0][member].as_str().unwrap().to_owned()
}

fn counts(report: &Value) -> [u64; 3] {
    let of = |member: &str| report["agent_keys"][member].as_u64().unwrap();
    [of("proven"), of("asserted"), of("broken")]
}

#[test]
fn lc_9_an_agent_verifies_its_own_keys_in_a_log_with_one_command() {
    let place = rotated();
    let directory = place.data_dir();
    let log = directory.to_str().unwrap();
    let audited = own(&place, &["--json", "audit", log, "--agent-key", "ada"]);
    assert_eq!(counts(&audited.unverified().json()), [1, 1, 0]);
    let text = own(&place, &["audit", log, "--agent-key", "ada"]);
    let text = text.unverified().stdout;
    let attested = "attested by the ledger only: the keys of did:x811:";
    assert_eq!(text.matches(attested).count(), 1, "{text}");
    assert!(text.contains(&shown(&place, "bert", "did")), "{text}");

    let known = ["ada", "bert"].map(|name| {
        let (did, key) = (shown(&place, name, "did"), shown(&place, name, "key"));
        format!("{did}={key}")
    });
    let file = place.path("known");
    fs::write(&file, format!("# ours\n{}\n", known.join("\n"))).unwrap();
    let named = ["--agent-keys", file.to_str().unwrap()];
    let audited = run(&[&["--json", "audit", log], &named[..]].concat());
    assert_eq!(counts(&audited.unverified().json()), [2, 0, 0]);
}

/// The operator registered another key and signed everything by it: the log is clean by itself.
#[test]
fn lc_9_a_log_that_gives_an_agent_another_key_is_broken() {
    let place = rotated();
    let directory = place.data_dir();
    let log = directory.to_str().unwrap();
    let real = SecretKey::from_seed([3; 32]).public();
    let known = format!("{}={real}", shown(&place, "bert", "did"));
    let refused = run(&["--json", "audit", log, "--agent-key", &known]);
    assert_eq!(refused.code, Some(20), "{refused:?}");
    let report = refused.json();
    assert_eq!(counts(&report), [0, 1, 1]);
    assert_eq!(report["findings"][0]["cause"], "agent_key_differs");

    for wrong in ["bert", "nobody=z6Mk", "did:x811:1"] {
        let refused = run(&["--json", "audit", log, "--agent-key", wrong]);
        assert!(matches!(refused.code, Some(2 | 4)), "{refused:?}");
    }
    let two = ["--agent-key", "x=y", "--agent-key", "Z"];
    let refused = run(&[&["--json", "audit", log], &two[..]].concat());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let message = refused.json()["error"]["message"].to_string();
    assert!(
        message.contains("x=y") && message.contains("Z is not DID=KEY"),
        "{message}"
    );
}
