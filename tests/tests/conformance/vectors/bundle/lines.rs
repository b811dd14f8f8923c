//! A bundle as its lines, to be changed.

use std::fs;
use std::ops::Range;

use serde_json::Value;
use x811_eventlog::{Checkpoint, Draft, Frontier, Hash, Record};
use x811_protocol::canonical::to_canonical;
use x811_protocol::key::SecretKey;

use super::super::folder;
use super::super::keys::checkpoint_key;

/// Lines without their ends.
#[derive(Clone)]
pub(super) struct Lines(pub(super) Vec<String>);

impl Lines {
    /// A good file.
    pub(super) fn of(name: &str) -> Lines {
        let path = folder().join("bundle").join(name).with_extension("x811");
        let text = fs::read_to_string(path).unwrap();
        Lines(text.lines().map(str::to_owned).collect())
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let lines = self.0.iter();
        lines
            .flat_map(|line| [line.as_bytes(), b"\n"].concat())
            .collect()
    }

    /// The same, changed, under that name.
    pub(super) fn but(
        &self,
        name: &'static str,
        change: impl FnOnce(&mut Lines),
    ) -> (&'static str, Vec<u8>) {
        let mut changed = self.clone();
        change(&mut changed);
        (name, changed.to_bytes())
    }

    /// Place of the first line that begins so.
    pub(super) fn find(&self, start: &str) -> usize {
        let found = self.0.iter().position(|line| line.starts_with(start));
        found.unwrap()
    }

    /// The lines of a record: itself, its body, its path.
    pub(super) fn record(&self, position: u64) -> Range<usize> {
        let mark = format!("\"position\":{position},\"prev\"");
        let is_it = |line: &&String| line.starts_with("r ") && line.contains(&mark);
        let from = self.0.iter().position(|line| is_it(&line)).unwrap();
        let behind = &self.0[from + 1..];
        let more = behind
            .iter()
            .take_while(|line| line.starts_with(['b', 'p']));
        from..from + 1 + more.count()
    }

    pub(super) fn drop_record(&mut self, position: u64) -> Vec<String> {
        let lines = self.record(position);
        self.0.drain(lines).collect()
    }

    /// Puts lines in front of a record.
    pub(super) fn insert(&mut self, position: u64, lines: Vec<String>) {
        let at = self.record(position).start;
        self.0.splice(at..at, lines);
    }

    /// The interaction that a bundle is about, and the lines of its first record.
    pub(super) fn first_of_interaction(&self) -> (String, Vec<String>) {
        let header: Value = serde_json::from_str(&self.0[0]).unwrap();
        let id = header["scope"]["interaction"].as_str().unwrap();
        let stream = format!("\"stream\":\"interaction:{id}\",\"stream_seq\":0");
        let first = self.0.iter().find(|line| line.contains(&stream)).unwrap();
        let leaf: Value = serde_json::from_str(&first[2..]).unwrap();
        let lines = self.record(leaf["position"].as_u64().unwrap());
        (id.to_owned(), self.0[lines].to_vec())
    }

    /// One line with other words in it.
    pub(super) fn replace(&mut self, at: usize, from: &str, to: &str) {
        assert!(self.0[at].contains(from), "{from} in {}", self.0[at]);
        self.0[at] = self.0[at].replacen(from, to, 1);
    }

    /// One letter or digit of a line that is another: the one behind `after`.
    pub(super) fn flip(&mut self, at: usize, after: &str) {
        let line = &mut self.0[at];
        let place = line.find(after).unwrap() + after.len();
        let other = if line[place..].starts_with('0') {
            "1"
        } else {
            "0"
        };
        line.replace_range(place..=place, other);
    }

    /// Size and root in the file's checkpoint.
    pub(super) fn covered(&self) -> (u64, Hash) {
        let note: String = serde_json::from_str(&self.0[self.find("c ")][2..]).unwrap();
        let checkpoint = Checkpoint::claimed(&note).unwrap();
        (checkpoint.size, checkpoint.root)
    }

    /// One line of JSON behind its letter, with other members.
    pub(super) fn edit(&mut self, at: usize, letter: &str, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_str(&self.0[at][letter.len()..]).unwrap();
        change(&mut value);
        self.0[at] = format!(
            "{letter}{}",
            String::from_utf8(to_canonical(&value)).unwrap()
        );
    }

    /// The file of somebody who has the database and the ledger's key: of a whole log, every hash,
    /// every checkpoint and the trailer anew.
    pub(super) fn rehash(&mut self) {
        let (mut prev, mut tree) = (Hash::ZERO, Frontier::new());
        for line in &mut self.0 {
            if let Some(leaf) = line.strip_prefix("r ") {
                let record = sealed(leaf, tree.size(), prev);
                prev = record.hash();
                tree.push(prev);
                *line = format!("r {}", str::from_utf8(record.bytes()).unwrap());
            } else if line.starts_with("c ") {
                *line = checkpoint(&checkpoint_key(), tree.size(), tree.root());
            }
        }
        let last = self.0.len() - 1;
        self.edit(last, "", |trailer| {
            trailer["head"] = prev.to_string().into();
            trailer["root"] = tree.root().to_string().into();
            trailer["size"] = tree.size().into();
        });
    }
}

/// The record of a leaf, wherever it stood.
fn sealed(leaf: &str, position: u64, prev: Hash) -> Record {
    let leaf: Value = serde_json::from_str(leaf).unwrap();
    let draft = Draft {
        recorded_at_ms: leaf["recorded_at_ms"].as_u64().unwrap(),
        stream: leaf["stream"].as_str().unwrap().to_owned(),
        stream_seq: leaf["stream_seq"].as_u64().unwrap(),
        event: leaf["event"].clone(),
    };
    Record::seal(position, prev, draft).unwrap()
}

/// The line of a checkpoint of the bundles' ledger, signed by `key`.
pub(super) fn checkpoint(key: &SecretKey, size: u64, root: Hash) -> String {
    let checkpoint = Checkpoint {
        origin: "ledger.example/x811".to_owned(),
        size,
        root,
    };
    let sign = |message: &[u8]| *key.sign(message).as_bytes();
    let note = checkpoint.sign(*key.public().as_bytes(), sign).unwrap();
    format!("c {}", Value::from(note))
}

/// The end of a stream as it is now, signed by `key`.
pub(super) fn resigned_end(end: &mut Value, key: &SecretKey) {
    resigned("x811 stream end v2\n", end, key);
}

/// An object as it is now, signed by `key` under that line.
pub(super) fn resigned(line: &str, object: &mut Value, key: &SecretKey) {
    object.as_object_mut().unwrap().remove("signature");
    let signed = [line.as_bytes(), &to_canonical(object)].concat();
    object["signature"] = key.sign(&signed).to_string().into();
}
