//! Who may decide a round, and what they put their names to: humans are those in force when they decide, and
//! the place of what they were asked in is in what they sign (round.md, rule 11).

use serde_json::{Value, json};
use x811_protocol::facts::ConsensusVerb as Verb;

use super::rounds::{honest, said};
use super::{Story, Told, contests, hold};

/// Other humans are in force from the beginning, and the friend only while it decides.
fn for_a_moment(story: &mut Story, is_put_in: bool) {
    let set = story.events("parameters_set")[0];
    let ruling = said(story, Verb::HumanDecision)[0];
    let honest = story.record(set).event.clone();
    let other = story.get(said(story, Verb::Vote)[0], "/envelope/from");
    story.set(set, "/rounds/humans", json!([other]));
    if is_put_in {
        let back = story.record(set).event.clone();
        let next = story.names(|it| it.was.as_ref().is_some_and(|(at, _)| *at > ruling))[0];
        story.put(ruling, "ledger", honest);
        story.put(next, "ledger", back);
    }
}

const STORIES: &[Told] = &[
    (
        "cc_048_somebody_decides_who_is_no_human_in_force",
        |story| {
            for_a_moment(story, false);
        },
    ),
    // A human signs the position of what it was asked: nothing is put in before it afterwards, whatever it says.
    (
        "cc_046_a_record_is_put_in_before_what_a_human_was_asked",
        |story| {
            let plea = said(story, Verb::Escalate)[0];
            let resumed = json!({ "type": "ledger_resumed", "gap_ms": 0 });
            story.put(plea, "ledger", resumed);
        },
    ),
    // A vote is said to have come twice, in two envelopes that say the same: the second is no record.
    ("cx_14_an_equal_vote_is_recorded_twice", |story| {
        let votes = said(story, Verb::Vote);
        let again = story.again(votes[0], votes[1]);
        let mut id: Value = story.get(again, "/envelope/id");
        let text = id.as_str().unwrap();
        id = json!(format!("{}{:08x}", &text[..28], 7));
        story.set(again, "/envelope/id", id);
    }),
];

#[tokio::test]
async fn cc_046_cc_048_and_cx_14_no_story_of_humans_and_votes_holds() {
    hold(&honest().await, STORIES);
}

/// Who is asked is the operator's to say, at any time: the report names both changes, and where.
#[tokio::test]
async fn lc_9_a_friend_is_a_human_for_a_moment_is_the_ledgers_word() {
    let mut story = honest().await;
    for_a_moment(&mut story, true);
    let report = story.is_clean();
    let changes = report.parameters.iter().flat_map(|set| &set.changes);
    let members: Vec<&str> = changes.map(|change| &*change.member).collect();
    assert_eq!(members, ["rounds.humans", "rounds.humans"]);
}

/// The vote and the draw agree on a block that the operator likes better, hundreds of blocks away from the head
/// that was known. That is its word: `--rpc` asks for the blocks. Heads that the log names later give it away.
#[tokio::test]
async fn lc_9_another_block_draws_for_vote_and_draw_is_the_ledgers_word() {
    let honest = contests::drawn().await;
    let remarks = honest.report().remarks;
    for away in [-700, 700] {
        let mut story = honest.clone();
        let (closes, draw) = (contests::closing(&story), story.events("cycle_drawn")[0]);
        let height = story.get(draw, "/block/number").as_i64().unwrap() + away;
        story
            .set(closes, "/derived/seed/height", json!(height))
            .set(draw, "/block/number", json!(height));
        let report = story.is_clean();
        let is_named = report.remarks.len() > remarks.len();
        assert_eq!(is_named, away > 0, "{:#?}", report.remarks);
    }
}
