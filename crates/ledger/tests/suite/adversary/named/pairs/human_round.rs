//! A human, and the round that it is asked about (round.md, rule 11). Whoever wants the outcome turns the answer round,
//! asks about another round, or puts the answer where it counts.

use serde_json::json;
use x811_protocol::facts::ConsensusVerb as Verb;

use super::super::Story;
use super::super::rounds::{honest, said};
use super::{Lie, Pair, WORD, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "human",
    effect: "round",
    lies: &[LIES],
};

fn ruling(story: &Story) -> u64 {
    said(story, Verb::HumanDecision)[0]
}

fn escalated(story: &Story) -> u64 {
    story.events("round_escalated")[0]
}

/// Nobody waits for reports of what the human approved.
fn not_executed(story: &mut Story) {
    let over = *story.lapses("execution").last().unwrap();
    assert_eq!(story.stream(over), story.stream(ruling(story)));
    let gone = story.with_notices(over);
    story.without(gone);
}

const LIES: &[Lie] = &[
    (
        "cc_048_an_approval_is_a_rejection_and_nothing_is_executed",
        "facts.decision: the record says",
        |story| {
            story.set(ruling(story), "/facts/decision", json!("reject"));
            not_executed(story);
        },
    ),
    // The proposer asked before the round had failed.
    (
        "cc_046_humans_are_asked_before_the_round_fails",
        "the round does not take this message",
        |story| {
            let (plea, failed) = (said(story, Verb::Escalate)[0], story.lapses("votes")[2]);
            let escalated = escalated(story);
            story
                .moved(plea, failed)
                .moved_with_notices(escalated, failed);
        },
    ),
    // Nobody asked: it is an effect of the last failure.
    (
        "cc_046_a_plea_is_left_out_and_the_failure_asks",
        "it follows from no record",
        |story| {
            let (plea, decided) = (
                said(story, Verb::Escalate)[0],
                story.events("round_decided")[3],
            );
            let told = story.notices(decided)[0];
            let escalated = escalated(story);
            let notice = story.notices(escalated)[0];
            story
                .set(escalated, "/cause", json!(decided))
                .set(escalated, "/reason", json!("retries"))
                .say(notice, "reason", json!("retries"))
                .moved_with_notices(escalated, told)
                .without([plea]);
        },
    ),
    // The human was asked about the attempt before, and says nothing about this one.
    (
        "cc_048_a_human_decides_the_attempt_before",
        "does not belong in stream round:",
        |story| {
            not_executed(story);
            let failed = story.events("round_decided")[2];
            let stream = story.stream(failed);
            let names = [
                said(story, Verb::Escalate)[0],
                escalated(story),
                ruling(story),
            ];
            for name in names {
                story.in_stream(name, &stream);
            }
            for notice in story.notices(names[1]) {
                story.in_stream(notice, &stream);
            }
        },
    ),
    // The answer came first, and the question was made to fit.
    (
        "cc_048_a_human_decides_before_it_is_asked",
        "the round does not take this message",
        |story| {
            let plea = said(story, Verb::Escalate)[0];
            story.moved(ruling(story), plea);
        },
    ),
    // Another human was in force when this one decided.
    (
        "cc_048_another_human_was_in_force",
        "no round of yours that is not over has this id",
        |story| {
            let set = story.events("parameters_set")[0];
            let other = story.get(said(story, Verb::Vote)[0], "/envelope/from");
            let (mut others, honest) = (
                story.record(set).event.clone(),
                story.record(set).event.clone(),
            );
            others["rounds"]["humans"] = json!([other]);
            let (ruling, next) = (ruling(story), story.next(ruling(story)));
            story.put(ruling, "ledger", others);
            story.put(next, "ledger", honest);
        },
    ),
    (
        "cc_057_what_a_human_approved_is_done_at_once",
        "the window had not passed",
        |story| {
            let over = *story.lapses("execution").last().unwrap();
            let behind = story.next(*story.notices(over).last().unwrap());
            let at_ms = story.time(ruling(story)) + 1;
            story.at(over, at_ms).told_before(over, behind);
        },
    ),
    // The human was asked and did not answer so far: its answer is nowhere else.
    ("lc_9_a_human_is_said_to_be_silent", WORD, |story| {
        let ruling = ruling(story);
        not_executed(story);
        story.without([ruling]);
    }),
];

#[tokio::test]
async fn cc_046_cc_048_and_cc_057_no_lie_about_humans_and_rounds_holds() {
    hold(&honest().await, LIES);
}
