//! What two files cannot both say, and who signed it.

use serde::Serialize;
use serde_with::skip_serializing_none;
use x811_eventlog::Hash;

use super::paper::{Paper, PaperKind};
use super::word::Word;

/// Most contradictions that are listed; all are counted.
const MAX_LISTED: usize = 100;

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The first file.
    pub one: PaperReport,
    /// The second file.
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
    /// How many contradictions there are beside those listed.
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

/// Which kind of thing the two files say differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Contradicts {
    /// Two records at one position.
    Record,
    /// One place of a stream at two positions.
    Place,
    /// Two roots over as many records.
    Root,
    /// An end of a stream, and a record of it or another end.
    End,
    /// Two keys statements.
    Keys,
}

/// One thing that they cannot both say.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contradiction {
    /// Which kind of thing they say differently.
    pub what: Contradicts,
    /// Position of the record in the first file; of a root, an end or a keys statement, of how many
    /// records it is.
    pub at: u64,
    /// In the first file the record hash or root; of an end the hash of the last record, absent where
    /// it says that there is none.
    pub one: Option<Hash>,
    /// The same in the second.
    pub other: Option<Hash>,
    /// The ledger's key that signed the first, as `name+id+key`; absent where it is not under any
    /// signed checkpoint of that file.
    pub one_signed_by: Option<String>,
    /// The same of the second.
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
}

/// What was found so far, without who signed it.
#[derive(Debug, Default)]
pub(super) struct Findings {
    records: u64,
    checkpoints: u64,
    /// The size of the last checkpoint that was counted: a tree and a note may be held against it.
    counted: Option<u64>,
    pub(super) beyond: u64,
    list: Vec<Clash>,
    left_out: u64,
}

/// Two things that cannot both be true, the first file's first.
#[derive(Debug)]
pub(super) struct Clash {
    pub(super) what: Contradicts,
    pub(super) at: (u64, u64),
    pub(super) hashes: (Option<Hash>, Option<Hash>),
    /// Who may have signed each.
    pub(super) words: (Word, Word),
    /// What is wrong, where it does not take the names of the files to say it.
    pub(super) why: Option<String>,
}

impl Findings {
    /// Both have a record at that position.
    pub(super) fn record(&mut self, position: u64, one: Hash, other: Hash) {
        self.records += 1;
        if one != other {
            self.keep(Clash {
                what: Contradicts::Record,
                at: (position, position),
                hashes: (Some(one), Some(other)),
                words: (Word::Record(position), Word::Record(position)),
                why: None,
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
        self.keep(Clash {
            what: Contradicts::Place,
            at: (at, other_at),
            hashes: (Some(one), Some(other)),
            words: (Word::Record(at), Word::Record(other_at)),
            why: Some(format!(
                "number {seq} of the stream {stream} is at the positions {at} and {other_at}"
            )),
        });
    }

    /// Two roots over as many records.
    pub(super) fn roots(&mut self, size: u64, one: Hash, other: Hash) {
        if self.counted.replace(size) != Some(size) {
            self.checkpoints += 1;
        }
        let is_known = |found: &Clash| found.what == Contradicts::Root && found.at.0 == size;
        if one != other && !self.list.iter().any(is_known) {
            self.keep(Clash {
                what: Contradicts::Root,
                at: (size, size),
                hashes: (Some(one), Some(other)),
                words: (Word::Root(size, one), Word::Root(size, other)),
                why: None,
            });
        }
    }

    /// As they are when the second file is named first.
    pub(super) fn mirrored(self) -> Findings {
        let list = self.list.into_iter().map(Clash::mirrored).collect();
        Findings { list, ..self }
    }

    pub(super) fn keep(&mut self, found: Clash) {
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

impl Clash {
    pub(super) fn mirrored(self) -> Clash {
        Clash {
            at: (self.at.1, self.at.0),
            hashes: (self.hashes.1, self.hashes.0),
            words: (self.words.1, self.words.0),
            ..self
        }
    }

    fn signed(self, one: Side<'_>, other: Side<'_>) -> Contradiction {
        let one_signed_by = self.words.0.signer(one.paper, one.other);
        let other_signed_by = self.words.1.signer(other.paper, other.other);
        let is_evidence = one_signed_by.is_some() && other_signed_by.is_some();
        let mut sentence = self.sentence(one.name, other.name);
        sentence.push_str(&match (&one_signed_by, &other_signed_by) {
            (Some(one), Some(other)) if one == other => format!(
                "; both are signed by {one}: the ledger told two people different \
                 things, and these two files prove it"
            ),
            (Some(one), Some(other)) => format!(
                "; they are signed by {one} and {other}, both keys of the ledger: it \
                 told two people different things, and these two files prove it"
            ),
            (Some(key), None) => unsigned(one.name, key, other.name),
            (None, Some(key)) => unsigned(other.name, key, one.name),
            (None, None) => {
                "; neither is under a signature of the ledger: anybody may have written either"
                    .to_owned()
            }
        });
        Contradiction {
            what: self.what,
            at: self.at.0,
            one: self.hashes.0,
            other: self.hashes.1,
            one_signed_by,
            other_signed_by,
            is_evidence,
            sentence,
        }
    }

    fn sentence(&self, name: &str, other_name: &str) -> String {
        if let Some(why) = &self.why {
            return format!("{why}, by {name} and {other_name}");
        }
        let hash = |hash: Option<Hash>| hash.map(|hash| hash.to_string()).unwrap_or_default();
        let (at, [one, other]) = (self.at.0, [self.hashes.0, self.hashes.1].map(hash));
        if self.what == Contradicts::Root {
            format!(
                "the first {at} records have the root {one} by {name}, and {other} by {other_name}"
            )
        } else {
            format!("position {at} is the record {one} in {name}, and {other} in {other_name}")
        }
    }
}

fn unsigned(signed: &str, key: &str, unsigned: &str) -> String {
    format!(
        "; what {signed} says is signed by {key}, what {unsigned} says by nobody: anybody may have \
         written that"
    )
}
