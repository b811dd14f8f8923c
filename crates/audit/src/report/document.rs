//! What an audit says in the end.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_with::skip_serializing_none;
use x811_eventlog::Hash;

use crate::extract::ExtractReport;
use crate::finding::attested::AttestedCounts;
use crate::finding::findings::{Cause, Finding, MAX_FINDINGS};
use crate::finding::remarks::Remark;
use crate::finding::verdict::FactCounts;
use crate::identity::agent_keys::AgentKeysReport;
use crate::identity::checkpoints::Covered;
use crate::identity::trust::Trust;
use crate::money::listing::Listing;
use crate::money::payments::{PaidSums, Payment};
use crate::network::draws::RecordedDraw;
use crate::network::observed::{Heard, Observations};
use crate::network::on_chain::{RecordedEvidence, RecordedSighting};
use crate::report::outcome::{Outcome, Undecided};
use crate::report::parameters::{ParametersReport, RulesReport};
use crate::report::prefix::{AsOf, Tail};
use crate::time::downtime::Downtimes;
use crate::time::lateness::LateLapse;

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Transactions that payments rest on, held against the chain once more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TransferCounts {
    /// The chain has them as the evidence says.
    pub checked: u64,
    /// The log says that a reorganisation took them back, and the chain has them no longer.
    pub reversed: u64,
    /// Nobody asked, or the endpoint could not tell: the ledger's word.
    pub not_checked: u64,
    /// The chain says otherwise.
    pub differ: u64,
}

/// A record that erased bodies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Erasure {
    /// Position of the record that erased.
    pub position: u64,
    /// Who ordered it.
    pub operator: String,
    /// True if the record keeps the order that the operator signed.
    pub is_ordered: bool,
    /// The code that says why they were erased.
    pub reason_code: String,
    /// Records whose facts are asserted only since then.
    pub positions: Vec<u64>,
}

/// Bodies that are not there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AbsentBodies {
    /// Those that a record erased.
    pub erased: u64,
    /// Those that none did: lost, left out of an export, or erased since the audit began.
    pub missing: u64,
    /// Records that erased bodies, at most 1,000 of them.
    pub erasures: Vec<Erasure>,
    /// How many more such records there are.
    pub erasures_left_out: u64,
}

/// How the rows for readers were compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ReadModelCheck {
    /// Records the rows reflected when the audit began.
    pub applied_size: u64,
    /// Records of the log that the rows did not reflect yet.
    pub lag_records: u64,
    /// Interactions compared in every field.
    pub interactions: u64,
    /// Rows of deliveries compared.
    pub deliveries: u64,
    /// Subjects of other machines compared.
    #[serde(skip_serializing_if = "is_zero")]
    pub subjects: u64,
    /// Agents compared, with what they have earned; none where the rows lag.
    #[serde(skip_serializing_if = "is_zero")]
    pub agents: u64,
    /// Subjects that were not compared: they were moving, or could not be replayed.
    pub not_compared: u64,
}

/// The outcome of an audit.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether anything contradicts, or is not decided.
    pub verdict: Outcome,
    /// Up to where it is judged: the prefix under the last checkpoint that holds. What is counted below
    /// is of it, but for `records`, `head`, `root` and what was found. Absent where no checkpoint holds.
    pub as_of: Option<AsOf>,
    /// What stands behind it.
    pub tail: Option<Tail>,
    /// What should be decidable and is not.
    pub undecided: Vec<Undecided>,
    /// The ledger's DID, as position 0 says.
    pub ledger: Option<String>,
    /// Records read, unreadable ones included.
    pub records: u64,
    /// Records that carry a signed envelope.
    pub envelopes: u64,
    /// Signatures that hold.
    pub signatures_valid: u64,
    /// How well their facts are known.
    pub facts: FactCounts,
    /// Bodies that are not there: their facts are the asserted ones.
    pub absent_bodies: AbsentBodies,
    /// How well it is known that the wallets of registrations and updates are the agents' own.
    pub wallets: FactCounts,
    /// How well it is known that the agents' keys are the agents' own.
    pub agent_keys: AgentKeysReport,
    /// Records that erased bodies: what the operator signed contradicts none, and that their orders
    /// count is the ledger's word; so none is proven.
    pub erasures: FactCounts,
    /// Recorded roots of all states: computed again and equal, not computed because something before
    /// them was not replayed or they have another schema, or different.
    pub state_roots: FactCounts,
    /// Records whose effect is not known, because something before them is broken.
    pub not_replayed: u64,
    /// Records under decision rules that this version does not know: of them hashes, links and
    /// signatures were checked, and nothing else.
    pub not_re_decided: u64,
    /// Records that rest on what the watcher saw: replayed and decided again, as far as rules go.
    pub observations: Observations,
    /// Interactions by the state they were left in.
    pub interactions: BTreeMap<String, u64>,
    /// Interactions left out of `interactions`, because their stream could not be replayed.
    pub interactions_unknown: u64,
    /// Notices that parties are still owed; a ledger issues them when it is next up.
    pub notices_owed: u64,
    /// How long the ledger says that it was away: windows moved by it, on its word alone.
    pub downtimes: Downtimes,
    /// What was paid, by network.
    pub paid: BTreeMap<String, PaidSums>,
    /// Each transaction of them, the first million.
    pub payments: Vec<Payment>,
    /// How many more transactions there are.
    pub payments_left_out: u64,
    /// Every interaction and every payment by itself, where that was asked for.
    pub listing: Option<Listing>,
    /// The decision rules that were in force, in order; those of the first record to be replayed first.
    pub rules: Vec<RulesReport>,
    /// What every record `parameters_set` says of payments, in order.
    pub parameters: Vec<ParametersReport>,
    /// Positions of more such records, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters_left_out_at: Vec<u64>,
    /// What the last of those says.
    pub parameters_in_force: Option<ParametersReport>,
    /// Lapses that were recorded more than a second after the deadline of their window, in order of position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub late_lapses: Vec<LateLapse>,
    /// Number of late lapses that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub late_lapses_left_out: u64,
    /// What the rules in force allowed and an auditor should know, in order of position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// How many more remarks there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub remarks_left_out: u64,
    /// Statements that the ledger alone attests, beyond those that the counts above name.
    pub attested: AttestedCounts,
    /// The transactions that these and late payments rest on.
    pub transfers: TransferCounts,
    /// Their evidence, where it was asked for; not printed.
    #[serde(skip)]
    pub evidence: Vec<RecordedEvidence>,
    /// Draws among rounds, where evidence was asked for; not printed.
    #[serde(skip)]
    pub draws: Vec<RecordedDraw>,
    /// What was said of declared transactions without evidence, where that was asked for; not
    /// printed.
    #[serde(skip)]
    pub sightings: Vec<RecordedSighting>,
    /// Record hash of the last record.
    pub head: Hash,
    /// Root of the Merkle tree over all records; of a bundle that of its checkpoint.
    pub root: Hash,
    /// Signed checkpoints that hold, in order.
    pub checkpoints: Vec<Covered>,
    /// How well it is known whose log this is.
    pub trust: Trust,
    /// What is said of a bundle of one interaction; absent for a whole log.
    pub extract: Option<ExtractReport>,
    /// Position of the record that was expected to be there, if one was named and found.
    pub expected_head_position: Option<u64>,
    /// The checkpoint that was noted earlier, if one was named and holds.
    pub noted_checkpoint: Option<Covered>,
    /// How the rows for readers were compared; absent where there are none.
    pub read_model: Option<ReadModelCheck>,
    /// Everything that is wrong, in order of position.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed.
    pub findings_left_out: u64,
    /// How many there are of each cause, those that are not listed included.
    pub findings_by_cause: BTreeMap<Cause, u64>,
}

impl Report {
    /// Whether nothing contradicts and everything was decided.
    pub fn is_clean(&self) -> bool {
        self.verdict == Outcome::Clean
    }

    /// Whether something contradicts.
    pub fn is_broken(&self) -> bool {
        self.verdict == Outcome::Broken
    }

    /// Sets the verdict by what was found and what is not decided.
    pub(crate) fn judge(&mut self) {
        let is_broken = !self.findings.is_empty() || self.findings_left_out > 0;
        self.verdict = match (is_broken, self.undecided.is_empty()) {
            (true, _) => Outcome::Broken,
            (false, false) => Outcome::Incomplete,
            (false, true) => Outcome::Clean,
        };
    }

    /// Adds what the network says of the evidence; `heard` is the same by record.
    pub fn hold_against_network(
        &mut self,
        transfers: TransferCounts,
        mut heard: Heard,
        findings: Vec<Finding>,
    ) {
        self.transfers = transfers;
        // What broke a rule is no observation that counts.
        for finding in &self.findings {
            heard.leave_out(finding.position);
        }
        self.observations.hold_against_network(&heard);
        for finding in findings {
            *self.findings_by_cause.entry(finding.cause).or_default() += 1;
            if self.findings.len() < MAX_FINDINGS {
                self.findings.push(finding);
            } else {
                self.findings_left_out += 1;
            }
        }
        self.findings.sort_by_key(|finding| finding.position);
        self.judge();
    }
}
