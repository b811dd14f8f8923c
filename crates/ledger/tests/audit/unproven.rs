//! What cannot be checked is said, never taken for good.

use x811_ledger::audit::Cause;

use x811_protocol::event::Event;

use crate::deal::{Deal, Until};
use crate::scene::{Parts, audit, exported, found, impatient, settled_and_disputed};

#[tokio::test]
async fn rec_3_without_bodies_facts_are_asserted_and_signatures_still_hold() {
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    for kept in &mut parts.records {
        kept.body = None;
    }
    let report = audit(&parts.joined());
    assert!(report.is_clean(), "{:?}", found(&report));
    assert_eq!(report.facts.proven, 0);
    assert_eq!(report.facts.asserted, report.envelopes);
    assert_eq!(report.signatures_valid, report.envelopes);
}

/// After an illegal record its stream is not replayed; other streams are, and stay clean.
#[tokio::test]
async fn a_broken_stream_does_not_hide_the_others() {
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    let at = parts.find_message("x811/offer");
    *parts.records[at].member("/facts/price") = "1".into();
    let stream = parts.records[at].draft.stream.clone();
    let in_stream = parts.records[at..]
        .iter()
        .filter(|kept| kept.draft.stream == stream);
    let lost = in_stream.count() as u64;
    let report = audit(&parts.rehashed());
    assert_eq!(found(&report), [(at as u64, "event", Cause::Unreadable)]);
    assert_eq!(report.not_replayed, lost);
    assert_eq!(report.interactions_unknown, 1);
    assert_eq!(report.interactions.get("disputed"), Some(&1));
}

/// Without position 0 nothing can be replayed, but everything can be read.
#[tokio::test]
async fn a_log_without_its_beginning_is_read_to_the_end() {
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    parts.records[0].leaf[0] = b'[';
    let report = audit(&parts.joined());
    assert_eq!(report.not_replayed, report.records);
    assert_eq!(report.signatures_valid, report.envelopes);
    assert_eq!(report.findings[0].position, 0);
    assert_eq!(report.findings[0].cause, Cause::BytesChanged);
}

#[tokio::test]
async fn rules_that_are_not_known_are_not_decided_again() {
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    *parts.records[0].member("/rules_version") = 2.into();
    let report = audit(&parts.rehashed());
    assert_eq!(report.not_re_decided, report.records - 1);
    assert_eq!(report.findings.len(), 1, "{:?}", found(&report));
    assert_eq!(report.findings[0].cause, Cause::HeaderDiffers);
}

/// Whether a look found nothing, or was invented: the log is the same, and no audit can tell.
#[tokio::test]
async fn what_the_watcher_did_not_see_is_asserted() {
    let ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");

    let report = audit(&exported(&ledgerbox).await);

    assert!(report.is_clean(), "{:?}", found(&report));
    let observations = &report.observations;
    assert_eq!(observations.records["looked_not_found"], 4);
    assert_eq!((observations.proven, observations.broken), (0, 0));
    let all: u64 = observations.records.values().sum();
    assert_eq!((observations.asserted, observations.total()), (all, all));
}

/// A record that breaks a rule is counted as that, and as no observation.
#[tokio::test]
async fn every_record_that_rests_on_the_watcher_is_counted_once() {
    let ledgerbox = settled_and_disputed().await;
    let events = ledgerbox.events().await;
    let watchers = |event: &Event| {
        let network = ["network_sighted", "network_blind"];
        let payment = [
            "seen",
            "unseen",
            "looked",
            "refuted",
            "confirmed",
            "late",
            "final",
        ];
        [&network[..], &payment]
            .concat()
            .contains(&event.type_name())
    };
    let watched = events.iter().filter(|(_, event)| watchers(event)).count() as u64;
    let parts = Parts::of(&exported(&ledgerbox).await);
    let observations = audit(&parts.clone().joined()).observations;
    let accepts = observations.records["envelope_accepted"];
    assert_eq!(observations.asserted, watched + accepts, "{observations:?}");

    let mut parts = parts;
    let at = parts
        .records
        .iter()
        .position(|kept| kept.event_type() == "confirmed");
    let depth = "/evidence/0/depth";
    *parts.records[at.unwrap()].member(depth) = 0.into();
    let report = audit(&parts.rehashed());
    assert_eq!(report.findings[0].cause, Cause::NoEvidence);
    assert_eq!(report.observations.total(), watched + accepts - 1);
    assert_eq!(report.observations.records.get("confirmed"), None);
}
