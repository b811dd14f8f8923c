//! Rounds about one resource, and what they do to each other (round.md, "When it is decided", rules 8 and 9). The
//! operator tells the outcome of each as it likes it, with the notice that every member gets.

use serde_json::{Value, json};
use x811_protocol::facts::ConsensusVerb as Verb;

use super::super::signals::sign_again;
use super::super::{Story, contests, rounds};
use super::{Lie, Pair, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "round",
    effect: "round",
    lies: &[OF_RIVALS, OF_A_CYCLE, OF_A_DRAW, OF_RETRIES],
};

/// The decision of that number.
fn decision(story: &Story, number: usize) -> u64 {
    story.events("round_decided")[number]
}

/// What the notice of a decision says.
fn told(story: &Story, decided: u64) -> (u64, Value) {
    let notice = story.notices(decided)[0];
    let body = story.record(notice).body.clone().unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap();
    (notice, message["payload"]["tally"].clone())
}

/// The round came to another outcome, and its members were told so.
pub(super) fn decided_as(story: &mut Story, decided: u64, outcome: &str, reason: &str) {
    let (notice, mut tally) = told(story, decided);
    (tally["outcome"], tally["reason"]) = (json!(outcome), json!(reason));
    story
        .set(decided, "/outcome", json!(outcome))
        .set(decided, "/reason", json!(reason))
        .say(notice, "outcome", json!(outcome))
        .say(notice, "tally", tally);
    sign_again(story, notice, decided);
}

/// The held round is accepted, and its reports are waited for as long as those of the other one.
fn is_accepted(story: &mut Story, decided: u64) {
    story.unset(decided, "/winner");
    let (like, stream) = (story.lapses("execution")[0], story.stream(decided));
    let at_ms = story.time(decided) + 4_001;
    let behind = story.names(|it| it.at_ms > at_ms)[0];
    let event = story.record(like).event.clone();
    let over = story.put(behind, &stream, event);
    let proposal = story.names(|it| it.stream == stream)[0];
    let subject = json!({ "kind": "round", "id": story.get(proposal, "/envelope/id") });
    let members = [
        ("proposal_id", story.get(proposal, "/envelope/id")),
        ("subject", subject),
    ];
    story
        .at(over, at_ms)
        .told_like((like, over), behind, &members);
    decided_as(story, decided, "commit", "accepted");
}

const OF_RIVALS: &[Lie] = &[
    (
        "cx_26_a_superseded_round_is_accepted_and_done",
        "the votes lead to another verdict",
        |story| {
            let low = decision(story, 1);
            is_accepted(story, low);
        },
    ),
    // It is let go before its rival is decided.
    (
        "cx_26_a_held_round_is_let_go_and_accepted_before_its_rival",
        "the window had not passed",
        |story| {
            let (hold, low) = (story.lapses("hold")[0], decision(story, 1));
            let next = story.messages(Verb::Vote.as_str())[3];
            story.moved(hold, next).moved_with_notices(low, next);
            is_accepted(story, low);
        },
    ),
    // The winner was proposed when the other one was decided, so that it was no rival.
    (
        "cx_26_a_rival_is_proposed_when_the_held_round_was_due",
        "the effect `round_decided`",
        |story| {
            let votes = story.messages(Verb::Vote.as_str());
            let proposal = story.messages(Verb::Propose.as_str())[1];
            let (opened, ready) = (story.events("round_opened")[1], votes[3]);
            story
                .moved(proposal, ready)
                .moved(opened, ready)
                .told_before(opened, ready);
        },
    ),
];

const OF_A_CYCLE: &[Lie] = &[
    // The oldest stays: the younger one is said to have been proposed first, with what was told of it.
    (
        "cc_061_two_rounds_of_a_cycle_change_places",
        "it follows from no record",
        |story| {
            let [early, late] = [0, 1].map(|it| story.messages(Verb::Propose.as_str())[it]);
            let opened = story.events("round_opened")[1];
            for name in [late, opened] {
                story.moved(name, early);
            }
            story.told_before(opened, early);
        },
    ),
];

const OF_A_DRAW: &[Lie] = &[
    // The block draws the other round, which goes on, while the one that it drew is over.
    (
        "cc_061_a_draw_and_its_loser_are_of_the_other_round",
        "the block draws another round",
        |story| {
            let (draw, loser) = (story.events("cycle_drawn")[0], decision(story, 0));
            let (winner, stream) = (story.get(draw, "/winner"), story.stream(loser));
            let out = json!(stream.strip_prefix("round:").unwrap());
            let other = format!("round:{}", winner.as_str().unwrap());
            story
                .set(draw, "/winner", out.clone())
                .set(loser, "/winner", out)
                .in_stream(loser, &other);
            let (notice, _) = told(story, loser);
            let subject = json!({ "kind": "round", "id": winner });
            story
                .in_stream(notice, &other)
                .say(notice, "proposal_id", winner)
                .say(notice, "subject", subject);
            sign_again(story, notice, loser);
        },
    ),
];

/// The retry, and what follows from it directly.
fn retry(story: &Story) -> [u64; 3] {
    let proposal = story.messages(Verb::Propose.as_str())[3];
    let opened = story.events("round_opened")[3];
    [proposal, story.events("resubmitted")[0], opened]
}

const OF_RETRIES: &[Lie] = &[
    (
        "cx_22_a_round_is_retried_before_it_failed",
        "names no round that failed and waits for a retry",
        |story| {
            let failed = story.lapses("votes")[1];
            let (at_ms, [_, _, opened]) = (story.time(failed) - 1_500, retry(story));
            for name in retry(story) {
                story.moved(name, failed).at(name, at_ms);
            }
            story.told_before(opened, failed);
        },
    ),
    // Whoever proposed it waited for no back-off.
    (
        "cx_22_a_round_is_retried_at_the_moment_of_its_failure",
        "the next attempt may be made in 1000 ms",
        |story| {
            let told = story.notices(decision(story, 2))[0];
            let [_, _, opened] = retry(story);
            for name in retry(story) {
                story.moved(name, told);
            }
            story.told_before(opened, told);
        },
    ),
    // The failed round is said to be another one.
    (
        "cx_22_a_retry_is_of_a_round_that_was_accepted",
        "facts.resubmission_of: the record says",
        |story| {
            let [proposal, resubmitted, _] = retry(story);
            let other = story.get(story.messages(Verb::Propose.as_str())[0], "/envelope/id");
            let stream = format!("round:{}", other.as_str().unwrap());
            story
                .set(proposal, "/facts/resubmission_of", other)
                .in_stream(resubmitted, &stream);
        },
    ),
];

#[tokio::test]
async fn cx_22_cx_26_and_cc_061_no_lie_about_rounds_and_rounds_holds() {
    hold(&contests::superseded().await, OF_RIVALS);
    hold(&contests::passed().await, OF_A_CYCLE);
    hold(&contests::drawn().await, OF_A_DRAW);
    hold(&rounds::honest().await, OF_RETRIES);
}
