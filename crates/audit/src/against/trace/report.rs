//! The outcome of holding a trace against a log or a bundle.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use x811_protocol::named;

use super::super::paper::PaperKind;

/// Most differences that are listed; all are counted.
const MAX_LISTED: usize = 100;

named! {
    /// Something that the file cannot show about the trace; its text names it in reports.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TraceGap {
        /// Nodes whose records are behind the last one that the file covers.
        Beyond = "nodes of later records than the file covers",
        /// Nodes of streams that the file has not.
        Elsewhere = "nodes of streams that are not in the file",
        /// Nodes of retries that the trace has not.
        Retries = "nodes of retries that the trace has not: its reader may take no part in them",
        /// Nodes that were recorded within minutes before the trace was served.
        JustBefore = "nodes that were recorded within five minutes before the trace was served, and are not in it",
        /// Members of nodes whose messages are not in the file.
        TextsHere = "members whose message is not in the file: it may be erased",
        /// Members that the trace has not, whose messages are in the file.
        TextsThere = "members that the trace has not: their message may have been erased when it was served",
        /// Whether the key that signs the trace was one of the ledger's.
        Signer = "key of the trace: the file ends before it was served, and does not name it",
        /// When the trace was served.
        Served = "moment at which the trace was served",
    }
}

/// The outcome of [`super::compare_trace`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceComparison {
    /// The file with the trace, as it was named.
    pub trace: String,
    /// The other file, as it was named.
    pub file: String,
    /// The kind of the other file.
    pub kind: PaperKind,
    /// Nodes of the trace.
    pub nodes: u64,
    /// Nodes that were held against a record of the file.
    pub compared: u64,
    /// The first contradiction of the trace with itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What the trace says otherwise than the file.
    pub differences: Vec<TraceDifference>,
    /// How many differences there are beside those listed.
    pub differences_left_out: u64,
    /// Claims that this file cannot decide, with their number.
    pub not_checked: BTreeMap<TraceGap, u64>,
    /// The key that signed the trace.
    pub trace_signed_by: String,
    /// The ledger's key that signed a checkpoint over the compared records, as `name+id+key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_signed_by: Option<String>,
    /// True if the ledger signed both, and they differ.
    pub is_evidence: bool,
}

impl TraceComparison {
    /// True if nothing contradicts.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.fault.is_none() && self.differences.is_empty()
    }

    /// True if a node was held against a record.
    #[must_use]
    pub fn was_compared(&self) -> bool {
        self.compared > 0
    }
}

/// One thing that a trace says otherwise than a log.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceDifference {
    /// Place of the node in the trace, from 0; absent where the trace lacks it.
    pub node: Option<u64>,
    /// Position of the record in the log; absent where the log lacks it.
    pub position: Option<u64>,
    /// Path of the member, joined by full stops; empty for a whole node.
    pub member: String,
    /// The value in the trace.
    pub trace: Option<Value>,
    /// The value that follows from the log.
    pub log: Option<Value>,
    /// The same for people.
    pub sentence: String,
}

/// Differences and gaps so far.
#[derive(Debug, Default)]
pub(super) struct TraceFindings {
    pub(super) compared: u64,
    pub(super) differences: Vec<TraceDifference>,
    pub(super) left_out: u64,
    pub(super) not_checked: BTreeMap<TraceGap, u64>,
}

impl TraceFindings {
    pub(super) fn gap(&mut self, gap: TraceGap) {
        *self.not_checked.entry(gap).or_default() += 1;
    }

    pub(super) fn differ(&mut self, difference: TraceDifference) {
        if self.differences.len() < MAX_LISTED {
            self.differences.push(difference);
        } else {
            self.left_out += 1;
        }
    }
}
