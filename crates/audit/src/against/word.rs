//! What a ledger signs beside its checkpoints: ends of streams and keys statements. Bundles and
//! receipts carry them, and a later record, end or statement may show that one was a lie.

use x811_eventlog::Hash;

use super::paper::Paper;
use super::report::{Clash, Contradicts};
use crate::export::SignedEnd;
use x811_world::keys_statement::SignedKeys;

/// Most ends of a file that are kept; an honest bundle has some ten.
const MAX_ENDS: usize = 100;

/// Most keys statements of a file that are kept; there is one in each.
const MAX_STATEMENTS: usize = 8;

/// The ends and statements of one file.
#[derive(Debug, Default)]
pub(super) struct Words {
    ends: Vec<SignedEnd>,
    keys: Vec<SignedKeys>,
}

/// One thing that may be signed.
#[derive(Debug, Clone)]
pub(super) enum Word {
    /// The record at that position, under a checkpoint.
    Record(u64),
    /// A root over so many records.
    Root(u64, Hash),
    /// An end of a stream.
    End(Box<SignedEnd>),
    /// A keys statement.
    Keys(Box<SignedKeys>),
}

impl Words {
    /// Keeps an end, as far as there is room.
    pub(super) fn take_end(&mut self, end: SignedEnd) {
        if self.ends.len() < MAX_ENDS {
            self.ends.push(end);
        }
    }

    /// Keeps a statement, as far as there is room.
    pub(super) fn take_keys(&mut self, keys: SignedKeys) {
        if self.keys.len() < MAX_STATEMENTS {
            self.keys.push(keys);
        }
    }

    /// The ends that cannot be true if the record that has that place in a stream is one of the log's:
    /// each with what it says of it.
    pub(super) fn against_record(
        &self,
        place: (&str, u64),
        position: u64,
        hash: Hash,
    ) -> impl Iterator<Item = Clash> {
        self.ends.iter().filter_map(move |end| {
            Some(Clash {
                what: Contradicts::End,
                at: (end.end.tree_size, position),
                hashes: (end.end.last.map(|last| last.hash), Some(hash)),
                why: Some(end.contradicts_place(place, position, hash)?),
                words: (Word::End(Box::new(end.clone())), Word::Record(position)),
            })
        })
    }

    /// What these and `other` say that cannot both be true.
    pub(super) fn against(&self, other: &Words) -> Vec<Clash> {
        let ends = self.ends.iter().flat_map(|one| {
            let others = other.ends.iter();
            others.filter_map(move |other| {
                Some(Clash {
                    what: Contradicts::End,
                    at: (one.end.tree_size, other.end.tree_size),
                    hashes: (
                        one.end.last.map(|last| last.hash),
                        other.end.last.map(|last| last.hash),
                    ),
                    why: Some(one.contradicts_end(other)?),
                    words: (
                        Word::End(Box::new(one.clone())),
                        Word::End(Box::new(other.clone())),
                    ),
                })
            })
        });
        let keys = self.keys.iter().flat_map(|one| {
            let others = other.keys.iter();
            others.filter_map(move |other| {
                Some(Clash {
                    what: Contradicts::Keys,
                    at: (one.statement.size, other.statement.size),
                    hashes: (Some(one.statement.root), Some(other.statement.root)),
                    why: Some(one.statement.contradicts(&other.statement)?),
                    words: (
                        Word::Keys(Box::new(one.clone())),
                        Word::Keys(Box::new(other.clone())),
                    ),
                })
            })
        });
        ends.chain(keys).collect()
    }
}

impl Word {
    /// The ledger's key that signed it, as `name+id+key`; `paper` is the file that has it.
    pub(super) fn signer(&self, paper: &Paper, other: &Paper) -> Option<String> {
        match self {
            Word::Record(position) => paper.signer(*position, other),
            Word::Root(size, root) => {
                let of_root = paper.signer_of_root(*size, *root, other);
                of_root.or_else(|| paper.signer(size.saturating_sub(1), other))
            }
            Word::End(end) => paper.signer_after(end.end.tree_size, other, |ledger| {
                end.is_by(&ledger.keys.checkpoint)
            }),
            Word::Keys(keys) => paper.signer_after(keys.statement.size, other, |ledger| {
                keys.statement.keys.checkpoint == ledger.keys.checkpoint && keys.is_its_own()
            }),
        }
    }
}
