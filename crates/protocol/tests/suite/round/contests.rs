//! What rounds do to each other, record by record (round.md, "When it is decided", rules 8 and 9), and who
//! gains nothing by it: a proposer that calls everything urgent, a rival with an electorate of its own, a
//! cycle that nobody can break, and whoever picks the block.

use proptest::prelude::*;
use x811_protocol::code::Code;
use x811_protocol::facts::consensus::{ConsensusFacts, Decision, Mechanism, OfRound, Proposal};
use x811_protocol::id::RoundId;
use x811_protocol::parameters::{CycleRule, Rounds};
use x811_protocol::refusal::Refusal;
use x811_protocol::round::{self, Outcome, Reason, RoundEvent, StateName};

use super::world::{BEGUN, Stored, World, agent, digest, evolve, open_vote};

use Decision::{Approve, Reject};

/// How far ahead the block is that draws.
const HEIGHT: u64 = 1_030;

fn verdict(world: &World, id: RoundId) -> (Outcome, Reason) {
    let verdict = world.verdict(id);
    (verdict.outcome, verdict.reason)
}

const SUPERSEDED: (Outcome, Reason) = (Outcome::Abort, Reason::Superseded);
const ACCEPTED: (Outcome, Reason) = (Outcome::Commit, Reason::Accepted);

/// A round among the first three about one resource; each does something else about it.
fn about_the_link(world: &mut World, change: impl FnOnce(&mut Proposal)) -> Proposal {
    let mut proposal = world.proposal(Mechanism::Majority, 3);
    proposal.resource_tags = vec![digest("the link")];
    proposal.action_hash = digest(&proposal.proposal_id.to_string());
    change(&mut proposal);
    world.propose(agent(1), &proposal).unwrap();
    proposal
}

fn all_vote(world: &mut World, of: &Proposal, decision: Decision) {
    for voter in &of.participants {
        world.vote(of, *voter, decision).unwrap();
    }
}

fn names_behind(world: &World, id: RoundId, from: usize) -> Vec<String> {
    world.names(id).split_off(from)
}

/// Every record again, with what follows between rounds: the same states.
fn replays(world: &World) {
    assert_eq!(world.replayed(), world.states);
}

#[test]
fn cx_26_an_accepted_round_waits_for_a_rival_of_a_higher_rank_and_is_superseded() {
    let mut world = World::new(Rounds::DEFAULT);
    let low = about_the_link(&mut world, |_| {});
    let high = about_the_link(&mut world, |it| it.urgency = 40);
    world.at(1_000);
    all_vote(&mut world, &low, Approve);
    assert_eq!(world.state(low.proposal_id).name(), StateName::Held);
    let late = world.vote(&low, agent(1), Reject).unwrap_err();
    assert_eq!(late.code, Code::Late, "its votes are counted as of now");
    world.at(2_000);
    all_vote(&mut world, &high, Approve);
    assert_eq!(verdict(&world, high.proposal_id), ACCEPTED);
    assert_eq!(
        world.state(low.proposal_id).name(),
        StateName::Held,
        "the sequencer lets it lapse, no effect does"
    );
    world.at(2_001);
    assert_eq!(verdict(&world, low.proposal_id), SUPERSEDED);
    assert_eq!(
        world.state(low.proposal_id).contest.winner,
        Some(high.proposal_id)
    );
    assert_eq!(
        names_behind(&world, low.proposal_id, 5),
        [
            "lapsed {hold}",
            "round_decided",
            "anomaly_noted {synchronised}"
        ]
    );
    replays(&world);
}

#[test]
fn cc_052_a_rival_that_is_rejected_frees_the_one_that_waits() {
    let mut world = World::new(Rounds::DEFAULT);
    let low = about_the_link(&mut world, |_| {});
    let high = about_the_link(&mut world, |it| it.urgency = 40);
    all_vote(&mut world, &low, Approve);
    all_vote(&mut world, &high, Reject);
    world.at(1);
    assert_eq!(verdict(&world, low.proposal_id), ACCEPTED);
    replays(&world);
}

#[test]
fn cc_053_who_is_not_yet_accepted_is_superseded_by_the_one_that_is() {
    let mut world = World::new(Rounds::DEFAULT);
    let high = about_the_link(&mut world, |_| {});
    let low = about_the_link(&mut world, |_| {});
    all_vote(&mut world, &high, Approve);
    assert_eq!(
        verdict(&world, high.proposal_id),
        ACCEPTED,
        "the earlier is the higher"
    );
    all_vote(&mut world, &low, Approve);
    assert_eq!(verdict(&world, low.proposal_id), SUPERSEDED);
    let next = about_the_link(&mut world, |_| {});
    all_vote(&mut world, &next, Approve);
    assert_eq!(
        verdict(&world, next.proposal_id),
        ACCEPTED,
        "what is proposed afterwards is another matter"
    );
    replays(&world);
}

#[test]
fn cc_053_a_superseded_round_that_is_rejected_is_rejected() {
    let mut world = World::new(Rounds::DEFAULT);
    let high = about_the_link(&mut world, |_| {});
    let low = about_the_link(&mut world, |_| {});
    all_vote(&mut world, &high, Approve);
    all_vote(&mut world, &low, Reject);
    assert_eq!(
        verdict(&world, low.proposal_id),
        (Outcome::Abort, Reason::Rejected)
    );
    assert_eq!(world.state(low.proposal_id).contest.winner, None);
}

#[test]
fn cx_26_a_rival_holds_nobody_for_longer_than_hold_ms() {
    let mut world = World::new(Rounds {
        hold_ms: 5_000,
        ..Rounds::DEFAULT
    });
    let low = about_the_link(&mut world, |_| {});
    let high = about_the_link(&mut world, |it| it.urgency = 40);
    all_vote(&mut world, &low, Approve);
    world.at(4_000);
    let higher = about_the_link(&mut world, |it| it.urgency = 50);
    world.at(5_000);
    assert_eq!(world.state(low.proposal_id).name(), StateName::Held);
    world.at(5_001);
    assert_eq!(
        verdict(&world, low.proposal_id),
        ACCEPTED,
        "neither is one that is proposed later waited for"
    );
    for rival in [&high, &higher] {
        all_vote(&mut world, rival, Approve);
        world.at(5_002);
        assert_eq!(verdict(&world, rival.proposal_id), SUPERSEDED);
    }
    replays(&world);
}

/// Attack: a proposer without any history says that it is as urgent as can be.
#[test]
fn cx_26_urgency_counts_no_more_than_what_its_proposer_has_earned() {
    let mut world = World::new(Rounds::DEFAULT);
    world.trust.insert(agent(2), 0);
    let honest = about_the_link(&mut world, |_| {});
    let mut loud = world.proposal(Mechanism::Majority, 3);
    loud.resource_tags = vec![digest("the link")];
    loud.action_hash = digest("to somebody else");
    (loud.urgency, loud.specificity) = (100, 100);
    world.propose(agent(2), &loud).unwrap();
    all_vote(&mut world, &honest, Approve);
    assert_eq!(
        verdict(&world, honest.proposal_id),
        ACCEPTED,
        "it waits for nobody"
    );
    all_vote(&mut world, &loud, Approve);
    assert_eq!(verdict(&world, loud.proposal_id), SUPERSEDED);
}

/// Attack: a rival among agents of one's own holds and supersedes nothing.
#[test]
fn cx_26_only_the_same_electorate_supersedes_itself() {
    let mut world = World::new(Rounds::DEFAULT);
    let honest = about_the_link(&mut world, |_| {});
    let own = about_the_link(&mut world, |it| {
        it.urgency = 50;
        it.participants = [1, 4, 5, 6, 7].map(agent).to_vec();
    });
    let bigger = about_the_link(&mut world, |it| {
        it.urgency = 50;
        it.participants = [1, 2, 3, 8, 9, 10].map(agent).to_vec();
    });
    all_vote(&mut world, &own, Approve);
    all_vote(&mut world, &honest, Approve);
    assert_eq!(verdict(&world, own.proposal_id), ACCEPTED);
    assert_eq!(verdict(&world, honest.proposal_id), ACCEPTED);
    all_vote(&mut world, &bigger, Approve);
    assert_eq!(
        verdict(&world, bigger.proposal_id),
        ACCEPTED,
        "half of its electorate is not more than half"
    );
}

/// Attack: whoever holds a round lets the voters of it be heard of too long ago.
#[test]
fn cx_24_a_round_that_is_held_is_counted_as_of_when_its_moment_came() {
    let mut world = World::new(Rounds {
        liveness_ms: Some(1_000),
        ..Rounds::DEFAULT
    });
    let low = about_the_link(&mut world, |_| {});
    about_the_link(&mut world, |it| it.urgency = 40);
    all_vote(&mut world, &low, Approve);
    world.at(60_002);
    world.at(60_003);
    assert_eq!(verdict(&world, low.proposal_id), ACCEPTED);
}

fn block(world: &mut World, of: &Proposal, by: u64, blocked_by: RoundId) -> Result<bool, Refusal> {
    let mut vote = open_vote(of, agent(by), Reject, world.now);
    vote.blocked_by = Some(vec![blocked_by]);
    world.send(agent(by), ConsensusFacts::Vote(Box::new(vote)))
}

/// Two rounds of four that block each other; the last vote closes the cycle in the later one.
fn cycle(world: &mut World) -> [Proposal; 2] {
    let four = |it: &mut Proposal| it.participants = (1..=4).map(agent).collect();
    let early = about_the_link(world, four);
    world.at(100);
    let late = about_the_link(world, four);
    for by in [1, 2] {
        world.at(100 + by * 100);
        block(world, &early, by, late.proposal_id).unwrap();
    }
    world.at(1_000);
    block(world, &late, 1, early.proposal_id).unwrap();
    assert!(
        world.state(early.proposal_id).is_open(),
        "one vote is not half of four"
    );
    world.at(1_100);
    block(world, &late, 2, early.proposal_id).unwrap();
    [early, late]
}

#[test]
fn cc_060_and_cx_31_in_a_cycle_the_oldest_stays() {
    let mut world = World::new(Rounds::DEFAULT);
    let [early, late] = cycle(&mut world);
    assert_eq!(verdict(&world, late.proposal_id), SUPERSEDED);
    assert_eq!(
        world.state(late.proposal_id).contest.winner,
        Some(early.proposal_id)
    );
    assert!(world.state(early.proposal_id).is_open());
    assert_eq!(
        names_behind(&world, late.proposal_id, 3),
        ["vote", "round_decided"]
    );
    world.at(60_001);
    assert!(!world.state(early.proposal_id).is_open());
    replays(&world);
}

#[test]
fn cc_062_a_cycle_is_put_to_humans() {
    let mut world = World::new(Rounds {
        cycle: CycleRule::Escalate,
        humans: vec![agent(8)],
        ..Rounds::DEFAULT
    });
    let both = cycle(&mut world);
    for one in &both {
        let id = one.proposal_id;
        assert_eq!(verdict(&world, id), (Outcome::Abort, Reason::Deadlock));
        assert_eq!(world.state(id).name(), StateName::Escalated);
        let names = world.names(id);
        let end = &names[names.len() - 2..];
        assert_eq!(end, ["round_decided", "round_escalated {deadlock}"]);
    }
    replays(&world);
}

#[test]
fn cc_062_without_humans_a_cycle_ends_undecided() {
    let mut world = World::new(Rounds {
        cycle: CycleRule::Escalate,
        ..Rounds::DEFAULT
    });
    for one in cycle(&mut world) {
        assert_eq!(world.state(one.proposal_id).name(), StateName::Undecided);
    }
}

fn random() -> Rounds {
    Rounds {
        cycle: CycleRule::Random,
        cycle_network: Some("base".to_owned()),
        ..Rounds::DEFAULT
    }
}

#[test]
fn cc_061_the_hash_of_a_block_at_a_height_fixed_before_draws() {
    let mut winners = Vec::new();
    for hash in 0..8 {
        let mut world = World::new(random());
        let both = cycle(&mut world);
        let seed = world.log.iter().rev().find_map(|kept| match &kept.stored {
            Stored::Message(message) => message.derived.seed.clone(),
            _ => None,
        });
        assert_eq!(seed.unwrap().height, HEIGHT);
        assert!(both.iter().all(|it| world.state(it.proposal_id).is_open()));
        world.at(30_000);
        world.block(HEIGHT, [hash; 32]);
        let stays = both
            .iter()
            .filter(|it| world.state(it.proposal_id).is_open());
        let stays: Vec<RoundId> = stays.map(|it| it.proposal_id).collect();
        assert_eq!(stays.len(), 1);
        let loser = both.iter().find(|it| it.proposal_id != stays[0]).unwrap();
        assert_eq!(verdict(&world, loser.proposal_id), SUPERSEDED);
        let decided = world.log.iter().find_map(|kept| match &kept.stored {
            Stored::Event(RoundEvent::RoundDecided(decided)) => Some(*decided),
            _ => None,
        });
        assert_eq!(decided.unwrap().seed.unwrap().as_bytes(), &[hash; 32]);
        assert_eq!(decided.unwrap().winner, Some(stays[0]));
        winners.push(stays[0] == both[0].proposal_id);
        replays(&world);
    }
    assert!(
        winners.contains(&true) && winners.contains(&false),
        "{winners:?}"
    );
}

/// Attack: whoever writes the log names another winner, another height, or a block that was there already.
#[test]
fn cc_061_nobody_picks_the_block() {
    let mut world = World::new(random());
    let [_, late] = cycle(&mut world);
    let before = world.state(late.proposal_id).clone();
    world.at(30_000);
    world.block(HEIGHT, [7; 32]);
    let kept = world
        .log
        .iter()
        .find(|kept| matches!(kept.stored, Stored::Drawn(_)));
    let kept = kept.unwrap().clone();
    let Stored::Drawn(honest) = &kept.stored else {
        panic!("it is a draw");
    };
    let forged = |forge: &dyn Fn(&mut round::CycleDrawn)| {
        let mut drawn = honest.clone();
        forge(&mut drawn);
        let stored = Stored::Drawn(drawn);
        let kept = super::world::Kept {
            stored,
            ..kept.clone()
        };
        evolve(Some(before.clone()), &kept, &world.rounds).is_err()
    };
    assert!(!forged(&|_| {}));
    let other = *honest
        .rounds
        .iter()
        .find(|it| **it != honest.winner)
        .unwrap();
    assert!(forged(&|it| it.winner = other));
    assert!(forged(&|it| it.block.number += 1));
    assert!(forged(&|it| it.block.timestamp_s = BEGUN.as_ms() / 1_000));
    assert!(forged(&|it| it.rounds.retain(|round| *round == it.winner)));
    assert!(forged(&|it| it.closing -= 1));
}

#[test]
fn cc_061_rounds_in_a_cycle_take_votes_and_are_held() {
    let mut world = World::new(random());
    let [early, late] = cycle(&mut world);
    for (of, by) in [(&early, 3), (&early, 4), (&late, 3)] {
        world.vote(of, agent(by), Approve).unwrap();
    }
    let id = early.proposal_id;
    assert_eq!(world.state(id).name(), StateName::Held, "all have voted");
    world.at(60_101);
    assert_eq!(world.state(late.proposal_id).name(), StateName::Held);
    world.at(61_000);
    world.block(HEIGHT, [1; 32]);
    world.at(61_001);
    let verdicts = [&early, &late].map(|it| verdict(&world, it.proposal_id));
    assert!(verdicts.contains(&SUPERSEDED));
    assert!(
        verdicts.contains(&(Outcome::Abort, Reason::Tie))
            || verdicts.contains(&(Outcome::Abort, Reason::Rejected))
    );
    replays(&world);
}

#[test]
fn cc_061_without_a_block_in_time_or_a_head_the_oldest_stays() {
    let mut world = World::new(Rounds {
        draw_ms: 20_000,
        ..random()
    });
    let [early, late] = cycle(&mut world);
    world.at(1_100 + 20_001);
    assert_eq!(verdict(&world, late.proposal_id), SUPERSEDED);
    assert!(world.state(early.proposal_id).is_open());
    assert!(
        world
            .names(late.proposal_id)
            .contains(&"lapsed {draw}".to_owned())
    );
    replays(&world);

    let mut world = World::new(random());
    world.head = None;
    let [early, late] = cycle(&mut world);
    assert_eq!(verdict(&world, late.proposal_id), SUPERSEDED);
    assert!(world.state(early.proposal_id).is_open());
    replays(&world);
}

/// Attack: what is taken back while it waits is drawn, and takes the others with it.
#[test]
fn cc_061_a_round_that_is_taken_back_is_not_drawn() {
    for hash in 0..8 {
        let mut world = World::new(random());
        let four = |it: &mut Proposal| it.participants = (1..=4).map(agent).collect();
        let first = about_the_link(&mut world, four);
        world.at(100);
        let second = about_the_link(&mut world, |it| {
            four(it);
            it.blocked_by = vec![first.proposal_id];
        });
        for by in [1, 2] {
            world.at(by * 1_000);
            block(&mut world, &first, by, second.proposal_id).unwrap();
        }
        assert!(world.state(second.proposal_id).contest.waits.is_some());
        let of = OfRound {
            proposal_id: second.proposal_id,
        };
        world.send(agent(1), ConsensusFacts::Withdraw(of)).unwrap();
        assert_eq!(
            verdict(&world, second.proposal_id),
            (Outcome::Abort, Reason::Withdrawn)
        );
        world.at(30_000);
        world.block(HEIGHT, [hash; 32]);
        assert!(world.state(first.proposal_id).is_open());
        assert!(world.state(first.proposal_id).contest.is_none());
        replays(&world);
    }
}

#[test]
fn cx_30_no_more_than_64_rounds_are_walked() {
    let mut world = World::new(Rounds {
        open_per_proposer: 1_000,
        ..Rounds::DEFAULT
    });
    let mut last: Option<RoundId> = None;
    let mut first = None;
    for _ in 0..65 {
        let of = about_the_link(&mut world, |it| {
            it.participants = vec![agent(1), agent(2)];
            it.blocked_by = last.into_iter().collect();
        });
        first.get_or_insert_with(|| of.clone());
        last = Some(of.proposal_id);
    }
    let first = first.unwrap();
    let refused = block(&mut world, &first, 2, last.unwrap()).unwrap_err();
    assert_eq!(refused.code, Code::LimitReached);
    assert!(
        world.vote(&first, agent(2), Reject).unwrap(),
        "the vote itself is taken"
    );
}

proptest! {
    /// Whatever is voted in whatever order: of rivals that were open together one is accepted at most, and
    /// each round is decided once.
    #[test]
    fn cc_053_never_two_rivals(
        urgencies in proptest::collection::vec(0_u64..60, 2..5),
        votes in proptest::collection::vec((0_usize..5, 1_u64..=3, any::<bool>(), 0_u64..9_000), 0..24),
        hold_ms in 1_000_u64..80_000,
    ) {
        let mut world = World::new(Rounds { hold_ms, ..Rounds::DEFAULT });
        let rounds: Vec<Proposal> = urgencies
            .iter()
            .map(|urgency| about_the_link(&mut world, |it| it.urgency = *urgency))
            .collect();
        let mut at = 0;
        for (which, by, approves, later) in votes {
            at += later;
            world.at(at);
            let of = &rounds[which % rounds.len()];
            let _ = world.vote(of, agent(by), if approves { Approve } else { Reject });
        }
        for end in [60_001, 200_000, 200_001, 200_002, 200_003, 200_004] {
            world.at(at.max(end));
        }
        let accepted = rounds.iter().filter(|it| verdict(&world, it.proposal_id) == ACCEPTED);
        prop_assert!(accepted.count() <= 1);
        replays(&world);
    }
}
