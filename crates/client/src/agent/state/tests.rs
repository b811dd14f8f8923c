//! The file, and what may be sealed again.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::testing::{CountingEntropy, identity, ledger_did};

fn state() -> State {
    let did = identity("ada", &CountingEntropy::default()).did;
    State::new(did, ledger_did())
}

fn id() -> InteractionId {
    "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap()
}

#[test]
fn the_state_is_a_file_of_its_owner_alone_and_of_one_loop() {
    let folder = tempfile::tempdir().unwrap();
    let (file, stored) = StateFile::open(folder.path()).unwrap();
    assert_eq!(stored, None);
    let mut state = state();
    state.touch(id());
    file.save(&state).unwrap();
    let path = folder.path().join("state.json");
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert_eq!(peek(folder.path()).unwrap(), Some(state.clone()));
    let second = StateFile::open(folder.path()).unwrap_err();
    assert!(matches!(second, StateError::Running { .. }), "{second}");
    drop(file);
    let (_file, stored) = StateFile::open(folder.path()).unwrap();
    assert_eq!(stored, Some(state));
}

#[test]
fn a_damaged_or_newer_state_is_refused_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let (file, _) = StateFile::open(folder.path()).unwrap();
    file.save(&state()).unwrap();
    drop(file);
    let whole = fs::read_to_string(&path).unwrap();
    let newer = whole.replacen("\"v\":1", "\"v\":2", 1);
    for bad in ["", "{}", &whole[..whole.len() / 2], newer.as_str()] {
        fs::write(&path, bad).unwrap();
        let error = StateFile::open(folder.path()).unwrap_err();
        assert!(matches!(error, StateError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("rebuilt from the ledger"));
    }
}

#[test]
fn ae_086_another_envelope_is_sealed_after_a_definite_end_alone_and_three_times_at_most() {
    let mut state = state();
    assert!(state.may_seal(id(), Act::Accept));
    for (outcome, may) in [
        (Outcome::Open, false),
        (Outcome::Delivered, false),
        (Outcome::Abandoned, false),
        (Outcome::Dead, true),
        (Outcome::Refused(Code::OfferExpired), true),
    ] {
        let step = Step { sealed: 1, outcome };
        let task = state.tasks.entry(id()).or_default();
        task.steps.insert(Act::Accept, step);
        assert_eq!(state.may_seal(id(), Act::Accept), may, "{outcome:?}");
        assert!(state.may_seal(id(), Act::Verify));
    }
    let step = Step {
        sealed: MAX_SEALED,
        outcome: Outcome::Dead,
    };
    let task = state.tasks.entry(id()).or_default();
    task.steps.insert(Act::Accept, step);
    assert!(!state.may_seal(id(), Act::Accept));
}

#[test]
fn an_alarm_is_told_once_and_the_list_does_not_grow_for_ever() {
    let mut state = state();
    let alarm = |number: usize| Alarm {
        at_ms: TimestampMs::new(1),
        interaction: None,
        text: format!("number {number}"),
    };
    assert!(state.alarm(alarm(0)));
    assert!(!state.alarm(alarm(0)));
    for number in 0..1_000 {
        state.alarm(alarm(number));
    }
    assert_eq!(state.alarms.len(), 200);
    assert_eq!(state.alarms.last(), Some(&alarm(999)));
}
