//! What holds for every file that says whom a verifier trusts (C2SP tlog-policy). The input is a
//! policy, and behind a line `-` a signed checkpoint to hold against it.

use x811_audit::checkpoint_note::verifies;
use x811_eventlog::note::Note;
use x811_eventlog::policy::Trusted;
use x811_eventlog::{Checkpoint, Policy};

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let (policy, note) = text.split_once("\n-\n").unwrap_or((text, ""));
    for policy in [policy.to_owned(), format!("{policy}\n")] {
        match policy.parse::<Policy>() {
            Ok(policy) => check(&policy, note),
            Err(error) => {
                let said = error.to_string();
                assert!(!said.chars().any(char::is_control), "{said:?}");
            }
        }
    }
}

fn check(policy: &Policy, note: &str) {
    for log in policy.logs() {
        // Trust in the log alone asks for less.
        if let Ok(trusted) = Policy::of_log(log.clone()).check(note, verifies) {
            covers(&trusted, note);
        }
    }
    if let Ok(trusted) = policy.check(note, verifies) {
        covers(&trusted, note);
    }
    // Somebody who can forge every signature gets no further than the form of what is signed.
    if let Ok(trusted) = policy.check(note, |_, _, _| true) {
        covers(&trusted, note);
        let logs = policy.logs().iter();
        assert!(
            logs.map(|log| log.name())
                .any(|name| name == trusted.checkpoint.origin)
        );
    }
    // And where no signature verifies, nothing is trusted.
    assert!(policy.check(note, |_, _, _| false).is_err());
}

/// What is trusted is what the note says.
fn covers(trusted: &Trusted, note: &str) {
    assert_eq!(Checkpoint::claimed(note).as_ref(), Ok(&trusted.checkpoint));
    let lines = Note::parse(note).map(|note| note.encode().lines().count());
    let lines = lines.expect("what is trusted is a note");
    assert!(
        trusted.cosignatures.len() < lines * 64,
        "a line counts once for each witness"
    );
}
