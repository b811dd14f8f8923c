//! Rounds: who voted what, what it came to, and who was asked (round.md). The operator gains by another
//! outcome, by a vote more or less, by a moment earlier or later, and by what nobody hears of.

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::facts::consensus::Decision;
use x811_protocol::key::SecretKey;
use x811_protocol::parameters::Rounds;

use super::{Story, found};
use crate::council::{Council, running};
use crate::ledgerbox::Ledgerbox;
use crate::party::Party;
use crate::rarer::quiet;
use crate::single::written_by;

/// How long votes are taken.
const LIFE_MS: u64 = 10_000;

fn human() -> Party {
    Party {
        did: "did:x811:019c8c61-8129-7511-9f31-aa5142e65471"
            .parse()
            .unwrap(),
        key: SecretKey::from_seed([0x71; 32]),
    }
}

fn vote(from: usize, decision: &str) -> Value {
    json!({ "decision": decision, "rationale": format!("{decision}, says seat {from}") })
}

/// Five rounds: committed, with a second vote; sealed and weighted, with a commitment that is not revealed;
/// failed, and retried; the retry, failed too, and escalated to a human who approves.
async fn decided() -> Ledgerbox {
    let human = human();
    let block = Rounds {
        humans: vec![human.did],
        execution_ms: 4_000,
        // Two failures in a row are no deadlock here: the second is escalated by its proposer.
        related_ms: 1,
        retry_base_ms: 1_000,
        ..Rounds::DEFAULT
    };
    let mut ledgerbox = running(block).await;
    let mut council = Council::new(&ledgerbox, 4).await;
    let registration = ledgerbox.registration(&human, &[], &[]);
    ledgerbox.accept(&registration).await;

    let proposal = council.proposal(&ledgerbox, LIFE_MS, |_| {});
    ledgerbox.accept(&proposal).await;
    for (from, decision) in [
        (0, "approve"),
        (1, "approve"),
        (1, "reject"),
        (2, "reject"),
        (3, "approve"),
    ] {
        // Votes at one moment would be a finding of their own.
        ledgerbox.watch_ms(200).await;
        let said = vote(from, decision);
        council.say(&ledgerbox, from, Verb::Vote, said).await;
    }
    council.say(&ledgerbox, 0, Verb::Executed, json!({})).await;
    ledgerbox.watch_ms(LIFE_MS + 5_000).await;

    let proposal = council.proposal(&ledgerbox, LIFE_MS + 30_000, |it| {
        it["mechanism"] = json!("weighted");
        it["voting"] = json!("sealed");
        it["weights"] = json!([50, 30, 20, 10]);
        it["quorum"] = json!(1);
    });
    ledgerbox.accept(&proposal).await;
    let weights_hash = {
        let world = ledgerbox.ledger().world();
        let live = world.round(council.round.unwrap()).unwrap();
        live.state.opening.proposal.weights_hash
    };
    let known = json!({ "weights_hash": weights_hash });
    council.all_ready(&ledgerbox, &known).await;
    let at = ledgerbox.now().to_rfc3339();
    for from in 0..4 {
        let sealed = council.sealed(from, Decision::Approve, "yes");
        council.say(&ledgerbox, from, Verb::Vote, sealed).await;
    }
    ledgerbox.watch_ms(LIFE_MS + 30_001).await;
    for from in 0..3 {
        let shown = json!({ "decision": "approve", "rationale": "yes", "timestamp": at });
        council.say(&ledgerbox, from, Verb::Reveal, shown).await;
    }
    ledgerbox.watch_ms(20_000).await;

    let proposal = council.proposal(&ledgerbox, LIFE_MS, |_| {});
    let failed = council.round;
    ledgerbox.accept(&proposal).await;
    ledgerbox.watch_ms(LIFE_MS + 2_000).await;
    let proposal = council.proposal(&ledgerbox, LIFE_MS + 5_000, |it| {
        it["attempt"] = json!(2);
        it["resubmission_of"] = json!(failed);
    });
    ledgerbox.accept(&proposal).await;
    ledgerbox.watch_ms(LIFE_MS + 6_000).await;
    let plea = json!({ "reason": "time_critical" });
    let escalation = council.say(&ledgerbox, 0, Verb::Escalate, plea).await;
    let ruling = json!({
        "decision": "approve", "escalation": escalation.position + 1, "rationale": "so be it",
    });
    let ruling = council.message(&ledgerbox, &human, Verb::HumanDecision, &ruling);
    ledgerbox.accept(&ruling).await;
    ledgerbox.watch_ms(6_000).await;
    quiet(&mut ledgerbox).await;
    ledgerbox
}

pub(super) async fn honest() -> Story {
    static WRITTEN: OnceCell<Story> = OnceCell::const_new();
    let write = || async { Story::of(written_by(&decided().await).await) };
    WRITTEN.get_or_init(write).await.clone()
}

pub(super) fn said(story: &Story, verb: Verb) -> Vec<u64> {
    story.messages(verb.as_str())
}

/// The outcome of the round of that number, and what it was a lapse or a message caused.
fn outcome(story: &Story, number: usize) -> u64 {
    story.events("round_decided")[number]
}

fn lapse(story: &Story, window: &str, number: usize) -> u64 {
    let mut lapses = story.events("lapsed");
    lapses.retain(|name| story.get(*name, "/window") == window);
    lapses[number]
}

#[tokio::test]
async fn cc_013_the_honest_log_of_rounds_has_them_all() {
    let story = honest().await;
    let report = story.report();
    assert_eq!(report.findings, [], "{:?}", report.findings);
    assert_eq!(said(&story, Verb::Propose).len(), 4);
    assert_eq!(said(&story, Verb::Vote).len(), 9);
    assert_eq!(said(&story, Verb::Reveal).len(), 3);
    let outcomes: Vec<Value> = story
        .events("round_decided")
        .iter()
        .map(|name| story.get(*name, "/reason"))
        .collect();
    assert_eq!(outcomes, ["accepted", "accepted", "no_quorum", "no_quorum"]);
    assert_eq!(story.events("resubmitted").len(), 1);
    assert_eq!(story.events("round_escalated").len(), 1);
    let noted = story.events("anomaly_noted");
    let kinds: Vec<Value> = noted.iter().map(|it| story.get(*it, "/kind")).collect();
    assert!(kinds.contains(&json!("second_vote")), "{kinds:?}");
    assert!(kinds.contains(&json!("unrevealed")), "{kinds:?}");
}

/// What was accepted is said to be rejected.
#[tokio::test]
async fn cc_024_an_outcome_is_turned_round() {
    let mut story = honest().await;
    let decided = outcome(&story, 0);
    story.set(decided, "/outcome", json!("abort"));
    story.set(decided, "/reason", json!("rejected"));
    found!(story);
}

#[tokio::test]
async fn cx_10_the_counts_are_others() {
    for (member, value) in [
        ("approve", json!(2)),
        ("reject", json!(2)),
        ("abstain", json!(1)),
        ("received", json!(3)),
        ("eligible", json!(5)),
        ("connected", json!(3)),
    ] {
        let mut story = honest().await;
        let decided = outcome(&story, 0);
        let pointer = format!("/tally/{member}");
        let _ = story.get(decided, &pointer);
        story.set(decided, &pointer, value);
        found!(story);
    }
}

#[tokio::test]
async fn cx_10_the_digest_is_of_other_votes() {
    let mut story = honest().await;
    let digest = story.get(outcome(&story, 1), "/votes_digest");
    story.set(outcome(&story, 0), "/votes_digest", digest);
    found!(story);
}

#[tokio::test]
async fn cc_024_a_vote_is_left_out_and_its_tally_is_not() {
    let mut story = honest().await;
    let first = said(&story, Verb::Vote)[0];
    story.without([first]);
    found!(story);
}

/// The approval is said to be a rejection; the voter's envelope says otherwise.
#[tokio::test]
async fn cc_019_a_vote_says_something_else() {
    let mut story = honest().await;
    let first = said(&story, Verb::Vote)[0];
    story.set(first, "/facts/decision", json!("reject"));
    found!(story);
}

/// The second vote counts, as the operator likes it better.
#[tokio::test]
async fn cx_14_a_second_vote_is_no_evidence() {
    let mut story = honest().await;
    let second = said(&story, Verb::Vote)[2];
    let noted = story.events("anomaly_noted")[0];
    story.unset(second, "/derived/effect").without([noted]);
    found!(story);
}

/// A vote that counts is put aside.
#[tokio::test]
async fn cx_14_an_only_vote_is_made_evidence() {
    let mut story = honest().await;
    let third = said(&story, Verb::Vote)[3];
    story.set(third, "/derived/effect", json!("evidence"));
    found!(story);
}

/// Nobody is to hear of the second vote.
#[tokio::test]
async fn cx_14_a_finding_is_left_out() {
    for number in 0..2 {
        let mut story = honest().await;
        let noted = story.events("anomaly_noted")[number];
        story.without([noted]);
        found!(story);
    }
}

/// Somebody else is said to have voted twice.
#[tokio::test]
async fn cx_14_a_finding_names_another_agent() {
    let mut story = honest().await;
    let noted = story.events("anomaly_noted")[0];
    let other = story.get(said(&story, Verb::Vote)[0], "/envelope/from");
    story.set(noted, "/agents", json!([other]));
    found!(story);
}

#[tokio::test]
async fn cx_5_a_vote_is_taken_after_the_timeout() {
    let mut story = honest().await;
    let last = said(&story, Verb::Reveal)[2];
    let decided = outcome(&story, 1);
    let late = story.time(decided) + 1;
    story.moved(last, lapse(&story, "execution", 1));
    story.at(last, late);
    found!(story);
}

/// Voting is closed before the last vote comes, which is then late.
#[tokio::test]
async fn cx_5_the_window_for_votes_is_closed_early() {
    let mut story = honest().await;
    let closes = lapse(&story, "votes", 1);
    let decided = outcome(&story, 2);
    let early = story.time(closes) - 2_000;
    story.at(closes, early).at(decided, early);
    found!(story);
}

#[tokio::test]
async fn cc_024_a_round_is_never_decided() {
    for number in 0..3 {
        let mut story = honest().await;
        let decided = outcome(&story, number);
        story.without([decided]);
        found!(story);
    }
}

#[tokio::test]
async fn cc_024_a_round_is_decided_twice() {
    let mut story = honest().await;
    let decided = outcome(&story, 0);
    let before = said(&story, Verb::Executed)[0];
    story.again(decided, before);
    found!(story);
}

#[tokio::test]
async fn cc_024_a_round_is_decided_before_its_last_vote() {
    let mut story = honest().await;
    let last = said(&story, Verb::Vote)[4];
    story.moved(outcome(&story, 0), last);
    found!(story);
}

#[tokio::test]
async fn cx_21_another_leads() {
    let mut story = honest().await;
    let opened = story.events("round_opened")[0];
    let agent = story.get(said(&story, Verb::Vote)[0], "/envelope/from");
    story.set(opened, "/leader", agent);
    found!(story);
}

#[tokio::test]
async fn cc_031_a_weighted_round_is_opened_before_all_acknowledge_its_weights() {
    let mut story = honest().await;
    let opened = story.events("round_opened")[1];
    let ready = said(&story, Verb::Ready)[2];
    story.moved(opened, ready);
    found!(story);
}

#[tokio::test]
async fn cx_51_a_reveal_is_left_out() {
    let mut story = honest().await;
    let reveal = said(&story, Verb::Reveal)[0];
    story.without([reveal]);
    found!(story);
}

/// The votes of the first attempt are to count in another one.
#[tokio::test]
async fn cx_4_a_vote_is_put_into_another_round() {
    let mut story = honest().await;
    let first = said(&story, Verb::Vote)[0];
    let proposal = said(&story, Verb::Propose)[3];
    let stream = story.record(proposal).stream.clone();
    let behind = lapse(&story, "votes", 2);
    story.moved(first, behind).in_stream(first, &stream);
    found!(story);
}

/// A friend's proposals rank higher.
#[tokio::test]
async fn cx_26_a_proposer_has_more_authority() {
    let mut story = honest().await;
    let proposal = said(&story, Verb::Propose)[0];
    story.set(proposal, "/derived/authority", json!(100));
    found!(story);
}

#[tokio::test]
async fn cx_22_a_failed_round_does_not_know_its_retry() {
    let mut story = honest().await;
    let resubmitted = story.events("resubmitted")[0];
    story.without([resubmitted]);
    found!(story);
}

/// A human is said to have decided what nobody asked.
#[tokio::test]
async fn cc_046_nobody_was_asked() {
    let mut story = honest().await;
    let escalated = story.events("round_escalated")[0];
    story.without([escalated]);
    found!(story);
}

#[tokio::test]
async fn cc_046_humans_are_asked_for_another_reason() {
    let mut story = honest().await;
    let escalated = story.events("round_escalated")[0];
    story.set(escalated, "/reason", json!("retries"));
    found!(story);
}

#[tokio::test]
async fn cc_048_a_human_rejects_who_approved() {
    let mut story = honest().await;
    let ruling = said(&story, Verb::HumanDecision)[0];
    story.set(ruling, "/facts/decision", json!("reject"));
    found!(story);
}

/// Reports are waited for without an end.
#[tokio::test]
async fn cc_057_the_time_for_reports_never_ends() {
    let mut story = honest().await;
    let done = lapse(&story, "execution", 0);
    story.without([done]);
    found!(story);
}

/// The operator votes for somebody: without a key of theirs it is nobody's vote.
#[tokio::test]
async fn cc_019_a_vote_is_made_by_the_operator() {
    let mut story = honest().await;
    let (first, last) = (said(&story, Verb::Vote)[0], said(&story, Verb::Vote)[4]);
    let mut written = story.record(last).clone();
    written.event["envelope"]["from"] = story.get(first, "/envelope/from");
    story.put_written(last, written);
    found!(story);
}

/// Its body is gone, and with it what was signed inside.
#[tokio::test]
async fn cx_9_the_body_of_a_vote_is_missing() {
    let mut story = honest().await;
    let vote = said(&story, Verb::Vote)[0];
    story.without_body(vote);
    found!(story);
}
