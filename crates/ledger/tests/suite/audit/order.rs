//! Records dropped, duplicated, swapped, inserted and cut off are named.

use x811_audit::Cause;

use super::scene::{Parts, audit, causes_at, exported, found, settled_and_disputed};

/// What is changed at a place, `left_out` from the end, is named there.
async fn is_named(cause: Cause, left_out: usize, change: fn(&mut Parts, usize)) {
    let parts = Parts::of(&exported(&settled_and_disputed().await).await);
    for position in 0..parts.records.len() - left_out {
        let mut changed = parts.clone();
        change(&mut changed, position);
        let report = audit(&changed.joined());
        let causes = causes_at(&report, position as u64);
        assert!(causes.contains(&cause), "{position}: {:?}", found(&report));
    }
}

#[tokio::test]
async fn promise_4_a_dropped_record_is_missing() {
    let drop = |parts: &mut Parts, at: usize| drop(parts.records.remove(at));
    is_named(Cause::Missing, 1, drop).await;
}

#[tokio::test]
async fn promise_4_a_duplicated_record_is_named() {
    let double = |parts: &mut Parts, at: usize| parts.records.insert(at, parts.records[at].clone());
    is_named(Cause::Duplicated, 0, double).await;
}

#[tokio::test]
async fn promise_4_swapped_records_are_reordered() {
    let swap = |parts: &mut Parts, at: usize| parts.records.swap(at, at + 1);
    is_named(Cause::Reordered, 1, swap).await;
}

#[tokio::test]
async fn promise_4_an_inserted_record_is_named() {
    let parts = Parts::of(&exported(&settled_and_disputed().await).await);
    let lapse = parts.find_event("lapsed");
    for position in 2..parts.records.len() {
        let mut changed = parts.clone();
        let mut forged = changed.records[lapse].clone();
        let prev = x811_eventlog::Hash::of_leaf(&changed.records[position - 1].leaf);
        let record =
            x811_eventlog::Record::seal(position as u64, prev, forged.draft.clone()).unwrap();
        forged.leaf = record.bytes().to_vec();
        forged.body = None;
        changed.records.insert(position, forged);
        let report = audit(&changed.joined());
        let causes = causes_at(&report, position as u64);
        assert!(!causes.is_empty(), "{position}: {:?}", found(&report));
    }
}

#[tokio::test]
async fn promise_4_a_truncated_tail_shows_in_the_trailer() {
    let parts = Parts::of(&exported(&settled_and_disputed().await).await);
    for left in [1, 2, parts.records.len() - 2, parts.records.len() - 1] {
        let mut changed = parts.clone();
        changed.records.truncate(left);
        let report = audit(&changed.joined());
        let causes: Vec<Cause> = report.findings.iter().map(|f| f.cause).collect();
        assert!(
            causes.contains(&Cause::TrailerDiffers),
            "{left}: {causes:?}"
        );
    }
    let whole = parts.joined();
    let end = whole.iter().rposition(|byte| *byte == b'{').unwrap();
    for cut in [end, end + 1, whole.len() - 1] {
        let report = audit(&whole[..cut]);
        assert_eq!(report.findings[0].cause, Cause::FormatBroken, "{cut}");
    }
}

/// Nobody notices a tail cut off with a new trailer, unless a head was noted before.
#[tokio::test]
async fn promise_4_a_truncated_tail_with_a_new_trailer_shows_against_a_noted_head() {
    let ledgerbox = settled_and_disputed().await;
    let noted = ledgerbox.records().await.last().unwrap().hash();
    let mut parts = Parts::of(&exported(&ledgerbox).await);
    parts.records.pop();
    let bytes = parts.rehashed();
    assert_eq!(audit(&bytes).findings, []);
    let report = x811_audit::audit_export(&bytes[..], Some(noted)).unwrap();
    assert_eq!(report.findings[0].cause, Cause::HeadDiffers);
}
