//! Messages that an operator exchanges: what their sender signed says which came first. Every exchange is broken,
//! or a remark names both times (decision 0294).

use serde_json::json;
use x811_audit::{Attested, Outcome, Report};
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::parameters::Rounds;

use super::super::council::{self, Council};
use super::super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::super::ledgerbox::{Ledgerbox, impatient};
use super::super::scene::{audit, exported, found, pay};
use super::Story;

const DELIVERED_LATE: &str = "delivered late";

fn remarks_at(report: &Report, position: u64) -> usize {
    let remarks = report.remarks.iter();
    let here = remarks.filter(|it| it.position == position);
    here.filter(|it| it.sentence.contains(DELIVERED_LATE))
        .count()
}

/// Pairs of neighbouring messages of one sender in one stream, of which the second was signed later.
fn pairs(story: &Story) -> Vec<(u64, u64)> {
    let names =
        story.names(|it| !it.message_type().is_empty() && it.event_type() != "notice_issued");
    let key = |name: u64| {
        (
            story.record(name).stream.clone(),
            story.get(name, "/envelope/from"),
        )
    };
    let signed_ms = |name: u64| story.get(name, "/envelope/created_ms").as_u64();
    let mut pairs = Vec::new();
    for (index, first) in names.iter().enumerate() {
        let mut behind = names[index + 1..].iter();
        let next = behind.find(|next| key(**next) == key(*first));
        pairs.extend(
            next.filter(|next| signed_ms(**next) > signed_ms(*first))
                .map(|next| (*first, *next)),
        );
    }
    pairs
}

/// Exchanges each pair; gives how many exchanges are broken and how many are remarks.
#[track_caller]
fn exchanged(honest: &Story) -> (usize, usize) {
    let (mut broken, mut remarks) = (0, 0);
    for (first, second) in pairs(honest) {
        let mut story = honest.clone();
        story.moved(second, first);
        let report = story.report();
        if report.verdict == Outcome::Broken {
            broken += 1;
        } else {
            let at = story.position(first);
            assert_eq!(
                remarks_at(&report, at),
                1,
                "{first} and {second}: {:#?}",
                report.remarks
            );
            remarks += 1;
        }
    }
    (broken, remarks)
}

/// Every message of an interaction has one place.
#[tokio::test]
async fn lc_9_messages_of_an_interaction_that_are_exchanged_are_broken() {
    let mut ledgerbox = impatient().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Offered).await;
    for step in [
        Deal::accept as fn(&mut Deal, &Ledgerbox) -> SealedEnvelope,
        Deal::result,
        Deal::verify,
    ] {
        ledgerbox.advance_ms(79).await;
        let message = step(&mut deal, &ledgerbox);
        ledgerbox.accept(&message).await;
    }
    ledgerbox.advance_ms(79).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    let exchanged = exchanged(&Story::at_rest(ledgerbox).await);
    assert_eq!(exchanged, (4, 0));
}

/// The machine takes them in either order: only the signed times tell.
#[tokio::test]
async fn lc_9_contradicting_votes_of_one_voter_that_are_exchanged_are_a_remark() {
    let ledgerbox = council::running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    council.all_ready(&ledgerbox, &json!({})).await;
    for (from, decision) in [(1, "approve"), (1, "reject"), (2, "approve")] {
        let vote = json!({ "decision": decision, "rationale": format!("{decision}, says {from}") });
        let message = council.message(&ledgerbox, &council.members[from], Verb::Vote, &vote);
        ledgerbox.accept(&message).await;
        ledgerbox.advance_ms(79).await;
    }
    let (broken, remarks) = exchanged(&Story::at_rest(ledgerbox).await);
    assert!(remarks > 0, "{broken} and {remarks}");
}

/// Signed in one order and delivered in the other: nothing is wrong.
#[tokio::test]
async fn lc_9_messages_that_are_delivered_late_are_a_remark_in_one_stream_and_counted_between_streams()
 {
    let ledgerbox = Ledgerbox::open().await;
    let sender = ledgerbox.provider().await;
    let receivers = [ledgerbox.provider().await, ledgerbox.provider().await];
    let greeting =
        |to: usize| ledgerbox.seal(&sender, "x811.ext/greeting", &receivers[to], json!({}));
    let early = [greeting(0), greeting(1)];
    ledgerbox.advance_ms(79).await;
    let late = greeting(0);
    for message in [&late, &early[0], &early[1]] {
        ledgerbox.accept(message).await;
    }
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!(found(&report), []);
    let last = report.records - 1;
    assert_eq!(
        [remarks_at(&report, last - 1), remarks_at(&report, last)],
        [1, 0]
    );
    let counted = report.attested[&Attested::SigningOrder];
    assert_eq!((counted.count, counted.first), (1, last));
}
