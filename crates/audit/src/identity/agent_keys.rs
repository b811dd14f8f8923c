//! The keys of agents, compared with those that the auditor knows from another source
//! (ledger-contract.md section 9).
//!
//! The ledger registers agents. An operator who holds the ledger's keys can therefore register an agent with
//! another key and sign all of its messages anew, and no single file shows it. A key that the auditor knows does.
//! A rotation is signed by the old key and by the new key, so one known key proves every key that rotations
//! connect to it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use x811_protocol::did::Did;
use x811_protocol::event::{AgentEvent, Event};
use x811_protocol::key::{KeyId, PublicKey};

use crate::finding::findings::{Cause, Findings, Spot};
use crate::finding::unchecked::Unchecked;

/// The largest number of agents that a report names.
const MAX_LISTED: usize = 1_000;

/// Keys of agents that an auditor knows from another source than the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownAgentKeys(BTreeMap<Did, BTreeSet<PublicKey>>);

impl FromIterator<KeyId> for KnownAgentKeys {
    fn from_iter<I: IntoIterator<Item = KeyId>>(keys: I) -> KnownAgentKeys {
        let mut known = KnownAgentKeys::default();
        for KeyId { did, key } in keys {
            known.0.entry(did).or_default().insert(key);
        }
        known
    }
}

impl KnownAgentKeys {
    /// The known keys of an agent; `None` for an agent of which no key is known.
    pub fn of(&self, agent: Did) -> Option<&BTreeSet<PublicKey>> {
        self.0.get(&agent)
    }
}

/// Numbers of agents by how well their keys are known, and the agents whose keys the ledger alone attests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AgentKeysReport {
    /// Agents whose every key is known, or connected to a known key by rotations.
    pub proven: u64,
    /// Agents of which no key is known: the ledger alone attests their keys.
    pub asserted: u64,
    /// Agents with a key that is neither.
    pub broken: u64,
    /// Agents counted in `asserted`, in order of registration; the first 1,000.
    pub asserted_agents: Vec<Did>,
}

/// A key that an agent registered, and the keys that replaced it, in order.
#[derive(Debug, Clone)]
struct KeyLine {
    spot: Spot,
    keys: Vec<PublicKey>,
}

/// The agents registered so far, and the keys of those that the auditor knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentKeys {
    known: KnownAgentKeys,
    lines: BTreeMap<Did, Vec<KeyLine>>,
    asserted: u64,
    asserted_agents: Vec<Did>,
}

impl AgentKeys {
    pub(crate) fn knowing(known: KnownAgentKeys) -> AgentKeys {
        AgentKeys {
            known,
            ..AgentKeys::default()
        }
    }

    /// Takes the event of a record that was replayed.
    pub(crate) fn take(&mut self, spot: &Spot, event: &Event) {
        if let Event::Agent(AgentEvent::Registered(registered)) = event {
            let agent = registered.envelope.from;
            if self.known.of(agent).is_none() {
                self.asserted += 1;
                if self.asserted_agents.len() < MAX_LISTED {
                    self.asserted_agents.push(agent);
                }
                return;
            }
            // One key may be registered with two profiles.
            let keys: BTreeSet<PublicKey> = registered.keys.iter().map(|it| it.key).collect();
            let lines = keys.into_iter().map(|key| KeyLine {
                spot: spot.clone(),
                keys: vec![key],
            });
            self.lines.insert(agent, lines.collect());
        } else if let Event::Agent(AgentEvent::KeyRotated(rotated)) = event {
            let lines = self.lines.get_mut(&rotated.envelope.from);
            let mut lines = lines.into_iter().flatten();
            if let Some(line) = lines.find(|line| line.keys.last() == Some(&rotated.old_key)) {
                line.keys.push(rotated.new_key.key);
            }
        }
    }

    /// The lines of an agent that no known key is in.
    fn unknown_lines<'a>(
        &'a self,
        agent: Did,
        known: &'a BTreeSet<PublicKey>,
    ) -> impl Iterator<Item = &'a KeyLine> {
        let lines = self.lines.get(&agent).into_iter().flatten();
        lines.filter(|line| line.keys.iter().all(|key| !known.contains(key)))
    }

    /// Adds a finding for every key that is neither known nor connected to a known key, and for every known agent
    /// that a whole log does not register.
    pub(crate) fn compare(&self, end: &Spot, is_extract: bool, findings: &mut Findings) {
        for (agent, known) in &self.known.0 {
            if !self.lines.contains_key(agent) {
                findings.leave(Unchecked::AgentKeys, u64::from(is_extract));
                if !is_extract {
                    let sentence = format!(
                        "no record registers {agent}, whose key you know: the log was cut off, or the \
                         ledger left the agent out"
                    );
                    findings.add(end, "keys", Cause::AgentKeyDiffers, sentence);
                }
                continue;
            }
            for line in self.unknown_lines(*agent, known) {
                let key = line
                    .keys
                    .first()
                    .map_or_else(String::new, ToString::to_string);
                let sentence = format!(
                    "{agent} is registered with {key}, which is none of the keys that you know and is \
                     connected to none of them by a rotation: the ledger registered another key, or you \
                     did not name every key of the agent"
                );
                findings.add(&line.spot, "keys", Cause::AgentKeyDiffers, sentence);
            }
        }
    }

    pub(crate) fn report(self) -> AgentKeysReport {
        let is_broken = |agent: &Did, known| self.unknown_lines(*agent, known).next().is_some();
        let registered = self.known.0.iter();
        let registered = registered.filter(|(agent, _)| self.lines.contains_key(agent));
        let (total, broken) = registered.fold((0, 0), |(total, broken), (agent, known)| {
            (total + 1, broken + u64::from(is_broken(agent, known)))
        });
        AgentKeysReport {
            proven: total - broken,
            asserted: self.asserted,
            broken,
            asserted_agents: self.asserted_agents,
        }
    }
}
