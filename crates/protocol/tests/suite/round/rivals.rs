//! Which rounds compete and which block each other (CC-51, CC-57, CX-26, CX-30, CX-32).

use std::collections::{BTreeMap, BTreeSet};

use x811_protocol::facts::consensus::{ConsensusFacts, Decision, Mechanism, Proposal};
use x811_protocol::id::RoundId;
use x811_protocol::parameters::Rounds;
use x811_protocol::round::{Walk, drawn, walk};

use super::world::{World, agent, agents, digest, open_vote};

/// Two open rounds about one resource, the second changed as it is said.
fn compete(change: impl FnOnce(&mut Proposal)) -> (World, [RoundId; 2]) {
    let mut world = World::new(Rounds::DEFAULT);
    let mut first = world.proposal(Mechanism::Majority, 4);
    first.resource_tags = vec![digest("a"), digest("b")];
    let mut second = world.proposal(Mechanism::Majority, 4);
    second.resource_tags = vec![digest("b")];
    second.action_hash = digest("another action");
    change(&mut second);
    let first = world.propose(agent(1), &first).unwrap();
    let second = world.propose(agent(1), &second).unwrap();
    (world, [first, second])
}

#[test]
fn cc_051_and_cx_26_only_the_same_electorate_competes_about_the_same_resource() {
    type Change = fn(&mut Proposal);
    let table: [(Change, bool); 7] = [
        (|_| (), true),
        (|it| it.resource_tags = vec![digest("c")], false),
        (|it| it.action_hash = digest("action"), false),
        (|it| it.mechanism = Mechanism::Optimistic, false),
        (|it| it.participants = agents(3), true),
        // An electorate of one's own: two of four are not most, and four of eight are not either.
        (|it| it.participants = (3..=6).map(agent).collect(), false),
        (|it| it.participants = agents(8), false),
    ];
    for (place, (change, expected)) in table.into_iter().enumerate() {
        let (world, [first, second]) = compete(change);
        let (first, second) = (world.state(first), world.state(second));
        assert_eq!(first.is_rival_of(second), expected, "row {place}");
        assert_eq!(second.is_rival_of(first), expected, "row {place}");
        assert!(!first.is_rival_of(first));
    }
}

/// Attack: everybody says that it is urgent. It counts up to what the proposer has earned, which is 50 here.
#[test]
fn cc_052_and_cx_26_urgency_that_is_declared_counts_no_more_than_what_was_earned() {
    let rank_of = |urgency, specificity| {
        let (world, [first, second]) = compete(|it| {
            it.urgency = urgency;
            it.specificity = specificity;
        });
        (world.state(first).rank(), world.state(second).rank())
    };
    let (first, loud) = rank_of(100, 0);
    let (_, earned) = rank_of(50, 0);
    assert_eq!(loud, earned);
    assert!(loud > first);
    let (first, exact) = rank_of(0, 7);
    assert!(exact > first, "the narrower one of two that are as urgent");
    let (first, same) = rank_of(0, 0);
    assert!(first > same, "the earlier one of two that are alike");
}

#[test]
fn cx_30_a_vote_blocks_once_half_of_the_participants_reject_for_that_round() {
    let (mut world, [first, second]) = compete(|_| ());
    let proposal = world.state(second).opening.proposal.clone();
    let mut blocked = Vec::new();
    for (number, decision) in [
        (1, Decision::Approve),
        (2, Decision::Reject),
        (3, Decision::Reject),
    ] {
        let mut vote = open_vote(&proposal, agent(number), decision, world.now);
        vote.blocked_by = Some(vec![first, first]);
        world
            .send(agent(number), ConsensusFacts::Vote(Box::new(vote)))
            .unwrap();
        blocked.push(world.state(second).blocked_by().contains(&first));
    }
    assert_eq!(blocked, [false, false, true]);
}

fn id(number: u64) -> RoundId {
    let text = format!("0190a1b2-c3d4-7e5f-8901-{number:012x}");
    text.parse().unwrap()
}

fn edges(pairs: &[(u64, u64)]) -> impl Fn(RoundId) -> BTreeSet<RoundId> {
    let mut edges: BTreeMap<RoundId, BTreeSet<RoundId>> = BTreeMap::new();
    for (from, to) in pairs {
        edges.entry(id(*from)).or_default().insert(id(*to));
    }
    move |from| edges.get(&from).cloned().unwrap_or_default()
}

#[test]
fn cc_057_a_walk_finds_the_cycle_that_it_began_in_and_no_other() {
    let comes = |rounds: &[u64]| Walk::Comes(rounds.iter().map(|number| id(*number)).collect());
    for (pairs, expected) in [
        (&[][..], Walk::Ends),
        (&[(1, 2), (2, 3)], Walk::Ends),
        (&[(1, 1)], comes(&[1])),
        (&[(1, 2), (2, 1)], comes(&[1, 2])),
        (&[(1, 2), (2, 3), (3, 1)], comes(&[1, 2, 3])),
        (&[(1, 2), (2, 3), (3, 4), (4, 1), (3, 1)], comes(&[1, 2, 3])),
        (&[(1, 2), (2, 3), (3, 2)], Walk::Ends),
    ] {
        assert_eq!(walk(id(1), edges(pairs)), expected, "{pairs:?}");
    }
    let ring = |length: u64| -> Vec<(u64, u64)> {
        (1..=length)
            .map(|number| (number, number % length + 1))
            .collect()
    };
    assert!(matches!(walk(id(1), edges(&ring(64))), Walk::Comes(rounds) if rounds.len() == 64));
    assert_eq!(walk(id(1), edges(&ring(65))), Walk::TooLong);
}

#[test]
fn cc_061_and_cx_32_a_seed_draws_one_of_the_rounds_whatever_their_order() {
    let ids: Vec<RoundId> = (1..=5).map(id).collect();
    let backwards: Vec<RoundId> = ids.iter().rev().copied().collect();
    let mut winners = BTreeSet::new();
    for block in 0..50 {
        let seed = digest(&format!("block {block}"));
        let winner = drawn(seed, ids.clone()).unwrap();
        assert_eq!(drawn(seed, backwards.clone()), Some(winner));
        winners.insert(winner);
    }
    assert_eq!(winners.len(), 5, "each of five is drawn in fifty");
    assert_eq!(drawn(digest("seed"), []), None);
}
