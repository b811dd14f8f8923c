//! Statements that no rule forbids and that an auditor should know: the report names or counts them
//! (ledger-contract.md section 9).

use serde_json::json;
use x811_audit::{Attested, Report};
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::parameters::Rounds;

use super::super::council::{Council, running};
use super::super::log::Written;
use super::Story;

const HUMAN_MS: u64 = 5_000;

fn counted(report: &Report, what: Attested) -> u64 {
    report
        .attested
        .get(&what)
        .map_or(0, |counted| counted.count)
}

/// A round is escalated to a human, who does not answer.
async fn unanswered() -> Story {
    let human = "did:x811:019c8c61-8129-7511-9f31-aa5142e65471"
        .parse()
        .unwrap();
    let block = Rounds {
        humans: vec![human],
        human_ms: HUMAN_MS,
        ..Rounds::DEFAULT
    };
    let ledgerbox = running(block).await;
    let mut council = Council::new(&ledgerbox, 4).await;
    let proposal = council.proposal(&ledgerbox, 10_000, |it| {
        it["mechanism"] = json!("optimistic")
    });
    ledgerbox.accept(&proposal).await;
    ledgerbox.watch_ms(14_000).await;
    let plea = json!({ "reason": "time_critical" });
    council.say(&ledgerbox, 0, Verb::Escalate, plea).await;
    ledgerbox.watch_ms(HUMAN_MS + 2_000).await;
    Story::at_rest(ledgerbox).await
}

/// The human is told when there is nothing left to decide.
#[tokio::test]
async fn cc_046_the_notice_of_an_escalation_that_came_after_its_window_is_a_remark() {
    let honest = unanswered().await;
    let remarks = honest.is_clean().remarks;
    let escalated = honest.events("round_escalated")[0];
    let notice = honest.names(|it| it.event["cause"] == json!(escalated))[0];
    let lapse = honest.names(|it| it.event["window"] == "human")[0];
    let behind = honest.names(|it| it.was.as_ref().is_some_and(|(at, _)| *at > lapse))[0];
    let mut story = honest.clone();
    story.moved(notice, behind);
    let report = story.report();
    let is_late = |sentence: &str| sentence.contains("after the window of the humans had ended");
    let late = report.remarks.iter().filter(|it| is_late(&it.sentence));
    assert_eq!(late.count(), 1, "{:#?}", report.remarks);
    assert!(!remarks.iter().any(|it| is_late(&it.sentence)));
}

#[test]
fn rec_4_erasures_without_an_order_are_counted_apart() {
    let is_ordered = |report: &Report| {
        let erasures = report.absent_bodies.erasures.iter();
        erasures.map(|it| it.is_ordered).collect::<Vec<bool>>()
    };
    let report = Story::golden().is_clean();
    // The exclusion that was lifted, and the erasure.
    assert_eq!(counted(&report, Attested::Operators), 2);
    assert_eq!(is_ordered(&report), [false]);
    assert_eq!(counted(&report, Attested::UnorderedErasures), 1);
}

#[test]
fn sw_26_a_finalized_head_above_every_head_recorded_is_counted() {
    let mut story = Story::golden();
    let reached = story.events("final")[0];
    let report = story.report();
    assert_eq!(report.attested[&Attested::FinalHeads].first, reached);
    // An ACCEPT names a head above it, and it is recorded after that.
    let names_head = |it: &Written| it.event.pointer("/derived/heads/0/number").is_some();
    let accepted = story.names(names_head)[0];
    let number = |name, pointer| story.get(name, pointer).as_u64();
    assert!(number(accepted, "/derived/heads/0/number") > number(reached, "/head/number"));
    story.moved(reached, accepted + 1);
    assert_eq!(counted(&story.report(), Attested::FinalHeads), 0);
}
