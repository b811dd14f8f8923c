//! What an auditor should know and what breaks no rule: the rules in force allowed it
//! (ledger-contract.md section 9).

use serde::Serialize;

use crate::finding::attested::{Attested, AttestedCount, AttestedCounts};

/// Most that are listed; a log of remarks is not worth more memory than this.
const MAX_LISTED: usize = 1_000;

/// Something that the rules in force allowed. It changes no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Place of the record that it is about.
    pub position: u64,
    /// What it is, for people.
    pub sentence: String,
}

/// Remarks so far, in the order of the records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Remarks {
    pub(crate) list: Vec<Remark>,
    pub(crate) left_out: u64,
    /// Statements that the ledger alone attests.
    pub(crate) attested: AttestedCounts,
}

impl Remarks {
    /// Counts a statement of the record at `position` that the ledger alone attests.
    pub(crate) fn attest(&mut self, what: Attested, position: u64) {
        let first = AttestedCount {
            count: 0,
            first: position,
        };
        self.attested.entry(what).or_insert(first).count += 1;
    }

    pub(crate) fn add(&mut self, position: u64, sentence: impl Into<String>) {
        if self.list.len() == MAX_LISTED {
            self.left_out += 1;
            return;
        }
        self.list.push(Remark {
            position,
            sentence: sentence.into(),
        });
    }
}
