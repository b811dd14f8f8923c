//! What must hold at the end: what was sent, what the log says and what was acknowledged, compared.

use super::tap::Seen;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What the log says.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Position of each accepted envelope, by id.
    accepted: BTreeMap<String, u64>,
    /// By the UUID of the recipient, positions and envelope ids in order.
    delivered: BTreeMap<String, BTreeMap<u64, String>>,
    /// How often each party said each thing in each interaction.
    said: BTreeMap<(String, String, String), u32>,
    /// The ledger itself.
    ledger: String,
}

/// Figures for whoever reads the run.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) interactions: usize,
    pub(crate) accepted: usize,
    pub(crate) delivered: usize,
    pub(crate) repeated: usize,
}

impl Log {
    /// Reads an export.
    pub(crate) fn read(file: &Path) -> Log {
        let text = std::fs::read_to_string(file).unwrap();
        let mut log = Log::default();
        for line in text.lines() {
            if let Some(record) = line.strip_prefix("r ") {
                log.record(&serde_json::from_str(record).unwrap());
            } else if log.ledger.is_empty() {
                let head: Value = serde_json::from_str(line).unwrap();
                head["did"].as_str().unwrap().clone_into(&mut log.ledger);
            }
        }
        log
    }

    fn record(&mut self, record: &Value) {
        let position = record["position"].as_u64().unwrap();
        let envelope = &record["event"]["envelope"];
        let (Some(id), Some(to)) = (envelope["id"].as_str(), envelope["to"].as_str()) else {
            return;
        };
        let by_ledger = envelope["from"] == self.ledger.as_str();
        if !by_ledger {
            self.accepted.insert(id.to_owned(), position);
        }
        if to == self.ledger {
            return;
        }
        let uuid = to.rsplit(':').next().unwrap().to_owned();
        let delivered = self.delivered.entry(uuid).or_default();
        delivered.insert(position, id.to_owned());
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let said = (
            word(&record["stream"]),
            word(&envelope["from"]),
            word(&envelope["type"]),
        );
        if !by_ledger {
            *self.said.entry(said).or_default() += 1;
        }
    }

    /// How many interactions have a PAYMENT.
    pub(crate) fn paid(&self) -> usize {
        let is_payment = |said: &&(String, String, String)| said.2 == "x811/payment";
        self.said.keys().filter(is_payment).count()
    }

    /// Everything that is wrong.
    pub(crate) fn faults(&self, seen: &Seen) -> Vec<String> {
        let mut faults = seen.faults.clone();
        for (id, position) in &seen.accepted {
            if self.accepted.get(id) != Some(position) {
                faults.push(format!("{id} was accepted at {position} and is not there"));
            }
        }
        for id in self.accepted.keys() {
            if !seen.sent.contains_key(id) {
                faults.push(format!("{id} is in the log and nobody sent it"));
            }
        }
        for ((stream, from, kind), times) in &self.said {
            if *times > 1 && kind != "x811/error" {
                faults.push(format!("{stream}: {from} said {kind} {times} times"));
            }
        }
        for (uuid, delivered) in &self.delivered {
            self.of_agent(uuid, delivered, seen, &mut faults);
        }
        faults
    }

    fn of_agent(
        &self,
        uuid: &str,
        delivered: &BTreeMap<u64, String>,
        seen: &Seen,
        faults: &mut Vec<String>,
    ) {
        let received = seen.received.get(uuid).cloned().unwrap_or_default();
        let mut firsts: BTreeSet<u64> = BTreeSet::new();
        for (position, id) in &received.messages {
            if delivered.get(position) != Some(id) {
                faults.push(format!("{uuid} got {id} at {position}, which is not its"));
            }
            // Repetitions come in any order; what is new comes behind all that came before.
            let last = firsts.last().copied();
            if firsts.insert(*position) && last.is_some_and(|last| last > *position) {
                faults.push(format!("{uuid} first got {position} behind {last:?}"));
            }
        }
        for position in delivered.keys() {
            if !firsts.contains(position) {
                faults.push(format!("{uuid} never got {position}"));
            }
        }
        let last = delivered
            .last_key_value()
            .map_or(0, |(position, _)| *position);
        if received.acknowledged != last {
            let through = received.acknowledged;
            faults.push(format!("{uuid} acknowledged {through} of {last}"));
        }
    }

    pub(crate) fn figures(&self, seen: &Seen) -> Figures {
        let delivered = self.delivered.values().map(BTreeMap::len).sum();
        let received: usize = seen.received.values().map(|it| it.messages.len()).sum();
        let streams: BTreeSet<&str> = self.said.keys().map(|said| said.0.as_str()).collect();
        Figures {
            interactions: streams.len(),
            accepted: self.accepted.len(),
            delivered,
            repeated: received.saturating_sub(delivered),
        }
    }
}
