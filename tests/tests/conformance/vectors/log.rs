//! The log that checkpoints, proofs and tiles of the corpus are about.

use std::convert::Infallible;

use x811_eventlog::{
    Checkpoint, ConsistencyProof, Draft, Hash, InclusionProof, Node, Record, root_of,
};

use super::keys::{self, ORIGIN};

/// Records in it: one tile and the beginning of another.
pub(crate) const SIZE: u64 = 270;

/// 2026-01-01.
const OPENED_AT_MS: u64 = 1_767_225_600_000;

pub(crate) struct Log {
    pub(crate) records: Vec<Record>,
    hashes: Vec<Hash>,
}

impl Log {
    /// Records that mean nothing, one each second.
    pub(crate) fn new() -> Log {
        Log::forked_at(SIZE)
    }

    /// The same, but with other records from `position` on.
    pub(crate) fn forked_at(position: u64) -> Log {
        let (mut records, mut prev) = (Vec::new(), Hash::ZERO);
        for at in 0..SIZE {
            let kind = if at < position { "example" } else { "forked" };
            let draft = Draft {
                recorded_at_ms: OPENED_AT_MS + at * 1_000,
                stream: "example".to_owned(),
                stream_seq: at,
                event: serde_json::json!({ "type": kind }),
            };
            let record = Record::seal(at, prev, draft).unwrap();
            prev = record.hash();
            records.push(record);
        }
        let hashes = records.iter().map(Record::hash).collect();
        Log { records, hashes }
    }

    pub(crate) fn checkpoint(&self, size: u64) -> Checkpoint {
        Checkpoint {
            origin: ORIGIN.to_owned(),
            size,
            root: root_of(&self.hashes[..size as usize]),
        }
    }

    /// The checkpoint, signed by the log.
    pub(crate) fn signed(&self, size: u64) -> String {
        sign(&self.checkpoint(size))
    }

    pub(crate) fn inclusion(&self, position: u64, size: u64) -> Vec<Hash> {
        let Ok(proof) = InclusionProof::build(position, size, self.nodes());
        proof.unwrap().path
    }

    pub(crate) fn consistency(&self, old_size: u64, new_size: u64) -> Vec<Hash> {
        let Ok(proof) = ConsistencyProof::build(old_size, new_size, self.nodes());
        proof.unwrap().path
    }

    fn nodes(&self) -> impl FnMut(Node) -> Result<Hash, Infallible> {
        |node| {
            let from = (node.index() << node.level()) as usize;
            Ok(root_of(&self.hashes[from..from + (1 << node.level())]))
        }
    }
}

pub(crate) fn sign(checkpoint: &Checkpoint) -> String {
    let text = checkpoint.to_text();
    format!("{text}\n{}", keys::signed(&text, &keys::log()))
}
