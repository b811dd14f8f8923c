//! Deadlock (b) (CC-58, CC-59, CX-29; round.md 9): two related rounds fail in a row for lack of the same
//! voters.

use x811_protocol::did::Did;
use x811_protocol::facts::consensus::{Decision, Mechanism, Proposal};
use x811_protocol::parameters::Rounds;
use x811_protocol::round::{Phase, Reason};

use super::world::{World, agent, digest};
use Decision::{Abstain, Approve, Reject};

fn rounds() -> Rounds {
    Rounds {
        humans: vec![agent(99)],
        ..Rounds::DEFAULT
    }
}

/// Votes of the participants in their order; `None` of one who is silent.
type Votes<'a> = &'a [Option<Decision>];

/// A round that `change` makes another one, held to its timeout.
fn held(world: &mut World, votes: Votes<'_>, change: impl FnOnce(&mut Proposal)) -> Proposal {
    let mut proposal = world.proposal(Mechanism::Majority, votes.len() as u64);
    proposal.resource_tags = vec![digest("the link")];
    change(&mut proposal);
    world.propose(agent(1), &proposal).unwrap();
    world.all_ready(&proposal);
    let voters: Vec<(Did, &Option<Decision>)> =
        proposal.participants.iter().copied().zip(votes).collect();
    for (voter, decision) in voters {
        if let Some(decision) = decision {
            world.vote(&proposal, voter, *decision).unwrap();
        }
    }
    let over = proposal.timeout_ms.since(super::world::BEGUN) + 1;
    if world.now < proposal.timeout_ms {
        world.at(over);
    }
    proposal
}

/// The next attempt of `of`, after its pause.
fn retry(world: &mut World, of: &Proposal, votes: Votes<'_>) -> Proposal {
    world.at(world.now.since(super::world::BEGUN) + 61_000);
    let (attempt, id) = (of.attempt + 1, of.proposal_id);
    held(world, votes, |it| {
        it.attempt = attempt;
        it.resubmission_of = Some(id);
        it.timeout_ms = it.timeout_ms.saturating_add_ms(1_000 * attempt);
    })
}

fn reason(world: &World, of: &Proposal) -> Reason {
    world.state(of.proposal_id).decided.unwrap().reason
}

/// Whether humans were asked as nothing can change.
fn is_deadlock(world: &World, of: &Proposal) -> bool {
    let names = world.names(of.proposal_id);
    let asked = names
        .iter()
        .any(|name| name == "round_escalated {deadlock}");
    let state = world.state(of.proposal_id);
    assert_eq!(asked, matches!(state.phase, Phase::Escalated { .. }));
    asked
}

const SILENT: Option<Decision> = None;
const YES: Option<Decision> = Some(Approve);
const NO: Option<Decision> = Some(Reject);
const EITHER: Option<Decision> = Some(Abstain);

#[test]
fn cc_058_and_cx_29_the_same_voters_silent_twice_are_a_deadlock() {
    let mut world = World::new(rounds());
    let first = held(&mut world, &[YES, YES, SILENT, SILENT, SILENT], |_| {});
    assert_eq!(reason(&world, &first), Reason::NoQuorum);
    assert!(!is_deadlock(&world, &first), "one failure is none yet");
    let second = retry(&mut world, &first, &[YES, YES, SILENT, SILENT, SILENT]);
    assert!(
        is_deadlock(&world, &second),
        "at once, with two retries left"
    );
    let lacking = world.state(second.proposal_id).contest.lacking_since;
    assert_eq!(lacking, Some(first.proposal_id));
    assert_eq!(world.replayed(), world.states);
    let third = Proposal {
        attempt: 3,
        resubmission_of: Some(second.proposal_id),
        ..world.proposal(Mechanism::Majority, 5)
    };
    assert!(
        world.propose(agent(1), &third).is_err(),
        "what is left of the retries is dropped"
    );
}

/// What both rounds' voters did, and whether the second is a deadlock.
#[test]
fn cx_29_which_voters_must_be_missing() {
    let cases: &[(Votes<'_>, Votes<'_>, bool, &str)] = &[
        (
            &[YES, SILENT, SILENT, SILENT, YES],
            &[YES, YES, SILENT, SILENT, SILENT],
            false,
            "two of five were silent twice: three are left",
        ),
        (
            &[EITHER, YES, SILENT, SILENT, SILENT],
            &[SILENT, YES, SILENT, SILENT, EITHER],
            true,
            "who abstains is missing as well",
        ),
        (
            &[EITHER, EITHER, EITHER],
            &[EITHER, EITHER, EITHER],
            true,
            "nobody says anything",
        ),
        (
            &[YES, SILENT, SILENT],
            &[EITHER, EITHER, EITHER],
            false,
            "somebody did before",
        ),
        (
            &[SILENT, SILENT, SILENT, SILENT],
            &[SILENT, YES, SILENT, SILENT],
            true,
            "fewer than half are left",
        ),
    ];
    for (one, two, expected, why) in cases {
        let mut world = World::new(rounds());
        let first = held(&mut world, one, |_| {});
        let second = retry(&mut world, &first, two);
        assert_eq!(is_deadlock(&world, &second), *expected, "{why}");
        assert_eq!(world.replayed(), world.states);
    }
}

const FEW: Votes<'static> = &[YES, SILENT, SILENT];

/// Another proposal of the same proposer about the same thing is related; what others do is not.
#[test]
fn cc_059_proposals_are_related_by_a_resource_and_their_proposer() {
    let mut world = World::new(rounds());
    held(&mut world, FEW, |_| {});
    let another = held(&mut world, FEW, |it| it.action_hash = digest("another"));
    assert!(is_deadlock(&world, &another));

    let mut world = World::new(rounds());
    held(&mut world, FEW, |_| {});
    let elsewhere = held(&mut world, FEW, |it| it.resource_tags = vec![digest("x")]);
    assert!(!is_deadlock(&world, &elsewhere));

    // Attack: whoever proposes about somebody else's resource cannot put that one's rounds to humans.
    let mut world = World::new(rounds());
    let mut foreign = world.proposal(Mechanism::Majority, 3);
    foreign.resource_tags = vec![digest("the link")];
    world.propose(agent(2), &foreign).unwrap();
    world.at(60_001);
    let own = held(&mut world, FEW, |_| {});
    assert!(!is_deadlock(&world, &own));
}

#[test]
fn cx_29_a_clean_outcome_between_two_failures_begins_anew() {
    let mut world = World::new(rounds());
    held(&mut world, FEW, |_| {});
    let clean = held(&mut world, &[NO, NO, SILENT], |_| {});
    assert_eq!(reason(&world, &clean), Reason::Rejected);
    let failed = held(&mut world, FEW, |_| {});
    assert!(!is_deadlock(&world, &failed));
    let again = held(&mut world, FEW, |_| {});
    assert!(is_deadlock(&world, &again));
}

/// A failure is remembered for `related_ms`, to the millisecond.
#[test]
fn related_ms_is_how_long_a_failure_counts() {
    for (pause_ms, expected) in [(500_000, true), (500_001, false)] {
        let mut world = World::new(Rounds {
            related_ms: 500_000,
            ..rounds()
        });
        let first = held(&mut world, FEW, |_| {});
        let failed_at = world.now;
        assert_eq!(reason(&world, &first), Reason::NoQuorum);
        let mut second = world.proposal(Mechanism::Majority, 3);
        second.resource_tags = vec![digest("the link")];
        second.timeout_ms = failed_at.saturating_add_ms(pause_ms - 1);
        world.propose(agent(1), &second).unwrap();
        world.at(failed_at.since(super::world::BEGUN) + pause_ms);
        assert_eq!(reason(&world, &second), Reason::NoQuorum);
        assert_eq!(is_deadlock(&world, &second), expected, "{pause_ms}");
    }
}

/// Weighted: whoever is left must hold half of the weight.
#[test]
fn cx_29_weights_of_those_who_are_left_count() {
    let mut world = World::new(rounds());
    let heavy = |it: &mut Proposal| {
        it.mechanism = Mechanism::Weighted;
        let weights = vec![10, 10, 80];
        it.weights_hash = Some(x811_protocol::round::weights_hash(
            &it.participants,
            &weights,
        ));
        it.weights = Some(weights);
    };
    held(&mut world, &[YES, YES, SILENT], heavy);
    let again = held(&mut world, &[YES, SILENT, SILENT], heavy);
    assert_eq!(reason(&world, &again), Reason::NoQuorum);
    assert!(is_deadlock(&world, &again));
}
