//! Starts of the ledger that never were. A restart excuses what comes late behind it, so whoever keeps a
//! window open for a friend says that the ledger was started again and again, each time without a pause: no
//! window moves by that, and the sum of downtimes stays zero (ledger-contract.md sections 1.3 and 1.4).

use serde_json::json;

use super::super::deal::{Deal, Until};
use super::super::ledgerbox::Ledgerbox;
use super::Story;

/// How long other business goes on, in steps.
const STEPS: usize = 20;
const STEP_MS: u64 = 10_000;

/// A REQUEST that nobody answers, while others register.
async fn honest() -> Story {
    let ledgerbox = Ledgerbox::open().await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    for _ in 0..STEPS {
        ledgerbox.watch_ms(STEP_MS).await;
        ledgerbox.provider().await;
    }
    Story::at_rest(ledgerbox).await
}

/// The lapse and what is told of it, right before that record.
fn hold_until(story: &mut Story, before: u64) {
    let lapse = story.events("lapsed")[0];
    let told = story.names(|it| it.event_type() == "notice_issued" && it.event["cause"] == lapse);
    assert_eq!(told.len(), 2);
    let request = story.messages("x811/request")[0];
    story.moved(lapse, before).told(lapse, request, before);
    story.without(told);
}

fn restart(story: &mut Story, before: u64, gap_ms: u64) {
    let resumed = json!({ "type": "ledger_resumed", "gap_ms": gap_ms });
    story.put(before, "ledger", resumed);
}

/// Those who register while the REQUEST waits.
fn others(story: &Story) -> Vec<u64> {
    let request = story.messages("x811/request")[0];
    let mut others = story.messages("x811.registry/register");
    others.retain(|name| *name > request);
    assert!(others.len() > STEPS);
    others
}

#[tokio::test]
async fn lc_1_3_the_honest_log_of_an_unanswered_request_holds() {
    let story = honest().await;
    assert_eq!(story.report().findings, []);
    let late_ms = story.time(story.events("lapsed")[0]) - story.time(others(&story)[0]);
    assert!(late_ms < 60_000, "{late_ms}");
}

/// Without restarts it shows that others were served long before.
#[tokio::test]
async fn lc_1_3_a_lapse_is_held_back() {
    let mut story = honest().await;
    let last = others(&story)[STEPS - 1];
    hold_until(&mut story, last);
    story.is_found();
}

/// A batch is whole in the log or not there, and ends with what is due: behind a restart it shows what it left out.
#[tokio::test]
async fn lc_1_3_a_lapse_is_held_back_behind_restarts_without_a_pause() {
    let honest = honest().await;
    for each in [1, 2] {
        let mut story = honest.clone();
        let others = others(&story);
        for other in others[..STEPS].iter().step_by(each) {
            restart(&mut story, *other, 0);
        }
        hold_until(&mut story, others[STEPS - 1]);
        story.is_found();
    }
}

/// A start that was, and that moves nothing, holds nobody up: no verdict rests on how often one starts.
#[tokio::test]
async fn lc_1_4_restarts_without_a_pause_change_nothing_else() {
    let mut story = honest().await;
    for other in others(&story) {
        restart(&mut story, other, 0);
    }
    let report = story.is_clean();
    assert_eq!(report.downtimes.records, others(&story).len() as u64);
    assert_eq!(report.downtimes.total_ms, 0);
}
