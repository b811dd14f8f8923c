//! What agents say that they can do (capability.md, "Descriptor").

use super::bundles::{audited, bundle_of};
use super::descriptors::{ADVERTISE, descriptor};
use super::ledgerbox::{Ledgerbox, parameters};
use super::party::Party;
use serde_json::{Value, json};
use x811_audit::audit_export;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::parameters::Capabilities;
use x811_protocol::stream::Subject;
use x811_world::erasure::ErasureRequest;

/// A ledger that takes descriptors, and an agent.
async fn opened(adverts_per_hour: u64) -> (Ledgerbox, Party) {
    let mut parameters = parameters();
    parameters.capabilities = Some(Capabilities {
        adverts_per_hour,
        ..Capabilities::DEFAULT
    });
    let ledgerbox = Ledgerbox::with(parameters).await;
    let agent = ledgerbox.provider().await;
    (ledgerbox, agent)
}

fn advert(ledgerbox: &Ledgerbox, agent: &Party, payload: Value) -> SealedEnvelope {
    ledgerbox.seal(agent, ADVERTISE, &ledgerbox.identity, payload)
}

fn revision(ledgerbox: &Ledgerbox, agent: &Party, revision: u64) -> SealedEnvelope {
    advert(ledgerbox, agent, descriptor(agent, revision))
}

#[tokio::test]
async fn cc_063_a_descriptor_is_recorded_shown_and_audited() {
    let (mut ledgerbox, agent) = opened(60).await;
    let first = ledgerbox.accept(&revision(&ledgerbox, &agent, 1)).await;
    assert_eq!(first.state, Some("advertised"));
    let subject = first.subject.unwrap();
    assert_eq!(
        (subject.kind, subject.id),
        ("descriptor", agent.did.to_string())
    );
    let mut second = descriptor(&agent, 2);
    second["capabilities"][0]["availability"] = json!("unavailable");
    ledgerbox.accept(&advert(&ledgerbox, &agent, second)).await;
    let row = ledgerbox.rows.rows().subjects[&Subject::Descriptor(agent.did)].clone();
    assert_eq!(row.detail["revision"], 2);
    assert_eq!(row.detail["capabilities"][0]["availability"], "unavailable");
    ledgerbox.assert_log_adds_up().await;
    let report = audited(&ledgerbox).await;
    assert_eq!(report.findings, []);
    assert_eq!(
        report.read_model.unwrap().subjects,
        1,
        "its row is compared"
    );
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
    ledgerbox.accept(&revision(&ledgerbox, &agent, 3)).await;
}

/// Of two adverts that were made at once the second is told so, and takes nothing back.
#[tokio::test]
async fn cc_063_two_adverts_cannot_overtake_each_other() {
    let (ledgerbox, agent) = opened(60).await;
    let [one, other] = [(); 2].map(|()| revision(&ledgerbox, &agent, 1));
    assert_eq!(
        ledgerbox.code(&revision(&ledgerbox, &agent, 2)).await,
        Code::NotYourTurn
    );
    ledgerbox.accept(&one).await;
    let refusal = ledgerbox.refuse(&other).await;
    assert_eq!(
        (refusal.code, refusal.http_status()),
        (Code::NotYourTurn, 422)
    );
    assert!(refusal.message.contains("the next is 2"), "{refusal:?}");
    ledgerbox.assert_log_adds_up().await;
}

/// Every revision in one file, which is clean by itself; without one of them it is not.
#[tokio::test]
async fn cc_074_a_bundle_proves_every_revision_offline() {
    let (ledgerbox, agent) = opened(60).await;
    for number in 1..=3 {
        ledgerbox
            .accept(&revision(&ledgerbox, &agent, number))
            .await;
    }
    let bytes = bundle_of(&ledgerbox, Subject::Descriptor(agent.did)).await;
    let report = audit_export(&bytes[..], None).unwrap();
    assert_eq!(report.findings, []);
    assert!(report.is_clean());
    assert_eq!(report.signatures_valid, report.envelopes);
    let extract = report.extract.unwrap();
    let of = Some(Subject::Descriptor(agent.did));
    assert_eq!((extract.subject(), extract.open_ended), (of, 0));
    let mut streams: Vec<&str> = extract.streams.iter().map(|s| s.stream.as_str()).collect();
    streams.sort_unstable();
    let (own, keys) = (
        format!("descriptor:{}", agent.did),
        format!("agent:{}", agent.did),
    );
    assert_eq!(streams, [keys.as_str(), own.as_str(), "ledger"]);

    // The last one is what somebody would take back.
    let text = String::from_utf8(bytes).unwrap();
    let withdrawn = |line: &&str| !(line.contains(&own) && line.contains(r#""revision":3"#));
    let without: String = text.split_inclusive('\n').filter(withdrawn).collect();
    assert_ne!(without, text);
    let report = audit_export(without.as_bytes(), None).unwrap();
    assert_ne!(report.findings, [], "a revision was left out");
}

/// CC-65, CC-74: nobody speaks for another, and it is said to everybody or to nobody.
#[tokio::test]
async fn cc_074_a_descriptor_is_its_agents_own() {
    let (ledgerbox, agent) = opened(60).await;
    let rival = ledgerbox.provider().await;
    let slander = advert(&ledgerbox, &rival, descriptor(&agent, 1));
    let refusal = ledgerbox.refuse(&slander).await;
    assert_eq!((refusal.code, refusal.http_status()), (Code::Schema, 400));
    let whispered = ledgerbox.seal(&agent, ADVERTISE, &rival, descriptor(&agent, 1));
    let refusal = ledgerbox.refuse(&whispered).await;
    assert_eq!(
        (refusal.code, refusal.http_status()),
        (Code::InvalidStateTransition, 422)
    );
    ledgerbox.accept(&revision(&ledgerbox, &agent, 1)).await;
    ledgerbox.assert_log_adds_up().await;
}

/// A flood of adverts is the sender's own loss: the nonce is unspent and the next hour takes it.
#[tokio::test]
async fn cc_063_adverts_are_counted_by_the_hour() {
    let (mut ledgerbox, agent) = opened(2).await;
    ledgerbox.accept(&revision(&ledgerbox, &agent, 1)).await;
    ledgerbox.accept(&revision(&ledgerbox, &agent, 2)).await;
    ledgerbox.restart().await;
    let refusal = ledgerbox.refuse(&revision(&ledgerbox, &agent, 3)).await;
    assert_eq!(refusal.code, Code::RateLimitExceeded);
    let wait_ms = refusal.retry_after_ms.unwrap();
    ledgerbox.advance_ms(wait_ms).await;
    ledgerbox.accept(&revision(&ledgerbox, &agent, 3)).await;
    ledgerbox.assert_log_adds_up().await;
    let report = audited(&ledgerbox).await;
    assert_eq!(report.findings, []);
}

/// machines.md 1: what is off is not taken, and what is known stays.
#[tokio::test]
async fn mach_1_a_ledger_without_the_block_takes_no_descriptors() {
    let (mut ledgerbox, agent) = opened(60).await;
    ledgerbox.accept(&revision(&ledgerbox, &agent, 1)).await;
    ledgerbox.parameters.capabilities = None;
    ledgerbox.restart().await;
    let refusal = ledgerbox.refuse(&revision(&ledgerbox, &agent, 2)).await;
    assert_eq!(
        (refusal.code, refusal.http_status()),
        (Code::InvalidStateTransition, 422)
    );
    let world = ledgerbox.ledger().world();
    assert!(world.descriptor(agent.did).is_some());
    ledgerbox.assert_log_adds_up().await;
}

/// The most that a descriptor may say fits a leaf.
#[tokio::test]
async fn cc_066_the_largest_descriptor_fits_its_record() {
    let (ledgerbox, agent) = opened(60).await;
    let versions: Vec<String> = (0..16)
        .map(|patch| format!("99999.99999.{}", 99_900 + patch))
        .collect();
    let capability = |number: usize| {
        json!({
            "type": format!("com.example.{number:02}-{}", "a".repeat(113)),
            "category": "authorization",
            "version": "99999.99999.99999",
            "description": "",
            "parameters": {},
            "parameters_schema": {},
            "constraints": {
                "requests_per_minute": 9_007_199_254_740_991_u64,
                "max_payload_bytes": 9_007_199_254_740_991_u64,
            },
            "availability": "unavailable",
            "min_version": "99999.99999.99900",
            "max_version": "99999.99999.99999",
            "deprecated_versions": versions,
        })
    };
    let mut largest = descriptor(&agent, 1);
    largest["capabilities"] = (0..64).map(capability).collect();
    ledgerbox
        .accept(&advert(&ledgerbox, &agent, largest.clone()))
        .await;
    let bytes = ledgerbox.records().await.last().unwrap().bytes().len();
    assert!((40_000..65_535).contains(&bytes), "{bytes} bytes");
    largest["revision"] = json!(2);
    largest["capabilities"] = (0..65).map(capability).collect();
    assert_eq!(
        ledgerbox.code(&advert(&ledgerbox, &agent, largest)).await,
        Code::Schema
    );
}

/// What an agent promised stays: machines.md section 6 would let superseded descriptors be erased, and
/// nobody has asked for it (decision 0137).
#[tokio::test]
async fn mach_6_no_descriptor_is_erased() {
    let (ledgerbox, agent) = opened(60).await;
    for number in 1..=2 {
        ledgerbox
            .accept(&revision(&ledgerbox, &agent, number))
            .await;
    }
    let records = ledgerbox.records().await.len();
    let request = ErasureRequest {
        subject: Subject::Descriptor(agent.did),
        operator: ledgerbox.identity.did,
        reason_code: "gdpr_request".parse().unwrap(),
        order: None,
    };
    let refusal = ledgerbox.ledger().erase(request).await.unwrap_err();
    assert_eq!(refusal.code, Code::InvalidStateTransition, "{refusal}");
    assert_eq!(ledgerbox.records().await.len(), records);
}
