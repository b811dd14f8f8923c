//! Who is registered, and who takes part in a round (round.md, "Messages"). A seat more or less, or a member that was
//! too young, is another electorate.

use serde_json::{Value, json};
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::parameters::Rounds;

use super::super::super::council::{Council, running};
use super::super::Story;
use super::registrar::{ask, has_another_key, is_away, is_new_behind, is_revoked, leave, of_agent};
use super::{Lie, Pair, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "registry",
    effect: "round",
    lies: &[LIES],
};

/// How long a member has to be registered.
const MIN_AGE_MS: u64 = 10_000;

/// A round of four that all vote in. Then the second and the third leave, and the fourth takes part no longer.
pub(super) async fn honest() -> Story {
    let ledgerbox = running(Rounds {
        execution_ms: 4_000,
        min_age_ms: MIN_AGE_MS,
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 4).await;
    ledgerbox.advance_ms(MIN_AGE_MS).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    for from in 0..4 {
        ledgerbox.advance_ms(200).await;
        let said = json!({ "decision": "approve", "rationale": format!("seat {from}") });
        council.say(&ledgerbox, from, Verb::Vote, said).await;
    }
    let [_, second, third, fourth] = &council.members[..] else {
        panic!("four take part");
    };
    leave(&ledgerbox, second, third).await;
    ask(&ledgerbox, fourth, "update", fourth.registration(&[], &[])).await;
    Story::at_rest(ledgerbox).await
}

fn proposal(story: &Story) -> u64 {
    story.messages(Verb::Propose.as_str())[0]
}

fn vote(story: &Story, seat: usize) -> u64 {
    story.messages(Verb::Vote.as_str())[seat]
}

fn member(story: &Story, seat: usize) -> Value {
    story.get(vote(story, seat), "/envelope/from")
}

const LIES: &[Lie] = &[
    (
        "cc_005_a_member_takes_part_no_longer_when_a_round_is_proposed",
        "has not registered the capability x811.consensus",
        |story| {
            let updated = of_agent(story, &member(story, 3), "update");
            story.moved(updated, proposal(story));
        },
    ),
    (
        "cc_005_a_member_is_away_when_a_round_is_proposed",
        "is not registered here, or not active",
        |story| {
            let (proposal, opened) = (proposal(story), story.events("round_opened")[0]);
            is_away(story, &member(story, 1), proposal, story.next(opened));
        },
    ),
    (
        "cc_005_a_member_is_not_registered_yet_when_a_round_is_proposed",
        "is not registered here, or not active",
        |story| {
            let opened = story.events("round_opened")[0];
            is_new_behind(story, &member(story, 3), opened);
        },
    ),
    (
        "cc_005_a_member_is_too_young",
        "was registered too short a time ago",
        |story| {
            let registered = of_agent(story, &member(story, 3), "register");
            story.moved(registered, proposal(story));
        },
    ),
    (
        "cc_019_a_member_that_is_away_votes",
        "the sender's DID was not active",
        |story| {
            let vote = vote(story, 2);
            is_away(story, &member(story, 2), vote, story.next(vote));
        },
    ),
    (
        "cc_019_a_member_that_is_revoked_votes",
        "the sender's DID was not active",
        |story| {
            is_revoked(story, &member(story, 1), vote(story, 1));
        },
    ),
    (
        "cc_019_a_vote_is_signed_by_a_key_of_before",
        "is not among the keys the sender had then",
        |story| {
            has_another_key(story, &member(story, 2), vote(story, 2));
        },
    ),
];

#[tokio::test]
async fn cc_005_and_cc_019_no_lie_about_the_registry_and_rounds_holds() {
    hold(&honest().await, LIES);
}
