//! Bundles of a log that its operator sealed anew: every path, end and statement is signed again, so that only
//! the meaning is wrong.

use std::collections::BTreeMap;
use std::convert::Infallible;

use serde_json::json;
use x811_audit::export::{Header, Item, LastRecord, Reader, RecordLine, StreamEnd, Trailer};
use x811_audit::standing::Standing;
use x811_eventlog::{Checkpoint, Hash, InclusionProof, Node, Record, root_of};
use x811_protocol::canonical::to_canonical;
use x811_world::keys_statement::KeysStatement;

use super::ledgers_hand::Hand;

/// What a bundle has of the streams that an honest one is made of.
struct Outline {
    header: Header,
    /// Each with what became of the payment, where the ledger says that.
    streams: Vec<(String, Option<Standing>)>,
}

impl Outline {
    fn of(honest: &[u8]) -> Outline {
        let (mut header, mut streams) = (None, Vec::new());
        for item in Reader::new(honest) {
            match item.unwrap() {
                Item::Header(found) => header = Some(*found),
                Item::End(line) => {
                    let end = line.signed.end;
                    streams.push((end.stream, end.standing));
                }
                Item::Record(_) | Item::Checkpoint(_) | Item::Keys(_) | Item::Trailer { .. } => {}
            }
        }
        Outline {
            header: header.unwrap(),
            streams,
        }
    }
}

/// The records of a log, and its checkpoint.
fn taken_apart(log: &[u8]) -> (Vec<RecordLine>, String) {
    let (mut records, mut note) = (Vec::new(), String::new());
    for item in Reader::new(log) {
        match item.unwrap() {
            Item::Record(line) => records.push(line),
            Item::Checkpoint(line) => note = line.note,
            Item::Header(_) | Item::Keys(_) | Item::End(_) | Item::Trailer { .. } => {}
        }
    }
    (records, note)
}

fn path(leaves: &[Hash], position: usize) -> Vec<Hash> {
    let node_of = |node: Node| -> Result<Hash, Infallible> {
        let from = (node.index() << node.level()) as usize;
        Ok(root_of(&leaves[from..from + (1 << node.level())]))
    };
    let Ok(proof) = InclusionProof::build(position as u64, leaves.len() as u64, node_of);
    proof.unwrap().path
}

/// The bundle of the sealed `log` that has the streams of the `honest` one.
pub(crate) fn bundle_of(log: &[u8], honest: &[u8], hand: &Hand) -> Vec<u8> {
    let Outline { header, streams } = Outline::of(honest);
    let (records, note) = taken_apart(log);
    let checkpoint = Checkpoint::claimed(&note).unwrap();
    let key = hand.secret(&header.opened.keys.checkpoint).unwrap();
    let keys = KeysStatement {
        keys: header.opened.keys,
        log_id: header.opened.log_id,
        origin: checkpoint.origin.clone(),
        root: checkpoint.root,
        rotations: Vec::new(),
        size: checkpoint.size,
    };
    let mut bytes = header.to_line().unwrap();
    bytes.push(b'\n');
    let mut line = |letter: &[u8], text: &[u8]| bytes.extend([letter, text, b"\n"].concat());
    line(b"c ", &to_canonical(&json!(note)));
    line(b"k ", &keys.sign(key).to_json());
    let hashes: Vec<Hash> = records.iter().map(|it| Hash::of_leaf(&it.leaf)).collect();
    let (mut last, mut head, mut count) = (BTreeMap::new(), Hash::ZERO, 0);
    for (position, kept) in records.iter().enumerate() {
        let record = Record::parse(kept.leaf.clone()).unwrap();
        if !streams.iter().any(|(stream, _)| stream == record.stream()) {
            continue;
        }
        line(b"r ", &kept.leaf);
        if let Some(body) = &kept.body {
            line(b"b ", &body.bytes);
        }
        line(b"p ", &to_canonical(&path(&hashes, position)));
        let (seq, hash) = (record.stream_seq(), record.hash());
        last.insert(record.stream().to_owned(), LastRecord { seq, hash });
        (head, count) = (hash, count + 1);
    }
    for (stream, standing) in streams {
        let end = StreamEnd {
            last: last.get(&stream).copied(),
            stream,
            standing,
            tree_size: checkpoint.size,
        };
        line(b"e ", &end.sign(key).to_line());
    }
    let trailer = Trailer {
        head,
        records: Some(count),
        root: checkpoint.root,
        size: checkpoint.size,
    };
    line(b"", &trailer.to_line().unwrap());
    bytes
}
