//! Who gains by breaking a rule, and what it meets: voters, proposers, leaders and whoever writes the log.

use x811_protocol::code::Code;
use x811_protocol::facts::consensus::{ConsensusFacts, Decision, Mechanism, Voting};
use x811_protocol::machine::Input;
use x811_protocol::parameters::{LeaderPolicy, Leaders, Rounds};
use x811_protocol::round::{
    self, Context, Outcome, Reason, RoundDecided, RoundEvent, RoundLedger, RoundOpened,
    RoundWindow, State, StateName, VoterStanding,
};

use super::world::{Kept, Stored, World, agent, code, evolve, of_round, open_vote, reveal};

use Decision::{Approve, Reject};

fn listed() -> Rounds {
    Rounds {
        leaders: Leaders {
            dids: vec![agent(8), agent(9)],
            policy: LeaderPolicy::Listed,
        },
        ..Rounds::DEFAULT
    }
}

#[test]
fn cx_5_a_vote_behind_the_timeout_does_not_count_whatever_its_timestamp_says() {
    let (mut world, proposal, id) = World::proposed(Mechanism::Majority, 3);
    world.all_ready(&proposal);
    world.vote(&proposal, agent(1), Approve).unwrap();
    let early = open_vote(&proposal, agent(2), Reject, world.now);
    world.now = proposal.timeout_ms.saturating_add_ms(1);
    let late = world.send(agent(2), ConsensusFacts::Vote(Box::new(early)));
    assert_eq!(code(late), Code::Late);
    assert_eq!(world.verdict(id).tally.received, 1);
}

#[test]
fn cx_5_a_timestamp_is_near_the_record_and_not_behind_the_timeout() {
    let mut world = World::new(Rounds::DEFAULT);
    let mut proposal = world.proposal(Mechanism::Majority, 3);
    proposal.timeout_ms = world.now.saturating_add_ms(3_600_000);
    world.propose(agent(1), &proposal).unwrap();
    world.at(1_000_000);
    for (timestamp_ms, expected) in [
        (world.now.saturating_sub_ms(300_001), Some(Code::Late)),
        (world.now.saturating_add_ms(300_001), Some(Code::Late)),
        (proposal.timeout_ms.saturating_add_ms(1), Some(Code::Late)),
        (world.now.saturating_sub_ms(300_000), None),
    ] {
        let vote = open_vote(&proposal, agent(2), Approve, timestamp_ms);
        let answer = world.send(agent(2), ConsensusFacts::Vote(Box::new(vote)));
        assert_eq!(answer.err().map(|refusal| refusal.code), expected);
    }
}

/// A vote of attempt 1 names attempt 1, whatever carries it to attempt 2.
#[test]
fn cx_4_a_vote_of_one_attempt_does_not_count_in_the_next() {
    let mut world = World::new(Rounds::DEFAULT);
    let first = world.proposal(Mechanism::Majority, 4);
    let id = world.propose(agent(1), &first).unwrap();
    world.vote(&first, agent(2), Approve).unwrap();
    world.at(60_001);
    assert_eq!(world.verdict(id).reason, Reason::NoQuorum);
    world.at(70_000);
    let mut second = world.proposal(Mechanism::Majority, 4);
    (second.attempt, second.resubmission_of) = (2, Some(id));
    second.timeout_ms = world.now.saturating_add_ms(90_000);
    world.propose(agent(1), &second).unwrap();
    let old = open_vote(&first, agent(2), Approve, world.now);
    let to_first = world.send(agent(2), ConsensusFacts::Vote(Box::new(old.clone())));
    assert_eq!(code(to_first), Code::Late);
    let mut redirected = old;
    redirected.proposal_id = second.proposal_id;
    let inconsistent = ConsensusFacts::Vote(Box::new(redirected.clone()));
    assert_eq!(code(inconsistent.consistent()), Code::Schema);
    redirected.consensus_round_id = second.proposal_id;
    let to_second = world.send(agent(2), ConsensusFacts::Vote(Box::new(redirected)));
    assert_eq!(code(to_second), Code::TermsMismatch);
}

#[test]
fn cc_050_and_cx_21_a_second_leader_is_kept_as_evidence_once_and_moves_nothing() {
    let mut world = World::new(listed());
    let mut proposal = world.proposal(Mechanism::Leader, 3);
    proposal.leader = agent(9);
    let id = world.propose(agent(1), &proposal).unwrap();
    world.call(&proposal, agent(9));
    for pretender in [agent(1), agent(2), agent(8)] {
        let claim = world.signal(&proposal, pretender, Outcome::Commit, None, true);
        assert_eq!(claim, Ok(true));
        let again = world.signal(&proposal, pretender, Outcome::Abort, None, true);
        assert_eq!(code(again), Code::WrongLeader);
    }
    let stranger = world.signal(&proposal, agent(77), Outcome::Commit, None, true);
    assert_eq!(
        code(stranger),
        Code::WrongState,
        "nothing is told to strangers"
    );
    assert_eq!(world.state(id).name(), StateName::Open);
    let noted = world.names(id);
    let noted = noted
        .iter()
        .filter(|name| *name == "anomaly_noted {second_leader}");
    assert_eq!(noted.count(), 3);
    world.all_ready(&proposal);
    world
        .signal(&proposal, agent(9), Outcome::Abort, None, false)
        .unwrap();
    assert_eq!(world.verdict(id).outcome, Outcome::Abort);
}

/// The copy opens to another hash, because the voter is part of what is committed to.
#[test]
fn cx_51_another_voters_commitment_cannot_be_copied_and_opened() {
    let mut world = World::new(Rounds::DEFAULT);
    let mut proposal = world.proposal(Mechanism::Majority, 3);
    proposal.voting = Voting::Sealed;
    let id = world.propose(agent(1), &proposal).unwrap();
    world.all_ready(&proposal);
    let original = world.commit_to(&proposal, agent(1), Approve).unwrap();
    let mut copy = open_vote(&proposal, agent(2), Approve, world.now);
    copy.commitment = Some(original.commitment);
    (copy.decision, copy.vote_hash) = (None, None);
    world
        .send(agent(2), ConsensusFacts::Vote(Box::new(copy)))
        .unwrap();
    let open = open_vote(&proposal, agent(3), Approve, world.now);
    let shown = world.send(agent(3), ConsensusFacts::Vote(Box::new(open)));
    assert_eq!(code(shown), Code::Schema, "an open vote in a sealed round");
    world.at(60_001);
    world.reveal(agent(1), &original).unwrap();
    let own = reveal(&proposal, agent(2), Approve, original.timestamp_ms);
    assert_eq!(code(world.reveal(agent(2), &own)), Code::TermsMismatch);
    let mut moved = original;
    moved.timestamp_ms = moved.timestamp_ms.saturating_add_ms(1);
    assert_eq!(
        code(world.reveal(agent(3), &moved)),
        Code::Late,
        "committed to nothing"
    );
    world.at(80_000);
    assert_eq!(world.verdict(id).reason, Reason::NoQuorum);
    assert_eq!(world.verdict(id).tally.invalid, 1);
}

#[test]
fn cc_103_and_cx_7_nobody_votes_without_a_seat_and_nobody_is_seated_without_having_agreed_to_rounds()
 {
    let mut world = World::new(Rounds::DEFAULT);
    let proposal = world.proposal(Mechanism::Majority, 3);
    world.strangers.insert(agent(3));
    assert_eq!(code(world.propose(agent(1), &proposal)), Code::NotEligible);
    world.strangers.clear();
    world.excluded.insert(agent(2));
    assert_eq!(code(world.propose(agent(1), &proposal)), Code::Excluded);
    world.excluded.clear();
    world.propose(agent(1), &proposal).unwrap();
    assert_eq!(
        code(world.vote(&proposal, agent(4), Approve)),
        Code::WrongState
    );
    assert_eq!(
        code(world.propose(agent(1), &proposal)),
        Code::WrongState,
        "the id is taken"
    );
}

#[test]
fn cc_104_and_cx_47_age_and_trust_have_minimums_and_a_proposal_has_limits() {
    let within = |rounds: Rounds| {
        let mut world = World::new(rounds);
        let proposal = world.proposal(Mechanism::Majority, 3);
        world
            .propose(agent(1), &proposal)
            .err()
            .map(|refusal| refusal.code)
    };
    type Change = fn(&mut Rounds);
    let table: [(Change, Option<Code>); 6] = [
        (|_| {}, None),
        (|it| it.min_age_ms = 1_001, Some(Code::NotEligible)),
        (|it| it.min_trust = 51, Some(Code::NotEligible)),
        (|it| it.participants = 2, Some(Code::LimitReached)),
        (|it| it.min_timeout_ms = 60_001, Some(Code::LimitReached)),
        (|it| it.max_timeout_ms = 59_999, Some(Code::LimitReached)),
    ];
    for (change, expected) in table {
        let mut rounds = Rounds::DEFAULT;
        change(&mut rounds);
        assert_eq!(within(rounds), expected);
    }
}

#[test]
fn cc_005_cx_19_and_cx_21_what_a_mechanism_needs() {
    let propose = |change: fn(&mut x811_protocol::facts::consensus::Proposal), mechanism| {
        let mut world = World::new(Rounds::DEFAULT);
        let mut proposal = world.proposal(mechanism, 3);
        change(&mut proposal);
        code(world.propose(agent(1), &proposal))
    };
    let risky = propose(|it| it.reversible = false, Mechanism::Optimistic);
    assert_eq!(risky, Code::NotEligible);
    let unlisted = propose(|it| it.leader = agent(9), Mechanism::Majority);
    assert_eq!(unlisted, Code::NotEligible);
    assert_eq!(propose(|_| (), Mechanism::Leader), Code::NotEligible);
    let foreign = propose(
        |it| it.blocked_by = vec![it.proposal_id],
        Mechanism::Majority,
    );
    assert_eq!(foreign, Code::NotEligible, "blocked_by names no open round");
}

struct Nobody;

impl RoundLedger for Nobody {
    fn standing(&self, _agent: x811_protocol::did::Did) -> VoterStanding {
        VoterStanding::default()
    }

    fn round(&self, _id: x811_protocol::id::RoundId) -> Option<&State> {
        None
    }
}

#[test]
fn cc_011_a_proposal_to_somebody_else_or_where_nobody_decides_is_refused() {
    let mut world = World::new(Rounds::DEFAULT);
    let proposal = world.proposal(Mechanism::Majority, 3);
    let facts = ConsensusFacts::Propose(Box::new(proposal));
    let mut envelope = world.header(agent(1), &facts);
    let context = Context {
        view: &Nobody,
        head: None,
        ledger: world.ledger,
        parameters_position: 1,
        rounds: Some(&world.rounds),
    };
    let decide = |envelope: &_| {
        let input = Input {
            envelope,
            facts: &facts,
        };
        code(round::decide(None, &input, &context, world.now))
    };
    assert_eq!(decide(&envelope), Code::NotEligible, "nobody is registered");
    envelope.to = agent(5);
    assert_eq!(decide(&envelope), Code::NotEligible);
    let off = Context {
        rounds: None,
        ..context
    };
    envelope.to = world.ledger;
    let input = Input {
        envelope: &envelope,
        facts: &facts,
    };
    assert_eq!(
        code(round::decide(None, &input, &off, world.now)),
        Code::InvalidStateTransition
    );
}

/// Attack by whoever writes the log: a record that the rules would not have made stops its reader.
#[test]
fn cc_004_a_log_with_another_outcome_than_its_votes_is_illegal() {
    let (mut world, proposal, id) = World::proposed(Mechanism::Majority, 3);
    world.all_ready(&proposal);
    world.vote(&proposal, agent(1), Approve).unwrap();
    let open = world.state(id).clone();
    let now = world.now;
    world.at(60_001);
    let decided = world.state(id).clone();
    let honest = decided.decided.unwrap();
    let mut bought = honest;
    (bought.outcome, bought.reason) = (Outcome::Commit, Reason::Accepted);
    let event = |verdict| Stored::Event(RoundEvent::RoundDecided(RoundDecided::new(7, &verdict)));
    let due = {
        let lapse = kept(&world, id, Stored::Lapsed(RoundWindow::Votes), world.now);
        evolve(Some(open.clone()), &lapse, &world.rounds).unwrap()
    };
    let opened = RoundOpened {
        cause: 1,
        leader: world.ledger,
        term: 1,
    };
    let withdraw = Stored::Message(Box::new(x811_protocol::round::Message {
        derived: x811_protocol::round::Derived::default(),
        envelope: world.header(agent(1), &ConsensusFacts::Withdraw(of_round(&proposal))),
        facts: ConsensusFacts::Withdraw(of_round(&proposal)),
    }));
    for (state, stored, at) in [
        (&open, event(honest), now),
        (&open, event(bought), now),
        (&due, event(bought), world.now),
        (&decided, event(honest), world.now),
        (&open, Stored::Lapsed(RoundWindow::Votes), now),
        (&open, Stored::Lapsed(RoundWindow::Reveals), world.now),
        (&open, Stored::Event(RoundEvent::RoundOpened(opened)), now),
        (&open, withdraw, now),
    ] {
        let kept = kept(&world, id, stored.clone(), at);
        let refused = evolve(Some(state.clone()), &kept, &world.rounds);
        assert!(refused.is_err(), "{stored:?} in {}", state.name());
    }
    let honest = kept(&world, id, event(honest), world.now);
    assert!(evolve(Some(due), &honest, &world.rounds).is_ok());
}

fn kept(
    world: &World,
    round: x811_protocol::id::RoundId,
    stored: Stored,
    at: x811_protocol::time::TimestampMs,
) -> Kept {
    Kept {
        round,
        stored,
        position: world.log.len() as u64,
        at,
    }
}
