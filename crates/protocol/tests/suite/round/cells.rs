//! Every cell of 13 states × 13 messages × 6 offices, and the documented table.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::facts::consensus::{
    ConsensusFacts, ConsensusVerb, Decision, Escalate, EscalationPlea, HumanDecision, HumanRuling,
    Mechanism, Proposal, VoteRequest, Voting,
};
use x811_protocol::parameters::{LeaderPolicy, Leaders, Rounds};
use x811_protocol::refusal::Refusal;
use x811_protocol::round::table::{
    EVENTS, LAPSES, Next, Office, TRANSITIONS, is_evidence, refusal, transition,
};
use x811_protocol::round::{
    Countersignature, Outcome, Phase, Reason, RoundWindow, StateName, TallyVerdict, VoteRecord,
};

use super::world::{World, agent, digest, of_round, open_vote, reveal};

const CHECKED_IN: &str = include_str!("../../../src/round/TABLE.md");

const LEADER: u64 = 0x11;
const OTHER: u64 = 0x12;
const HUMAN: u64 = 0x13;
const PROPOSER: u64 = 0x14;
const STRANGER: u64 = 0x15;

/// The ways to hold a round; each cell that accepts does so in one of them.
#[derive(Debug, Clone, Copy)]
enum Scene {
    LedgerLeads,
    SealedUnderALeader,
    LeaderDecides,
}

fn rounds() -> Rounds {
    Rounds {
        humans: vec![agent(HUMAN)],
        leaders: Leaders {
            dids: vec![agent(LEADER), agent(OTHER)],
            policy: LeaderPolicy::Listed,
        },
        ..Rounds::DEFAULT
    }
}

fn opened(scene: Scene) -> (World, Proposal) {
    let mut world = World::new(rounds());
    let mechanism = match scene {
        Scene::LedgerLeads | Scene::SealedUnderALeader => Mechanism::Majority,
        Scene::LeaderDecides => Mechanism::Leader,
    };
    let mut proposal = world.proposal(mechanism, 3);
    if !matches!(scene, Scene::LedgerLeads) {
        proposal.leader = agent(LEADER);
    }
    if matches!(scene, Scene::SealedUnderALeader) {
        proposal.voting = Voting::Sealed;
    }
    world.propose(agent(PROPOSER), &proposal).unwrap();
    (world, proposal)
}

/// Puts the round into that state, as it would be for that message.
fn put(world: &mut World, proposal: &Proposal, name: StateName, verb: ConsensusVerb, scene: Scene) {
    let deadline = world.now.saturating_add_ms(1_000);
    let at = world.now;
    let state = world.states.get_mut(&proposal.proposal_id).unwrap();
    state.phase = match name {
        StateName::Proposed => Phase::Proposed { deadline },
        StateName::Open => Phase::Open {},
        StateName::Suspended => Phase::Suspended {},
        StateName::Revealing => Phase::Revealing { deadline },
        StateName::Held => Phase::Held {
            deadline,
            since: deadline,
        },
        StateName::Committed => Phase::Committed { deadline },
        StateName::Done => Phase::Done {},
        StateName::Aborted => Phase::Aborted {},
        StateName::Failed => Phase::Failed {
            deadline,
            since: at,
        },
        StateName::Escalated => Phase::Escalated {
            deadline,
            position: 9,
        },
        StateName::HumanApproved => Phase::HumanApproved { deadline },
        StateName::HumanRejected => Phase::HumanRejected {},
        StateName::Undecided => Phase::Undecided {},
    };
    if name != StateName::Proposed {
        state.opened_at = Some(at);
    }
    if name == StateName::Revealing {
        for (seat, voter) in state.seats.iter_mut().zip(&proposal.participants) {
            seat.vote = Some(VoteRecord {
                blocked_by: Vec::new(),
                choice: None,
                commitment: Some(reveal(proposal, *voter, Decision::Approve, at).commitment),
                position: 5,
                reveal: None,
                timestamp: at,
            });
        }
    }
    let is_decided = name > StateName::Held;
    if is_decided {
        let outcome = if verb == ConsensusVerb::Commit {
            Outcome::Commit
        } else {
            Outcome::Abort
        };
        state.decided = Some(TallyVerdict {
            outcome,
            reason: Reason::NoQuorum,
            ..state.verdict(at)
        });
        if matches!(scene, Scene::SealedUnderALeader) {
            state.countersignature = Countersignature::Awaited { deadline };
        }
    }
}

fn facts(world: &World, of: &Proposal, verb: ConsensusVerb, by: Did) -> ConsensusFacts {
    let proposal_id = of.proposal_id;
    let state = world.state(proposal_id);
    let signal = x811_protocol::facts::consensus::LeaderSignal {
        proposal_id,
        rationale_hash: None,
        tally_hash: state.decided.map(|verdict| verdict.tally_hash()),
    };
    match verb {
        ConsensusVerb::Propose => unreachable!("the table has no proposals"),
        ConsensusVerb::VoteRequest => ConsensusFacts::VoteRequest(VoteRequest {
            proposal_hash: of.proposal_hash,
            proposal_id,
            term: 1,
            weights_hash: None,
        }),
        ConsensusVerb::Ready => ConsensusFacts::Ready(x811_protocol::facts::consensus::Ready {
            leader: of.leader,
            proposal_hash: of.proposal_hash,
            proposal_id,
            term: 1,
            weights_hash: None,
        }),
        ConsensusVerb::Vote => {
            let mut vote = open_vote(of, by, Decision::Approve, world.now);
            if of.voting == Voting::Sealed {
                vote.commitment = Some(digest("sealed"));
                (vote.decision, vote.vote_hash) = (None, None);
            }
            ConsensusFacts::Vote(Box::new(vote))
        }
        ConsensusVerb::Reveal => {
            let reveal = reveal(of, by, Decision::Approve, world.now);
            ConsensusFacts::Reveal(Box::new(reveal))
        }
        ConsensusVerb::Commit => ConsensusFacts::Commit(signal),
        ConsensusVerb::Abort => ConsensusFacts::Abort(signal),
        ConsensusVerb::Suspend => ConsensusFacts::Suspend(of_round(of)),
        ConsensusVerb::Resume => ConsensusFacts::Resume(of_round(of)),
        ConsensusVerb::Withdraw => ConsensusFacts::Withdraw(of_round(of)),
        ConsensusVerb::Escalate => ConsensusFacts::Escalate(Escalate {
            proposal_id,
            reason: EscalationPlea::TimeCritical,
        }),
        ConsensusVerb::HumanDecision => ConsensusFacts::HumanDecision(HumanDecision {
            decision: HumanRuling::Approve,
            escalation: 9,
            proposal_id,
            rationale_hash: digest("why"),
        }),
        ConsensusVerb::Executed | ConsensusVerb::Failed => {
            let report = x811_protocol::facts::consensus::Report {
                proposal_id,
                report_hash: None,
            };
            if verb == ConsensusVerb::Executed {
                ConsensusFacts::Executed(report)
            } else {
                ConsensusFacts::Failed(report)
            }
        }
    }
}

const fn holder(office: Office) -> u64 {
    match office {
        Office::Proposer => PROPOSER,
        Office::Leader => LEADER,
        Office::Participant => 1,
        Office::OtherLeader => OTHER,
        Office::Human => HUMAN,
        Office::Stranger => STRANGER,
    }
}

/// What that cell does in that scene: whether it takes the message as evidence, or why not at all.
fn driven(
    scene: Scene,
    name: StateName,
    verb: ConsensusVerb,
    office: Office,
) -> Result<bool, Refusal> {
    let (mut world, proposal) = opened(scene);
    put(&mut world, &proposal, name, verb, scene);
    let by = agent(holder(office));
    let facts = facts(&world, &proposal, verb, by);
    world
        .decide(by, &facts)
        .map(|derived| derived.effect.is_some())
}

#[test]
fn cc_003_every_cell_is_taken_or_refused_as_the_table_says() {
    let mut accepting = 0;
    for name in StateName::ALL {
        for verb in ConsensusVerb::ALL.into_iter().skip(1) {
            for office in Office::ALL {
                let cell = format!("{name} {verb} {}", office.as_str());
                let scenes = [
                    Scene::LedgerLeads,
                    Scene::SealedUnderALeader,
                    Scene::LeaderDecides,
                ];
                // Where the ledger leads nobody has the office of the leader.
                let scenes = scenes.into_iter().filter(|scene| {
                    office != Office::Leader || !matches!(scene, Scene::LedgerLeads)
                });
                let driven: Vec<_> = scenes
                    .map(|scene| driven(scene, name, verb, office))
                    .collect();
                match transition(name, verb, office) {
                    Some(next) => {
                        accepting += 1;
                        let expected = next == Next::Evidence;
                        assert!(driven.contains(&Ok(expected)), "{cell}: {driven:?}");
                        assert!(!driven.contains(&Ok(!expected)), "{cell}: {driven:?}");
                    }
                    None => {
                        let code = refusal(name, verb, &[office]);
                        for outcome in driven {
                            let refused = outcome.map_err(|refusal| refusal.code);
                            assert_eq!(refused, Err(code), "{cell}");
                        }
                    }
                }
            }
        }
    }
    // 31 rows, of which two share a cell, and evidence: 9 states × 2 signals × 3 offices.
    assert_eq!(accepting, 30 + 9 * 2 * 3);
}

/// The codes that machines.md section 8 gives to what is refused; nobody learns of a round that is not
/// theirs.
#[test]
fn cx_2_refused_cells_answer_with_the_codes_of_rounds() {
    use ConsensusVerb as M;
    use StateName as S;
    for (from, message, office, code) in [
        (S::Open, M::Vote, Office::Stranger, Code::WrongState),
        (S::Done, M::Commit, Office::Stranger, Code::WrongState),
        (S::Open, M::Vote, Office::Proposer, Code::NotEligible),
        (
            S::Open,
            M::HumanDecision,
            Office::Participant,
            Code::NotEligible,
        ),
        (S::Open, M::Suspend, Office::Participant, Code::WrongLeader),
        (S::Proposed, M::Vote, Office::Participant, Code::WrongState),
        (S::Open, M::Reveal, Office::Participant, Code::TooEarly),
        (S::Suspended, M::Commit, Office::Leader, Code::Suspended),
        (S::Revealing, M::Vote, Office::Participant, Code::Late),
        (S::Committed, M::Vote, Office::Participant, Code::Late),
        (S::Done, M::Executed, Office::Participant, Code::Closed),
        (
            S::HumanApproved,
            M::HumanDecision,
            Office::Human,
            Code::Closed,
        ),
        (
            S::Failed,
            M::Executed,
            Office::Participant,
            Code::WrongState,
        ),
    ] {
        assert_eq!(refusal(from, message, &[office]), code, "{from} {message}");
    }
}

fn rendered() -> String {
    let mut text =
        String::from("| state | message | sent by | next state | rule |\n|---|---|---|---|---|\n");
    for row in &TRANSITIONS {
        let next = match row.next {
            Next::Same => format!("`{}`", row.from),
            Next::To(to) => format!("`{to}`"),
            Next::Reported(to) => format!("`{}`, and `{to}` once everybody has reported", row.from),
            Next::Evidence => unreachable!("evidence has no row"),
        };
        let office = row.office.as_str();
        let (from, message, rule) = (row.from, row.message, row.requirement);
        writeln!(
            text,
            "| `{from}` | `{message}` | {office} | {next} | {rule} |"
        )
        .unwrap();
    }
    let evidence: BTreeSet<&str> = StateName::ALL
        .into_iter()
        .filter(|from| is_evidence(*from, ConsensusVerb::Commit, Office::OtherLeader))
        .map(StateName::as_str)
        .collect();
    let evidence: Vec<String> = evidence.iter().map(|name| format!("`{name}`")).collect();
    writeln!(
        text,
        "\nCommits and aborts of a proposer, a participant or another leader, who does not lead the round, \
         are kept as evidence in {} (CX-21).",
        evidence.join(", ")
    )
    .unwrap();
    text.push_str("\n| event | from | to |\n|---|---|---|\n");
    let names = |states: &[StateName]| {
        let states: Vec<String> = states.iter().map(|state| format!("`{state}`")).collect();
        states.join(", ")
    };
    for row in &EVENTS {
        let to = if row.to.is_empty() {
            "stays".to_owned()
        } else {
            names(row.to)
        };
        writeln!(text, "| {} | {} | {to} |", row.event, names(row.from)).unwrap();
    }
    text.push_str("\n| state | window | when it passes | code |\n|---|---|---|---|\n");
    for row in &LAPSES {
        let window = serde_json::to_value(row.window).unwrap();
        let to = if row.window == RoundWindow::Draw {
            "the oldest of its cycle stays".to_owned()
        } else if row.to == row.from {
            "decided".to_owned()
        } else {
            format!("`{}`", row.to)
        };
        let (from, code) = (row.from, row.window.code());
        writeln!(
            text,
            "| `{from}` | {} | {to} | {code} |",
            window.as_str().unwrap()
        )
        .unwrap();
    }
    text
}

#[test]
fn cc_003_the_documented_table_is_the_one_that_runs() {
    let rendered = rendered();
    assert_eq!(
        CHECKED_IN, rendered,
        "replace crates/protocol/src/round/TABLE.md by it"
    );
}
