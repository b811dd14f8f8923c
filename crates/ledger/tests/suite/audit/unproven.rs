//! What cannot be checked is said, never taken for good.

use serde_json::json;
use x811_audit::{Cause, Gap, Outcome};

use x811_protocol::event::Event;

use super::bundles::signed;
use super::deal::{Deal, Until};
use super::ledgerbox::impatient;
use super::scene::{Parts, audit, exported, exported_under, found, settled_and_disputed};

#[tokio::test]
async fn rec_3_without_bodies_facts_are_asserted_and_signatures_still_hold() {
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    for kept in &mut parts.records {
        kept.body = None;
    }
    let report = audit(&parts.sealed());
    assert_eq!(found(&report), []);
    assert_eq!(report.verdict, Outcome::Incomplete);
    let gaps: Vec<(Gap, u64)> = report
        .undecided
        .iter()
        .map(|it| (it.gap, it.count))
        .collect();
    assert_eq!(gaps, [(Gap::MissingBodies, report.envelopes)]);
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
    assert_eq!(report.as_of, None, "and nobody's key is known");
    assert_eq!(report.findings[0].position, 0);
    assert_eq!(report.findings[0].cause, Cause::BytesChanged);
}

#[tokio::test]
async fn rules_that_are_not_known_are_not_decided_again() {
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    *parts.records[0].member("/rules_version") = 99.into();
    let report = audit(&parts.rehashed());
    assert_eq!(report.not_re_decided, report.records);
    assert_eq!(report.findings.len(), 1, "{:?}", found(&report));
    assert_eq!(report.findings[0].cause, Cause::HeaderDiffers);
}

/// Wherever rules change to some that this version does not know, in whatever form: nothing behind
/// them is decided or totalled, and nothing of it is called broken.
#[tokio::test]
async fn lc_9_rules_that_are_not_known_leave_an_audit_incomplete() {
    let parts = Parts::of(&exported(&settled_and_disputed().await).await);
    let size = parts.records.len();
    let paid = parts.find_event("confirmed");
    let events = [
        json!({"type": "rules_changed", "rules_version": 99}),
        json!({"type": "rules_changed", "rules_version": 99, "reader": 99}),
    ];
    for event in events {
        for at in [2, paid, paid + 1, size] {
            let mut changed = parts.clone();
            let seq = changed.records[..at].iter();
            let seq = seq.filter(|kept| kept.draft.stream == "ledger").count() as u64;
            let mut rules = changed.records[1].clone();
            rules.draft.event = event.clone();
            rules.draft.stream_seq = seq;
            rules.draft.recorded_at_ms = changed.records[at - 1].draft.recorded_at_ms;
            changed.records.insert(at, rules);
            for later in &mut changed.records[at + 1..] {
                later.draft.stream_seq += u64::from(later.draft.stream == "ledger");
            }
            let report = audit(&changed.rehashed());
            assert_eq!(found(&report), [], "{at} {event}");
            assert_eq!(report.verdict, Outcome::Incomplete, "{at} {event}");
            let gap = report
                .undecided
                .iter()
                .find(|it| it.gap == Gap::UnknownRules);
            assert!(gap.is_some(), "{at} {event}: {:?}", report.undecided);
            assert_eq!(report.paid.is_empty(), at <= paid, "{at} {event}");
        }
    }
}

/// What stands behind the last checkpoint anybody may have put there: it is counted, and nothing of it
/// is totalled.
#[tokio::test]
async fn lc_9_a_tail_is_nobodys_word() {
    let ledgerbox = settled_and_disputed().await;
    let records = ledgerbox.records().await;
    let at_of = |index: usize| records[index].recorded_at_ms();
    let last = records.len() - 1;
    let confirmed = records
        .iter()
        .position(|record| record.event_type() == b"confirmed")
        .unwrap();
    for covered in [confirmed, confirmed + 1, last, last + 1] {
        let note = signed(&ledgerbox, covered).await;
        let report = audit(&exported_under(&ledgerbox, Some(&note)).await);
        assert_eq!(found(&report), []);
        let as_of = report.as_of.unwrap();
        assert_eq!(as_of.records, covered as u64);
        assert_eq!(as_of.at_ms.as_ms(), at_of(covered - 1));
        let tail = report.tail.map_or(0, |tail| tail.records);
        assert_eq!(tail, (records.len() - covered) as u64);
        let span_ms = at_of(last) - at_of(covered - 1);
        let expected = match span_ms <= 10_000 {
            true => Outcome::Clean,
            false => Outcome::Incomplete,
        };
        assert_eq!(report.verdict, expected, "{covered}: {span_ms} ms");
        assert_eq!(report.paid.is_empty(), covered <= confirmed);
        assert_eq!(report.payments.is_empty(), covered <= confirmed);
    }
    let report = audit(&exported_under(&ledgerbox, None).await);
    assert_eq!((report.as_of, report.verdict), (None, Outcome::Incomplete));
    assert!(report.paid.is_empty() && report.interactions.is_empty());
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
    let observations = audit(&parts.sealed()).observations;
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
