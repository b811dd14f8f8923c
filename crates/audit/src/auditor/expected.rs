//! The rows that a store should have, for a comparison.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use x811_protocol::id::EnvelopeId;

use super::Auditor;
use crate::finding::findings::Findings;
use crate::replay::rows::{AgentRows, Rows};

impl Auditor {
    /// Rows of subjects, deliveries and streams.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Rows of agents.
    pub fn agent_rows(&self) -> &AgentRows {
        &self.agents
    }

    /// Positions in all streams that are of no subject, which are needed once.
    pub fn take_other_streams(&mut self) -> HashMap<Box<str>, Vec<u64>, RandomState> {
        std::mem::take(&mut self.rows.others)
    }

    /// The number of records that could not be replayed.
    pub fn not_replayed(&self) -> u64 {
        self.replay.not_replayed()
    }

    /// Position of the record that accepted that envelope.
    pub fn envelope(&self, id: EnvelopeId) -> Option<u64> {
        self.used.envelope(id)
    }

    /// The findings so far, to add to.
    pub fn findings_mut(&mut self) -> &mut Findings {
        &mut self.findings
    }
}
