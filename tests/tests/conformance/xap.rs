//! Chains that the SDK of XAP makes at this moment, from PyPI and in its sandbox: they verify, and
//! whatever is changed in one is refused with the index of its step.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and says where"
)]

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use x811_client::negotiation::{ChainError, Keys, Outcome, Profile, verify};
use x811_tests::size::from_environment;
use x811_tests::verifiers::python;

/// Steps, and the keys of both agents.
struct Fresh {
    steps: Vec<Value>,
    keys: Value,
}

/// Chains with these numbers of counters, by the SDK.
fn made(counters: impl Iterator<Item = usize>) -> Vec<Fresh> {
    let mut sdk = python("xap_chains.py");
    let mut sdk = sdk
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut wanted = String::new();
    for number in counters {
        writeln!(wanted, "{number}").unwrap();
    }
    // It reads all of it before a pipe is full: a hundred short lines.
    sdk.stdin
        .take()
        .unwrap()
        .write_all(wanted.as_bytes())
        .unwrap();
    let output = sdk.wait_with_output().unwrap();
    assert!(output.status.success(), "the SDK makes chains");
    let text = String::from_utf8(output.stdout).unwrap();
    let chains = text.lines().map(|line| {
        let mut made: Value = serde_json::from_str(line).unwrap();
        let steps = made["steps"].as_array_mut().unwrap();
        Fresh {
            steps: std::mem::take(steps),
            keys: made["keys"].take(),
        }
    });
    chains.collect()
}

fn judged(steps: &[Value], keys: &Value) -> Result<(Profile, Outcome, bool), ChainError> {
    let keys = Keys::read(keys.to_string().as_bytes()).unwrap();
    let chain = verify(serde_json::to_string(steps).unwrap().as_bytes(), &keys)?;
    Ok((chain.profile, chain.outcome, chain.is_proven()))
}

/// The step that is refused.
#[track_caller]
fn refused(steps: &[Value], keys: &Value) -> usize {
    match judged(steps, keys) {
        Err(ChainError::Step { index, .. }) => index,
        other => panic!("not refused by a step: {other:?}"),
    }
}

/// A chain of each number of counters that the SDK makes, or `X811_CHAINS` chains.
fn fresh() -> Vec<Fresh> {
    let chains = from_environment("X811_CHAINS").map_or(20, |chains| chains.try_into().unwrap());
    let made = made((0..chains).map(|number| number % 20));
    assert_eq!(made.len(), chains);
    made
}

#[test]
fn xn_6_fresh_chains_of_the_sdk_verify() {
    let chains = fresh();
    for (number, Fresh { steps, keys }) in chains.iter().enumerate() {
        let counters = number % 20;
        assert_eq!(steps.len(), counters + 2);
        let outcome = match counters % 3 {
            2 => Outcome::Rejected,
            _ => Outcome::Accepted,
        };
        assert_eq!(judged(steps, keys).unwrap(), (Profile::Sdk, outcome, true));
    }
}

#[test]
fn xn_7_a_change_anywhere_in_a_fresh_chain_is_named_by_its_step() {
    let chains = fresh();
    for (number, Fresh { steps, keys }) in chains.iter().enumerate() {
        let (last, place) = (steps.len() - 1, number * 7 % steps.len());
        let mut flipped = steps.clone();
        let amount = flipped[place]["pricing"]["amount_minor_units"]
            .as_u64()
            .unwrap();
        flipped[place]["pricing"]["amount_minor_units"] = json!(amount ^ 1);
        assert_eq!(refused(&flipped, keys), place, "chain {number}");

        // What was dropped at the end does not show, and is said not to.
        let mut dropped = steps.clone();
        let _ = dropped.remove(place.min(last - 1));
        assert_eq!(
            refused(&dropped, keys),
            place.min(last - 1),
            "chain {number}"
        );

        let mut swapped = steps.clone();
        let first = place.min(last - 1);
        swapped.swap(first, first + 1);
        assert_eq!(refused(&swapped, keys), first, "chain {number}");

        let mut again = steps.clone();
        again.push(steps[last].clone());
        assert_eq!(refused(&again, keys), steps.len(), "chain {number}");

        let (from, to) = (&steps[0]["from_agent"], &steps[0]["to_agent"]);
        let mut others = keys.clone();
        others[from.as_str().unwrap()] = keys[to.as_str().unwrap()].clone();
        others[to.as_str().unwrap()] = keys[from.as_str().unwrap()].clone();
        assert_eq!(refused(steps, &others), 0, "chain {number}");
    }
}

/// The SDK counts no rounds, and makes it.
#[test]
fn xx_4_a_twentieth_counter_of_the_sdk_is_refused() {
    for Fresh { steps, keys } in made(std::iter::once(20)) {
        assert_eq!(refused(&steps, &keys), 20);
    }
}
