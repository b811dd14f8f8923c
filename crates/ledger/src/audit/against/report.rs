//! What two files cannot both say, and who signed it.

use serde::Serialize;
use x811_eventlog::Hash;

use super::paper::{Paper, PaperKind};

/// Most contradictions that are listed; all are counted.
const MAX_LISTED: usize = 100;

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The first file.
    pub one: PaperReport,
    /// The second.
    pub other: PaperReport,
    /// Records that both have.
    pub records: u64,
    /// Checkpoints of one that the other has something to hold against: its tree, or a checkpoint of
    /// the same size.
    pub checkpoints: u64,
    /// Checkpoints over more records than the other, a whole log, has: it is older, or was cut off.
    pub checkpoints_beyond: u64,
    /// What they cannot both say.
    pub contradictions: Vec<Contradiction>,
    /// Further ones.
    pub contradictions_left_out: u64,
}

impl Comparison {
    /// Whether nothing contradicts.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.contradictions.is_empty()
    }

    /// Whether there was anything to compare.
    #[must_use]
    pub fn was_compared(&self) -> bool {
        self.records + self.checkpoints > 0
    }
}

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PaperReport {
    /// As it was named.
    pub name: String,
    /// What kind of file.
    pub kind: PaperKind,
    /// Records in it that were compared, or could have been.
    pub records: u64,
    /// How many records its last checkpoint covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_records: Option<u64>,
    /// Lines and checkpoints that could not be read or are not under the file's own checkpoint: an
    /// audit of the file names them.
    pub passed_over: u64,
}

/// What contradicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Contradicts {
    /// Two records at one position.
    Record,
    /// One place of a stream at two positions.
    Place,
    /// Two roots over as many records.
    Root,
}

/// One thing that they cannot both say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contradiction {
    /// What.
    pub what: Contradicts,
    /// Position of the record in the first file; of a root, how many records are under it.
    pub at: u64,
    /// Record hash or root in the first file.
    pub one: Hash,
    /// In the second.
    pub other: Hash,
    /// The ledger's key that signed the first, as `name+id+key`; absent where it is not under any
    /// signed checkpoint of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_signed_by: Option<String>,
    /// The same of the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_signed_by: Option<String>,
    /// Whether the ledger signed both: then whoever has the two files can show that it told two people
    /// different things.
    pub is_evidence: bool,
    /// The same for people.
    pub sentence: String,
}

/// A file, its name, and the other one.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) name: &'a str,
    pub(super) paper: &'a Paper,
    pub(super) other: &'a Paper,
}

impl Side<'_> {
    fn report(self) -> PaperReport {
        let Paper {
            kind,
            records,
            passed_over,
            checkpoints,
            ..
        } = self.paper;
        PaperReport {
            name: self.name.to_owned(),
            kind: *kind,
            records: *records,
            signed_records: checkpoints.last().map(|last| last.size),
            passed_over: *passed_over,
        }
    }

    fn signer(self, found: &Found, hash: Hash) -> Option<String> {
        let Found { at, what, .. } = found;
        if *what == Contradicts::Root {
            let of_root = self.paper.signer_of_root(*at, hash, self.other);
            return of_root.or_else(|| self.paper.signer(at.saturating_sub(1), self.other));
        }
        self.paper.signer(*at, self.other)
    }
}

/// What was found so far, without who signed it.
#[derive(Debug, Default)]
pub(super) struct Findings {
    records: u64,
    checkpoints: u64,
    /// The size of the last checkpoint that was counted: a tree and a note may be held against it.
    counted: Option<u64>,
    pub(super) beyond: u64,
    list: Vec<Found>,
    left_out: u64,
}

#[derive(Debug)]
struct Found {
    what: Contradicts,
    at: u64,
    /// The same in the other file, where it is not `at`.
    other_at: u64,
    one: Hash,
    other: Hash,
    /// Which stream, and the place in it.
    place: Option<(String, u64)>,
}

impl Findings {
    /// Both have a record at that position.
    pub(super) fn record(&mut self, position: u64, one: Hash, other: Hash) {
        self.records += 1;
        if one != other {
            self.keep(Found {
                what: Contradicts::Record,
                at: position,
                other_at: position,
                one,
                other,
                place: None,
            });
        }
    }

    /// One place of a stream is at two positions.
    pub(super) fn place(
        &mut self,
        stream: &str,
        seq: u64,
        (at, one): (u64, Hash),
        (other_at, other): (u64, Hash),
    ) {
        self.keep(Found {
            what: Contradicts::Place,
            at,
            other_at,
            one,
            other,
            place: Some((stream.to_owned(), seq)),
        });
    }

    /// Two roots over as many records.
    pub(super) fn roots(&mut self, size: u64, one: Hash, other: Hash) {
        if self.counted.replace(size) != Some(size) {
            self.checkpoints += 1;
        }
        let is_known = |found: &Found| found.what == Contradicts::Root && found.at == size;
        if one != other && !self.list.iter().any(is_known) {
            self.keep(Found {
                what: Contradicts::Root,
                at: size,
                other_at: size,
                one,
                other,
                place: None,
            });
        }
    }

    fn keep(&mut self, found: Found) {
        if self.list.len() < MAX_LISTED {
            self.list.push(found);
        } else {
            self.left_out += 1;
        }
    }

    pub(super) fn report(self, one: Side<'_>, other: Side<'_>) -> Comparison {
        let list = self.list.into_iter();
        Comparison {
            one: one.report(),
            other: other.report(),
            records: self.records,
            checkpoints: self.checkpoints,
            checkpoints_beyond: self.beyond,
            contradictions: list.map(|found| found.signed(one, other)).collect(),
            contradictions_left_out: self.left_out,
        }
    }
}

impl Found {
    fn signed(self, one: Side<'_>, other: Side<'_>) -> Contradiction {
        let of_other = Found {
            at: self.other_at,
            place: None,
            ..self
        };
        let one_signed_by = one.signer(&self, self.one);
        let other_signed_by = other.signer(&of_other, self.other);
        let is_evidence = one_signed_by.is_some() && other_signed_by.is_some();
        let mut sentence = self.sentence(one.name, other.name);
        sentence.push_str(&match (&one_signed_by, &other_signed_by) {
            (Some(one), Some(other)) if one == other => format!(
                "; both are under checkpoints signed by {one}: the ledger told two people different \
                 things, and these two files prove it"
            ),
            (Some(one), Some(other)) => format!(
                "; they are under checkpoints signed by {one} and {other}, both keys of the ledger: it \
                 told two people different things, and these two files prove it"
            ),
            (Some(key), None) => unsigned(one.name, key, other.name),
            (None, Some(key)) => unsigned(other.name, key, one.name),
            (None, None) => {
                "; neither is under a checkpoint that the ledger signed: anybody may have written \
                 either"
                    .to_owned()
            }
        });
        Contradiction {
            what: self.what,
            at: self.at,
            one: self.one,
            other: self.other,
            one_signed_by,
            other_signed_by,
            is_evidence,
            sentence,
        }
    }

    fn sentence(&self, name: &str, other_name: &str) -> String {
        let Found { at, one, other, .. } = self;
        match &self.place {
            Some((stream, seq)) => format!(
                "number {seq} of the stream {stream} is at position {at} in {name}, and at position \
                 {} in {other_name}",
                self.other_at
            ),
            None if self.what == Contradicts::Root => format!(
                "the first {at} records have the root {one} by {name}, and {other} by {other_name}"
            ),
            None => {
                format!("position {at} is the record {one} in {name}, and {other} in {other_name}")
            }
        }
    }
}

fn unsigned(signed: &str, key: &str, unsigned: &str) -> String {
    format!(
        "; in {signed} it is under a checkpoint signed by {key}, in {unsigned} under none: anybody may \
         have written that"
    )
}
