//! One thing that is wrong: where it shows, what it is, and a sentence for people.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use x811_eventlog::Record;

use super::unchecked::{Counts, Unchecked};

/// What is wrong. Closed, so that whoever reads a report can name them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The export is not in its format.
    FormatBroken,
    /// Header and position 0 say different things.
    HeaderDiffers,
    /// Stored bytes are not those that were written.
    BytesChanged,
    /// Records are not there.
    Missing,
    /// A record stands behind one that follows it.
    Reordered,
    /// A position is there twice.
    Duplicated,
    /// A record is older than the one before.
    TimeRanBack,
    /// A stream has a gap.
    StreamGap,
    /// The event's type or a member is unknown, or a value is out of shape.
    Unreadable,
    /// The machines' rules do not allow the record where it stands.
    StateDiffers,
    /// The signature is not by the key that the record names.
    SignatureInvalid,
    /// The key was not the sender's at that position.
    KeyNotTheSenders,
    /// The body is not the one that was signed.
    BodyChanged,
    /// The body is there, though a record says that it was erased.
    BodyNotErased,
    /// The record's envelope members are not those of the body.
    EnvelopeDiffers,
    /// The record's facts are not those of the body.
    FactsDiffer,
    /// A proof inside the record does not hold.
    ProofInvalid,
    /// An envelope id was accepted twice.
    EnvelopeUsedTwice,
    /// A nonce was accepted twice within its window.
    NonceUsedTwice,
    /// An idempotency key opened two interactions.
    IdempotencyKeyUsedTwice,
    /// A transfer paid twice.
    TransferUsedTwice,
    /// A payment is confirmed without what shows it.
    NoEvidence,
    /// Two records cannot both be true of the network.
    Contradicts,
    /// The network says otherwise of a payment than the record.
    EvidenceDiffers,
    /// Deciding again gives something else.
    ReDecisionDiffers,
    /// The stored tree is not the one over these records.
    TreeDiffers,
    /// The log does not hold the head that was expected.
    HeadDiffers,
    /// The trailer names another end.
    TrailerDiffers,
    /// A checkpoint is not signed by the ledger, or cannot be read.
    CheckpointInvalid,
    /// A checkpoint was signed over other records.
    CheckpointDiffers,
    /// The auditor's policy does not hold a checkpoint for good.
    CheckpointNotTrusted,
    /// The keys statement is not by the checkpoint key in force, or not of these records.
    KeysDiffer,
    /// A record is not under the checkpoint by its path.
    NotIncluded,
    /// The ledger signed another end of a stream, or did not sign it.
    StreamEndDiffers,
    /// A record or an end that the bundle's interaction does not rest on.
    Foreign,
    /// A row for readers is not what the log says.
    ReadModelDiffers,
}

impl Cause {
    /// Whether it says that the rules do not allow a record, or decide otherwise.
    #[must_use]
    pub fn is_of_a_decision(self) -> bool {
        matches!(
            self,
            Cause::StateDiffers
                | Cause::ReDecisionDiffers
                | Cause::NoEvidence
                | Cause::Contradicts
                | Cause::TransferUsedTwice
                | Cause::EnvelopeUsedTwice
                | Cause::NonceUsedTwice
                | Cause::IdempotencyKeyUsedTwice
                | Cause::KeyNotTheSenders
        )
    }

    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::FormatBroken => "format broken",
            Cause::HeaderDiffers => "header differs",
            Cause::BytesChanged => "bytes changed",
            Cause::Missing => "missing",
            Cause::Reordered => "reordered",
            Cause::Duplicated => "duplicated",
            Cause::TimeRanBack => "time ran back",
            Cause::StreamGap => "stream gap",
            Cause::Unreadable => "unreadable event",
            Cause::StateDiffers => "state differs",
            Cause::SignatureInvalid => "signature invalid",
            Cause::KeyNotTheSenders => "key not the sender's",
            Cause::BodyChanged => "body changed",
            Cause::BodyNotErased => "body not erased",
            Cause::EnvelopeDiffers => "envelope differs",
            Cause::FactsDiffer => "facts differ",
            Cause::ProofInvalid => "proof invalid",
            Cause::EnvelopeUsedTwice => "envelope used twice",
            Cause::NonceUsedTwice => "nonce used twice",
            Cause::IdempotencyKeyUsedTwice => "idempotency key used twice",
            Cause::TransferUsedTwice => "transfer used twice",
            Cause::NoEvidence => "no evidence",
            Cause::Contradicts => "contradicts another record",
            Cause::EvidenceDiffers => "evidence differs",
            Cause::ReDecisionDiffers => "re-decision differs",
            Cause::TreeDiffers => "tree differs",
            Cause::HeadDiffers => "head differs",
            Cause::TrailerDiffers => "trailer differs",
            Cause::CheckpointInvalid => "checkpoint invalid",
            Cause::CheckpointDiffers => "checkpoint differs",
            Cause::CheckpointNotTrusted => "checkpoint not trusted",
            Cause::KeysDiffer => "keys differ",
            Cause::NotIncluded => "not included",
            Cause::StreamEndDiffers => "stream end differs",
            Cause::Foreign => "foreign record",
            Cause::ReadModelDiffers => "read model differs",
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Place in the log. Where a hash shows that one of two records was changed, the one that the
    /// records around it speak against.
    pub position: u64,
    /// Line of the export, from 1; absent for a data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The stream concerned, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// What of the record: `leaf`, `envelope.signature`, `facts.price`, …
    pub field: String,
    /// What is wrong.
    pub cause: Cause,
    /// The same for people, with what was expected and what was found.
    pub sentence: String,
}

/// Where findings show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) position: u64,
    pub(super) line: Option<u64>,
    pub(super) stream: Option<Arc<str>>,
}

impl Spot {
    /// The place of a record, in the line of an export if it is from one.
    pub(super) fn of(record: &Record, line: Option<u64>) -> Spot {
        Spot {
            position: record.position(),
            line,
            stream: Some(record.stream().into()),
        }
    }
}

/// Findings that are kept; a log full of faults is not worth more memory than this.
pub(super) const MAX_FINDINGS: usize = 10_000;

/// Bytes of a text from a file that a finding quotes at most.
const MAX_TEXT_BYTES: usize = 4_096;

/// The text, cut where it is longer than anybody reads.
fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT_BYTES {
        let bytes = text.len();
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        text.push_str(&format!("… ({bytes} bytes in all)"));
        text.shrink_to_fit();
    }
    text
}

/// What was found so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    unchecked: Counts,
    left_out: BTreeMap<Cause, u64>,
}

impl Findings {
    pub(super) fn add(
        &mut self,
        spot: &Spot,
        field: impl Into<String>,
        cause: Cause,
        sentence: impl Into<String>,
    ) {
        self.keep(Finding {
            position: spot.position,
            line: spot.line,
            stream: spot.stream.as_deref().map(str::to_owned).map(cut),
            field: cut(field.into()),
            cause,
            sentence: cut(sentence.into()),
        });
    }

    /// Counts what cannot be checked here.
    pub(super) fn leave(&mut self, what: Unchecked, count: u64) {
        if count > 0 {
            *self.unchecked.entry(what).or_default() += count;
        }
    }

    /// What was left so.
    pub(super) fn take_unchecked(&mut self) -> Counts {
        std::mem::take(&mut self.unchecked)
    }

    /// Adds what was found elsewhere, in its order.
    pub(super) fn extend(&mut self, others: Findings) {
        for (what, count) in others.unchecked {
            self.leave(what, count);
        }
        for finding in others.list {
            self.keep(finding);
        }
        for (cause, count) in others.left_out {
            *self.left_out.entry(cause).or_default() += count;
        }
    }

    fn keep(&mut self, finding: Finding) {
        if self.list.len() < MAX_FINDINGS {
            self.list.push(finding);
        } else {
            *self.left_out.entry(finding.cause).or_default() += 1;
        }
    }

    /// Whether some finding behind the first `before` says that the record at `position` breaks a
    /// rule.
    pub(super) fn breaks_a_rule(&self, position: u64, before: usize) -> bool {
        let mut since = self.list.iter().skip(before);
        since.any(|finding| finding.position == position && finding.cause.is_of_a_decision())
    }

    pub(super) fn list(&self) -> &[Finding] {
        &self.list
    }

    /// In order of position, and how many more there were of which cause.
    pub(super) fn finish(mut self) -> (Vec<Finding>, BTreeMap<Cause, u64>) {
        self.list.sort_by_key(|finding| finding.position);
        (self.list, self.left_out)
    }
}
