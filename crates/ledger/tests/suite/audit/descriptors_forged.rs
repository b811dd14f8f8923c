//! Descriptors in the hands of somebody with the ledger's database and all of its keys. What agents
//! signed they cannot sign: they take adverts back, move them, repeat them and say other things.

use serde_json::json;
use x811_audit::{Cause, Report};
use x811_protocol::parameters::Capabilities;

use super::descriptors::{ADVERTISE, descriptor};
use super::forger::{Forger, mail_of};
use super::ledgerbox::Ledgerbox;
use super::party::Party;
use super::scene::causes_at;

const DECISION: Cause = Cause::ReDecisionDiffers;
const STATE: Cause = Cause::StateDiffers;

/// An agent that published three revisions, another one that published none, and the log of that.
struct Scene {
    agent: Party,
    rival: Party,
    forger: Forger,
    /// The places of the three.
    adverts: Vec<usize>,
}

impl Scene {
    async fn set() -> Scene {
        let ledgerbox = Ledgerbox::but(|it| it.capabilities = Some(Capabilities::DEFAULT)).await;
        let (agent, rival) = (ledgerbox.provider().await, ledgerbox.provider().await);
        for revision in 1..=3 {
            let payload = descriptor(&agent, revision);
            let advert = ledgerbox.seal(&agent, ADVERTISE, &ledgerbox.identity, payload);
            ledgerbox.accept(&advert).await;
        }
        let forger = Forger::at(&ledgerbox).await;
        let kept = forger.parts.records.iter().enumerate();
        let adverts: Vec<usize> = kept
            .filter(|(_, kept)| kept.message_type() == ADVERTISE)
            .map(|(place, _)| place)
            .collect();
        assert_eq!(adverts.len(), 3);
        Scene {
            agent,
            rival,
            forger,
            adverts,
        }
    }

    /// What an audit finds at the advert in that place.
    fn causes(&self, place: usize) -> (Vec<Cause>, Report) {
        let report = self.forger.report();
        (causes_at(&report, place as u64), report)
    }
}

/// CC-74: whatever is changed of what decides stands against the body that the agent signed.
#[tokio::test]
async fn cc_074_another_word_in_a_recorded_descriptor_is_found() {
    let scene = Scene::set().await;
    let place = scene.adverts[1];
    for (pointer, value) in [
        ("/facts/capabilities/0/availability", json!("unavailable")),
        ("/facts/capabilities/0/version", json!("3.2.2")),
        ("/facts/capabilities/0/requests_per_minute", json!(61)),
        ("/facts/protocol/max", json!("2.1.1")),
        ("/facts/capabilities/1/schema_hash", json!("a".repeat(64))),
        ("/facts/payload_hash", json!("a".repeat(64))),
    ] {
        let mut forged = scene.forger.clone();
        *forged.parts.records[place].member(pointer) = value;
        let causes = causes_at(&forged.report(), place as u64);
        assert!(
            causes.contains(&Cause::FactsDiffer),
            "{pointer}: {causes:?}"
        );
    }
    // The order in which capabilities stand is signed too.
    let mut forged = scene.forger.clone();
    let capabilities = forged.parts.records[place].member("/facts/capabilities");
    capabilities.as_array_mut().unwrap().reverse();
    let causes = causes_at(&forged.report(), place as u64);
    assert!(causes.contains(&Cause::FactsDiffer), "{causes:?}");
}

/// A body that says more, under the signature of the one that said less.
#[tokio::test]
async fn cc_074_another_body_under_an_agents_signature_is_found() {
    let mut scene = Scene::set().await;
    let place = scene.adverts[2];
    let body = scene.forger.parts.records[place].body.as_mut().unwrap();
    let text = String::from_utf8(body.clone()).unwrap();
    let more = text.replacen(
        "\"max_payload_bytes\":65536",
        "\"max_payload_bytes\":65537",
        1,
    );
    assert_ne!(more, text);
    *body = more.into_bytes();
    let (causes, report) = scene.causes(place);
    assert!(
        causes.contains(&Cause::BodyChanged),
        "{:?}",
        report.findings
    );
}

/// An older advert in force again, which the agent has long replaced.
#[tokio::test]
async fn cc_063_adverts_in_another_order_are_found() {
    let mut scene = Scene::set().await;
    let [_, second, third] = scene.adverts[..] else {
        panic!("three adverts");
    };
    let records = &mut scene.forger.parts.records;
    let times = [second, third].map(|place| records[place].draft.recorded_at_ms);
    records.swap(second, third);
    for (place, at) in [second, third].into_iter().zip(times) {
        records[place].draft.recorded_at_ms = at;
    }
    let (causes, report) = scene.causes(second);
    assert!(
        causes.contains(&DECISION) || causes.contains(&STATE),
        "{:?}",
        report.findings
    );
}

#[tokio::test]
async fn cc_063_an_advert_that_was_left_out_is_found() {
    let mut scene = Scene::set().await;
    let second = scene.adverts[1];
    scene.forger.parts.records.remove(second);
    // There stands the third now.
    let (causes, report) = scene.causes(second);
    assert!(
        causes.contains(&DECISION) || causes.contains(&STATE),
        "{:?}",
        report.findings
    );
}

/// The agent signed it, once, and not for another one.
#[tokio::test]
async fn cc_063_a_replayed_advert_is_found_in_every_stream() {
    let scene = Scene::set().await;
    let (own, rivals) = (&scene.agent, &scene.rival);
    for stream in [
        format!("descriptor:{}", own.did),
        format!("descriptor:{}", rivals.did),
        mail_of(own),
    ] {
        let mut forged = scene.forger.clone();
        let first = &forged.parts.records[scene.adverts[0]];
        let (event, body) = (first.draft.event.clone(), first.body.clone());
        let at = forged.put(&stream, event, body.as_deref());
        let report = forged.report();
        assert_ne!(
            causes_at(&report, at),
            [],
            "{stream}: {:?}",
            report.findings
        );
    }
}

/// A first advert that is the ledger's own, beside an agent that published none.
#[tokio::test]
async fn cc_074_a_descriptor_that_nobody_signed_is_found() {
    let mut scene = Scene::set().await;
    let first = &scene.forger.parts.records[scene.adverts[0]];
    let (mut event, body) = (first.draft.event.clone(), first.body.clone().unwrap());
    let (from, to) = (scene.agent.did.to_string(), scene.rival.did.to_string());
    event["envelope"]["from"] = json!(to);
    let body = String::from_utf8(body).unwrap().replace(&from, &to);
    let stream = format!("descriptor:{to}");
    let at = scene.forger.put(&stream, event, Some(body.as_bytes()));
    let report = scene.forger.report();
    let causes = causes_at(&report, at);
    assert!(
        causes.contains(&Cause::SignatureInvalid),
        "{:?}",
        report.findings
    );
}
