//! What an audit of the hashes alone says: what holds, and that everything else is not checked.

use serde::Serialize;
use x811_eventlog::Hash;
use x811_protocol::event::LedgerOpened;

use super::{Bound, HashAudit};
use crate::export::Scope;
use crate::finding::findings::Finding;
use crate::identity::checkpoints::Covered;
use crate::identity::trust::Trust;

/// What was not looked at in any record.
const NOT_CHECKED: [&str; 7] = [
    "signatures",
    "messages",
    "wallets",
    "decisions",
    "observations",
    "state roots",
    "transfers",
];

/// The outcome of an audit of the hashes alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HashReport {
    /// Whether what was checked holds. It does not say that the log is sound.
    pub hashes_hold: bool,
    /// What was not looked at in any record.
    pub not_checked: [&'static str; 7],
    /// The ledger's DID, as position 0 says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// What a bundle is of, if that can be read: a member of its kind, with its id.
    #[serde(flatten)]
    pub scope: Option<Scope>,
    /// Whether it is a bundle: then each record is in the checkpoint's tree, and which are left out
    /// does not show.
    pub is_bundle: bool,
    /// How many records were read.
    pub records: u64,
    /// Records that are where the hashes say.
    pub records_hold: u64,
    /// Record hash of the last of them.
    pub head: Hash,
    /// Root of the Merkle tree over them; of a bundle that of its checkpoint.
    pub root: Hash,
    /// Signed checkpoints that hold, in order.
    pub checkpoints: Vec<Covered>,
    /// How well it is known whose log this is.
    pub trust: Trust,
    /// Position of the record that was expected to be there, if one was named and found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_head_position: Option<u64>,
    /// What is wrong: nothing is looked at behind the first record that does not follow.
    pub findings: Vec<Finding>,
}

impl HashAudit {
    /// The outcome. `said` is whose log the file says it is.
    pub fn report(self, said: Option<&LedgerOpened>) -> HashReport {
        let root = self.here().map_or(Hash::ZERO, |here| here.root);
        let ledger = self.keys.ledger();
        let ledger = ledger.as_ref().or(said);
        let trust = self.trusting.report(self.records, ledger);
        let (subject, is_bundle) = match &self.bound {
            Bound::Links(_) => (None, false),
            Bound::Paths(bundle) => (bundle.subject, true),
        };
        let (findings, _) = self.findings.finish();
        HashReport {
            hashes_hold: findings.is_empty(),
            not_checked: NOT_CHECKED,
            ledger: ledger.map(|ledger| ledger.did.to_string()),
            scope: subject.map(Scope::Of),
            is_bundle,
            records: self.records,
            records_hold: self.held,
            head: self.head,
            root,
            checkpoints: self.checkpoints,
            trust,
            expected_head_position: self.expected_head_position,
            findings,
        }
    }

    /// The outcome, where nothing but the pages is known.
    #[must_use]
    pub fn finish(mut self) -> HashReport {
        self.close(None);
        self.report(None)
    }
}
