//! An auditor names whose checkpoints they trust, and the program asks that of every one.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use x811_eventlog::note::{CosignerKey, Note, NoteKey};
use x811_protocol::key::SecretKey;
use x811_tests::binary::{Finished, run, x811};

use super::place::Place;

fn witness() -> SecretKey {
    SecretKey::from_seed([3; 32])
}

fn cosigner() -> CosignerKey {
    CosignerKey::new("witness.example", *witness().public().as_bytes()).unwrap()
}

/// A ledger that was stopped, its interaction, and its checkpoint key as it publishes it.
fn stopped() -> (Place, String, String) {
    let (place, interaction) = Place::filled();
    let exported = place.over(&["export", "--tiles"], &["tiles", "ledger"]);
    let vkey = exported.ok().json()["vkey"].as_str().unwrap().to_owned();
    (place, interaction, vkey)
}

impl Place {
    /// Writes a policy.
    fn policy(&self, lines: &[&str]) -> String {
        let file = self.path("policy");
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// Cosigns the ledger's checkpoint, in a directory of its own.
    fn cosign(&self) {
        let note = fs::read_to_string(self.path("ledger-checkpoint/checkpoint")).unwrap();
        let mut note = Note::parse(&note).unwrap();
        let sign = |message: &[u8]| *witness().sign(message).as_bytes();
        note.cosign(&cosigner(), 1_767_225_600, sign).unwrap();
        fs::create_dir(self.path("cosigned")).unwrap();
        fs::write(self.path("cosigned/checkpoint"), note.encode()).unwrap();
    }

    /// The log under the checkpoint of that directory, as a file.
    fn exported(&self, checkpoint_dir: &str) -> String {
        let name = format!("{checkpoint_dir}.x811");
        let directory = self.path(checkpoint_dir);
        let named = ["export", "--checkpoint-dir", directory.to_str().unwrap()];
        let _ = self
            .over(&[&named[..], &["-o"]].concat(), &[&name, "ledger"])
            .ok();
        self.path(&name).to_str().unwrap().to_owned()
    }
}

fn audit(source: &str, more: &[&str]) -> Finished {
    run(&[&["--json", "audit", source], more].concat())
}

fn causes(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["cause"].as_str().unwrap())
        .collect()
}

#[test]
fn an_audit_asserts_whose_log_it_is_until_somebody_is_trusted() {
    let (place, interaction, vkey) = stopped();
    let bundle = place.path("bundle.x811").to_str().unwrap().to_owned();
    let _ = place
        .over(
            &["export", "--interaction", &interaction, "-o"],
            &["bundle.x811", "ledger"],
        )
        .ok();
    let policy = place.policy(&[&format!("log {vkey}"), "quorum none"]);
    let log = place.exported("ledger-checkpoint");
    let directory = place.data_dir().to_str().unwrap().to_owned();
    for source in [&log, &bundle, &directory] {
        let unasked = audit(source, &[]).unverified().json();
        assert_eq!(unasked["trust"]["verdict"], "asserted", "{unasked}");
        assert_eq!(unasked["trust"]["checkpoint_vkey"], vkey, "{unasked}");
        for named in [["--key", &vkey], ["--policy", &policy]] {
            let report = audit(source, &named).ok().json();
            assert_eq!(report["trust"]["verdict"], "proven", "{report}");
            let covered = &report["trust"]["records_proven"];
            assert_eq!(*covered, report["records"], "{report}");
        }
    }
    let text = run(&["audit", &log]).unverified().stdout;
    for part in [
        "whose log this is: asserted, by the file alone",
        &format!("{vkey} (taken from the file)"),
        "give that with --key or --policy",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    for (named, given, held) in [
        (["--key", &vkey], "key", "as you gave it"),
        (["--policy", &policy], "policy", "as your policy has it"),
    ] {
        let text = run(&[&["audit", &log], &named[..]].concat()).ok().stdout;
        for part in [
            &format!("whose log this is: proven, by your {given}"),
            &format!("{vkey} ({held})"),
            &format!("proven by your {given}: whose log this is"),
        ] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
    }
}

#[test]
fn an_audit_refuses_another_ledgers_key_and_says_so_everywhere() {
    let (place, _, vkey) = stopped();
    let log = place.exported("ledger-checkpoint");
    let (name, _) = vkey.split_once('+').unwrap();
    // By its name it may be a later key of this ledger's: a file that ends before says nothing of it.
    let later = NoteKey::new(name, *witness().public().as_bytes()).unwrap();
    let asserted = audit(&log, &["--key", &later.to_vkey()]).unverified();
    assert_eq!(asserted.json()["trust"]["verdict"], "asserted");

    let other = NoteKey::new("other.example", *witness().public().as_bytes()).unwrap();
    let page = place.path("page.html");
    let named = ["--key", &other.to_vkey(), "--html", page.to_str().unwrap()];
    let refused = audit(&log, &named);
    assert_eq!(refused.code, Some(20), "{refused:?}");
    let report = refused.json();
    assert_eq!(causes(&report), ["checkpoint_not_trusted"], "{report}");
    assert_eq!(report["trust"]["verdict"], "broken", "{report}");
    let page = fs::read_to_string(page).unwrap();
    for part in ["Whose log this is: BROKEN", "checkpoint not trusted"] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
    let text = run(&["audit", &log, "--key", &other.to_vkey()]);
    assert_eq!(text.code, Some(20), "{text:?}");
    assert!(text.stdout.contains("BROKEN: 1 thing is wrong"));
    assert!(text.stdout.contains(&vkey), "whose it is by the file");

    for (named, code) in [
        (["--key", "no-key"], 2),
        (["--policy", "/no/such/policy"], 4),
    ] {
        assert_eq!(audit(&log, &named).code, Some(code), "{named:?}");
    }
}

#[test]
fn an_audit_asks_for_the_witnesses_of_its_policy() {
    let (place, _, vkey) = stopped();
    place.cosign();
    let policy = place.policy(&[
        &format!("log {vkey}"),
        &format!("witness w {}", cosigner().to_vkey()),
        "quorum w",
    ]);
    let named = ["--policy", policy.as_str()];
    let refused = audit(&place.exported("ledger-checkpoint"), &named);
    assert_eq!(refused.code, Some(20), "{refused:?}");
    assert_eq!(causes(&refused.json()), ["checkpoint_not_trusted"]);

    let report = audit(&place.exported("cosigned"), &named).ok().json();
    assert_eq!(report["trust"]["cosigned"][0]["witness"], "w", "{report}");
    let cosigned = place.path("cosigned");
    let elsewhere = ["--checkpoint-dir", cosigned.to_str().unwrap()];
    let directory = place.data_dir();
    let directory = directory.to_str().unwrap();
    let report = audit(directory, &[&named[..], &elsewhere].concat());
    assert_eq!(report.ok().json()["trust"]["verdict"], "proven");

    // Without a checkpoint a policy has nothing to say.
    let copy = place.path("copy");
    copy_files(&place.data_dir(), &copy);
    let report = audit(copy.to_str().unwrap(), &named);
    assert_eq!(report.code, Some(22), "{report:?}");
    assert_eq!(report.json()["undecided"][0]["gap"], "no_checkpoint");
}

#[test]
fn an_audit_of_a_file_takes_no_directory_for_its_checkpoint() {
    let (place, _, vkey) = stopped();
    let log = place.exported("ledger-checkpoint");
    let elsewhere = place.path("ledger-checkpoint");
    let elsewhere = elsewhere.to_str().unwrap();
    for hashes in [&[][..], &["--hash-only"]] {
        let words = [&["--checkpoint-dir", elsewhere], hashes].concat();
        let refused = audit(&log, &words);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let message = refused.json()["error"]["message"].to_string();
        assert!(message.contains("goes with a data directory"), "{message}");
    }
    // What is set for every command is not meant for this file.
    let audited = Command::new(x811())
        .args(["--json", "audit", &log, "--key", &vkey])
        .env("X811_CHECKPOINT_DIR", elsewhere)
        .output();
    let report = Finished::from(audited.unwrap()).ok().json();
    assert_eq!(report["trust"]["verdict"], "proven", "{report}");
}

/// Those of a directory, without what is in folders.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn hashes_alone_are_asked_for_by_name_and_trust_is_asked_all_the_same() {
    let (place, interaction, vkey) = stopped();
    let bundle = place.path("bundle.x811").to_str().unwrap().to_owned();
    let export = ["export", "--interaction", &interaction, "-o"];
    let _ = place.over(&export, &["bundle.x811", "ledger"]).ok();
    let log = place.exported("ledger-checkpoint");
    let directory = place.data_dir().to_str().unwrap().to_owned();
    for source in [&log, &bundle, &directory] {
        let whole = audit(source, &[]).unverified().json();
        let hashes = audit(source, &["--hash-only", "--key", &vkey]).ok().json();
        for member in ["records", "head", "root", "checkpoints"] {
            assert_eq!(hashes[member], whole[member], "{member} of {source}");
        }
        assert_eq!(hashes["trust"]["verdict"], "proven", "{hashes}");
        assert_eq!(hashes["not_checked"][0], "signatures", "{hashes}");
    }
    let other = NoteKey::new("other.example", *witness().public().as_bytes()).unwrap();
    let refused = audit(&log, &["--hash-only", "--key", &other.to_vkey()]);
    assert_eq!(refused.code, Some(20), "{refused:?}");
    let page = ["--hash-only", "--html", "page.html"];
    assert_eq!(audit(&log, &page).code, Some(2), "no page of hashes alone");
}
