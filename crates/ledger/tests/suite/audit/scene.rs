//! Logs to audit, and exports taken apart.

use serde_json::Value;
use x811_audit::export::{Header, Item, Reader, Trailer};
use x811_audit::{Cause, Report, audit_export};
use x811_eventlog::{Checkpoint, Draft, Frontier, Hash, Record};
use x811_ledger::export::{self, UpTo};
use x811_protocol::canonical::to_canonical;
use x811_protocol::key::SecretKey;

use super::bundles::{note, signed_whole};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, checkpoint_key, impatient};
use super::party::Account;

/// Pays a verified deal by the transaction of that number, and says so.
pub(crate) async fn pay(ledgerbox: &mut Ledgerbox, deal: &Deal, number: u16, micro_usdc: u64) {
    deal.mine(ledgerbox, number, &[micro_usdc]);
    let payment = deal.payment(ledgerbox, number);
    ledgerbox.accept(&payment).await;
}

/// One interaction that is paid, and one that is paid too little and disputed.
pub(crate) async fn settled_and_disputed() -> Ledgerbox {
    let mut ledgerbox = impatient().await;
    let mut paid = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &paid, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(paid.id()), "completed");
    let (initiator, provider) = (paid.initiator.clone(), paid.provider.clone());
    paid = Deal::between(&ledgerbox, &initiator, &provider, Account::new(0x46));
    paid.go(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &paid, 2, TOTAL_MICRO_USDC - 1).await;
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(paid.id()), "disputed");
    ledgerbox
}

/// The log as an export, under a checkpoint over all of it.
pub(crate) async fn exported(ledgerbox: &Ledgerbox) -> Vec<u8> {
    let note = signed_whole(ledgerbox).await;
    exported_under(ledgerbox, Some(&note)).await
}

/// The same of a log in which nothing is found.
pub(crate) async fn honest(ledgerbox: &Ledgerbox) -> Vec<u8> {
    let bytes = exported(ledgerbox).await;
    assert_eq!(found(&audit(&bytes)), []);
    bytes
}

/// The log as an export, with that checkpoint.
pub(crate) async fn exported_under(ledgerbox: &Ledgerbox, note: Option<&str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    export::write(&*ledgerbox.store, UpTo::Head(note), &mut bytes)
        .await
        .unwrap();
    bytes
}

/// The log as an export that ends with that checkpoint.
pub(crate) async fn exported_until(ledgerbox: &Ledgerbox, note: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let up_to = UpTo::Checkpoint(note);
    export::write(&*ledgerbox.store, up_to, &mut bytes)
        .await
        .unwrap();
    bytes
}

/// The audit of an export.
pub(crate) fn audit(bytes: &[u8]) -> Report {
    audit_export(bytes, None).unwrap()
}

/// Every cause found at a position.
pub(crate) fn causes_at(report: &Report, position: u64) -> Vec<Cause> {
    let here = report.findings.iter().filter(|f| f.position == position);
    here.map(|finding| finding.cause).collect()
}

/// Fields and causes of all findings, in order.
pub(crate) fn found(report: &Report) -> Vec<(u64, &str, Cause)> {
    let findings = report.findings.iter();
    findings
        .map(|finding| (finding.position, finding.field.as_str(), finding.cause))
        .collect()
}

/// Asserts that this is among what is found.
#[track_caller]
pub(crate) fn names(report: &Report, at: usize, field: &str, cause: Cause) {
    let found = found(report);
    assert!(found.contains(&(at as u64, field, cause)), "{found:?}");
}

/// A record and its body, to be changed.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) draft: Draft,
    pub(crate) leaf: Vec<u8>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Kept {
    /// The `type` of its event.
    pub(crate) fn event_type(&self) -> &str {
        self.draft.event["type"].as_str().unwrap()
    }

    /// The `type` of its envelope; empty for records without one.
    pub(crate) fn message_type(&self) -> &str {
        self.draft.event["envelope"]["type"].as_str().unwrap_or("")
    }

    /// A member of its event, by JSON pointer.
    pub(crate) fn member(&mut self, pointer: &str) -> &mut Value {
        let event = &mut self.draft.event;
        event.pointer_mut(pointer).expect("the event has it")
    }
}

/// An export taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) header: Header,
    pub(crate) records: Vec<Kept>,
    trailer: Trailer,
}

impl Parts {
    pub(crate) fn of(bytes: &[u8]) -> Parts {
        let (mut header, mut trailer, mut records) = (None, None, Vec::new());
        for item in Reader::new(bytes) {
            match item.unwrap() {
                Item::Header(found) => header = Some(*found),
                Item::Trailer { trailer: found, .. } => trailer = Some(found),
                Item::Record(line) => records.push(kept(line.leaf, line.body.map(|b| b.bytes))),
                // Over other records, once they are changed.
                Item::Checkpoint(_) => {}
                Item::Keys(_) | Item::End(_) => unreachable!("no bundle"),
            }
        }
        Parts {
            header: header.unwrap(),
            records,
            trailer: trailer.unwrap(),
        }
    }

    /// Place of the first record that the test is about.
    pub(crate) fn find(&self, is_it: impl Fn(&Kept) -> bool) -> usize {
        self.records.iter().position(is_it).expect("there is one")
    }

    pub(crate) fn find_message(&self, message_type: &str) -> usize {
        self.find(|kept| kept.message_type() == message_type)
    }

    pub(crate) fn find_event(&self, event_type: &str) -> usize {
        self.find(|kept| kept.event_type() == event_type)
    }

    /// The file with the records as they are now, and the trailer as it was.
    pub(crate) fn joined(&self) -> Vec<u8> {
        let mut bytes = self.header.to_line().unwrap();
        bytes.push(b'\n');
        for kept in &self.records {
            bytes.extend(b"r ");
            bytes.extend(&kept.leaf);
            bytes.push(b'\n');
            if let Some(body) = &kept.body {
                bytes.extend(b"b ");
                bytes.extend(body);
                bytes.push(b'\n');
            }
        }
        bytes.extend(self.trailer.to_line().unwrap());
        bytes.push(b'\n');
        bytes
    }

    /// The file of somebody who has the database and writes all hashes anew.
    pub(crate) fn rehashed(self) -> Vec<u8> {
        self.renumbered().sealed()
    }

    /// The same without a checkpoint.
    pub(crate) fn rehashed_unsigned(self) -> Vec<u8> {
        self.renumbered().joined()
    }

    /// The same records with new positions, hashes and trailer.
    fn renumbered(mut self) -> Parts {
        let (mut prev, mut tree) = (Hash::ZERO, Frontier::new());
        for (kept, position) in self.records.iter_mut().zip(0..) {
            let record = Record::seal(position, prev, kept.draft.clone()).unwrap();
            prev = record.hash();
            tree.push(prev);
            kept.leaf = record.bytes().to_vec();
        }
        self.trailer = Trailer {
            head: prev,
            records: None,
            root: tree.root(),
            size: tree.size(),
        };
        self
    }

    /// The file with a checkpoint over what the trailer says, by the key the ledger began with: whoever
    /// holds its keys can sign what they wrote. Without one where the ledger has another key.
    pub(crate) fn sealed(&self) -> Vec<u8> {
        let (bytes, key) = (self.joined(), checkpoint_key());
        if self.header.opened.keys.checkpoint != key.public() {
            return bytes;
        }
        signed_by(&self.header.opened.origin, &key, &bytes)
    }
}

/// The same file with a checkpoint over all its records.
pub(crate) fn signed_by(origin: &str, key: &SecretKey, bytes: &[u8]) -> Vec<u8> {
    let (records, trailer) = bytes.split_at(last_line(bytes));
    let end = Trailer::parse(trailer.strip_suffix(b"\n").unwrap()).unwrap();
    let checkpoint = Checkpoint {
        origin: origin.to_owned(),
        size: end.size,
        root: end.root,
    };
    let note = note(&checkpoint, key);
    let line = [b"c ", &*to_canonical(&note), b"\n"].concat();
    [records, &line, trailer].concat()
}

/// Where the last line begins.
fn last_line(bytes: &[u8]) -> usize {
    let mut before = bytes[..bytes.len() - 1].iter();
    before
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1)
}

fn kept(leaf: Vec<u8>, body: Option<Vec<u8>>) -> Kept {
    let record = Record::parse(leaf.clone()).unwrap();
    Kept {
        draft: Draft {
            recorded_at_ms: record.recorded_at_ms(),
            stream: record.stream().to_owned(),
            stream_seq: record.stream_seq(),
            event: record.event(),
        },
        leaf,
        body,
    }
}
