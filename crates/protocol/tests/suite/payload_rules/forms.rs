//! The table of forms says what the readers do, and the page says it too (AX-46).

use std::collections::BTreeSet;

use serde_json::{Map, json};
use x811_protocol::envelope::Header;
use x811_protocol::facts::ConsensusVerb;
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::jws;
use x811_protocol::key::{KeyId, SecretKey};
use x811_protocol::payload::form::{FORMS, Form, Member, PayloadForm, TERMS, all_faults};
use x811_protocol::payload::registry::{Operation, Verb};
use x811_protocol::time::TimestampMs;

use super::*;

const PAGE: &str = include_str!("../../../../../docs/connect.md");

/// Why that payload is refused for its form; `None` when it is taken, or refused for what it says.
fn refused(form: &PayloadForm, payload: &Value) -> Option<Refusal> {
    let rules = PayloadRules {
        ledger: Some(did(LEDGER)),
        ..PayloadRules::default()
    };
    let message_type = form.message_type.parse().unwrap();
    let read = match Verb::of(&message_type).unwrap() {
        Some(verb) => {
            let from = payload["document"]["id"].as_str().unwrap_or(INITIATOR);
            let key = SecretKey::from_seed([7; 32]).public();
            Operation::parse(verb, did(from), did(LEDGER), key, object(payload)).map(|_| ())
        }
        None if form.message_type.starts_with("x811.consensus/") => read_in_a_round(form, payload),
        None => facts_under(&rules, form.message_type, payload).map(|_| ()),
    };
    let first = read.err()?;
    let refusal = all_faults(first, form.message_type, object(payload), &rules);
    freeze::refusal(form.message_type, payload, Some(&refusal));
    Some(refusal)
}

/// Messages of rounds are signed inside as well: the example by whoever it says that it is from.
fn read_in_a_round(form: &PayloadForm, payload: &Value) -> Result<(), Refusal> {
    let verb = ConsensusVerb::of(&form.message_type.parse().unwrap()).unwrap();
    let example = form.example();
    let from = ["proposer", "voter"]
        .into_iter()
        .find_map(|it| example[it].as_str());
    let secret = SecretKey::from_seed([7; 32]);
    let kid = KeyId {
        did: did(from.unwrap_or(INITIATOR)),
        key: secret.public(),
    };
    let mut payload = object(payload).clone();
    if payload.get("signature").is_some_and(Value::is_string) {
        let signature = jws::sign_object(&secret, &kid, verb.jws_type(), &payload);
        payload.insert("signature".to_owned(), signature.into());
    }
    let id: EnvelopeId = example["proposal_id"].as_str().unwrap().parse().unwrap();
    let header = Header {
        id,
        version: "0.1.0".to_owned(),
        message_type: form.message_type.parse().unwrap(),
        from: kid.did,
        to: did(LEDGER),
        created_ms: TimestampMs::new(1_767_225_600_000),
        expires_ms: None,
        nonce: Nonce::from_random([1; 16]),
    };
    payload::facts_of(&header, &kid, &payload, &PayloadRules::default()).map(|_| ())
}

fn named(refusal: &Refusal) -> BTreeSet<String> {
    let names = refusal.details.as_ref().unwrap()["members"].as_array();
    let names = names.unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

/// A value that no member may have.
fn wrong(form: Form) -> Value {
    if matches!(form, Form::Boolean) {
        return json!("true");
    }
    json!(false)
}

#[test]
fn ax_46_examples_are_taken() {
    for form in FORMS {
        let example = form.example();
        assert!(example.is_object(), "{}", form.message_type);
        let refusal = refused(form, &example);
        // Proofs are for one ledger and keys that the example does not have here.
        let is_proof = |refusal: &Refusal| refusal.code == Code::DidDocumentInvalid;
        assert!(refusal.as_ref().is_none_or(is_proof), "{refusal:?}");
        for name in object(&example).keys() {
            let is_known = form.members.iter().any(|member| member.name == name);
            assert!(is_known, "{} {name}", form.message_type);
        }
    }
}

#[test]
fn ax_46_an_empty_payload_is_told_every_member_that_it_lacks() {
    for form in FORMS {
        let refusal = refused(form, &json!({})).unwrap();
        let lacks = form.members.iter().filter(|member| member.is_required);
        let lacks: BTreeSet<String> = lacks.map(|member| member.name.to_owned()).collect();
        assert_eq!(named(&refusal), lacks, "{}", form.message_type);
        assert!(refusal.message.chars().count() <= 512);
        let see = format!("(see docs/connect.md#{})", form.anchor);
        assert!(refusal.message.ends_with(&see), "{}", refusal.message);
    }
}

#[test]
fn ax_46_every_wrong_member_is_named_at_once_and_each_alone() {
    for form in FORMS {
        let mut all = form.example();
        let is_judged_elsewhere = [Form::Ledger, Form::Jws, Form::Token];
        let can_be_wrong = |member: &&Member| !is_judged_elsewhere.contains(&member.form);
        for member in form.members.iter().filter(can_be_wrong) {
            let mut one = form.example();
            one[member.name] = wrong(member.form);
            let refusal = refused(form, &one).unwrap();
            let only = BTreeSet::from([member.name.to_owned()]);
            assert_eq!(named(&refusal), only, "{} {refusal:?}", form.message_type);
            assert!(refusal.message.contains(member.name), "{refusal:?}");
            all[member.name] = wrong(member.form);
        }
        let every = form.members.iter().filter(can_be_wrong);
        let every = every.map(|member| member.name.to_owned());
        assert_eq!(named(&refused(form, &all).unwrap()), every.collect());
    }
}

#[test]
fn ax_46_terms_are_looked_into() {
    let form = PayloadForm::of("x811.negotiation/offer").unwrap();
    let payload = json!({ "terms": {}, "expires_at": "tomorrow" });
    let refusal = refused(form, &payload).unwrap();
    let lacks = TERMS.iter().filter(|member| member.is_required);
    let mut names: BTreeSet<String> = lacks.map(|it| format!("terms.{}", it.name)).collect();
    names.insert("expires_at".to_owned());
    assert_eq!(named(&refusal), names, "{refusal:?}");
}

#[test]
fn ax_46_what_is_not_about_the_form_stays_as_it_is() {
    let form = PayloadForm::of("x811/verify").unwrap();
    let mut payload = form.example();
    payload["verified"] = json!(false);
    let refusal = refused(form, &payload).unwrap();
    assert_eq!(refusal.details, None, "a dispute without a reason");
    assert_eq!(PayloadForm::of("x811.test/ping"), None);
    let own = Refusal::shape("something");
    let rules = PayloadRules::default();
    assert_eq!(
        all_faults(own.clone(), "x811.test/ping", &Map::new(), &rules),
        own
    );
}

/// GitHub's anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(kept)
        .collect::<String>();
    kept.replace(' ', "-")
}

#[test]
fn ax_46_the_page_names_every_member_at_the_place_that_is_linked() {
    for form in FORMS {
        let mut sections = PAGE.split("\n#").filter(|section| {
            let heading = section.lines().next().unwrap();
            anchor(heading.trim_start_matches('#').trim()) == form.anchor
        });
        let section = sections.next().unwrap_or_else(|| panic!("{}", form.anchor));
        for member in form.members {
            let name = format!("`{}", member.name);
            assert!(section.contains(&name), "{} {name}", form.message_type);
        }
    }
}
