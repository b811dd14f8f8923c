//! A bundle taken apart into JSON, for whoever changes it and signs it anew with keys of theirs.

use serde_json::{Value, json};
use x811_eventlog::Hash;
use x811_protocol::canonical::to_canonical;
use x811_protocol::key::SecretKey;

/// The lines of a bundle.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) header: Value,
    pub(crate) note: String,
    pub(crate) keys: Option<Value>,
    pub(crate) records: Vec<Lines>,
    pub(crate) ends: Vec<Value>,
    pub(crate) trailer: Value,
}

/// A record with its lines: itself, its body, its path.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    pub(crate) leaf: Value,
    pub(crate) lines: Vec<String>,
}

impl Lines {
    fn hash(&self) -> String {
        Hash::of_leaf(&self.lines[0].as_bytes()[2..]).to_string()
    }
}

impl File {
    pub(crate) fn of(bytes: &[u8]) -> File {
        let text = std::str::from_utf8(bytes).unwrap();
        let read = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        let mut lines: Vec<&str> = text.lines().collect();
        let trailer = read(lines.pop().unwrap());
        let mut file = File {
            header: read(lines.remove(0)),
            note: String::new(),
            keys: None,
            records: Vec::new(),
            ends: Vec::new(),
            trailer,
        };
        for line in lines {
            let (letter, text) = line.split_at(2);
            match letter {
                "c " => file.note = read(text).as_str().unwrap().to_owned(),
                "k " => file.keys = Some(read(text)),
                "e " => file.ends.push(read(text)),
                "r " => file.records.push(Lines {
                    leaf: read(text),
                    lines: vec![line.to_owned()],
                }),
                _ => file.records.last_mut().unwrap().lines.push(line.to_owned()),
            }
        }
        file
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let written = |letter: &str, value: &Value| {
            let text = String::from_utf8(to_canonical(value)).unwrap();
            format!("{letter}{text}")
        };
        let mut lines = vec![written("", &self.header), written("c ", &json!(self.note))];
        lines.extend(self.keys.iter().map(|keys| written("k ", keys)));
        lines.extend(self.records.iter().flat_map(|record| record.lines.clone()));
        lines.extend(self.ends.iter().map(|end| written("e ", end)));
        lines.push(written("", &self.trailer));
        (lines.join("\n") + "\n").into_bytes()
    }

    /// Cuts the record that it is, and all behind it in its stream.
    pub(crate) fn cut_from(&mut self, is_it: impl Fn(&Value) -> bool) {
        let first = self.records.iter().find(|record| is_it(&record.leaf));
        let Some(first) = first.map(|record| record.leaf.clone()) else {
            return;
        };
        self.records.retain(|record| {
            record.leaf["stream"] != first["stream"]
                || record.leaf["stream_seq"].as_u64() < first["stream_seq"].as_u64()
        });
    }

    /// Makes the ends, unsigned, and the trailer those of the records that are here.
    pub(crate) fn fit_ends(&mut self) {
        for end in &mut self.ends {
            let mut of_it = self.records.iter().rev();
            let last = of_it.find(|record| record.leaf["stream"] == end["stream"]);
            let members = end.as_object_mut().unwrap();
            members.remove("last_seq");
            members.remove("last_hash");
            if let Some(last) = last {
                members.insert("last_seq".to_owned(), last.leaf["stream_seq"].clone());
                members.insert("last_hash".to_owned(), last.hash().into());
            }
        }
        let mut types = self
            .records
            .iter()
            .map(|record| &record.leaf["event"]["type"]);
        let is_paid = types.any(|kind| kind == "confirmed");
        for end in self
            .ends
            .iter_mut()
            .filter(|end| end.get("standing").is_some())
        {
            end["standing"] = json!(if is_paid { "paid" } else { "none" });
        }
        self.fit_trailer();
    }

    pub(crate) fn fit_trailer(&mut self) {
        self.trailer["records"] = json!(self.records.len());
        if let Some(last) = self.records.last() {
            self.trailer["head"] = json!(last.hash());
        }
    }

    pub(crate) fn sign_ends(&mut self, key: &SecretKey) {
        for index in 0..self.ends.len() {
            self.sign_end(index, key);
        }
    }

    pub(crate) fn sign_end(&mut self, index: usize, key: &SecretKey) {
        sign(&mut self.ends[index], "x811 stream end v2\n", key);
    }

    pub(crate) fn sign_keys(&mut self, key: &SecretKey) {
        if let Some(keys) = &mut self.keys {
            sign(keys, "x811 keys v1\n", key);
        }
    }
}

/// Signs an object under that line, without its member `signature`.
fn sign(object: &mut Value, line: &str, key: &SecretKey) {
    object.as_object_mut().unwrap().remove("signature");
    let signed = [line.as_bytes(), &to_canonical(object)].concat();
    object["signature"] = json!(key.sign(&signed));
}
