//! The running root of all states: what every record made of its stream, hashed one after the other,
//! so that two who replay the same log find out where they part without comparing worlds.
//!
//! ```text
//! r' = SHA-256( r | name of the stream | SHA-256( its state after the record ) )
//! ```
//!
//! r begins as 32 zeros; a state is the RFC 8785 form of that of a subject, or of [`StateOf`]. Every 1,000 records the root
//! is recorded, in a stream of its own that is no part of it (record.md section 4).

use super::apply::Applying;
use super::{Fault, World};
use crate::agent::Agent;
use serde::Serialize;
use x811_eventlog::{RecordError, write_canonical};
use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, StateRoot};
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;
use x811_protocol::trust::TrustCounters;

/// A root stands at every position whose successor is a multiple of this.
pub const EVERY_RECORDS: u64 = 1_000;

/// The running root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roots {
    /// Over all records so far but the roots themselves; `None` once it cannot be known, because
    /// something before was not replayed.
    pub running: Option<Digest>,
    /// Next place in the stream `roots`.
    pub next_seq: u64,
}

impl Default for Roots {
    /// Before the first record.
    fn default() -> Roots {
        Roots {
            running: Some(Digest::ZERO),
            next_seq: 0,
        }
    }
}

/// The state of a stream that is of no subject, as it is hashed. Members that are not there are null.
#[derive(Serialize)]
#[serde(untagged)]
enum StateOf<'a> {
    /// Of the stream `ledger`.
    Ledger {
        /// Position of the parameters in force.
        parameters: Option<u64>,
        rules_version: u64,
    },
    /// Of a stream `network:<name>`.
    Network { blind_since_ms: Option<TimestampMs> },
    /// Of streams `agent:<did>` and `mail:<did>`.
    Agent {
        #[serde(flatten)]
        agent: &'a Agent,
        trust: TrustCounters,
    },
}

impl World {
    /// The root to record next, if it is time for one and it can be known.
    pub fn state_root_due(&self) -> Option<StateRoot> {
        let size = self.head.size;
        let is_due = (size + 1).is_multiple_of(EVERY_RECORDS);
        Some(StateRoot {
            position: size.checked_sub(1).filter(|_| is_due)?,
            root: self.roots.running?,
            schema: self.rules().schema(),
        })
    }

    /// Whether a recorded root can be computed again.
    pub fn can_compute_root(&self) -> bool {
        self.roots.running.is_some()
    }

    /// Nothing is known of the root from now on.
    pub fn doubt_roots(&mut self) {
        self.roots.running = None;
    }

    /// A recorded root, against the running one.
    pub(super) fn apply_root(&mut self, step: &Applying<'_>) -> Result<(), Fault> {
        let Event::StateRoot(root) = step.event else {
            return Err(step.misplaced("the stream of roots holds nothing else"));
        };
        let is_in_place = (step.position + 1).is_multiple_of(EVERY_RECORDS);
        if !is_in_place || root.position + 1 != step.position {
            return Err(
                step.misplaced("a root stands at every thousandth place and covers all before")
            );
        }
        if root.schema != self.rules().schema() {
            return Err(step.misplaced("its schema is not the one of the rules in force"));
        }
        if self
            .roots
            .running
            .is_some_and(|running| running != root.root)
        {
            return Err(step.misplaced("the states before it do not add up to this root"));
        }
        self.roots.next_seq += 1;
        Ok(())
    }

    /// Takes the state after a record into the root.
    pub(super) fn fold_state(&mut self, step: &Applying<'_>) -> Result<(), Fault> {
        let Some(running) = self.roots.running else {
            return Ok(());
        };
        let mut bytes = Vec::with_capacity(2_048);
        let Some(written) = self.write_state_of(&mut bytes, step.stream) else {
            return Ok(());
        };
        written?;
        let state = Digest::of(&bytes);
        let name = step.name.as_bytes();
        let parts: [&[u8]; 3] = [running.as_bytes(), name, state.as_bytes()];
        self.roots.running = Some(Digest::of_parts(&parts));
        Ok(())
    }

    /// Appends the state of a stream as it is hashed; `None` where it has none.
    fn write_state_of(
        &self,
        out: &mut Vec<u8>,
        stream: &Stream,
    ) -> Option<Result<(), RecordError>> {
        let state = match stream {
            Stream::Ledger => StateOf::Ledger {
                parameters: self.parameters().map(|(position, _)| position),
                rules_version: self.rules_version(),
            },
            Stream::Network(name) => StateOf::Network {
                blind_since_ms: self.networks.get(name).and_then(|sight| sight.blind_since),
            },
            Stream::Agent(did) | Stream::Mail(did) => StateOf::Agent {
                agent: self.agents.get(did)?,
                trust: self.trust(*did),
            },
            Stream::Of(subject) => return Some(self.latest_state(*subject)?.write_hashed(out)),
            Stream::Roots => return None,
        };
        Some(write_canonical(out, &state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_eventlog::Record;
    use x811_protocol::event::LedgerEvent;
    use x811_protocol::rules::Rules;

    const FORMAT: &str = include_str!("../../../eventlog/FORMAT.md");
    const STATES: &str = include_str!("../../../eventlog/STATES.md");

    /// The first line of every fenced block under the heading `title`.
    fn blocks(title: &str) -> Vec<&'static str> {
        let (_, section) = FORMAT.split_once(&format!("\n### {title}\n")).unwrap();
        let section = section.split("\n### ").next().unwrap();
        let blocks = section.split("```").skip(1).step_by(2);
        blocks.filter_map(|block| block.lines().nth(1)).collect()
    }

    /// Hashed with Python's `json` and `hashlib`, not with this crate.
    #[test]
    fn rec_4_the_root_over_the_golden_records_is_the_published_one() {
        let mut world = World::empty();
        for position in ["Position 0", "Position 1"] {
            let leaf = blocks(position)[0];
            let record = Record::parse(leaf.as_bytes().to_vec()).unwrap();
            let event = Event::from_json(record.event_json()).unwrap();
            world.apply(&record, &event).unwrap();
        }
        let published = blocks("Root of all states after both")[0];
        assert_eq!(world.roots.running.unwrap().to_string(), published);
    }

    /// The same over whole logs; `tests/verifiers` has a second replay, written from the text.
    #[test]
    fn rec_4_the_roots_over_golden_logs_are_the_published_ones() {
        let (_, table) = STATES.split_once("\n## Golden roots\n").unwrap();
        let rows = table.lines().filter(|line| line.starts_with("| `"));
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split('`').collect()).collect();
        assert!(rows.len() >= 3, "{rows:?}");
        for row in rows {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/bundle");
            let log = std::fs::read_to_string(format!("{folder}/{}.x811", row[1])).unwrap();
            let mut world = World::empty();
            let mut roots = String::new();
            for leaf in log.lines().filter_map(|line| line.strip_prefix("r ")) {
                let record = Record::parse(leaf.as_bytes().to_vec()).unwrap();
                let event = Event::from_json(record.event_json()).unwrap();
                world.apply(&record, &event).unwrap();
                let root = world.roots.running.unwrap();
                roots += &format!("{} {root}\n", record.position());
            }
            freeze(row[1], &roots);
            assert!(roots.ends_with(&format!(" {}\n", row[3])), "{}", row[1]);
        }
    }

    /// Writes the root after each record into the folder that `X811_FREEZE` names, for `scripts/freeze.sh`.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test has no command line of its own"
    )]
    fn freeze(log: &str, roots: &str) {
        if let Ok(folder) = std::env::var("X811_FREEZE") {
            let folder = std::path::Path::new(&folder).join("state-roots");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(log), roots).unwrap();
        }
    }

    #[test]
    fn rec_4_the_golden_records_are_read_as_events() {
        let read = |position: &str| {
            let record = Record::parse(blocks(position)[0].as_bytes().to_vec()).unwrap();
            Event::from_json(record.event_json()).unwrap()
        };
        let Event::StateRoot(root) = read("Position 999") else {
            panic!("a root stands there");
        };
        assert_eq!((root.position, root.schema), (998, Rules::Two.schema()));
        let Event::Ledger(LedgerEvent::BodiesErased(erased)) = read("Position 1000") else {
            panic!("bodies are erased there");
        };
        assert_eq!(erased.positions, [512, 998]);
        let Event::Ledger(LedgerEvent::KeyRotated(rotated)) = read("Position 1001") else {
            panic!("a key is replaced there");
        };
        let Event::Ledger(LedgerEvent::Opened(opened)) = read("Position 0") else {
            panic!("the log begins there");
        };
        assert_eq!(rotated.old_key, opened.keys.of(rotated.role));
        assert!(rotated.is_proven(opened.did));
    }
}
