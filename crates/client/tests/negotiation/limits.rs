//! Text that implementations read differently, and text that is too much.

use serde_json::{Value, json};
use x811_client::negotiation::{ChainError, MAX_CHAIN_BYTES, Profile, StepFault, verify};

use crate::forger::{haggled, seal};
use crate::{keys, published};

/// A chain whose third step has `with` in place of the amount.
fn with_amount(profile: Profile, with: &str) -> String {
    let mut steps = haggled(profile, 3);
    steps[2]["pricing"]["amount_minor_units"] = json!(7_654_321);
    seal(profile, &mut steps, 2);
    let text = Value::from(steps).to_string();
    assert!(verify(text.as_bytes(), &keys()).is_ok());
    text.replace("7654321", with)
}

#[test]
fn xn_7_ambiguous_numbers_and_keys_are_refused_by_index() {
    for profile in [Profile::Sdk, Profile::Reference] {
        for amount in [
            "7654321.0",
            "7.654321e6",
            "7654321e0",
            "7654321E0",
            "9007199254740992",
            "1e400",
            "-1",
            "-1.0",
            "NaN",
            "\"7654321\"",
            "null",
            "7654321,\"amount_minor_units\":7654321",
            "7654321,\"amount\\u005fminor_units\":7654321",
            "7654321,\"prix-é\":1",
            "7654321,\"x\":\"\\ud800\"",
        ] {
            match verify(with_amount(profile, amount).as_bytes(), &keys()) {
                Err(ChainError::Step { index: 2, .. }) => {}
                Err(ChainError::Json { .. }) if amount == "NaN" => {}
                other => panic!("{amount}: {other:?}"),
            }
        }
        // A point in a text is no number.
        let mut steps = haggled(profile, 2);
        steps[1]["task"]["description"] = json!("1.5e5 \\\" 2.5 \"0.1");
        seal(profile, &mut steps, 0);
        assert!(crate::judge(&steps, &keys()).is_ok());
    }
}

#[test]
fn xn_5_members_are_those_of_the_schema() {
    let changes: [fn(&mut Value); 12] = [
        |step| step["max_rounds"] = Value::Null,
        |step| step["max_rounds"] = json!("20"),
        |step| step["unknown"] = json!(1),
        |step| drop(step.as_object_mut().unwrap().remove("sla")),
        |step| drop(step.as_object_mut().unwrap().remove("signature")),
        |step| step["state"] = json!("offer"),
        |step| step["xap_version"] = json!("0.3.0"),
        |step| step["xap_version"] = json!("0.2.x"),
        |step| step["previous_state_hash"] = json!("SHA256:00"),
        |step| step["identity_snapshot"] = Value::Null,
        |step| step["pricing"]["currency"] = json!("usdc"),
        |step| step["task"] = json!("work"),
    ];
    for profile in [Profile::Sdk, Profile::Reference] {
        for change in changes {
            let mut steps = published(profile);
            change(&mut steps[1]);
            let (index, fault) = crate::refused(&steps, &keys());
            assert!(
                index == 1 && matches!(fault, StepFault::Message(_)),
                "{fault}"
            );
        }
    }
    for other in ["[1]", "[[]]", "1 2", "\"x\"", "[null]"] {
        let verdict = verify(other.as_bytes(), &keys());
        assert!(
            matches!(verdict, Err(ChainError::Step { index: 0, .. })),
            "{verdict:?}"
        );
    }
}

#[test]
fn xn_7_a_large_file_is_refused_unread() {
    let mut bytes = Value::from(published(Profile::Sdk))
        .to_string()
        .into_bytes();
    bytes.resize(MAX_CHAIN_BYTES, b' ');
    assert!(verify(&bytes, &keys()).is_ok());
    bytes.resize(10 << 20, b' ');
    let verdict = verify(&bytes, &keys());
    assert_eq!(
        verdict,
        Err(ChainError::TooLarge {
            max: MAX_CHAIN_BYTES
        })
    );
}

#[test]
fn xn_7_deep_and_long_steps_are_refused_by_index() {
    let deep = format!("{{\"d\":{}{}}}", "[".repeat(1_000), "]".repeat(1_000));
    let long = format!("{{\"d\":\"{}\"}}", "x".repeat(1 << 20));
    for task in [deep, long] {
        let text = Value::from(haggled(Profile::Sdk, 3)).to_string();
        let mut parts = text.split("\"task\":{").map(str::to_owned);
        let mut bad = parts.next().unwrap();
        for (index, part) in parts.enumerate() {
            let (_, behind) = part.split_once('}').unwrap();
            match index {
                2 => bad += &format!("\"task\":{task}{behind}"),
                _ => bad += &format!("\"task\":{{{part}"),
            }
        }
        match verify(bad.as_bytes(), &keys()) {
            Err(ChainError::Step {
                index: 2,
                fault: StepFault::Message(_),
                ..
            }) => {}
            other => panic!("{other:?}"),
        }
    }
    for bytes in [
        vec![b'['; MAX_CHAIN_BYTES],
        b"{\"a\":".repeat(1 << 20),
        b"{}".repeat(1 << 20),
        b"\xff".to_vec(),
        b"[{}".to_vec(),
    ] {
        assert!(verify(&bytes, &keys()).is_err());
    }
}
