//! Whole rounds, record by record: the walks of round.md, and those that it only describes.

use x811_protocol::code::Code;
use x811_protocol::facts::consensus::{
    ConsensusFacts, Decision, Escalate, EscalationPlea, HumanDecision, HumanRuling, Mechanism,
    Threshold, Voting,
};
use x811_protocol::parameters::{LeaderPolicy, Leaders, Rounds};
use x811_protocol::round::{self, Outcome, Phase, Reason, StateName, weights_hash};

use super::world::{World, agent, code, of_round};

use Decision::{Abstain, Approve, Reject};

/// With agent 9 as a leader and agent 8 as a human.
fn with_people() -> Rounds {
    Rounds {
        humans: vec![agent(8)],
        leaders: Leaders {
            dids: vec![agent(9)],
            policy: LeaderPolicy::Listed,
        },
        ..Rounds::DEFAULT
    }
}

#[test]
fn cc_001_cc_024_cx_11_and_cx_14_the_walk_of_a_majority() {
    let (mut world, proposal, id) = World::proposed(Mechanism::Majority, 5);
    for number in 2..=5 {
        world.at(number * 100);
        world.ready(&proposal, agent(number)).unwrap();
    }
    for (at_ms, number, decision) in [(1_000, 1, Approve), (1_100, 2, Approve), (1_200, 3, Reject)]
    {
        world.at(at_ms);
        assert_eq!(world.vote(&proposal, agent(number), decision), Ok(true));
    }
    assert_eq!(
        world.vote(&proposal, agent(2), Reject),
        Ok(true),
        "kept as evidence"
    );
    assert_eq!(
        world.vote(&proposal, agent(2), Approve),
        Ok(false),
        "the same again"
    );
    assert_eq!(
        code(world.vote(&proposal, agent(2), Reject)),
        Code::Duplicate
    );
    world.at(1_300);
    world.vote(&proposal, agent(4), Approve).unwrap();
    world.at(60_000);
    assert_eq!(
        world.state(id).name(),
        StateName::Open,
        "the timeout is inclusive"
    );
    world.at(60_001);
    let verdict = world.verdict(id);
    assert_eq!(
        (verdict.outcome, verdict.reason),
        (Outcome::Commit, Reason::Accepted)
    );
    let tally = verdict.tally;
    assert_eq!((tally.received, tally.quorum_required), (4, 3));
    assert_eq!((tally.connected, tally.approve, tally.reject), (5, 3, 1));
    for number in 1..=4 {
        world.report(&proposal, agent(number), true).unwrap();
    }
    assert_eq!(world.state(id).name(), StateName::Committed);
    assert_eq!(
        code(world.report(&proposal, agent(4), false)),
        Code::Duplicate
    );
    world.at(60_001 + 86_400_001);
    assert_eq!(world.state(id).name(), StateName::Done);
    assert_eq!(
        world.names(id),
        [
            "propose",
            "round_opened",
            "ready",
            "ready",
            "ready",
            "ready",
            "vote",
            "vote",
            "vote",
            "vote (evidence)",
            "anomaly_noted {second_vote}",
            "vote",
            "lapsed {votes}",
            "round_decided",
            "executed",
            "executed",
            "executed",
            "executed",
            "lapsed {execution}",
        ]
    );
    assert_eq!(world.replayed(), world.states);
}

#[test]
fn cx_51_the_walk_of_a_weighted_and_sealed_round() {
    for (revealed, expected) in [
        ([true, false, true], (Outcome::Commit, Reason::Accepted)),
        ([false, true, true], (Outcome::Abort, Reason::Rejected)),
    ] {
        let mut world = World::new(Rounds::DEFAULT);
        let mut proposal = world.proposal(Mechanism::Weighted, 3);
        proposal.voting = Voting::Sealed;
        let weights = vec![50, 30, 20];
        proposal.weights_hash = Some(weights_hash(&proposal.participants, &weights));
        proposal.weights = Some(weights);
        proposal.threshold = Some(Threshold::HALF);
        let id = world.propose(agent(4), &proposal).unwrap();
        assert_eq!(world.state(id).name(), StateName::Proposed);
        assert_eq!(
            code(world.commit_to(&proposal, agent(1), Approve)),
            Code::WrongState
        );
        world.all_ready(&proposal);
        assert_eq!(world.state(id).name(), StateName::Open);
        let mut reveals = Vec::new();
        for number in 1..=3 {
            world.at(1_000 * number);
            reveals.push(world.commit_to(&proposal, agent(number), Approve).unwrap());
        }
        assert_eq!(
            world.state(id).name(),
            StateName::Open,
            "all are in, and nothing is decided"
        );
        let early = world.reveal(agent(1), &reveals[0]).unwrap_err();
        assert_eq!(
            (early.code, early.retry_after_ms),
            (Code::TooEarly, Some(57_001))
        );
        world.at(60_001);
        assert_eq!(world.state(id).name(), StateName::Revealing);
        for (place, reveal) in reveals.iter().enumerate() {
            if revealed[place] {
                assert_eq!(world.reveal(agent(place as u64 + 1), reveal), Ok(true));
                assert_eq!(world.reveal(agent(place as u64 + 1), reveal), Ok(false));
            }
        }
        world.at(70_002);
        let verdict = world.verdict(id);
        assert_eq!((verdict.outcome, verdict.reason), expected);
        assert_eq!((verdict.tally.received, verdict.tally.invalid), (2, 1));
        let names = world.names(id);
        assert_eq!(
            names[names.len() - 3..],
            [
                "lapsed {reveals}",
                "round_decided",
                "anomaly_noted {unrevealed}"
            ]
        );
        assert_eq!(world.replayed(), world.states);
    }
}

#[test]
fn cc_030_and_cc_031_without_every_acknowledgement_a_weighted_round_does_not_open() {
    let (mut world, proposal, id) = World::proposed(Mechanism::Weighted, 3);
    world.ready(&proposal, agent(1)).unwrap();
    world.ready(&proposal, agent(2)).unwrap();
    world.at(30_001);
    assert_eq!(world.verdict(id).reason, Reason::WeightsUnacknowledged);
    assert_eq!(world.state(id).name(), StateName::Failed);
    assert_eq!(world.names(id)[3..], ["lapsed {open}", "round_decided"]);
}

#[test]
fn cc_038_cc_046_cc_056_and_cx_27_the_walk_of_an_optimistic_round_with_downtime_retry_and_humans() {
    let mut world = World::new(with_people());
    let proposal = world.proposal(Mechanism::Optimistic, 4);
    let first = world.propose(agent(1), &proposal).unwrap();
    world.ready(&proposal, agent(2)).unwrap();
    world.ready(&proposal, agent(3)).unwrap();
    world.away(20_000, 50_000);
    assert_eq!(world.state(first).lost_ms, 30_000);
    world.at(60_001);
    assert_eq!(world.verdict(first).reason, Reason::LedgerDown);

    let mut retry = world.proposal(Mechanism::Optimistic, 4);
    (retry.attempt, retry.resubmission_of) = (2, Some(first));
    world.at(62_000);
    retry.timeout_ms = world.now.saturating_add_ms(60_000);
    let early = world.propose(agent(1), &retry).unwrap_err();
    assert_eq!(
        (early.code, early.retry_after_ms),
        (Code::TooEarly, Some(3_001))
    );
    world.at(66_000);
    retry.timeout_ms = world.now.saturating_add_ms(60_000);
    let second = world.propose(agent(1), &retry).unwrap();
    assert_eq!(world.state(first).name(), StateName::Aborted);
    assert_eq!(world.state(first).retried_by, Some(second));
    world.ready(&retry, agent(2)).unwrap();
    world.at(126_001);
    assert_eq!(world.verdict(second).reason, Reason::Partition);

    let plea = Escalate {
        proposal_id: second,
        reason: EscalationPlea::TimeCritical,
    };
    world
        .send(agent(1), ConsensusFacts::Escalate(plea))
        .unwrap();
    let Phase::Escalated { position, .. } = world.state(second).phase else {
        panic!("{:?}", world.state(second).phase);
    };
    let ruling = |escalation| {
        ConsensusFacts::HumanDecision(HumanDecision {
            decision: HumanRuling::Approve,
            escalation,
            proposal_id: second,
            rationale_hash: super::world::digest("seen"),
        })
    };
    assert_eq!(
        code(world.send(agent(1), ruling(position))),
        Code::NotEligible
    );
    assert_eq!(
        code(world.send(agent(8), ruling(position - 1))),
        Code::TermsMismatch
    );
    world.send(agent(8), ruling(position)).unwrap();
    assert_eq!(code(world.send(agent(8), ruling(position))), Code::Closed);
    for number in 1..=3 {
        world.report(&retry, agent(number), true).unwrap();
    }
    world.report(&retry, agent(4), false).unwrap();
    assert_eq!(world.state(second).name(), StateName::Done);
    assert_eq!(
        world.names(second),
        [
            "propose",
            "round_opened",
            "ready",
            "lapsed {votes}",
            "round_decided",
            "escalate",
            "round_escalated {time_critical}",
            "human-decision",
            "executed",
            "executed",
            "executed",
            "failed",
            "round_escalated {execution}",
        ]
    );
    assert_eq!(world.replayed(), world.states);
}

#[test]
fn cc_004_and_cc_023_an_agent_that_leads_opens_the_round_and_signs_its_tally() {
    for signs in [true, false] {
        let mut world = World::new(with_people());
        let mut proposal = world.proposal(Mechanism::Majority, 3);
        proposal.leader = agent(9);
        let id = world.propose(agent(1), &proposal).unwrap();
        assert_eq!(
            code(world.vote(&proposal, agent(1), Approve)),
            Code::WrongState
        );
        world.call(&proposal, agent(9));
        for number in 1..=3 {
            world.at(number * 1_000);
            world.vote(&proposal, agent(number), Approve).unwrap();
        }
        let hash = Some(world.verdict(id).tally_hash());
        let (commit, abort) = (Outcome::Commit, Outcome::Abort);
        let other_outcome = world.signal(&proposal, agent(9), abort, hash, false);
        assert_eq!(code(other_outcome), Code::WrongState);
        let lies = [
            world.signal(&proposal, agent(9), commit, None, false),
            world.signal(
                &proposal,
                agent(9),
                commit,
                Some(super::world::digest("x")),
                false,
            ),
        ];
        for lie in lies {
            assert_eq!(code(lie), Code::TermsMismatch);
        }
        if signs {
            world
                .signal(&proposal, agent(9), commit, hash, false)
                .unwrap();
            let again = world.signal(&proposal, agent(9), commit, hash, false);
            assert_eq!(code(again), Code::Duplicate);
        }
        world.at(33_001);
        let names = world.names(id);
        let last = names.last().unwrap();
        assert_eq!(last == "anomaly_noted {leader_silent}", !signs, "{names:?}");
        assert_eq!(
            world.state(id).name(),
            StateName::Committed,
            "the outcome stands"
        );
        assert_eq!(world.replayed(), world.states);
    }
}

#[test]
fn cc_035_cc_036_and_cx_17_a_leader_decides_with_reasons_where_votes_advise_otherwise() {
    let led = |votes: [Decision; 4]| {
        let mut world = World::new(with_people());
        let mut proposal = world.proposal(Mechanism::Leader, 4);
        proposal.leader = agent(9);
        let id = world.propose(agent(1), &proposal).unwrap();
        world.call(&proposal, agent(9));
        for (decision, number) in votes.into_iter().zip(1..) {
            world.vote(&proposal, agent(number), decision).unwrap();
        }
        (world, proposal, id)
    };
    let (mut world, proposal, id) = led([Approve, Reject, Reject, Reject]);
    let bare = world.signal(&proposal, agent(9), Outcome::Commit, None, false);
    assert_eq!(code(bare), Code::TermsMismatch);
    world
        .signal(&proposal, agent(9), Outcome::Commit, None, true)
        .unwrap();
    assert_eq!(world.verdict(id).reason, Reason::LeaderDecision);
    assert_eq!(world.state(id).name(), StateName::Committed);

    for outcome in [Outcome::Commit, Outcome::Abort] {
        let (mut world, proposal, id) = led([Approve, Reject, Approve, Reject]);
        world
            .signal(&proposal, agent(9), outcome, None, false)
            .unwrap();
        assert_eq!(world.verdict(id).outcome, outcome);
    }
    let (mut world, _, id) = led([Abstain; 4]);
    world.at(60_001);
    assert_eq!(world.verdict(id).reason, Reason::LeaderSilent);
}

#[test]
fn cc_049_and_cx_25_a_suspended_round_decides_nothing_until_it_is_resumed() {
    let suspended = || {
        let mut world = World::new(with_people());
        let mut proposal = world.proposal(Mechanism::Majority, 3);
        proposal.leader = agent(9);
        let id = world.propose(agent(1), &proposal).unwrap();
        world.call(&proposal, agent(9));
        let suspend = ConsensusFacts::Suspend(of_round(&proposal));
        world.send(agent(9), suspend).unwrap();
        for number in 1..=3 {
            world.vote(&proposal, agent(number), Approve).unwrap();
        }
        assert_eq!(world.state(id).name(), StateName::Suspended);
        (world, proposal, id)
    };
    let (mut world, proposal, id) = suspended();
    world
        .send(agent(9), ConsensusFacts::Resume(of_round(&proposal)))
        .unwrap();
    assert_eq!(world.verdict(id).reason, Reason::Accepted);

    let (mut world, _, id) = suspended();
    world.at(60_001);
    assert_eq!(world.verdict(id).reason, Reason::Partition);
    assert_eq!(world.state(id).name(), StateName::Failed);
}

#[test]
fn cc_054_and_cx_28_the_last_attempt_that_fails_is_escalated_to_the_humans_there_are() {
    for (rounds, expected) in [
        (with_people(), StateName::Escalated),
        (Rounds::DEFAULT, StateName::Undecided),
    ] {
        let mut world = World::new(Rounds {
            retries: 0,
            ..rounds
        });
        let proposal = world.proposal(Mechanism::Majority, 3);
        let id = world.propose(agent(1), &proposal).unwrap();
        world.at(60_001);
        assert_eq!(world.verdict(id).reason, Reason::NoQuorum);
        assert_eq!(world.state(id).name(), expected);
        assert_eq!(world.names(id)[4], "round_escalated {retries}");
        world.at(60_001 + 604_800_001);
        assert_eq!(
            world.state(id).name(),
            StateName::Undecided,
            "nobody answered"
        );
        assert!(world.state(id).is_over());
    }
}

#[test]
fn cc_045_and_cx_22_a_retry_gives_more_time_or_asks_for_fewer_votes() {
    let failed = || {
        let mut world = World::new(Rounds::DEFAULT);
        let mut proposal = world.proposal(Mechanism::Majority, 4);
        proposal.quorum = 4;
        let id = world.propose(agent(1), &proposal).unwrap();
        world.at(60_001);
        assert_eq!(world.verdict(id).reason, Reason::NoQuorum);
        world.at(70_000);
        let mut retry = world.proposal(Mechanism::Majority, 4);
        (retry.attempt, retry.resubmission_of, retry.quorum) = (2, Some(id), 4);
        (world, retry)
    };
    for (life_ms, quorum, by, expected) in [
        (60_000, 4, 1, Some(Code::TermsMismatch)),
        (60_001, 4, 1, None),
        (60_000, 3, 1, None),
        (60_001, 4, 2, Some(Code::NotEligible)),
    ] {
        let (mut world, mut retry) = failed();
        retry.timeout_ms = world.now.saturating_add_ms(life_ms);
        retry.quorum = quorum;
        let answer = world.propose(agent(by), &retry);
        assert_eq!(
            answer.err().map(|refusal| refusal.code),
            expected,
            "{life_ms} {quorum}"
        );
    }
    let (mut world, retry) = failed();
    let mut other = retry.clone();
    other.timeout_ms = world.now.saturating_add_ms(90_000);
    other.action_hash = super::world::digest("another action");
    assert_eq!(code(world.propose(agent(1), &other)), Code::TermsMismatch);
    world.at(60_001 + 600_001);
    let mut retry = retry;
    retry.timeout_ms = world.now.saturating_add_ms(90_000);
    let late = world.propose(agent(1), &retry);
    assert_eq!(code(late), Code::WrongState, "the time for a retry is over");
}

#[test]
fn cc_025_cc_039_and_cx_18_one_objection_ends_an_optimistic_round_at_once() {
    let (mut world, proposal, id) = World::proposed(Mechanism::Optimistic, 4);
    world.vote(&proposal, agent(2), Approve).unwrap();
    world.vote(&proposal, agent(3), Reject).unwrap();
    assert_eq!(world.verdict(id).reason, Reason::Objection);
    assert_eq!(world.state(id).name(), StateName::Aborted);
    assert_eq!(code(world.vote(&proposal, agent(4), Approve)), Code::Late);
    assert_eq!(
        code(world.report(&proposal, agent(2), true)),
        Code::Closed,
        "CC-25"
    );
}

#[test]
fn cx_15_a_round_that_nothing_can_change_may_end_early() {
    for (early_close, expected) in [(true, StateName::Committed), (false, StateName::Open)] {
        let mut world = World::new(Rounds {
            early_close,
            ..Rounds::DEFAULT
        });
        let proposal = world.proposal(Mechanism::Majority, 5);
        let id = world.propose(agent(1), &proposal).unwrap();
        for number in 1..=3 {
            assert_eq!(world.state(id).name(), StateName::Open);
            world.vote(&proposal, agent(number), Approve).unwrap();
        }
        assert_eq!(world.state(id).name(), expected);
    }
}

#[test]
fn cc_114_equal_rationales_and_votes_at_one_moment_are_noticed_and_change_nothing() {
    let (mut world, proposal, id) = World::proposed(Mechanism::Majority, 4);
    for number in 1..=4 {
        world.at(number * 20);
        let mut vote = super::world::open_vote(&proposal, agent(number), Reject, world.now);
        if number < 4 {
            vote.rationale_tag = Some(super::world::digest("no"));
        }
        world
            .send(agent(number), ConsensusFacts::Vote(Box::new(vote)))
            .unwrap();
    }
    let names = world.names(id);
    assert_eq!(
        names[names.len() - 3..],
        [
            "round_decided",
            "anomaly_noted {equal_rationales}",
            "anomaly_noted {synchronised}"
        ]
    );
    let last: Vec<_> = world.log[world.log.len() - 2..]
        .iter()
        .map(|kept| match &kept.stored {
            super::world::Stored::Event(round::RoundEvent::AnomalyNoted(noted)) => {
                noted.agents.len()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(last, [3, 4]);
    assert_eq!(world.verdict(id).reason, Reason::Rejected);
}

#[test]
fn cc_002_a_proposal_is_taken_back_before_the_first_vote() {
    let (mut world, proposal, id) = World::proposed(Mechanism::Majority, 3);
    let withdraw = ConsensusFacts::Withdraw(of_round(&proposal));
    assert_eq!(
        code(world.send(agent(2), withdraw.clone())),
        Code::NotEligible
    );
    world.send(agent(1), withdraw.clone()).unwrap();
    assert_eq!(world.verdict(id).reason, Reason::Withdrawn);

    let proposal = world.proposal(Mechanism::Majority, 3);
    world.propose(agent(1), &proposal).unwrap();
    world.vote(&proposal, agent(2), Approve).unwrap();
    let withdraw = ConsensusFacts::Withdraw(of_round(&proposal));
    assert_eq!(code(world.send(agent(1), withdraw)), Code::WrongState);
}
