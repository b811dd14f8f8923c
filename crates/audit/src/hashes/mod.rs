//! The hashes alone: whether the records are linked to one another, what tree they make, and whether
//! that is the one that was signed. Nothing of what they say is looked at.
//!
//! It shows that no byte was changed since a head was noted or a checkpoint was trusted, and costs
//! little more than hashing. Every finding of the whole audit that rests on anything else stays
//! unfound, so the report never says that the log is sound.
//!
//! It stops at the first record that does not follow. What comes behind is counted as not checked:
//! the whole audit goes on there, and says which record is to blame.

mod from_export;
mod report;

use rayon::prelude::*;
use x811_eventlog::{Break, Checkpoint, Hash, InclusionProof, LinkVerifier, Linked, Record};
use x811_protocol::event::LedgerOpened;
use x811_protocol::stream::Subject;

use crate::export::PathLine;
use crate::finding::findings::{Cause, Findings, Spot};
use crate::identity::checkpoints::{self, Covered};
use crate::identity::trust::Trusting;
use crate::options::Options;
use crate::record::links;
use x811_world::keyring::Reading;

pub use from_export::hash_export;
pub use report::HashReport;

/// Records that are hashed while those before them are linked.
pub const PAGE_RECORDS: usize = 4_096;

/// Records that one core takes at a time.
const AT_A_TIME: usize = 64;

/// How the leaf of a record begins that replaces a key of the ledger: `new_key` is the first member
/// of no other event.
const OF_A_ROTATION: &[u8] = br#"{"event":{"new_key":"#;

/// A leaf, or what stands between leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<L> {
    /// A record, unread.
    Leaf {
        /// The leaf, as something that gives its bytes.
        leaf: L,
        /// Its line in an export, from 1.
        line: Option<u64>,
        /// Its path under the checkpoint, in a bundle.
        path: Option<PathLine>,
    },
    /// A signed checkpoint.
    Checkpoint {
        /// The signed note, as it was read.
        note: String,
        /// Its line in an export, from 1.
        line: Option<u64>,
    },
    /// The root of the tree that a store keeps over its first records.
    Tree {
        /// How many records it is over.
        size: u64,
        /// Their root, as it is stored.
        root: Hash,
    },
    /// Bytes that a store cannot read as a record.
    Damaged(Break),
}

/// The same, hashed.
#[derive(Debug)]
enum Hashed {
    Leaf {
        /// Absent where the bytes are no leaf.
        linked: Option<Linked>,
        line: Option<u64>,
        path: Option<PathLine>,
        /// The record, where it may be about the ledger's keys.
        about_keys: Option<Record>,
    },
    Checkpoint {
        note: String,
        line: Option<u64>,
    },
    Tree(Covered),
    Damaged(Break),
}

/// Links records page by page: one is hashed on all cores while the one before is linked.
#[derive(Debug, Default)]
pub struct HashAudit {
    bound: Bound,
    /// Hashed, and not linked yet.
    ahead: Vec<Hashed>,
    keys: Reading,
    records: u64,
    /// Records that hold.
    held: u64,
    head: Hash,
    /// A record did not follow: nothing is looked at any more.
    is_over: bool,
    last: Option<Spot>,
    checkpoints: Vec<Covered>,
    trusting: Trusting,
    findings: Findings,
    expected_head: Option<Hash>,
    expected_head_position: Option<u64>,
}

/// What records are bound by.
#[derive(Debug)]
enum Bound {
    /// Each names the one before, and all are in one tree.
    Links(LinkVerifier),
    /// Each is in the tree of the checkpoint.
    Paths(Box<Bundle>),
}

impl Default for Bound {
    fn default() -> Self {
        Bound::Links(LinkVerifier::new())
    }
}

/// A bundle on its way.
#[derive(Debug, Default)]
struct Bundle {
    subject: Option<Subject>,
    checkpoint: Option<(String, Option<u64>)>,
    /// What that says, whoever signed it.
    claimed: Option<Checkpoint>,
    last: Option<Linked>,
}

impl HashAudit {
    /// Before the first record.
    #[must_use]
    pub fn new(options: &Options) -> HashAudit {
        HashAudit {
            trusting: Trusting::by(options),
            expected_head: options.expected_head,
            ..HashAudit::default()
        }
    }

    /// Takes the next page.
    pub fn take<L: AsRef<[u8]> + Send>(&mut self, page: Vec<Piece<L>>) {
        let before = std::mem::take(&mut self.ahead);
        let (ahead, ()) = rayon::join(
            || {
                let pieces = page.into_par_iter().with_max_len(AT_A_TIME);
                pieces.map(Hashed::of).collect()
            },
            || before.into_iter().for_each(|hashed| self.settle(hashed)),
        );
        self.ahead = ahead;
    }

    /// Nothing follows in the pages.
    fn settle_all(&mut self) {
        let ahead = std::mem::take(&mut self.ahead);
        ahead.into_iter().for_each(|hashed| self.settle(hashed));
    }

    /// From here on this is a bundle of `subject`, or of one that nobody names.
    fn of_bundle(&mut self, subject: Option<Subject>) {
        self.bound = Bound::Paths(Box::new(Bundle {
            subject,
            ..Bundle::default()
        }));
    }

    fn settle(&mut self, hashed: Hashed) {
        let (linked, line, path, about_keys) = match hashed {
            Hashed::Checkpoint { note, line } => return self.checkpoint(note, line),
            Hashed::Tree(stored) => return self.tree(stored),
            Hashed::Damaged(broken) => return self.damaged(&broken),
            Hashed::Leaf {
                linked,
                line,
                path,
                about_keys,
            } => (linked, line, path, about_keys),
        };
        self.records += 1;
        if self.is_over {
            return;
        }
        let spot = Spot {
            line,
            ..Spot::at(linked.map_or(self.held, |linked| linked.position))
        };
        let Some(linked) = linked else {
            let sentence = "the bytes are not a record of format 1";
            self.stop(&spot, "leaf", Cause::BytesChanged, sentence);
            return;
        };
        match self.follow(&spot, &linked, path.as_ref()) {
            Ok(()) => {
                self.held += 1;
                self.head = linked.hash;
                if self.expected_head == Some(linked.hash) {
                    self.expected_head_position = Some(linked.position);
                }
                if let Some(record) = about_keys {
                    self.keys.take(&record);
                }
                self.last = Some(spot);
            }
            Err(found) => {
                self.is_over = true;
                self.findings.extend(found);
            }
        }
    }

    /// Whether the record is where it has to be.
    fn follow(
        &mut self,
        spot: &Spot,
        linked: &Linked,
        path: Option<&PathLine>,
    ) -> Result<(), Findings> {
        let mut found = Findings::default();
        match &mut self.bound {
            Bound::Links(links) => match links.push(linked) {
                Ok(()) => return Ok(()),
                Err(broken) => links::report(spot, broken.position, &broken.cause, &mut found),
            },
            Bound::Paths(bundle) => match bundle.follow(linked, path) {
                Ok(()) => return Ok(()),
                Err((field, cause, sentence)) => found.add(spot, field, cause, sentence),
            },
        }
        Err(found)
    }

    fn damaged(&mut self, broken: &Break) {
        self.records += 1;
        if !self.is_over {
            let spot = Spot::at(broken.position);
            self.is_over = true;
            links::report(&spot, broken.position, &broken.cause, &mut self.findings);
        }
    }

    /// Holds the tree that a store keeps against the one that is here.
    fn tree(&mut self, stored: Covered) {
        if !self.is_over && self.here() != Some(stored) {
            let sentence = format!(
                "the stored tree is over {} records with the root {}, which the {} records here do \
                 not make: the database was changed by hand or restored in part",
                stored.size, stored.root, self.held
            );
            let spot = self.end();
            self.findings
                .add(&spot, "tree", Cause::TreeDiffers, sentence);
        }
    }

    fn checkpoint(&mut self, note: String, line: Option<u64>) {
        if self.records == 0 && matches!(self.bound, Bound::Links(_)) {
            // No log has a checkpoint before its first record: this is a bundle whose header
            // cannot be read.
            self.of_bundle(None);
        }
        match &mut self.bound {
            Bound::Paths(bundle) => bundle.cover(note, line),
            Bound::Links(_) if self.is_over => {}
            Bound::Links(links) => {
                let here = Covered {
                    size: links.head().size,
                    root: links.root(),
                };
                self.hold(&note, line, here);
            }
        }
    }

    /// Holds a checkpoint against the tree that is here.
    fn hold(&mut self, note: &str, line: Option<u64>, here: Covered) {
        let ledger = self.keys.ledger();
        let spot = Spot { line, ..self.end() };
        let (trusting, findings) = (&mut self.trusting, &mut self.findings);
        let held = checkpoints::hold(note, &spot, ledger.as_ref(), here, trusting, findings);
        self.checkpoints.extend(held);
    }

    /// The tree over the records so far.
    fn here(&self) -> Option<Covered> {
        match &self.bound {
            Bound::Links(links) => Some(Covered {
                size: links.head().size,
                root: links.root(),
            }),
            Bound::Paths(bundle) => bundle.claimed.as_ref().map(Covered::of),
        }
    }

    fn stop(&mut self, spot: &Spot, field: &str, cause: Cause, sentence: impl Into<String>) {
        self.is_over = true;
        self.findings.add(spot, field, cause, sentence);
    }

    /// Where the end shows.
    fn end(&self) -> Spot {
        self.last.clone().unwrap_or(Spot::at(0))
    }

    /// The checkpoint of a bundle, now that the ledger's keys are known.
    fn close_bundle(&mut self) {
        let Bound::Paths(bundle) = &mut self.bound else {
            return;
        };
        let (signed, claimed) = (bundle.checkpoint.take(), bundle.claimed.clone());
        if self.is_over {
            return;
        }
        match (signed, claimed) {
            (Some((note, line)), Some(claimed)) => self.hold(&note, line, Covered::of(&claimed)),
            (Some((_, line)), None) => {
                let spot = Spot { line, ..self.end() };
                let cause = Cause::CheckpointInvalid;
                self.stop(&spot, "checkpoint", cause, "the checkpoint cannot be read");
            }
            (None, _) => {
                let sentence =
                    "the bundle has no checkpoint: nothing shows that its records are in a log";
                self.stop(&self.end(), "checkpoint", Cause::Missing, sentence);
            }
        }
    }

    /// Nothing follows: what shows only now. `said` is whose log the file says it is.
    pub fn close(&mut self, said: Option<&LedgerOpened>) {
        self.settle_all();
        self.close_bundle();
        let end = self.end();
        if let (Some(said), Some(first)) = (said, self.keys.opened())
            && said != first
        {
            let spot = Spot {
                line: Some(1),
                ..Spot::at(0)
            };
            let sentence = "the header names another ledger than position 0, or other keys";
            self.findings
                .add(&spot, "header", Cause::HeaderDiffers, sentence);
        }
        if let Some(expected) = self.expected_head
            && self.expected_head_position.is_none()
        {
            let sentence = format!(
                "no record that was checked has the hash {expected} that was expected: this is \
                 not the log it was noted from, or it was cut off before it"
            );
            self.findings
                .add(&end, "head", Cause::HeadDiffers, sentence);
        }
    }
}

impl Hashed {
    fn of<L: AsRef<[u8]>>(piece: Piece<L>) -> Hashed {
        let (leaf, line, path) = match piece {
            Piece::Checkpoint { note, line } => return Hashed::Checkpoint { note, line },
            Piece::Tree { size, root } => return Hashed::Tree(Covered { size, root }),
            Piece::Damaged(broken) => return Hashed::Damaged(broken),
            Piece::Leaf { leaf, line, path } => (leaf, line, path),
        };
        let bytes = leaf.as_ref();
        let linked = Linked::of_leaf(bytes);
        let is_first = linked.is_some_and(|linked| linked.position == 0);
        let about_keys = if is_first || bytes.starts_with(OF_A_ROTATION) {
            Record::parse(bytes.to_vec()).ok()
        } else {
            None
        };
        Hashed::Leaf {
            linked,
            line,
            path,
            about_keys,
        }
    }
}

impl Bundle {
    fn cover(&mut self, note: String, line: Option<u64>) {
        if self.checkpoint.is_none() {
            self.claimed = Checkpoint::claimed(&note).ok();
            self.checkpoint = Some((note, line));
        }
    }

    fn follow(
        &mut self,
        linked: &Linked,
        path: Option<&PathLine>,
    ) -> Result<(), (&'static str, Cause, String)> {
        if let Some(last) = self.last.filter(|last| last.position >= linked.position) {
            let cause = match last.position == linked.position {
                true => Cause::Duplicated,
                false => Cause::Reordered,
            };
            let sentence = format!("it stands behind position {}", last.position);
            return Err(("position", cause, sentence));
        }
        self.last = Some(*linked);
        let (Some(path), Some(checkpoint)) = (path, &self.claimed) else {
            let sentence = "nothing shows that the record is in the log: its inclusion path or the \
                            checkpoint is not here";
            return Err(("path", Cause::Missing, sentence.to_owned()));
        };
        let proof = InclusionProof {
            position: linked.position,
            size: checkpoint.size,
            path: path.hashes.clone(),
        };
        proof.verify(linked.hash, checkpoint.root).map_err(|error| {
            let sentence = format!(
                "the record is not under the checkpoint by this path ({error}): record, path or \
                 checkpoint was changed"
            );
            ("path", Cause::NotIncluded, sentence)
        })
    }
}
