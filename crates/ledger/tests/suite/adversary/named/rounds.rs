//! Rounds: who voted what, what it came to, and who was asked (round.md). The operator gains by another
//! outcome, by a vote more or less, by a moment earlier or later, and by what nobody hears of.

use serde_json::{Value, json};
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::facts::consensus::Decision;
use x811_protocol::key::SecretKey;
use x811_protocol::parameters::Rounds;

use super::super::council::{Council, running};
use super::super::party::Party;
use super::{Story, Told, hold};

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
pub(super) async fn honest() -> Story {
    let human = human();
    let block = Rounds {
        humans: vec![human.did],
        execution_ms: 4_000,
        // Two failures in a row are no deadlock here: the second is escalated by its proposer.
        related_ms: 1,
        retry_base_ms: 1_000,
        ..Rounds::DEFAULT
    };
    let ledgerbox = running(block).await;
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
    Story::at_rest(ledgerbox).await
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

const STORIES: &[Told] = &[
    // What was accepted is said to be rejected.
    ("cc_024_an_outcome_is_turned_round", |story| {
        let decided = outcome(story, 0);
        story.set(decided, "/outcome", json!("abort"));
        story.set(decided, "/reason", json!("rejected"));
    }),
    ("cx_10_the_digest_is_of_other_votes", |story| {
        let digest = story.get(outcome(story, 1), "/votes_digest");
        story.set(outcome(story, 0), "/votes_digest", digest);
    }),
    ("cc_024_a_vote_is_left_out_and_its_tally_is_not", |story| {
        let first = said(story, Verb::Vote)[0];
        story.without([first]);
    }),
    // The approval is said to be a rejection; the voter's envelope says otherwise.
    ("cc_019_a_vote_says_something_else", |story| {
        let first = said(story, Verb::Vote)[0];
        story.set(first, "/facts/decision", json!("reject"));
    }),
    // The second vote counts, as the operator likes it better.
    ("cx_14_a_second_vote_is_no_evidence", |story| {
        let second = said(story, Verb::Vote)[2];
        let noted = story.events("anomaly_noted")[0];
        story.unset(second, "/derived/effect").without([noted]);
    }),
    // A vote that counts is put aside.
    ("cx_14_an_only_vote_is_made_evidence", |story| {
        let third = said(story, Verb::Vote)[3];
        story.set(third, "/derived/effect", json!("evidence"));
    }),
    // Somebody else is said to have voted twice.
    ("cx_14_a_finding_names_another_agent", |story| {
        let noted = story.events("anomaly_noted")[0];
        let other = story.get(said(story, Verb::Vote)[0], "/envelope/from");
        story.set(noted, "/agents", json!([other]));
    }),
    ("cx_5_a_vote_is_taken_after_the_timeout", |story| {
        let last = said(story, Verb::Reveal)[2];
        let decided = outcome(story, 1);
        let late = story.time(decided) + 1;
        story.moved(last, lapse(story, "execution", 1));
        story.at(last, late);
    }),
    // Voting is closed before the last vote comes, which is then late.
    ("cx_5_the_window_for_votes_is_closed_early", |story| {
        let closes = lapse(story, "votes", 1);
        let decided = outcome(story, 2);
        let early = story.time(closes) - 2_000;
        story.at(closes, early).at(decided, early);
    }),
    ("cc_024_a_round_is_decided_twice", |story| {
        let decided = outcome(story, 0);
        let before = said(story, Verb::Executed)[0];
        story.again(decided, before);
    }),
    ("cc_024_a_round_is_decided_before_its_last_vote", |story| {
        let last = said(story, Verb::Vote)[4];
        story.moved(outcome(story, 0), last);
    }),
    ("cx_21_another_leads", |story| {
        let opened = story.events("round_opened")[0];
        let agent = story.get(said(story, Verb::Vote)[0], "/envelope/from");
        story.set(opened, "/leader", agent);
    }),
    (
        "cc_031_a_weighted_round_is_opened_before_all_acknowledge_its_weights",
        |story| {
            let opened = story.events("round_opened")[1];
            let ready = said(story, Verb::Ready)[2];
            story.moved(opened, ready);
        },
    ),
    ("cx_51_a_reveal_is_left_out", |story| {
        let reveal = said(story, Verb::Reveal)[0];
        story.without([reveal]);
    }),
    // The votes of the first attempt are to count in another one.
    ("cx_4_a_vote_is_put_into_another_round", |story| {
        let first = said(story, Verb::Vote)[0];
        let proposal = said(story, Verb::Propose)[3];
        let stream = story.record(proposal).stream.clone();
        let behind = lapse(story, "votes", 2);
        story.moved(first, behind).in_stream(first, &stream);
    }),
    // A friend's proposals rank higher.
    ("cx_26_a_proposer_has_more_authority", |story| {
        let proposal = said(story, Verb::Propose)[0];
        story.set(proposal, "/derived/authority", json!(100));
    }),
    ("cx_22_a_failed_round_does_not_know_its_retry", |story| {
        let resubmitted = story.events("resubmitted")[0];
        story.without([resubmitted]);
    }),
    // A human is said to have decided what nobody asked.
    ("cc_046_nobody_was_asked", |story| {
        let escalated = story.events("round_escalated")[0];
        story.without([escalated]);
    }),
    ("cc_046_humans_are_asked_for_another_reason", |story| {
        let escalated = story.events("round_escalated")[0];
        story.set(escalated, "/reason", json!("retries"));
    }),
    ("cc_048_a_human_rejects_who_approved", |story| {
        let ruling = said(story, Verb::HumanDecision)[0];
        story.set(ruling, "/facts/decision", json!("reject"));
    }),
    // Reports are waited for without an end.
    ("cc_057_the_time_for_reports_never_ends", |story| {
        let done = lapse(story, "execution", 0);
        story.without([done]);
    }),
    // The operator votes for somebody: without a key of theirs it is nobody's vote.
    ("cc_019_a_vote_is_made_by_the_operator", |story| {
        let (first, last) = (said(story, Verb::Vote)[0], said(story, Verb::Vote)[4]);
        let mut written = story.record(last).clone();
        written.event["envelope"]["from"] = story.get(first, "/envelope/from");
        story.put_written(last, written);
    }),
    // Its body is gone, and with it what was signed inside.
    ("cx_9_the_body_of_a_vote_is_missing", |story| {
        let vote = said(story, Verb::Vote)[0];
        story.without_body(vote);
    }),
];

#[tokio::test]
async fn cc_019_cc_024_and_cx_14_no_story_of_rounds_holds() {
    hold(&honest().await, STORIES);
}

#[tokio::test]
async fn cx_10_the_counts_are_others() {
    let honest = honest().await;
    for (member, value) in [
        ("approve", json!(2)),
        ("reject", json!(2)),
        ("abstain", json!(1)),
        ("received", json!(3)),
        ("eligible", json!(5)),
        ("connected", json!(3)),
    ] {
        let mut story = honest.clone();
        let decided = outcome(&story, 0);
        let pointer = format!("/tally/{member}");
        let _ = story.get(decided, &pointer);
        story.set(decided, &pointer, value);
        story.is_found();
    }
}

/// Nobody is to hear of the second vote.
#[tokio::test]
async fn cx_14_a_finding_is_left_out() {
    let honest = honest().await;
    for number in 0..2 {
        let mut story = honest.clone();
        let noted = story.events("anomaly_noted")[number];
        story.without([noted]);
        story.is_found();
    }
}

#[tokio::test]
async fn cc_024_a_round_is_never_decided() {
    let honest = honest().await;
    for number in 0..3 {
        let mut story = honest.clone();
        let decided = outcome(&story, number);
        story.without([decided]);
        story.is_found();
    }
}
