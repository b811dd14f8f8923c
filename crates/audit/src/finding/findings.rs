//! One thing that is wrong: where it shows, what it is, and a sentence for people.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_with::skip_serializing_none;
use x811_eventlog::Record;
use x811_protocol::named;

use crate::finding::unchecked::{Counts, Unchecked};

named! {
    /// What is wrong. Closed, so that whoever reads a report can name them all.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Cause {
        /// The export is not in its format.
        FormatBroken = "format broken",
        /// Header and position 0 say different things.
        HeaderDiffers = "header differs",
        /// Stored bytes are not those that were written.
        BytesChanged = "bytes changed",
        /// Records are not there.
        Missing = "missing",
        /// A record stands behind one that follows it.
        Reordered = "reordered",
        /// A position is there twice.
        Duplicated = "duplicated",
        /// A record is older than the one before.
        TimeRanBack = "time ran back",
        /// A stream has a gap.
        StreamGap = "stream gap",
        /// The event's type or a member is unknown, or a value is out of shape.
        Unreadable = "unreadable event",
        /// The machines' rules do not allow the record where it stands.
        StateDiffers = "state differs",
        /// The signature is not by the key that the record names.
        SignatureInvalid = "signature invalid",
        /// The key was not the sender's at that position.
        KeyNotTheSenders = "key not the sender's",
        /// The log gives an agent another key than the auditor knows.
        AgentKeyDiffers = "agent key differs",
        /// The body is not the one that was signed.
        BodyChanged = "body changed",
        /// The body is there, though a record says that it was erased.
        BodyNotErased = "body not erased",
        /// The record's envelope members are not those of the body.
        EnvelopeDiffers = "envelope differs",
        /// The record's facts are not those of the body.
        FactsDiffer = "facts differ",
        /// A proof inside the record does not hold.
        ProofInvalid = "proof invalid",
        /// An envelope id was accepted twice.
        EnvelopeUsedTwice = "envelope used twice",
        /// A nonce was accepted twice within its window.
        NonceUsedTwice = "nonce used twice",
        /// An idempotency key opened two interactions.
        IdempotencyKeyUsedTwice = "idempotency key used twice",
        /// A transfer paid twice.
        TransferUsedTwice = "transfer used twice",
        /// A payment is confirmed without what shows it.
        NoEvidence = "no evidence",
        /// Two records cannot both be true of the network.
        Contradicts = "contradicts another record",
        /// The network says otherwise of a payment than the record.
        EvidenceDiffers = "evidence differs",
        /// Deciding again gives something else.
        ReDecisionDiffers = "re-decision differs",
        /// The stored tree is not the one over these records.
        TreeDiffers = "tree differs",
        /// The log does not hold the head that was expected.
        HeadDiffers = "head differs",
        /// The trailer names another end.
        TrailerDiffers = "trailer differs",
        /// A checkpoint is not signed by the ledger, or cannot be read.
        CheckpointInvalid = "checkpoint invalid",
        /// A checkpoint was signed over other records.
        CheckpointDiffers = "checkpoint differs",
        /// The auditor's policy does not hold a checkpoint for good.
        CheckpointNotTrusted = "checkpoint not trusted",
        /// The keys statement is not by the checkpoint key in force, or not of these records.
        KeysDiffer = "keys differ",
        /// A record is not under the checkpoint by its path.
        NotIncluded = "not included",
        /// The ledger signed another end of a stream, or did not sign it.
        StreamEndDiffers = "stream end differs",
        /// A record or an end that the bundle's interaction does not rest on.
        Foreign = "foreign record",
        /// A row for readers is not what the log says.
        ReadModelDiffers = "read model differs",
    }
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
}

/// One thing that is wrong.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Place in the log. Where a hash shows that one of two records was changed, the one that the
    /// records around it speak against.
    pub position: u64,
    /// Line of the export, from 1; absent for a data directory.
    pub line: Option<u64>,
    /// The stream concerned, where it is known.
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
pub struct Spot {
    /// Place in the log.
    pub position: u64,
    /// Line of the export, from 1.
    pub line: Option<u64>,
    /// The stream concerned, where it is known.
    pub stream: Option<Arc<str>>,
}

impl Spot {
    /// A place of the log, in no line and no stream.
    pub const fn at(position: u64) -> Spot {
        Spot {
            position,
            line: None,
            stream: None,
        }
    }

    /// The place of a record, in the line of an export if it is from one.
    pub(crate) fn of(record: &Record, line: Option<u64>) -> Spot {
        Spot {
            position: record.position(),
            line,
            stream: Some(record.stream().into()),
        }
    }
}

/// Findings that are kept; a log full of faults is not worth more memory than this.
pub(crate) const MAX_FINDINGS: usize = 10_000;

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
pub struct Findings {
    list: Vec<Finding>,
    unchecked: Counts,
    left_out: BTreeMap<Cause, u64>,
}

impl Findings {
    /// Adds a finding at that place.
    pub fn add(
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
    pub(crate) fn leave(&mut self, what: Unchecked, count: u64) {
        if count > 0 {
            *self.unchecked.entry(what).or_default() += count;
        }
    }

    /// What was left so.
    pub(crate) fn take_unchecked(&mut self) -> Counts {
        std::mem::take(&mut self.unchecked)
    }

    /// Adds what was found elsewhere, in its order.
    pub fn extend(&mut self, others: Findings) {
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
    pub(crate) fn breaks_a_rule(&self, position: u64, before: usize) -> bool {
        let mut since = self.list.iter().skip(before);
        since.any(|finding| finding.position == position && finding.cause.is_of_a_decision())
    }

    pub(crate) fn list(&self) -> &[Finding] {
        &self.list
    }

    /// In order of position, and how many more there were of which cause.
    pub(crate) fn finish(mut self) -> (Vec<Finding>, BTreeMap<Cause, u64>) {
        self.list.sort_by_key(|finding| finding.position);
        (self.list, self.left_out)
    }
}
