//! The running root of all states: what every record made of its stream, hashed one after the other,
//! so that two who replay the same log find out where they part without comparing worlds.
//!
//! ```text
//! r' = SHA-256( r | name of the stream | SHA-256( its state after the record ) )
//! ```
//!
//! r begins as 32 zeros; a state is the RFC 8785 form of [`StateOf`]. Every 1,000 records the root
//! is recorded, in a stream of its own that is no part of it (record.md section 4).

use super::apply::Applying;
use super::{Fault, World};
use crate::agent::Agent;
use crate::stream::Stream;
use serde::Serialize;
use x811_eventlog::write_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, StateRoot};
use x811_protocol::interaction::State;
use x811_protocol::time::TimestampMs;

/// A root stands at every position whose successor is a multiple of this.
const EVERY_RECORDS: u64 = 1_000;

/// Form of what is hashed: raised whenever the same log adds up to other bytes.
const SCHEMA: u64 = 1;

/// The running root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Roots {
    /// Over all records so far but the roots themselves; `None` once it cannot be known, because
    /// something before was not replayed or roots of another schema stand in the log.
    pub(crate) running: Option<Digest>,
    /// Next place in the stream `roots`.
    pub(crate) next_seq: u64,
}

impl Roots {
    pub(super) const EMPTY: Roots = Roots {
        running: Some(Digest::from_bytes([0; 32])),
        next_seq: 0,
    };
}

/// The state of a stream, as it is hashed. Members that are not there are null.
#[derive(Serialize)]
#[serde(untagged)]
enum StateOf<'a> {
    /// `ledger`.
    Ledger {
        /// Position of the parameters in force.
        parameters: Option<u64>,
        rules_version: u64,
    },
    /// `network:<name>`.
    Network { blind_since_ms: Option<TimestampMs> },
    /// `agent:<did>` and `mail:<did>`.
    Agent(&'a Agent),
    /// `interaction:<id>`.
    Interaction(&'a State),
}

impl World {
    /// The root to record next, if it is time for one.
    pub(crate) fn state_root_due(&self) -> Option<StateRoot> {
        let size = self.head.size;
        let is_due = (size + 1).is_multiple_of(EVERY_RECORDS);
        Some(StateRoot {
            position: size.checked_sub(1).filter(|_| is_due)?,
            root: self.roots.running?,
            schema: SCHEMA,
        })
    }

    /// Whether the running root is known.
    pub(crate) fn knows_root(&self) -> bool {
        self.roots.running.is_some()
    }

    /// Nothing is known of the root from now on.
    pub(crate) fn doubt_roots(&mut self) {
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
        if root.schema != SCHEMA {
            self.doubt_roots();
        } else if self
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
        let Some(state) = self.state_of(step.stream) else {
            return Ok(());
        };
        let mut bytes = Vec::with_capacity(2_048);
        write_canonical(&mut bytes, &state)?;
        let state = Digest::of(&bytes);
        let stream = step.stream.to_string();
        let parts: [&[u8]; 3] = [running.as_bytes(), stream.as_bytes(), state.as_bytes()];
        self.roots.running = Some(Digest::of_parts(&parts));
        Ok(())
    }

    fn state_of(&self, stream: &Stream) -> Option<StateOf<'_>> {
        Some(match stream {
            Stream::Ledger => StateOf::Ledger {
                parameters: self.parameters().map(|(position, _)| position),
                rules_version: self.rules_version(),
            },
            Stream::Network(name) => StateOf::Network {
                blind_since_ms: self.networks.get(name).and_then(|sight| sight.blind_since),
            },
            Stream::Agent(did) | Stream::Mail(did) => StateOf::Agent(self.agents.get(did)?),
            Stream::Interaction(id) => StateOf::Interaction(&self.latest(*id)?.state),
            Stream::Roots => return None,
        })
    }
}
