//! One interaction or contract and what it rests on, without the rest of the log: order, completeness of each
//! stream, and every record under one signed checkpoint.

mod ends;
mod keys;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use x811_eventlog::{Checkpoint, Hash, InclusionProof, Record};
use x811_protocol::event::{Event, LedgerOpened};
use x811_protocol::machine::BundleBasis;

use crate::checkpoint_note;
use crate::export::{CheckpointLine, EndLine, KeysLine, PathLine, Scope, links, opening};
use crate::finding::findings::{Cause, Findings, Spot};
use crate::finding::unchecked::{Counts, Unchecked};
use crate::identity::checkpoints::Covered;
use crate::identity::trust::{Signed, Trusting};
use crate::standing::{Settling, Standing};
use x811_protocol::stream::{Stream, Subject};
use x811_world::World;

/// What an audit of a bundle says besides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExtractReport {
    /// What it is of, if that can be read: a member of its kind, with its id.
    #[serde(flatten)]
    pub scope: Option<Scope>,
    /// Records of the log that the bundle's checkpoint covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree_size: Option<u64>,
    /// Its streams, by name.
    pub streams: Vec<StreamReport>,
    /// Streams of which nobody says where they end: more of them may have been cut off
    /// (ledger-contract.md section 8).
    pub open_ended: u64,
    /// What the ledger signed that became of the payment, as of `tree_size` records; absent where
    /// the interaction's stream is open-ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// What cannot be checked without the rest of the log, and how often.
    pub not_checked: BTreeMap<Unchecked, u64>,
}

impl ExtractReport {
    /// What the bundle is of, if that can be read.
    #[must_use]
    pub fn subject(&self) -> Option<Subject> {
        self.scope.and_then(Scope::subject)
    }
}

/// One stream of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamReport {
    /// Name of the stream.
    pub stream: String,
    /// How many records the stream has.
    pub records: u64,
    /// Whether the ledger's checkpoint key signed that it ends there.
    pub is_closed: bool,
}

/// Most streams of a bundle, which has those of two agents and of as many networks as parameters name.
const MAX_STREAMS: usize = 4_096;

/// A bundle on its way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extract {
    subject: Option<Subject>,
    checkpoint: Option<CheckpointLine>,
    /// What that says, whoever signed it.
    claimed: Option<Checkpoint>,
    last: Option<Last>,
    streams: BTreeMap<String, Stretch>,
    ends: Vec<EndLine>,
    keys: Option<KeysLine>,
    opening: Option<BundleBasis>,
    /// Which streams the records of each link to.
    links: BTreeMap<String, BTreeSet<String>>,
    /// What became of the interaction's payment so far.
    settling: Settling,
}

/// The record with the highest position so far.
#[derive(Debug, Clone)]
struct Last {
    spot: Spot,
    hash: Hash,
    recorded_at_ms: u64,
    is_included: bool,
}

/// A stream so far.
#[derive(Debug, Clone)]
struct Stretch {
    first: Spot,
    last: Spot,
    last_hash: Hash,
    next_seq: u64,
    records: u64,
}

impl Extract {
    /// Of that subject; `None` where the header does not say.
    pub(crate) fn of(subject: Option<Subject>) -> Extract {
        Extract {
            subject,
            ..Extract::default()
        }
    }

    /// The checkpoint that everything is to be under, as far as it can be read.
    pub(crate) fn claimed(&self) -> Option<&Checkpoint> {
        self.claimed.as_ref()
    }

    /// Takes the checkpoint; who signed it is asked in the end, when the ledger's keys are known.
    pub(crate) fn cover(&mut self, line: CheckpointLine, findings: &mut Findings) {
        if self.checkpoint.is_some() {
            // The reader has named it: it is out of place.
            return;
        }
        match Checkpoint::claimed(&line.note) {
            Ok(claimed) => self.claimed = Some(claimed),
            Err(error) => {
                let cause = Cause::CheckpointInvalid;
                let spot = self.end(Some(line.line));
                findings.add(&spot, "checkpoint", cause, error.to_string());
            }
        }
        self.checkpoint = Some(line);
    }

    /// Takes where a stream is said to end.
    pub(crate) fn end_of(&mut self, line: EndLine, findings: &mut Findings) {
        if self.ends.len() == MAX_STREAMS {
            let sentence = format!("a bundle has no more than {MAX_STREAMS} streams");
            let spot = self.end(Some(line.line));
            findings.add(&spot, "end", Cause::Foreign, sentence);
            return;
        }
        self.ends.push(line);
    }

    /// Holds a record against those before it and the checkpoint; whether it is not the next of its
    /// stream.
    pub(crate) fn take(
        &mut self,
        spot: &Spot,
        record: &Record,
        path: Option<&PathLine>,
        findings: &mut Findings,
    ) -> bool {
        let is_included = self.is_included(spot, record, path, findings);
        let is_behind = self.follows(spot, record, is_included, findings);
        let has_gap = self.count(spot, record, is_behind, findings);
        if is_behind {
            self.last = Some(Last {
                spot: spot.clone(),
                hash: record.hash(),
                recorded_at_ms: record.recorded_at_ms(),
                is_included,
            });
        }
        has_gap
    }

    /// Takes note of who the parties are, and of what becomes of the payment.
    pub(crate) fn note(&mut self, stream: Option<&Stream>, event: &Event) {
        // Of an unknown subject a file with an interaction is taken to be of that.
        let is_it = match (stream, self.subject) {
            (Some(Stream::Of(subject)), Some(known)) => *subject == known,
            (Some(Stream::Of(Subject::Interaction(_))), None) => true,
            (_, _) => false,
        };
        if is_it {
            self.settling.take(event);
        }
        if let Some(stream) = stream {
            for linked in links(stream, event) {
                let of = self.links.entry(stream.to_string()).or_default();
                of.insert(linked.to_string());
            }
        }
        if is_it && self.opening.is_none() {
            let subject = stream.and_then(Stream::subject);
            self.opening = subject.and_then(|subject| opening(subject, event));
        }
    }

    fn is_included(
        &self,
        spot: &Spot,
        record: &Record,
        path: Option<&PathLine>,
        findings: &mut Findings,
    ) -> bool {
        let Some(path) = path else {
            let sentence =
                "no inclusion path follows the record: that it is in the log is not shown";
            findings.add(spot, "path", Cause::Missing, sentence);
            return false;
        };
        let Some(checkpoint) = &self.claimed else {
            return false;
        };
        let proof = InclusionProof {
            position: record.position(),
            size: checkpoint.size,
            path: path.hashes.clone(),
        };
        match proof.verify(record.hash(), checkpoint.root) {
            Ok(()) => true,
            Err(error) => {
                let sentence = format!(
                    "the record is not under the checkpoint by this path ({error}): record, path \
                     or checkpoint was changed"
                );
                findings.add(spot, "path", Cause::NotIncluded, sentence);
                false
            }
        }
    }

    /// Whether the record comes behind those before it.
    fn follows(
        &self,
        spot: &Spot,
        record: &Record,
        is_included: bool,
        findings: &mut Findings,
    ) -> bool {
        let position = record.position();
        let (before, expected) = match &self.last {
            None => (None, Hash::ZERO),
            Some(last) => (Some(last), last.hash),
        };
        if let Some(last) = before {
            let known = last.spot.position;
            if position <= known {
                let (cause, sentence) = if position == known {
                    (Cause::Duplicated, "this position is here twice".to_owned())
                } else {
                    let sentence = format!("it stands behind position {known}");
                    (Cause::Reordered, sentence)
                };
                findings.add(spot, "position", cause, sentence);
                return false;
            }
            if record.recorded_at_ms() < last.recorded_at_ms {
                let sentence = format!("it is older than the record at position {known}");
                findings.add(spot, "recorded_at_ms", Cause::TimeRanBack, sentence);
            }
        }
        let is_next = position == before.map_or(0, |last| last.spot.position + 1);
        let is_named = !is_included || before.is_some_and(|last| !last.is_included);
        if is_next && record.prev() != expected && !(is_named && self.claimed.is_some()) {
            let sentence = format!(
                "it names {} as the record before it, but that hashes to {expected}: one of the \
                 two was changed",
                record.prev()
            );
            findings.add(spot, "prev", Cause::BytesChanged, sentence);
        }
        true
    }

    /// Takes the record as the next of its stream; whether it is not.
    fn count(
        &mut self,
        spot: &Spot,
        record: &Record,
        is_behind: bool,
        findings: &mut Findings,
    ) -> bool {
        let seq = record.stream_seq();
        if self.streams.len() == MAX_STREAMS && !self.streams.contains_key(record.stream()) {
            let sentence = format!("a bundle has no more than {MAX_STREAMS} streams");
            findings.add(spot, "stream", Cause::Foreign, sentence);
            return true;
        }
        let stretch = self.streams.entry(record.stream().to_owned());
        let stretch = stretch.or_insert_with(|| Stretch {
            first: spot.clone(),
            last: spot.clone(),
            last_hash: record.hash(),
            next_seq: 0,
            records: 0,
        });
        stretch.records += 1;
        let expected = stretch.next_seq;
        if is_behind && seq != expected {
            let sentence = format!("it is number {seq} of its stream, number {expected} is next");
            findings.add(spot, "stream_seq", Cause::StreamGap, sentence);
        }
        if seq >= expected {
            stretch.next_seq = seq + 1;
            stretch.last = spot.clone();
            stretch.last_hash = record.hash();
        }
        seq != expected
    }

    /// Where bytes that are no record stand.
    pub(crate) fn beyond(&self, line: Option<u64>) -> Spot {
        let last = self.last.as_ref();
        Spot {
            line,
            ..Spot::at(last.map_or(0, |last| last.spot.position + 1))
        }
    }

    /// Where the end shows.
    pub(crate) fn end(&self, line: Option<u64>) -> Spot {
        let last = self.last.as_ref();
        Spot {
            line: line.or(last.and_then(|last| last.spot.line)),
            ..Spot::at(last.map_or(0, |last| last.spot.position))
        }
    }

    /// Nothing follows: the checkpoint's signature, the ends, and what does not belong here.
    /// `ledger` is who the ledger says it is, with the keys in force.
    pub(crate) fn close(
        &self,
        ledger: Option<&LedgerOpened>,
        world: &World,
        trusting: &mut Trusting,
        findings: &mut Findings,
    ) -> Option<Covered> {
        let covered = self.check_checkpoint(ledger, trusting, findings);
        self.check_keys(ledger, world, findings);
        let expected = self.expected(world);
        let mut closed: BTreeMap<&str, u64> = BTreeMap::new();
        for line in &self.ends {
            let stream = line.signed.end.stream.as_str();
            if let Some((before, _)) = closed.last_key_value().filter(|(name, _)| **name > stream) {
                let sentence = format!("the end of `{stream}` stands behind that of `{before}`");
                let spot = self.end(Some(line.line));
                findings.add(&spot, "end", Cause::Reordered, sentence);
            }
            if let Some(first) = closed.insert(stream, line.line) {
                let sentence = format!("line {first} says already where `{stream}` ends");
                let spot = self.end(Some(line.line));
                findings.add(&spot, "end", Cause::Duplicated, sentence);
            }
            self.check_end(line, ledger, findings);
        }
        for stream in &expected {
            if !closed.contains_key(stream.as_str()) {
                let spot = self.end_of_stream(stream, None);
                let sentence = format!(
                    "nothing says where the stream `{stream}` ends: what follows may be left out"
                );
                findings.add(&spot, "end", Cause::Missing, sentence);
            }
        }
        self.check_foreign(&expected, findings);
        covered
    }

    fn check_checkpoint(
        &self,
        ledger: Option<&LedgerOpened>,
        trusting: &mut Trusting,
        findings: &mut Findings,
    ) -> Option<Covered> {
        let Some(line) = &self.checkpoint else {
            let sentence =
                "the bundle has no checkpoint: nothing shows that its records are in a log";
            let spot = self.end(None);
            findings.add(&spot, "checkpoint", Cause::Missing, sentence);
            return None;
        };
        let claimed = self.claimed.as_ref()?;
        let spot = Spot {
            position: claimed.size.saturating_sub(1),
            ..self.end(Some(line.line))
        };
        match checkpoint_note::open(&line.note, ledger?) {
            Ok(checkpoint) => {
                let statement = self.keys.as_ref().map(|line| &line.signed.statement);
                let signed = Signed {
                    note: &line.note,
                    checkpoint: &checkpoint,
                    ledger,
                    statement,
                };
                trusting.judge(signed, &spot, findings);
                Some(Covered::of(&checkpoint))
            }
            Err(error) => {
                trusting.refuse();
                let cause = Cause::CheckpointInvalid;
                findings.add(&spot, "checkpoint", cause, error.to_string());
                None
            }
        }
    }

    /// The streams that have to be here; those that are, where it is not known who the parties are.
    fn expected(&self, world: &World) -> Vec<String> {
        let mut expected = vec![Stream::Ledger.to_string()];
        expected.extend(self.subject.map(|subject| Stream::Of(subject).to_string()));
        let opening = self.opening.clone().and_then(|opening| {
            let parameters = match opening.parameters {
                Some(position) => Some(&**world.parameters_at(position)?),
                None => None,
            };
            Some(opening.streams(parameters))
        });
        match opening.filter(|_| self.subject.is_some()) {
            Some(streams) => {
                expected.extend(streams);
                expected.extend(self.linked());
            }
            None => {
                let ends = self.ends.iter().map(|line| &line.signed.end.stream);
                expected.extend(self.streams.keys().chain(ends).cloned());
            }
        }
        expected.sort_unstable();
        expected.dedup();
        expected
    }

    /// The streams that the subject's links lead to.
    fn linked(&self) -> BTreeSet<String> {
        let subject = self.subject.map(|subject| Stream::Of(subject).to_string());
        let (mut found, mut open) = (BTreeSet::new(), Vec::from_iter(subject));
        while let Some(stream) = open.pop() {
            let linked = self.links.get(&stream).into_iter().flatten();
            open.extend(
                linked
                    .filter(|linked| found.insert((*linked).clone()))
                    .cloned(),
            );
        }
        found
    }

    /// What belongs to something else.
    fn check_foreign(&self, expected: &[String], findings: &mut Findings) {
        let is_foreign = |stream: &String| expected.binary_search(stream).is_err();
        for (stream, stretch) in &self.streams {
            if is_foreign(stream) {
                let sentence = format!(
                    "the {} does not rest on the stream `{stream}`, of which {} records are here",
                    self.kind(),
                    stretch.records
                );
                findings.add(&stretch.first, "stream", Cause::Foreign, sentence);
            }
        }
        let ends = self.ends.iter();
        for line in ends.filter(|line| is_foreign(&line.signed.end.stream)) {
            let spot = self.end(Some(line.line));
            let kind = self.kind();
            let sentence = format!("the {kind} does not rest on the stream that ends here");
            findings.add(&spot, "end.stream", Cause::Foreign, sentence);
        }
        if let Some(subject) = self.subject
            && !self.streams.contains_key(&Stream::Of(subject).to_string())
        {
            let spot = Spot {
                line: Some(1),
                ..Spot::at(0)
            };
            let (kind, id) = (subject.kind(), subject.public_id());
            let sentence = format!("there is no record of the {kind} {id} here");
            findings.add(&spot, "header.scope", Cause::HeaderDiffers, sentence);
        }
    }

    fn kind(&self) -> &'static str {
        self.subject.map_or("interaction", Subject::kind)
    }

    fn end_of_stream(&self, stream: &str, line: Option<u64>) -> Spot {
        match self.streams.get(stream) {
            Some(stretch) => Spot {
                line: line.or(stretch.last.line),
                ..stretch.last.clone()
            },
            None => self.end(line),
        }
    }

    fn is_ended(&self, stream: &str) -> bool {
        self.ends
            .iter()
            .any(|line| line.signed.end.stream == stream)
    }

    /// For the report.
    pub(crate) fn report(self, records: u64, mut not_checked: Counts) -> ExtractReport {
        let tree_size = self.claimed.as_ref().map(|checkpoint| checkpoint.size);
        let beside = tree_size.map_or(0, |size| size.saturating_sub(records));
        let roots = tree_size.map_or(0, |size| size / x811_world::STATE_ROOT_EVERY);
        for (unchecked, count) in [
            (Unchecked::OtherRecords, beside),
            (Unchecked::StateRoots, roots),
        ] {
            if count > 0 {
                not_checked.insert(unchecked, count);
            }
        }
        let standing = self.subject.and_then(|subject| {
            let stream = Stream::Of(subject).to_string();
            let mut ends = self.ends.iter().map(|line| &line.signed.end);
            ends.find(|end| end.stream == stream)?.standing
        });
        let mut names: Vec<&str> = self.streams.keys().map(String::as_str).collect();
        names.extend(self.ends.iter().map(|line| line.signed.end.stream.as_str()));
        names.sort_unstable();
        names.dedup();
        let report = |name: &str| StreamReport {
            stream: name.to_owned(),
            records: self.streams.get(name).map_or(0, |stretch| stretch.records),
            is_closed: self.is_ended(name),
        };
        let streams: Vec<StreamReport> = names.into_iter().map(report).collect();
        ExtractReport {
            scope: self.subject.map(Scope::Of),
            tree_size,
            open_ended: streams.iter().filter(|s| !s.is_closed).count() as u64,
            streams,
            standing,
            not_checked,
        }
    }
}
