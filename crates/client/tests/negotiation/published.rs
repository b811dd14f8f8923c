//! What the published implementations made.

use serde_json::{Value, json};
use x811_client::negotiation::{Authorship, ChainError, Keys, Outcome, Profile, State, verify};

use crate::{ADA, BERT, REFERENCE, SDK, judge, keys, published};

const REJECTED: &str = include_str!("../vectors/xap/xap-sdk-rejected.json");
const WITHDRAWN: &str = include_str!("../vectors/xap/xap-reference-withdrawn.json");

#[test]
fn xn_6_a_chain_of_the_sdk_holds() {
    let chain = verify(SDK.as_bytes(), &keys()).unwrap();
    assert_eq!(chain.profile, Profile::Sdk);
    assert_eq!(chain.outcome, Outcome::Accepted);
    assert_eq!(chain.negotiation_id, "neg_0a1b2c3d");
    assert_eq!(
        (chain.initiator.to_string(), chain.responder.to_string()),
        (ADA.to_owned(), BERT.to_owned())
    );
    assert!(chain.is_proven());
    let said: Vec<_> = chain
        .steps
        .iter()
        .map(|step| (step.state, step.round))
        .collect();
    // XX-4: the SDK counts the answer as a round.
    let rounds = [State::Offer, State::Counter, State::Counter, State::Accept];
    assert_eq!(said, rounds.into_iter().zip(1..).collect::<Vec<_>>());
    let rejected = verify(REJECTED.as_bytes(), &keys()).unwrap();
    assert_eq!(rejected.outcome, Outcome::Rejected);
}

#[test]
fn xn_6_a_chain_of_the_reference_holds() {
    let chain = verify(REFERENCE.as_bytes(), &keys()).unwrap();
    assert_eq!(chain.profile, Profile::Reference);
    assert_eq!(chain.outcome, Outcome::Accepted);
    let rounds: Vec<_> = chain.steps.iter().map(|step| step.round).collect();
    assert_eq!(rounds, [1, 2, 3, 3]);
    // It never signs the OFFER, so nothing proves who made it.
    let authors: Vec<_> = chain.steps.iter().map(|step| step.authorship).collect();
    let proven = Authorship::Proven;
    assert_eq!(authors, [Authorship::Unsigned, proven, proven, proven]);
    assert!(!chain.is_proven());
}

#[test]
fn xx_2_the_reference_alone_knows_a_withdrawal() {
    let chain = verify(WITHDRAWN.as_bytes(), &keys()).unwrap();
    assert_eq!(chain.outcome, Outcome::Withdrawn);
}

/// A reference chain whose OFFER somebody signed with the reference's own `sign_payload` is proven whole.
#[test]
fn xn_6_a_signed_offer_of_the_reference_is_proven() {
    let mut steps = published(Profile::Reference);
    crate::forger::sign(Profile::Reference, &mut steps[0], 1);
    assert!(judge(&steps, &keys()).unwrap().is_proven());
    crate::forger::sign(Profile::Reference, &mut steps[0], 2);
    assert_eq!(crate::refused(&steps, &keys()).0, 0);
}

#[test]
fn xn_6_without_keys_links_hold_and_no_author_is_proven() {
    for (text, unsigned) in [(SDK, 0), (REFERENCE, 1)] {
        let chain = verify(text.as_bytes(), &Keys::default()).unwrap();
        assert!(!chain.is_proven());
        let mut signed = chain.steps.iter().skip(unsigned);
        assert!(signed.all(|step| step.authorship == Authorship::NoKey));
    }
    let only_bert = json!({ BERT: "gTl3Dqh9F19Wo1Rmw0x-zMuNipG07jeiXfYPW4_Js5Q" });
    let only_bert = Keys::read(only_bert.to_string().as_bytes()).unwrap();
    let chain = verify(SDK.as_bytes(), &only_bert).unwrap();
    for step in &chain.steps {
        let is_his = step.from.to_string() == BERT;
        assert_eq!(step.authorship == Authorship::Proven, is_his, "{step:?}");
    }
}

/// Every beginning of a chain is a chain: that steps are missing at its end cannot be seen.
#[test]
fn xn_7_a_chain_that_was_cut_at_its_end_is_a_shorter_chain() {
    for profile in [Profile::Sdk, Profile::Reference] {
        let steps = published(profile);
        for end in 1..steps.len() {
            let chain = judge(&steps[..end], &keys()).unwrap();
            assert_eq!(chain.outcome, Outcome::Open);
            assert_eq!(chain.steps.len(), end);
        }
    }
    assert_eq!(verify(b"[]", &keys()), Err(ChainError::Empty));
}

#[test]
fn xn_7_a_chain_may_be_an_array_or_messages_behind_each_other() {
    let steps: Vec<Value> = published(Profile::Sdk);
    let expected = judge(&steps, &keys()).unwrap();
    let lines: String = steps.iter().map(|step| format!("{step}\n")).collect();
    let packed: String = steps.iter().map(Value::to_string).collect();
    let pretty = serde_json::to_string_pretty(&steps).unwrap();
    for text in [lines, packed, pretty] {
        assert_eq!(verify(text.as_bytes(), &keys()).as_ref(), Ok(&expected));
    }
}

#[test]
fn xx_7_minor_units_of_usdc_are_micro_usdc() {
    let mut steps = published(Profile::Sdk);
    let chain = judge(&steps, &keys()).unwrap();
    assert_eq!(chain.steps[1].amount_minor_units, 900);
    assert_eq!(chain.steps[1].usdc.as_deref(), Some("0.0009"));
    for step in &mut steps {
        step["pricing"]["currency"] = json!("USD");
    }
    crate::forger::seal(Profile::Sdk, &mut steps, 0);
    let chain = judge(&steps, &keys()).unwrap();
    assert_eq!(
        (chain.steps[1].amount_minor_units, &chain.steps[1].usdc),
        (900, &None)
    );
}

#[test]
fn xx_8_ids_of_eight_hex_digits_are_read_here_and_no_other_form() {
    for id in [
        "neg-019b76da-a800-7000-8000-000000000001",
        "neg_0A1b2c3d",
        "neg_0a1b2c3",
        "0a1b2c3d",
    ] {
        let mut steps = published(Profile::Sdk);
        for step in &mut steps {
            step["negotiation_id"] = json!(id);
        }
        crate::forger::seal(Profile::Sdk, &mut steps, 0);
        assert_eq!(crate::refused(&steps, &keys()).0, 0, "{id}");
    }
}

#[test]
fn keys_are_read_as_both_implementations_print_them_and_all_faults_are_named() {
    let standard = "gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=";
    for spelled in [
        standard.to_owned(),
        "gTl3Dqh9F19Wo1Rmw0x-zMuNipG07jeiXfYPW4_Js5Q".to_owned(),
        format!("ed25519:{standard}"),
    ] {
        let keys = json!({ BERT: spelled }).to_string();
        let keys = Keys::read(keys.as_bytes()).unwrap();
        assert!(verify(SDK.as_bytes(), &keys).is_ok());
    }
    // The second is the neutral point, under which anybody can sign.
    let small_order = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let bad = json!({ ADA: 1, "agent_00000000": small_order, "Bert": standard, BERT: standard });
    let error = Keys::read(bad.to_string().as_bytes())
        .unwrap_err()
        .to_string();
    for named in [ADA, "agent_00000000", "Bert"] {
        assert!(error.contains(named), "{error}");
    }
    for bad in [
        "",
        "[]",
        "{\"agent_a1a1a1a1\":\"\",\"agent_a1a1a1a1\":\"\"}",
    ] {
        assert!(Keys::read(bad.as_bytes()).is_err(), "{bad}");
    }
}
