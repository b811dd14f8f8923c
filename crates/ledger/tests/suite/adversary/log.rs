//! A log taken apart by somebody who has the ledger's database and every key of it: whatever is
//! changed, all that follows from it is written anew, so that only its meaning is wrong.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use x811_audit::export::{Header, Item, Reader, Trailer};
use x811_eventlog::{Checkpoint, Draft, Frontier, Hash, Record};
use x811_protocol::event::{Event, LedgerEvent, LedgerOpened};
use x811_protocol::key::SecretKey;
use x811_world::World;

use super::ledgers_hand::{Hand, follow, rotated, signed_anew};
use super::roots::Root;

/// A record to be sealed, and its body.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) at_ms: u64,
    pub(crate) stream: String,
    pub(crate) event: Value,
    pub(crate) body: Option<Vec<u8>>,
    /// Place and hash in the honest log; absent in what was put in.
    pub(crate) was: Option<(u64, String)>,
    /// Whether what the ledger signs of its own is made to say the same as the record.
    pub(crate) follows: bool,
    /// Whether numbers of receipts and roots of states are left as they stand here.
    pub(crate) keeps_numbers: bool,
    /// Whether its body is another one than the record was made of.
    pub(crate) says_more: bool,
}

impl Written {
    /// One that the honest log does not have.
    pub(crate) fn new(at_ms: u64, stream: &str, event: Value) -> Written {
        Written {
            at_ms,
            stream: stream.to_owned(),
            event,
            body: None,
            was: None,
            follows: true,
            keeps_numbers: false,
            says_more: false,
        }
    }

    /// The `type` of its event.
    pub(crate) fn event_type(&self) -> &str {
        self.event["type"].as_str().unwrap()
    }

    /// The `type` of its envelope; empty for records without one.
    pub(crate) fn message_type(&self) -> &str {
        self.event["envelope"]["type"].as_str().unwrap_or("")
    }
}

/// An export taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) records: Vec<Arc<Written>>,
    pub(crate) hand: Arc<Hand>,
}

impl Log {
    /// Takes `export` apart; `keys` are all secret keys that the ledger ever had.
    pub(crate) fn of(export: &[u8], keys: impl IntoIterator<Item = SecretKey>) -> Log {
        let mut records = Vec::new();
        for item in Reader::new(export) {
            match item.unwrap() {
                Item::Record(line) => {
                    let record = Record::parse(line.leaf).unwrap();
                    records.push(Arc::new(Written {
                        at_ms: record.recorded_at_ms(),
                        stream: record.stream().to_owned(),
                        event: record.event(),
                        body: line.body.map(|body| body.bytes),
                        was: Some((record.position(), record.hash().to_string())),
                        follows: true,
                        keeps_numbers: false,
                        says_more: false,
                    }));
                }
                Item::Header(_)
                | Item::Checkpoint(_)
                | Item::Keys(_)
                | Item::End(_)
                | Item::Trailer { .. } => {}
            }
        }
        let hand = Arc::new(Hand::of(keys));
        Log { records, hand }
    }

    /// Before the first record.
    pub(crate) fn sealing(&self) -> Sealing {
        let has_roots = |record: &Arc<Written>| record.event_type() == "state_root";
        Sealing {
            hand: self.hand.clone(),
            opened: None,
            prev: Hash::ZERO,
            tree: Frontier::new(),
            positions: HashMap::new(),
            hashes: HashMap::new(),
            seqs: HashMap::new(),
            providers: HashMap::new(),
            receipts: HashMap::new(),
            root: self.records.iter().any(has_roots).then(|| Root {
                world: World::empty(),
                running: None,
            }),
        }
    }

    /// The header that goes with position 0; none where that is none.
    pub(crate) fn header(&self) -> Option<Header> {
        use x811_audit::export::Scope;
        let opened = opened(&self.records.first()?.event)?;
        Some(Header {
            opened,
            scope: Scope::Log,
        })
    }

    /// The whole file; `None` where it cannot be written.
    pub(crate) fn sealed(&self) -> Option<Vec<u8>> {
        let mut sealing = self.sealing();
        let mut bytes = self.header()?.to_line().ok()?;
        bytes.push(b'\n');
        let mut line = |letter: &[u8], text: &[u8]| bytes.extend([letter, text, b"\n"].concat());
        for written in &self.records {
            let sealed = sealing.seal(written)?;
            line(b"r ", &sealed.leaf);
            if let Some(body) = sealed.body {
                line(b"b ", &body);
            }
        }
        let (note, trailer) = sealing.end();
        line(b"c ", json!(note).to_string().as_bytes());
        line(b"", &trailer.to_line().ok()?);
        Some(bytes)
    }
}

/// Who the ledger is by that event.
pub(crate) fn opened(event: &Value) -> Option<LedgerOpened> {
    let Ok(Event::Ledger(LedgerEvent::Opened(opened))) = Event::from_value(event) else {
        return None;
    };
    Some(opened)
}

/// A record as it stands in a file.
pub(crate) struct Sealed {
    pub(crate) leaf: Vec<u8>,
    pub(crate) body: Option<Vec<u8>>,
}

/// Seals record after record.
#[derive(Debug, Clone)]
pub(crate) struct Sealing {
    hand: Arc<Hand>,
    /// Who it is, with the keys in force.
    opened: Option<LedgerOpened>,
    prev: Hash,
    tree: Frontier,
    /// From places and hashes of the honest log to those here.
    positions: HashMap<u64, u64>,
    hashes: HashMap<String, String>,
    seqs: HashMap<String, u64>,
    /// By interaction, and number and hash of each one's receipts.
    providers: HashMap<String, String>,
    receipts: HashMap<String, (u64, Option<String>)>,
    /// Only where some record holds one.
    root: Option<Root>,
}

impl Sealing {
    /// How many are sealed.
    pub(crate) fn size(&self) -> u64 {
        self.tree.size()
    }

    /// The next record; `None` where it is none of any kind.
    pub(crate) fn seal(&mut self, written: &Written) -> Option<Sealed> {
        let (mut event, mut body) = (written.event.clone(), written.body.clone());
        self.name_again(&mut event);
        if !written.keeps_numbers {
            self.number_again(&written.stream, &mut event);
        }
        if event["type"] == "ledger_opened" {
            self.opened = opened(&event).or_else(|| self.opened.take());
        } else if event["type"] == "ledger_key_rotated" {
            let opened = self.opened.as_mut()?;
            rotated(&self.hand, opened, &mut event, written.follows);
        } else if event["type"] == "notice_issued"
            && let Some(text) = &body
        {
            let mut message: Value = serde_json::from_slice(text).ok()?;
            self.name_again_in(&mut message["payload"]);
            if written.follows {
                follow(&event, &mut message);
            }
            let was = (!written.says_more).then_some(&**text);
            let opened = self.opened.as_ref();
            body = Some(signed_anew(&self.hand, opened, &mut event, message, was));
        }
        self.record(written, event, body)
    }

    fn record(&mut self, written: &Written, event: Value, body: Option<Vec<u8>>) -> Option<Sealed> {
        let seq = self.seqs.entry(written.stream.clone()).or_default();
        let draft = Draft {
            recorded_at_ms: written.at_ms,
            stream: written.stream.clone(),
            stream_seq: *seq,
            event,
        };
        let record = Record::seal(self.tree.size(), self.prev, draft).ok()?;
        *seq += 1;
        self.note(written, &record);
        self.prev = record.hash();
        self.tree.push(self.prev);
        let leaf = record.bytes().to_vec();
        Some(Sealed { leaf, body })
    }

    /// What later records may name.
    fn note(&mut self, written: &Written, record: &Record) {
        let (event, hash) = (record.event(), record.hash().to_string());
        if let Some((position, before)) = &written.was {
            self.positions.insert(*position, record.position());
            self.hashes.insert(before.clone(), hash.clone());
        }
        if event["envelope"]["type"] == "x811/request" {
            let provider = event["envelope"]["to"].as_str().unwrap_or_default();
            self.providers
                .insert(written.stream.clone(), provider.to_owned());
        }
        if let (Some(provider), "confirmed" | "reversed") = (
            self.providers.get(&written.stream),
            event["type"].as_str().unwrap_or_default(),
        ) {
            let receipts = self.receipts.entry(provider.clone()).or_default();
            *receipts = (receipts.0 + 1, Some(hash));
        }
        if let Some(root) = &mut self.root {
            root.take(record);
        }
    }

    fn place(&self, position: &Value) -> Value {
        let known = position.as_u64().and_then(|at| self.positions.get(&at));
        known.map_or_else(|| position.clone(), |at| json!(at))
    }

    fn hash(&self, hash: &Value) -> Value {
        let known = hash.as_str().and_then(|hash| self.hashes.get(hash));
        known.map_or_else(|| hash.clone(), |hash| json!(hash))
    }

    /// Places and hashes of records are those that they have here.
    fn name_again(&self, event: &mut Value) {
        const POSITIONS: [&str; 5] = [
            "/derived/parameters",
            "/derived/descriptor",
            "/derived/contract/accept",
            "/cause",
            "/closing",
        ];
        for pointer in POSITIONS {
            if let Some(position) = event.pointer_mut(pointer) {
                *position = self.place(position);
            }
        }
        for name in ["causes", "positions", "records"] {
            let positions = event.get_mut(name).and_then(Value::as_array_mut);
            for position in positions.into_iter().flatten() {
                *position = self.place(position);
            }
        }
        let hashes = event.get_mut("signatures").and_then(Value::as_array_mut);
        for hash in hashes.into_iter().flatten() {
            *hash = self.hash(hash);
        }
        let records = event.get_mut("records").and_then(Value::as_object_mut);
        for hash in records.into_iter().flat_map(|records| records.values_mut()) {
            if let Value::Array(hashes) = hash {
                hashes.iter_mut().for_each(|hash| *hash = self.hash(hash));
            } else {
                *hash = self.hash(hash);
            }
        }
        let signatures = event.get_mut("signatures").and_then(Value::as_array_mut);
        for hash in signatures.into_iter().flatten() {
            *hash = self.hash(hash);
        }
        if let Some(hash) = event.get_mut("provider_prev") {
            *hash = self.hash(hash);
        }
    }

    /// The same in what a notice says.
    fn name_again_in(&self, payload: &mut Value) {
        for name in ["cause_position", "proposal"] {
            if let Some(position) = payload.get_mut(name) {
                *position = self.place(position);
            }
        }
        for name in ["records", "votes"] {
            let positions = payload.get_mut(name).and_then(Value::as_array_mut);
            for position in positions.into_iter().flatten() {
                *position = self.place(position);
            }
        }
    }

    /// Receipts are counted, and roots of states computed, as they are here.
    fn number_again(&self, stream: &str, event: &mut Value) {
        if let (Some(provider), "confirmed" | "reversed") = (
            self.providers.get(stream),
            event["type"].as_str().unwrap_or_default(),
        ) {
            let (seq, prev) = self.receipts.get(provider).cloned().unwrap_or_default();
            event["provider_seq"] = json!(seq);
            match prev {
                Some(prev) => event["provider_prev"] = json!(prev),
                None if event["type"] == "reversed" => {
                    event["provider_prev"] = json!(Hash::ZERO.to_string());
                }
                None => {
                    event.as_object_mut().unwrap().remove("provider_prev");
                }
            }
        }
        if let (Some(root), "state_root") = (&self.root, event["type"].as_str().unwrap_or_default())
        {
            event["position"] = json!(self.size().saturating_sub(1));
            if let Some(running) = root.running {
                event["root"] = json!(running);
            }
        }
    }

    /// The checkpoint over everything, and the last line.
    pub(crate) fn end(&self) -> (String, Trailer) {
        let opened = self.opened.as_ref();
        let checkpoint = Checkpoint {
            origin: opened.map_or_else(|| "nobody".to_owned(), |opened| opened.origin.clone()),
            size: self.tree.size(),
            root: self.tree.root(),
        };
        let key = opened.map(|opened| opened.keys.checkpoint);
        let note = self.hand.checkpoint(&checkpoint, key);
        let trailer = Trailer {
            head: self.prev,
            records: None,
            root: checkpoint.root,
            size: checkpoint.size,
        };
        (note, trailer)
    }
}
