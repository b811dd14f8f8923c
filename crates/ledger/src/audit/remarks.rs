//! What an auditor should know and what breaks no rule: the rules in force allowed it
//! (ledger-contract.md section 9).

use serde::Serialize;

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
pub(super) struct Remarks {
    pub(super) list: Vec<Remark>,
    pub(super) left_out: u64,
}

impl Remarks {
    pub(super) fn add(&mut self, position: u64, sentence: impl Into<String>) {
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
