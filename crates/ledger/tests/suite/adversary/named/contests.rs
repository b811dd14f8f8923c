//! What rounds do to each other (round.md, "When it is decided", rules 8 and 9). The operator gains by the
//! rival that it likes better: by not holding one, by holding one for ever, by picking who stays of a cycle,
//! the block that draws or the height of it, and by letting a draw pass.

use serde_json::{Value, json};
use x811_protocol::digest::Digest;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::id::RoundId;
use x811_protocol::observation::Observation;
use x811_protocol::parameters::{CycleRule, Rounds};

use super::super::base::{BASE, Base};
use super::super::council::{Council, running};
use super::super::deal::{Deal, Until};
use super::super::ledgerbox::Ledgerbox;
use super::{Story, Told, hold};

/// How long votes are taken.
const LIFE_MS: u64 = 120_000;

type Named = (RoundId, Digest);

async fn propose(
    ledgerbox: &Ledgerbox,
    council: &mut Council,
    life_ms: u64,
    specificity: u64,
) -> Named {
    let to = format!("link {}", ledgerbox.records().await.len());
    let proposal = council.proposal(ledgerbox, life_ms, |it| {
        it["action"]["to"] = json!(to);
        it["specificity"] = json!(specificity);
    });
    ledgerbox.accept(&proposal).await;
    (council.round.unwrap(), council.proposal_hash)
}

async fn vote(ledgerbox: &Ledgerbox, council: &mut Council, of: Named, from: usize, said: Value) {
    ledgerbox.watch_ms(200).await;
    (council.round, council.proposal_hash) = (Some(of.0), of.1);
    council.say(ledgerbox, from, Verb::Vote, said).await;
}

async fn all_approve(ledgerbox: &Ledgerbox, council: &mut Council, of: Named) {
    for from in 0..council.members.len() {
        let said = json!({ "decision": "approve" });
        vote(ledgerbox, council, of, from, said).await;
    }
}

/// The first is accepted and waits for the second, which is accepted and supersedes it.
pub(super) async fn superseded() -> Story {
    let ledgerbox = running(Rounds {
        execution_ms: 4_000,
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let low = propose(&ledgerbox, &mut council, LIFE_MS, 0).await;
    let high = propose(&ledgerbox, &mut council, LIFE_MS, 9).await;
    all_approve(&ledgerbox, &mut council, low).await;
    ledgerbox.watch_ms(2_000).await;
    all_approve(&ledgerbox, &mut council, high).await;
    ledgerbox.watch_ms(8_000).await;
    Story::at_rest(ledgerbox).await
}

/// Two that block each other, and a block that draws, or none in time; `accepts` is a deal that goes so far before, of
/// which an ACCEPT names a head.
async fn cycle(draw_ms: u64, accepts: Option<Until>) -> Story {
    let ledgerbox = running(Rounds {
        cycle: CycleRule::Random,
        cycle_network: Some(BASE.to_owned()),
        draw_ms,
        ..Rounds::DEFAULT
    })
    .await;
    ledgerbox.watch_ms(1_000).await;
    if let Some(until) = accepts {
        Deal::opened(&ledgerbox, until).await;
    }
    let mut council = Council::new(&ledgerbox, 4).await;
    let early = propose(&ledgerbox, &mut council, LIFE_MS, 0).await;
    ledgerbox.watch_ms(1_000).await;
    let late = propose(&ledgerbox, &mut council, LIFE_MS, 0).await;
    for (of, by) in [(early, late), (late, early)] {
        for from in [0, 1] {
            let blocked = json!({
                "decision": "reject", "rationale": format!("seat {from}"), "blocked_by": [by.0],
            });
            vote(&ledgerbox, &mut council, of, from, blocked).await;
        }
    }
    let height = *ledgerbox
        .ledger()
        .world()
        .heights_awaited(BASE)
        .first()
        .unwrap();
    ledgerbox.watch_ms(90_000).await;
    let network = BASE.to_owned();
    let block = Base::block(height);
    ledgerbox
        .observe(Observation::Header { network, block })
        .await;
    ledgerbox.watch_ms(LIFE_MS + 5_000).await;
    Story::at_rest(ledgerbox).await
}

pub(super) async fn drawn() -> Story {
    cycle(3_600_000, None).await
}

pub(super) async fn passed() -> Story {
    cycle(20_000, None).await
}

/// The same in a log that has named a head.
pub(super) async fn passed_with_a_head() -> Story {
    cycle(20_000, Some(Until::Accepted)).await
}

fn lapse(story: &Story, window: &str) -> u64 {
    let mut lapses = story.events("lapsed");
    lapses.retain(|name| story.get(*name, "/window") == window);
    lapses[0]
}

/// Of the round that is decided as the `number`th, the decision.
fn decision(story: &Story, number: usize) -> u64 {
    story.events("round_decided")[number]
}

/// The vote that closed the cycle.
pub(super) fn closing(story: &Story) -> u64 {
    let votes = story.messages(Verb::Vote.as_str());
    votes[3]
}

#[tokio::test]
async fn cx_26_the_honest_logs_of_rivals_and_cycles_hold() {
    for (story, reasons) in [
        (superseded().await, ["accepted", "superseded"]),
        (drawn().await, ["superseded", "no_quorum"]),
        (passed().await, ["superseded", "no_quorum"]),
    ] {
        let report = story.report();
        assert_eq!(report.findings, [], "{:?}", report.findings);
        let said = [0, 1].map(|number| story.get(decision(&story, number), "/reason"));
        assert_eq!(said[0], reasons[0], "{said:?}");
    }
}

const OF_RIVALS: &[Told] = &[
    // The rival that it likes better is not held, and accepted.
    ("cx_26_a_held_round_is_accepted_at_once", |story| {
        let (hold, low) = (lapse(story, "hold"), decision(story, 1));
        let next = story.messages(Verb::Vote.as_str())[3];
        story
            .set(low, "/outcome", json!("commit"))
            .set(low, "/reason", json!("accepted"));
        story.unset(low, "/winner").moved(low, next).without([hold]);
    }),
    ("cx_26_a_superseded_round_is_accepted", |story| {
        let low = decision(story, 1);
        story
            .set(low, "/outcome", json!("commit"))
            .set(low, "/reason", json!("accepted"));
        story.unset(low, "/winner");
    }),
    ("cx_26_a_superseded_round_names_no_winner", |story| {
        let low = decision(story, 1);
        story.unset(low, "/winner");
    }),
    ("cx_26_a_superseded_round_names_another_winner", |story| {
        let (low, proposal) = (
            decision(story, 1),
            story.messages(Verb::Propose.as_str())[0],
        );
        let other = story.get(proposal, "/facts/proposal_id");
        story.set(low, "/winner", other);
    }),
    ("cx_26_a_round_is_held_without_an_end", |story| {
        let (hold, low) = (lapse(story, "hold"), decision(story, 1));
        story.without([hold, low]);
    }),
    // It is let go before its rival is decided, and accepted.
    ("cx_26_a_round_is_held_too_short_a_time", |story| {
        let (hold, low) = (lapse(story, "hold"), decision(story, 1));
        let next = story.messages(Verb::Vote.as_str())[3];
        let at = story.time(next);
        story
            .set(low, "/outcome", json!("commit"))
            .set(low, "/reason", json!("accepted"));
        story.unset(low, "/winner");
        story
            .moved(hold, next)
            .moved(low, next)
            .at(hold, at)
            .at(low, at);
    }),
    // The rival is no rival where it is accepted by others.
    ("cx_26_the_winner_is_decided_as_superseded_too", |story| {
        let high = decision(story, 0);
        let other = story.get(
            story.messages(Verb::Propose.as_str())[0],
            "/facts/proposal_id",
        );
        story
            .set(high, "/outcome", json!("abort"))
            .set(high, "/reason", json!("superseded"));
        story.set(high, "/winner", other);
    }),
];

#[tokio::test]
async fn cx_26_no_story_of_rivals_holds() {
    hold(&superseded().await, OF_RIVALS);
}

const OF_A_DRAW: &[Told] = &[
    ("cc_061_the_block_is_said_to_draw_the_other_one", |story| {
        let draw = story.events("cycle_drawn")[0];
        let winner = story.get(draw, "/winner");
        let rounds = story.get(draw, "/rounds");
        let other = rounds.as_array().unwrap().iter().find(|it| **it != winner);
        story.set(draw, "/winner", other.unwrap().clone());
    }),
    // A block that was there when the cycle was closed, so that its hash was known.
    ("cc_061_the_block_was_known_before", |story| {
        let (draw, closes) = (story.events("cycle_drawn")[0], closing(story));
        let at_s = story.time(closes) / 1_000;
        story.set(draw, "/block/timestamp_s", json!(at_s - 10));
    }),
    // Only one of the two is said to be open, and stays.
    ("cc_061_a_round_is_left_out_of_the_draw", |story| {
        let draw = story.events("cycle_drawn")[0];
        let winner = story.get(draw, "/winner");
        story.set(draw, "/rounds", json!([winner]));
    }),
    ("cc_061_the_loser_goes_on", |story| {
        let loser = decision(story, 0);
        story.without([loser]);
    }),
    ("cc_061_the_loser_is_decided_by_another_block", |story| {
        let loser = decision(story, 0);
        let mut other = story.get(loser, "/seed").as_str().unwrap().to_owned();
        let last = if other.ends_with('0') { '1' } else { '0' };
        other.pop();
        other.push(last);
        story.set(loser, "/seed", json!(other));
    }),
];

#[tokio::test]
async fn cc_061_no_story_of_a_draw_holds() {
    hold(&drawn().await, OF_A_DRAW);
}

/// A block that draws better, at another height.
#[tokio::test]
async fn cc_061_another_block_draws() {
    let honest = drawn().await;
    for by in [-1, 1] {
        let mut story = honest.clone();
        let draw = story.events("cycle_drawn")[0];
        let height = story.get(draw, "/block/number").as_i64().unwrap();
        story.set(draw, "/block/number", json!(height + by));
        story.is_found();
    }
}

const OF_A_DRAW_THAT_PASSED: &[Told] = &[
    // The oldest suits the operator: no block is named where one has to be.
    ("cc_061_the_vote_names_no_block", |story| {
        let closes = closing(story);
        let _ = story.get(closes, "/derived/seed");
        story.unset(closes, "/derived/seed");
    }),
    ("cc_061_a_draw_is_never_let_pass", |story| {
        let passes = lapse(story, "draw");
        story.without([passes]);
    }),
    ("cc_061_a_draw_is_let_pass_early", |story| {
        let (passes, loser) = (lapse(story, "draw"), decision(story, 0));
        let early = story.time(closing(story)) + 5_000;
        story.at(passes, early).at(loser, early);
    }),
];

#[tokio::test]
async fn cc_061_no_story_of_a_draw_that_passed_holds() {
    hold(&passed().await, OF_A_DRAW_THAT_PASSED);
}
