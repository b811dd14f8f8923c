//! Downtimes that never were. How long the ledger was away is its word, where no record says otherwise; so the
//! operator aborts, or keeps open, what it likes (ledger-contract.md section 1.4). The report has their sum, and
//! a remark where a decision or a message rests on one.

use serde_json::{Value, json};
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::parameters::Rounds;

use super::super::conduct::{Scene, accepted, excluding};
use super::super::council::{Council, running};
use super::super::deal::Deal;
use super::super::ledgerbox::Ledgerbox;
use super::super::log::Written;
use super::Story;
use super::signals::sign_again;

/// How long votes are taken.
const LIFE_MS: u64 = 10_000;

/// Silence is consent, and nobody objects.
async fn honest() -> Story {
    let ledgerbox = running(Rounds {
        execution_ms: 4_000,
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let proposal = council.proposal(&ledgerbox, LIFE_MS, |it| {
        it["mechanism"] = json!("optimistic");
    });
    ledgerbox.accept(&proposal).await;
    for from in 0..2 {
        ledgerbox.watch_ms(200).await;
        let said = json!({ "decision": "approve" });
        council.say(&ledgerbox, from, Verb::Vote, said).await;
    }
    ledgerbox.watch_ms(LIFE_MS + 8_000).await;
    Story::at_rest(ledgerbox).await
}

fn lapse(story: &Story, window: &str) -> u64 {
    story.names(|it| it.event_type() == "lapsed" && it.event["window"] == window)[0]
}

fn told(story: &Story, cause: u64) -> Vec<u64> {
    story.names(|it: &Written| it.event_type() == "notice_issued" && it.event["cause"] == cause)
}

fn resumed(story: &mut Story, before: u64, gap_ms: u64) {
    let resumed = json!({ "type": "ledger_resumed", "gap_ms": gap_ms });
    story.put(before, "ledger", resumed);
}

#[tokio::test]
async fn cx_25_the_honest_log_of_a_consent_holds() {
    let story = honest().await;
    let report = story.report();
    assert_eq!(report.findings, []);
    let decided = story.events("round_decided")[0];
    assert_eq!(story.get(decided, "/reason"), "accepted");
    assert_eq!(report.remarks, []);
}

/// That a checkpoint was lost is the operator's word, too: the report names the record, and a form that says
/// nothing is not taken.
#[tokio::test]
async fn stores_2_an_adopted_checkpoint_is_the_ledgers_word_and_a_remark() {
    for (adopted, is_said) in [(true, true), (false, false)] {
        let mut story = honest().await;
        let before = story.messages("x811.registry/register")[1];
        let resumed = json!({
            "type": "ledger_resumed", "gap_ms": 0, "checkpoint_adopted": adopted,
        });
        story.put(before, "ledger", resumed);
        let report = story.report();
        assert_eq!(report.findings.is_empty(), is_said, "{:?}", report.findings);
        let remarks = format!("{:?}", report.remarks);
        assert_eq!(remarks.contains("without it"), is_said, "{remarks}");
    }
}

/// The ledger is said to have been away for some milliseconds, in which the timeout lay: that aborts what nobody
/// objected to. Nobody else was there, so that the report says on whose word it rests.
#[tokio::test]
async fn lc_9_a_moment_of_downtime_aborts_a_consent_is_the_ledgers_word() {
    let mut story = honest().await;
    let (closes, decided) = (lapse(&story, "votes"), story.events("round_decided")[0]);
    let over = lapse(&story, "execution");
    let rest = told(&story, over);
    story.without(rest);
    // Instead of its reports a retry is waited for, and none comes.
    let until = story.time(decided) + Rounds::DEFAULT.resubmit_ms + 1;
    let next = story.names(|it| it.at_ms >= until)[0];
    story
        .set(over, "/window", json!("resubmission"))
        .set(over, "/code", json!("CCN-5009"))
        .moved(over, next)
        .at(over, until);
    resumed(&mut story, closes, 1_500);
    let notice = told(&story, decided)[0];
    let body = story.record(notice).body.clone().unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap();
    let mut tally = message["payload"]["tally"].clone();
    (tally["outcome"], tally["reason"]) = (json!("abort"), json!("ledger_down"));
    story
        .set(decided, "/outcome", json!("abort"))
        .set(decided, "/reason", json!("ledger_down"))
        .say(notice, "outcome", json!("abort"))
        .say(notice, "tally", tally);
    sign_again(&mut story, notice, decided);
    let report = story.is_clean();
    assert_eq!(report.downtimes.total_ms, 1_500);
    let position = story.position(decided);
    assert!(report.remarks.iter().any(|it| it.position == position));
}

/// A provider lets its time pass, and the ledger is said to have been away all the while: no breach, no exclusion.
#[tokio::test]
async fn lc_9_a_breach_is_hidden_behind_a_downtime_is_the_ledgers_word() {
    let ledgerbox = excluding(Some(x811_protocol::parameters::Exclusion::DEFAULT)).await;
    let scene = Scene::set(&ledgerbox).await;
    accepted(&ledgerbox, &scene.first).await;
    let result_ms = ledgerbox.parameters.windows.result_ms;
    ledgerbox.advance_ms(result_ms.max(60_000) + 10_000).await;
    ledgerbox.provider().await;
    let mut story = Story::written_by(&ledgerbox).await;
    assert_eq!(story.report().findings, []);
    let (over, breach) = (lapse(&story, "result"), story.events("breach_recorded")[0]);
    let accept = story.messages("x811/accept")[0];
    let next = *story.messages("x811.registry/register").last().unwrap();
    let gone: Vec<u64> = [over, breach]
        .into_iter()
        .chain(told(&story, over))
        .collect();
    let gap_ms = story.time(next) - story.time(accept);
    story.without(gone);
    resumed(&mut story, next, gap_ms);
    let report = story.is_clean();
    assert_eq!(report.downtimes.total_ms, gap_ms);
}

/// The time for an ACCEPT is stretched: what was said in the time away is recorded behind it, as clocks of agents
/// may differ by minutes. An OFFER was made before anybody can have read the REQUEST; that is a remark.
#[tokio::test]
async fn lc_9_what_was_said_in_the_time_away_is_recorded_behind_it_is_the_ledgers_word() {
    const GAP_MS: u64 = 120_000;
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    ledgerbox.advance_ms(10_000).await;
    let request = deal.request(&ledgerbox);
    ledgerbox.accept(&request).await;
    ledgerbox.advance_ms(10_000).await;
    let offer = deal.offer_for(&ledgerbox, 600);
    ledgerbox.accept(&offer).await;
    ledgerbox.advance_ms(GAP_MS).await;
    let accept = deal.accept(&ledgerbox);
    ledgerbox.accept(&accept).await;
    let mut story = Story::written_by(&ledgerbox).await;
    let honest = story.report();
    assert_eq!((honest.findings, honest.remarks), (vec![], vec![]));
    let [request, offer] = ["x811/request", "x811/offer"].map(|message| story.messages(message)[0]);
    let at_ms = story.time(request) + GAP_MS;
    let deadline_ms = story
        .get(request, "/derived/deadline_at_ms")
        .as_u64()
        .unwrap();
    story
        .set(
            request,
            "/derived/deadline_at_ms",
            json!(deadline_ms + GAP_MS),
        )
        .at(request, at_ms)
        .at(offer, at_ms);
    resumed(&mut story, request, GAP_MS);
    let report = story.is_clean();
    let remarks: Vec<u64> = report.remarks.iter().map(|it| it.position).collect();
    assert_eq!(remarks, [story.position(offer)]);
}
