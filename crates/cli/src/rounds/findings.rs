//! `x811 rounds findings`: what was noticed, and who votes alike (round.md 13). Rebuilt from the records of
//! the agent's own rounds; nothing is decided by it.

use std::collections::BTreeMap;

use serde::Serialize;
use x811_client::transcript;
use x811_protocol::did::Did;
use x811_protocol::event::{Effect, Event};
use x811_protocol::facts::consensus::{Decision, Said};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::RoundId;
use x811_protocol::round::Anomaly;

use super::Member;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report};
use x811_protocol::narration;
use x811_protocol::stream::Subject;

/// Rounds that two agents voted in, before it says anything that they agree.
const FEWEST_ROUNDS: u64 = 20;

/// Of 100 rounds, in so many they say the same.
const AGREE_PERCENT: u64 = 95;

#[derive(Debug, Serialize)]
struct Findings {
    noticed: Vec<Noticed>,
    alike: Vec<Alike>,
    /// Rounds that were looked at: those that are decided.
    rounds: u64,
}

#[derive(Debug, Serialize)]
struct Noticed {
    round: RoundId,
    position: u64,
    kind: Anomaly,
    agents: Vec<Did>,
    says: String,
}

/// Two agents who nearly always say the same.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Alike {
    agents: [Did; 2],
    /// Rounds in which both voted.
    together: u64,
    /// Those in which they said the same.
    agreed: u64,
}

/// How often pairs voted together, and said the same.
#[derive(Debug, Default)]
struct Pairs(BTreeMap<[Did; 2], (u64, u64)>);

impl Pairs {
    /// Counts one round.
    fn count(&mut self, votes: &BTreeMap<Did, Decision>) {
        for (one, said) in votes {
            for (other, also) in votes.range(*one..).skip(1) {
                let (together, agreed) = self.0.entry([*one, *other]).or_default();
                *together += 1;
                *agreed += u64::from(said == also);
            }
        }
    }

    /// Those who are alike.
    fn alike(self) -> Vec<Alike> {
        let pairs = self.0.into_iter();
        let alike = pairs.filter(|(_, (together, agreed))| {
            *together >= FEWEST_ROUNDS && agreed * 100 >= together * AGREE_PERCENT
        });
        let alike = alike.map(|(agents, (together, agreed))| Alike {
            agents,
            together,
            agreed,
        });
        alike.collect()
    }
}

impl Report for Findings {
    fn print(&self, out: &mut Out) {
        if self.noticed.is_empty() && self.alike.is_empty() {
            out.line(format_args!(
                "nothing was noticed in {} rounds",
                self.rounds
            ));
            return;
        }
        let noticed = self.noticed.iter();
        let rows: Vec<Vec<String>> = noticed
            .map(|one| {
                vec![
                    one.round.to_string(),
                    one.position.to_string(),
                    one.says.clone(),
                ]
            })
            .collect();
        out.table(&["round", "position", "what"], &rows);
        for pair in &self.alike {
            let [one, other] = pair.agents;
            out.line(format_args!(
                "{one} and {other} said the same in {} of {} rounds",
                pair.agreed, pair.together
            ));
        }
    }
}

/// Reads all decided rounds of the agent.
pub(super) async fn run(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let member = Member::open(context).await?;
    let mut findings = Findings {
        noticed: Vec::new(),
        alike: Vec::new(),
        rounds: 0,
    };
    let mut pairs = Pairs::default();
    for view in member.client.rounds(None).await? {
        if view.outcome.is_none() {
            continue;
        }
        findings.rounds += 1;
        let mut votes = BTreeMap::new();
        let entries =
            transcript::checked(member.client.records_of(Subject::Round(view.id)).await?)?;
        for entry in &entries {
            if let Event::Effect(Effect::AnomalyNoted(noted)) = &entry.event {
                findings.noticed.push(Noticed {
                    round: view.id,
                    position: entry.record.position,
                    kind: noted.kind,
                    agents: noted.agents.clone(),
                    says: narration::event(&entry.event),
                });
            }
            votes.extend(vote(&entry.event));
        }
        pairs.count(&votes);
    }
    findings.alike = pairs.alike();
    out.report(&findings);
    Ok(Exit::Ok)
}

/// Who said what, of a vote that counts.
fn vote(event: &Event) -> Option<(Did, Decision)> {
    let Event::EnvelopeAccepted(accepted) = event else {
        return None;
    };
    let from = accepted.envelope.from;
    if accepted.derived.effect.is_some() {
        return None;
    }
    let Facts::Consensus(facts) = &accepted.facts else {
        return None;
    };
    if let ConsensusFacts::Vote(vote) = facts {
        return match vote.said() {
            Ok(Said::Open(choice)) => Some((from, choice.decision)),
            Ok(Said::Sealed(_)) | Err(_) => None,
        };
    }
    if let ConsensusFacts::Reveal(reveal) = facts {
        return Some((from, reveal.decision));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cc_116_and_cx_50_two_agents_are_alike_who_agree_in_nineteen_of_twenty_rounds() {
        let did = |last: char| -> Did {
            format!("did:x811:019c8c61-8129-7511-9f31-aa5142e6544{last}")
                .parse()
                .unwrap()
        };
        let mut pairs = Pairs::default();
        for round in 0..20 {
            let b = if round == 0 {
                Decision::Reject
            } else {
                Decision::Approve
            };
            let c = if round < 2 {
                Decision::Reject
            } else {
                Decision::Approve
            };
            let votes = [(did('a'), Decision::Approve), (did('b'), b), (did('c'), c)];
            pairs.count(&BTreeMap::from(votes));
        }
        let pair = |one, other, agreed| Alike {
            agents: [did(one), did(other)],
            together: 20,
            agreed,
        };
        assert_eq!(pairs.alike(), [pair('a', 'b', 19), pair('b', 'c', 19)]);
        let mut few = Pairs::default();
        for _ in 0..19 {
            let votes = [(did('a'), Decision::Approve), (did('b'), Decision::Approve)];
            few.count(&BTreeMap::from(votes));
        }
        assert_eq!(few.alike(), []);
    }
}
