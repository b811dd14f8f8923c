//! What holds of every round, whatever its agents, its leader and its ledger do.

use proptest::prelude::*;
use x811_protocol::did::Did;
use x811_protocol::facts::consensus::{
    ConsensusFacts, Decision, Escalate, EscalationPlea, HumanDecision, HumanRuling, Mechanism,
    Proposal, VoteRequest, Voting,
};
use x811_protocol::parameters::{LeaderPolicy, Leaders, Rounds};
use x811_protocol::round::{Outcome, Phase, RoundEvent, State};

use super::world::{BEGUN, Stored, World, agent, digest, of_round, reveal};

const LEADER: u64 = 21;
const OTHER: u64 = 22;
const HUMAN: u64 = 23;

/// One thing that happens, by somebody of 1 to 6 or of the three above.
#[derive(Debug, Clone)]
enum Act {
    Wait(u64),
    Away(u64),
    Ready(u64),
    Vote(u64, Decision),
    Commit(u64, Decision),
    Reveal(u64, Decision),
    Call,
    Signal(u64, bool, bool),
    Suspend,
    Resume,
    Withdraw(u64),
    Escalate(u64),
    Human(bool),
    Report(u64, bool),
}

fn decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        4 => Just(Decision::Approve),
        2 => Just(Decision::Reject),
        1 => Just(Decision::Abstain),
    ]
}

fn somebody() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 1_u64..=6, 1 => Just(LEADER), 1 => Just(OTHER)]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0_u64..30_000).prop_map(Act::Wait),
        1 => (0_u64..40_000).prop_map(Act::Away),
        6 => somebody().prop_map(Act::Ready),
        8 => (somebody(), decision()).prop_map(|(by, what)| Act::Vote(by, what)),
        6 => (somebody(), decision()).prop_map(|(by, what)| Act::Commit(by, what)),
        6 => (somebody(), decision()).prop_map(|(by, what)| Act::Reveal(by, what)),
        3 => Just(Act::Call),
        3 => (somebody(), any::<bool>(), any::<bool>()).prop_map(|(by, done, why)| Act::Signal(by, done, why)),
        1 => Just(Act::Suspend),
        2 => Just(Act::Resume),
        1 => somebody().prop_map(Act::Withdraw),
        2 => somebody().prop_map(Act::Escalate),
        2 => any::<bool>().prop_map(Act::Human),
        4 => (somebody(), any::<bool>()).prop_map(|(by, done)| Act::Report(by, done)),
    ]
}

fn rounds() -> impl Strategy<Value = Rounds> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (flags, 0_u64..2, prop::option::of(5_000_u64..60_000)).prop_map(
        |((abstain_counts, early_close, has_human), retries, liveness_ms)| Rounds {
            abstain_counts,
            early_close,
            humans: has_human.then(|| agent(HUMAN)).into_iter().collect(),
            leaders: Leaders {
                dids: vec![agent(LEADER), agent(OTHER)],
                policy: LeaderPolicy::Listed,
            },
            liveness_ms,
            retries,
            ..Rounds::DEFAULT
        },
    )
}

fn shape() -> impl Strategy<Value = (Mechanism, bool, bool, u64, u64)> {
    let mechanism = prop::sample::select(&Mechanism::ALL);
    (
        mechanism,
        any::<bool>(),
        any::<bool>(),
        1_u64..=5,
        0_u64..=1,
    )
}

fn propose(world: &mut World, shape: (Mechanism, bool, bool, u64, u64)) -> Proposal {
    let (mechanism, is_sealed, has_leader, seats, quorum) = shape;
    let mut proposal = world.proposal(mechanism, seats);
    proposal.quorum = quorum;
    if has_leader || mechanism == Mechanism::Leader {
        proposal.leader = agent(LEADER);
    }
    if is_sealed && matches!(mechanism, Mechanism::Majority | Mechanism::Weighted) {
        proposal.voting = Voting::Sealed;
    }
    world.propose(agent(1), &proposal).unwrap();
    proposal
}

/// Does it; what is refused is refused.
fn act_on(world: &mut World, proposal: &Proposal, act: &Act) {
    let id = proposal.proposal_id;
    let since_begun = world.now.since(BEGUN);
    let _ = match act {
        Act::Wait(ms) => {
            world.at(since_begun + ms);
            Ok(true)
        }
        Act::Away(ms) => {
            world.away(since_begun, since_begun + ms);
            Ok(true)
        }
        Act::Ready(by) => world.ready(proposal, agent(*by)),
        Act::Vote(by, decision) => world.vote(proposal, agent(*by), *decision),
        Act::Commit(by, decision) => world
            .commit_to(proposal, agent(*by), *decision)
            .map(|_| true),
        Act::Reveal(by, decision) => {
            let seat = proposal
                .participants
                .iter()
                .position(|it| *it == agent(*by));
            let vote = seat.and_then(|seat| world.state(id).seats[seat].vote.as_ref());
            let at = vote.map_or(world.now, |vote| vote.timestamp);
            let reveal = reveal(proposal, agent(*by), *decision, at);
            world.reveal(agent(*by), &reveal)
        }
        Act::Call => {
            let call = VoteRequest {
                proposal_hash: proposal.proposal_hash,
                proposal_id: id,
                term: 1,
                weights_hash: proposal.weights_hash,
            };
            world.send(agent(LEADER), ConsensusFacts::VoteRequest(call))
        }
        Act::Signal(by, done, why) => {
            let hash = world.state(id).decided.map(|verdict| verdict.tally_hash());
            let outcome = if *done {
                Outcome::Commit
            } else {
                Outcome::Abort
            };
            world.signal(proposal, agent(*by), outcome, hash, *why)
        }
        Act::Suspend => world.send(agent(LEADER), ConsensusFacts::Suspend(of_round(proposal))),
        Act::Resume => world.send(agent(LEADER), ConsensusFacts::Resume(of_round(proposal))),
        Act::Withdraw(by) => world.send(agent(*by), ConsensusFacts::Withdraw(of_round(proposal))),
        Act::Escalate(by) => {
            let reason = EscalationPlea::TimeCritical;
            let plea = Escalate {
                proposal_id: id,
                reason,
            };
            world.send(agent(*by), ConsensusFacts::Escalate(plea))
        }
        Act::Human(approves) => {
            let escalation = match world.state(id).phase {
                Phase::Escalated { position, .. } => position,
                _ => 0,
            };
            let ruling = HumanDecision {
                decision: if *approves {
                    HumanRuling::Approve
                } else {
                    HumanRuling::Reject
                },
                escalation,
                proposal_id: id,
                rationale_hash: digest("seen"),
            };
            world.send(agent(HUMAN), ConsensusFacts::HumanDecision(ruling))
        }
        Act::Report(by, done) => world.report(proposal, agent(*by), *done),
    };
}

/// Reads the log as an outsider would: nothing is executed before it was decided or approved, nobody's
/// vote counts twice, and the votes counted are those in the log.
pub(crate) fn hold(world: &World, proposal: &Proposal) {
    let id = proposal.proposal_id;
    let (mut decisions, mut may_be_done) = (0, false);
    let mut voters: Vec<Did> = Vec::new();
    for kept in world.log.iter().filter(|kept| kept.round == id) {
        match &kept.stored {
            Stored::Event(RoundEvent::RoundDecided(decided)) => {
                decisions += 1;
                may_be_done |= decided.outcome == Outcome::Commit;
            }
            Stored::Message(message) if message.derived.effect.is_none() => match &message.facts {
                ConsensusFacts::Vote(_) => {
                    assert_eq!(decisions, 0, "no vote behind the decision");
                    assert!(kept.at <= proposal.timeout_ms);
                    assert!(!voters.contains(&message.envelope.from), "one vote a voter");
                    voters.push(message.envelope.from);
                }
                ConsensusFacts::HumanDecision(ruling) => {
                    may_be_done |= ruling.decision == HumanRuling::Approve;
                }
                ConsensusFacts::Executed(_) | ConsensusFacts::Failed(_) => {
                    assert!(
                        may_be_done,
                        "nothing is executed that was not decided (CC-25)"
                    );
                }
                _ => {}
            },
            Stored::Message(_) | Stored::Lapsed(_) | Stored::Drawn(_) | Stored::Event(_) => {}
        }
    }
    assert_eq!(decisions, 1, "each round is decided once");
    assert!(
        voters
            .iter()
            .all(|voter| proposal.participants.contains(voter))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Never two outcomes, never none: whatever happens, each round is decided once, ends, and its records
    /// lead a replay to the same state.
    #[test]
    fn cc_043_and_cc_044_every_round_is_decided_once_and_ends_and_replays_to_the_same(
        rounds in rounds(),
        shape in shape(),
        acts in prop::collection::vec(act(), 0..40),
    ) {
        let mut world = World::new(rounds);
        let proposal = propose(&mut world, shape);
        for act in &acts {
            act_on(&mut world, &proposal, act);
        }
        let id = proposal.proposal_id;
        prop_assert_eq!(&world.replayed(), &world.states);
        let stored = serde_json::to_string(world.state(id)).unwrap();
        let read: State = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(&read.with_rounds(world.rounds.clone()), world.state(id));
        // Each window begins where the one before was noticed: longer than any of them, a few times.
        for _ in 0..6 {
            world.at(world.now.since(BEGUN) + 40 * 86_400_000);
        }
        prop_assert!(world.state(id).is_over(), "{:?}", world.state(id).phase);
        hold(&world, &proposal);
    }

    /// The same votes in any order come to one verdict, byte for byte.
    #[test]
    fn cx_10_the_order_of_votes_does_not_matter(
        decisions in prop::collection::vec(decision(), 1..6),
        keys in prop::collection::vec(any::<u64>(), 6),
        mechanism in prop::sample::select(&[Mechanism::Majority, Mechanism::Weighted][..]),
        silent in 0_u64..2,
    ) {
        let verdict_of = |order: &[(u64, Decision)]| {
            let mut world = World::new(Rounds::DEFAULT);
            let proposal = world.proposal(mechanism, decisions.len() as u64 + silent);
            let id = world.propose(agent(1), &proposal).unwrap();
            world.all_ready(&proposal);
            for (number, decision) in order {
                world.vote(&proposal, agent(*number), *decision).unwrap();
            }
            world.at(60_001);
            world.verdict(id)
        };
        let votes: Vec<(u64, Decision)> = (1..).zip(decisions.iter().copied()).collect();
        let mut shuffled: Vec<_> = votes.iter().copied().zip(keys).collect();
        shuffled.sort_by_key(|(_, key)| *key);
        let shuffled: Vec<_> = shuffled.into_iter().map(|(vote, _)| vote).collect();
        prop_assert_eq!(verdict_of(&votes), verdict_of(&shuffled));
    }
}
