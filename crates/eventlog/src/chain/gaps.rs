//! Positions that were left out, with the hashes on either side of each run of them.

use std::collections::BTreeMap;

use super::verifier::{Break, Cause};
use crate::hash::Hash;
use crate::record::Record;

#[derive(Debug, Clone, Default)]
pub(super) struct Gaps(BTreeMap<u64, Gap>);

/// Positions from the key of the map up to, not including, `end` were not given.
#[derive(Debug, Clone)]
struct Gap {
    end: u64,
    /// Hash of the record before the first of them.
    before: Hash,
    /// What the record at `end` says its predecessor's hash is.
    after: Hash,
}

impl Gaps {
    pub(super) fn open(&mut self, start: u64, end: u64, before: Hash, after: Hash) {
        self.0.insert(start, Gap { end, before, after });
    }

    /// Puts a late record into its gap: the links that do not fit there. `None` when there is no
    /// gap at its position.
    pub(super) fn fill(&mut self, record: &Record) -> Option<Vec<Break>> {
        let position = record.position();
        let (&start, gap) = self.0.range(..=position).next_back()?;
        if position >= gap.end {
            return None;
        }
        let Gap { end, before, after } = self.0.remove(&start)?;

        let mut breaks = Vec::new();
        if position == start {
            breaks.extend(broken_link(position, before, record.prev()));
        } else {
            self.open(start, position, before, record.prev());
        }
        if position + 1 == end {
            breaks.extend(broken_link(end, record.hash(), after));
        } else {
            self.open(position + 1, end, record.hash(), after);
        }
        Some(breaks)
    }
}

fn broken_link(position: u64, expected: Hash, found: Hash) -> Option<Break> {
    let cause = Cause::LinkBroken { expected, found };
    (expected != found).then_some(Break { position, cause })
}
