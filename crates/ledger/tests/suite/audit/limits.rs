//! Messages that the ledger took though its own parameters forbid it (ledger-contract.md section 3):
//! the same as a log whose parameters say less.

use serde_json::{Map, Value, json};
use x811_audit::Cause;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::parameters::Leniency;

use super::deal::{Deal, Until};
use super::forger::{Forger, accepted_of, mail_of};
use super::ledgerbox::Ledgerbox;
use super::party::{Account, Party};
use super::scene::{audit, exported, found};

const DECISION: Cause = Cause::ReDecisionDiffers;

/// What is found once that limit is another one: positions and fields.
fn under(forger: &Forger, limit: &str, value: u64) -> Vec<(u64, String)> {
    let mut forger = forger.clone();
    let limit = format!("/limits/{limit}");
    let kept = forger.parts.records[1].member(&limit);
    *kept = json!(value);
    let report = forger.report();
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.cause == DECISION)
    );
    let findings = report.findings.iter();
    findings
        .map(|finding| (finding.position, finding.field.clone()))
        .collect()
}

/// Two REQUESTs of one initiator to one provider, both open.
async fn two_open() -> (Forger, usize) {
    let ledgerbox = Ledgerbox::open().await;
    let first = Deal::opened(&ledgerbox, Until::Pending).await;
    let (initiator, provider) = (&first.initiator, &first.provider);
    let mut second = Deal::between(&ledgerbox, initiator, provider, Account::new(0x46));
    second.go(&ledgerbox, Until::Pending).await;
    let forger = Forger::at(&ledgerbox).await;
    let last = forger.parts.records.len() - 1;
    (forger, last)
}

#[tokio::test]
async fn lc_3_more_open_interactions_than_an_initiator_may_have_are_found() {
    let (forger, last) = two_open().await;
    let event = (last as u64, "event".to_owned());
    assert_eq!(under(&forger, "open_per_initiator", 2), []);
    assert_eq!(under(&forger, "open_per_initiator", 1), [event]);
}

#[tokio::test]
async fn lc_3_more_open_interactions_than_a_pair_may_have_are_found() {
    let (forger, last) = two_open().await;
    let event = (last as u64, "event".to_owned());
    assert_eq!(under(&forger, "open_per_pair", 2), []);
    assert_eq!(under(&forger, "open_per_pair", 1), [event]);
}

/// Registrations count too, and refusals do not.
#[tokio::test]
async fn lc_3_more_bytes_than_a_day_allows_are_found() {
    let (forger, last) = two_open().await;
    let from = |kept: &super::scene::Kept| kept.draft.event["envelope"]["from"].clone();
    let initiator = from(&forger.parts.records[last]);
    let sizes = forger.parts.records.iter();
    let sizes = sizes.filter(|kept| from(kept) == initiator);
    let bytes: u64 = sizes
        .map(|kept| kept.draft.event["envelope"]["size"].as_u64().unwrap())
        .sum();
    let event = (last as u64, "event".to_owned());
    assert_eq!(under(&forger, "body_bytes_per_day", bytes), []);
    assert_eq!(under(&forger, "body_bytes_per_day", bytes - 1), [event]);
}

#[tokio::test]
async fn lc_3_bytes_of_a_registration_count() {
    let ledgerbox = Ledgerbox::open().await;
    ledgerbox.provider().await;
    let forger = Forger::at(&ledgerbox).await;
    let last = forger.parts.records.len() as u64 - 1;
    let event = (last, "event".to_owned());
    assert_eq!(under(&forger, "body_bytes_per_day", 10), [event]);
}

#[tokio::test]
async fn ax_041_an_envelope_that_is_too_large_is_found() {
    let (forger, _) = two_open().await;
    let sizes = forger.parts.records.iter();
    let sizes = sizes.filter_map(|kept| kept.draft.event["envelope"]["size"].as_u64());
    let largest = sizes.max().unwrap();
    assert_eq!(under(&forger, "envelope_bytes", largest), []);
    let field = "envelope.size".to_owned();
    let found = under(&forger, "envelope_bytes", largest - 1);
    assert!(found.iter().any(|(_, named)| *named == field), "{found:?}");
    assert!(found.iter().all(|(_, named)| *named == field), "{found:?}");
}

/// A greeting whose id is of that moment, or is no UUIDv7.
fn greeting(ledgerbox: &Ledgerbox, from: &Party, to: &Party, id: EnvelopeId) -> SealedEnvelope {
    let mut letter = ledgerbox.letter("x811.ext/greeting", to, json!({}));
    letter.id = id;
    from.seal(&letter)
}

#[tokio::test]
async fn lc_3_an_id_of_another_time_is_found_unless_ids_are_lenient() {
    let ledgerbox = Ledgerbox::open().await;
    let (one, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let now_ms = ledgerbox.now().as_ms();
    let of = |ms: u64| EnvelopeId::from_parts(ms, &[9; 10]);
    let version_4 = EnvelopeId::lenient(&Nonce::from_random([5; 16]).to_string()).unwrap();
    let honest = Forger::at(&ledgerbox).await;
    for (id, is_found) in [
        (of(now_ms - 300_000), false),
        (of(now_ms + 300_000), false),
        (of(now_ms - 300_001), true),
        (of(now_ms + 300_001), true),
        (version_4, true),
    ] {
        let message = greeting(&ledgerbox, &one, &other, id);
        let mut forger = honest.clone();
        let at = forger.put_message(&mail_of(&other), &message);
        let due = [(at, "envelope.id", DECISION)];
        let due = if is_found { &due[..] } else { &[] };
        assert_eq!(found(&forger.report()), due, "{id}");
        let lenient = forger.parts.records[1].member("/lenient");
        *lenient = json!(["uuids"]);
        assert_eq!(found(&forger.report()), [], "{id}");
    }
}

#[tokio::test]
async fn ax_025_a_lenient_ledger_is_clean() {
    let ledgerbox = Ledgerbox::but(|it| it.lenient = vec![Leniency::Uuids]).await;
    Deal::opened(&ledgerbox, Until::Verified).await;
    assert_eq!(found(&audit(&exported(&ledgerbox).await)), []);
}

#[tokio::test]
async fn lc_3_a_message_to_oneself_is_found() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    let message = ledgerbox.seal(&party, "x811.ext/greeting", &party, json!({}));
    let mut forger = Forger::at(&ledgerbox).await;
    let event = accepted_of(&message, &Map::new());
    let stream = mail_of(&party);
    // Its body would not be read, so it is left out.
    let at = forger.put(&stream, event, None);
    forger.is_found(&[(at, "envelope.to", DECISION)]);
}

/// Sums over what the ledger says of its downtime: it is believed, and shown.
#[tokio::test]
async fn lc_1_4_downtimes_are_added_up() {
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.restart().await;
    ledgerbox.down_ms(90_000).await;
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!(found(&report), []);
    let downtimes = report.downtimes;
    assert_eq!(downtimes.records, 2);
    let records = ledgerbox.events().await;
    let gaps = records.iter().filter_map(|(record, _)| {
        let event: Value = record.event();
        event["gap_ms"].as_u64()
    });
    assert_eq!(downtimes.total_ms, gaps.sum::<u64>());
    assert!(downtimes.total_ms >= 90_000, "{downtimes:?}");
}
