//! What a file says of its log, whichever kind of file it is: records and checkpoints, one by one, and
//! what the ledger signed beside them.

use std::io::{BufRead, Chain, Cursor, Read as _};

use serde::Serialize;
use uuid::Uuid;
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, Frontier, Hash, InclusionProof, Record};
use x811_protocol::did::Did;
use x811_protocol::event::{LedgerOpened, LedgerRole};
use x811_protocol::key::PublicKey;
use x811_protocol::named;

use crate::checkpoint_note;
use crate::export::{
    FaultKind, Header, Item, MAX_LINE_BYTES, Reader, RecordLine, Scope, foreign_file,
};
use crate::receipt::{CompactReceipt, Receipt};
use x811_world::keyring::Reading;

use super::word::Words;

/// Most bytes of a file with a note.
const MAX_NOTE_BYTES: u64 = 65_535;

/// Most checkpoints of a file that are kept.
const MAX_CHECKPOINTS: usize = 1_000;

named! {
    /// What kind of file it is; as a text, with its article.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PaperKind {
        /// A log from its first record on.
        Log = "a log",
        /// One interaction of it.
        Bundle = "a bundle",
        /// Proof of a payment.
        Receipt = "a receipt",
        /// A signed checkpoint alone.
        Checkpoint = "a checkpoint",
    }
}

/// Whose log a file says it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    origin: String,
    /// A checkpoint alone has none.
    log_id: Option<Uuid>,
}

impl Identity {
    fn of(opened: &LedgerOpened) -> Identity {
        Identity {
            origin: opened.origin.clone(),
            log_id: Some(opened.log_id),
        }
    }

    /// The two names, where they are of two logs.
    pub(super) fn differ(one: &Identity, other: &Identity) -> Option<(String, String)> {
        let ids = one.log_id.zip(other.log_id);
        if one.origin == other.origin && ids.is_none_or(|(one, other)| one == other) {
            return None;
        }
        Some((one.name(), other.name()))
    }

    fn name(&self) -> String {
        match self.log_id {
            Some(id) => format!("{} ({id})", self.origin),
            None => self.origin.clone(),
        }
    }
}

/// One thing that a file says.
pub(super) enum Said<'a> {
    /// The next record of a whole log, where it can be read, with its body.
    Logged(Hash, Option<&'a Record>, Option<&'a [u8]>),
    /// A record of a bundle or receipt, under its checkpoint, with its body.
    Placed(&'a Record, Hash, Option<&'a [u8]>),
    /// A signed checkpoint that stands in the file.
    Checkpoint(&'a Seen),
}

/// A checkpoint, as a file has it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) size: u64,
    pub(super) root: Hash,
    note: String,
    /// Whether the records of the file are those under it.
    holds: bool,
}

impl Seen {
    fn of(note: String, claimed: &Checkpoint, holds: bool) -> Seen {
        Seen {
            size: claimed.size,
            root: claimed.root,
            note,
            holds,
        }
    }
}

/// What is kept of a file that was read.
#[derive(Debug)]
pub(super) struct Paper {
    pub(super) kind: PaperKind,
    /// Records that were read; of a whole log its length.
    pub(super) records: u64,
    /// What could not be read, or is not under the file's own checkpoint.
    pub(super) passed_over: u64,
    /// In order of size.
    pub(super) checkpoints: Vec<Seen>,
    /// Ends of streams and keys statements; whole logs have none.
    pub(super) words: Words,
    keys: Reading,
}

impl Paper {
    fn new(kind: PaperKind) -> Paper {
        Paper {
            kind,
            records: 0,
            passed_over: 0,
            checkpoints: Vec::new(),
            words: Words::default(),
            keys: Reading::default(),
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.kind == PaperKind::Log
    }

    /// The key by which the ledger signed a checkpoint that has the record at this position under it;
    /// `other` knows the ledger's keys where this file does not.
    pub(super) fn signer(&self, position: u64, other: &Paper) -> Option<String> {
        let mut covering = self.checkpoints.iter();
        covering.find_map(|seen| {
            let covers = seen.holds && seen.size > position;
            covers.then(|| self.signer_of(seen, other)).flatten()
        })
    }

    /// The key by which the ledger signed the checkpoint of this size and root, if it has one.
    pub(super) fn signer_of_root(&self, size: u64, root: Hash, other: &Paper) -> Option<String> {
        let mut same = self.checkpoints.iter();
        let same = same.find(|seen| seen.size == size && seen.root == root)?;
        self.signer_of(same, other)
    }

    fn signer_of(&self, seen: &Seen, other: &Paper) -> Option<String> {
        self.signer_after(seen.size, other, |ledger| {
            checkpoint_note::open(&seen.note, ledger).is_ok()
        })
    }

    /// The checkpoint key in force after `size` records, by this file or by `other`, if `is_by` finds
    /// that it signed.
    pub(super) fn signer_after(
        &self,
        size: u64,
        other: &Paper,
        is_by: impl Fn(&LedgerOpened) -> bool,
    ) -> Option<String> {
        let known = [&self.keys, &other.keys].into_iter();
        let mut known = known.filter_map(|keys| keys.ledger_after(size));
        known.find_map(|ledger| {
            let key = *ledger.keys.checkpoint.as_bytes();
            let key = is_by(&ledger).then(|| NoteKey::new(&*ledger.origin, key))?;
            Some(key.ok()?.to_vkey())
        })
    }

    /// The ledger, if the file says who it is.
    pub(super) fn ledger(&self) -> Option<Did> {
        self.keys.opened().map(|opened| opened.did)
    }

    /// True if that is, or was, the key by which the ledger signs receipts and traces.
    pub(super) fn is_receipt_key(&self, key: PublicKey) -> bool {
        self.keys.had(LedgerRole::Receipt, key)
    }

    /// How many records of the log the file covers.
    pub(super) fn size(&self) -> u64 {
        let signed = self.checkpoints.last().map_or(0, |last| last.size);
        match self.is_whole() {
            true => self.records,
            false => signed,
        }
    }

    /// Keeps a checkpoint, as far as there is room.
    fn keep(&mut self, seen: Seen) {
        let is_known = self
            .checkpoints
            .last()
            .is_some_and(|last| last.size == seen.size && last.root == seen.root);
        if is_known {
            return;
        }
        if self.checkpoints.len() < MAX_CHECKPOINTS
            && self
                .checkpoints
                .last()
                .is_none_or(|last| last.size <= seen.size)
        {
            self.checkpoints.push(seen);
        } else {
            self.passed_over += 1;
        }
    }
}

/// A file of which is known whose log it is of.
pub(super) struct Opened<R> {
    identity: Identity,
    content: PaperContent<R>,
}

enum PaperContent<R> {
    Export(Box<Header>, Reader<Chain<Cursor<Vec<u8>>, R>>),
    Receipt(Box<Receipt>),
    Note(String, Checkpoint),
}

impl<R: BufRead> Opened<R> {
    /// Reads as much of a file as says what it is; the error is a sentence.
    pub(super) fn of(mut input: R) -> Result<Opened<R>, String> {
        let mut first = Vec::new();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = input.by_ref().take(limit).read_until(b'\n', &mut first);
        read.map_err(|error| format!("cannot be read: {error}"))?;
        let has = |member: &[u8]| first.windows(member.len()).any(|part| part == member);
        if let Some(what) = foreign_file(&first) {
            return Err(what.to_owned());
        }
        if CompactReceipt::may_be(&first) {
            return Err(
                "this is a compact receipt, which has no signed checkpoint: take the receipt in JSON"
                    .to_owned(),
            );
        }
        if first.starts_with(b"{") && has(b"\"x811_export\":") {
            return Opened::of_export(Reader::new(Cursor::new(first).chain(input)));
        }
        if first.starts_with(b"{") {
            let rest = input.fill_buf().map_err(|error| error.to_string())?;
            if !rest.is_empty() {
                return Err("it is neither an export nor a receipt nor a checkpoint".to_owned());
            }
            return Opened::of_receipt(&first);
        }
        let rest = input.take(MAX_NOTE_BYTES).read_to_end(&mut first);
        rest.map_err(|error| format!("cannot be read: {error}"))?;
        let note = String::from_utf8(first);
        let claimed = note.map_err(|error| error.to_string()).and_then(|note| {
            let claimed = Checkpoint::claimed(&note).map_err(|error| error.to_string())?;
            Ok((note, claimed))
        });
        let (note, claimed) = claimed.map_err(|why| {
            format!("it is neither an export nor a receipt nor a signed checkpoint ({why})")
        })?;
        Ok(Opened {
            identity: Identity {
                origin: claimed.origin.clone(),
                log_id: None,
            },
            content: PaperContent::Note(note, claimed),
        })
    }

    fn of_export(mut reader: Reader<Chain<Cursor<Vec<u8>>, R>>) -> Result<Opened<R>, String> {
        match reader.next() {
            Some(Ok(Item::Header(header))) => Ok(Opened {
                identity: Identity::of(&header.opened),
                content: PaperContent::Export(header, reader),
            }),
            Some(Err(fault)) => Err(fault.to_string()),
            Some(Ok(_)) | None => Err("it has no header".to_owned()),
        }
    }

    fn of_receipt(bytes: &[u8]) -> Result<Opened<R>, String> {
        let receipt = Receipt::from_bytes(bytes).map_err(|error| error.to_string())?;
        let mut keys = Reading::default();
        let opening = receipt.ledger.record().map_err(|error| error.to_string())?;
        keys.take(&opening);
        let opened = keys.opened().ok_or("its `ledger` is no ledger_opened")?;
        Ok(Opened {
            identity: Identity::of(opened),
            content: PaperContent::Receipt(Box::new(receipt)),
        })
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether it is a log from its first record on.
    pub(super) fn is_whole(&self) -> bool {
        matches!(&self.content, PaperContent::Export(header, _) if header.scope == Scope::Log)
    }

    /// True for a log or a bundle.
    pub(super) fn is_export(&self) -> bool {
        matches!(&self.content, PaperContent::Export(..))
    }

    /// Reads the rest, and tells what it says; the error is a sentence.
    pub(super) fn read(self, mut tell: impl FnMut(Said<'_>)) -> Result<Paper, String> {
        match self.content {
            PaperContent::Export(header, reader) => match header.scope.subject() {
                None => read_log(reader, Paper::new(PaperKind::Log), tell),
                Some(_) => read_bundle(reader, Paper::new(PaperKind::Bundle), tell),
            },
            PaperContent::Receipt(receipt) => {
                read_receipt(&receipt, Paper::new(PaperKind::Receipt), tell)
            }
            PaperContent::Note(note, claimed) => {
                let mut paper = Paper::new(PaperKind::Checkpoint);
                let seen = Seen::of(note, &claimed, true);
                tell(Said::Checkpoint(&seen));
                paper.keep(seen);
                Ok(paper)
            }
        }
    }
}

fn read_log<R: BufRead>(
    reader: Reader<R>,
    mut paper: Paper,
    mut tell: impl FnMut(Said<'_>),
) -> Result<Paper, String> {
    let mut tree = Frontier::new();
    for item in reader {
        match item {
            Ok(Item::Record(RecordLine { leaf, body, .. })) => {
                let (hash, record) = (Hash::of_leaf(&leaf), Record::parse(leaf).ok());
                tree.push(hash);
                paper.records += 1;
                paper.passed_over += u64::from(record.is_none());
                if let Some(record) = &record {
                    paper.keys.take(record);
                }
                let body = body.as_ref().map(|body| body.bytes.as_slice());
                tell(Said::Logged(hash, record.as_ref(), body));
            }
            Ok(Item::Checkpoint(line)) => match Checkpoint::claimed(&line.note) {
                Ok(claimed) => {
                    let holds = claimed.size == tree.size() && claimed.root == tree.root();
                    let seen = Seen::of(line.note, &claimed, holds);
                    tell(Said::Checkpoint(&seen));
                    paper.keep(seen);
                }
                Err(_) => paper.passed_over += 1,
            },
            Ok(Item::Trailer { .. }) => {}
            Ok(Item::Header(_) | Item::End(_) | Item::Keys(_)) => paper.passed_over += 1,
            Err(fault) => pass_over(&mut paper, fault.kind)?,
        }
    }
    Ok(paper)
}

fn read_bundle<R: BufRead>(
    reader: Reader<R>,
    mut paper: Paper,
    mut tell: impl FnMut(Said<'_>),
) -> Result<Paper, String> {
    for item in reader {
        match item {
            Ok(Item::Record(mut line)) => {
                let body = line.body.take();
                match included(line, paper.checkpoints.first()) {
                    Some(record) => {
                        paper.records += 1;
                        paper.keys.take(&record);
                        let body = body.as_ref().map(|body| body.bytes.as_slice());
                        tell(Said::Placed(&record, record.hash(), body));
                    }
                    None => paper.passed_over += 1,
                }
            }
            Ok(Item::Checkpoint(line)) => match Checkpoint::claimed(&line.note) {
                Ok(claimed) if paper.checkpoints.is_empty() => {
                    let seen = Seen::of(line.note, &claimed, true);
                    tell(Said::Checkpoint(&seen));
                    paper.keep(seen);
                }
                Ok(_) | Err(_) => paper.passed_over += 1,
            },
            Ok(Item::End(line)) => paper.words.take_end(line.signed),
            Ok(Item::Keys(line)) => paper.words.take_keys(*line.signed),
            Ok(Item::Trailer { .. }) => {}
            Ok(Item::Header(_)) => paper.passed_over += 1,
            Err(fault) => pass_over(&mut paper, fault.kind)?,
        }
    }
    Ok(paper)
}

/// The record, where it is under the checkpoint by its path.
fn included(line: RecordLine, checkpoint: Option<&Seen>) -> Option<Record> {
    let (record, path) = (Record::parse(line.leaf).ok()?, line.path?);
    let checkpoint = checkpoint?;
    let proof = InclusionProof {
        position: record.position(),
        size: checkpoint.size,
        path: path.hashes,
    };
    proof.verify(record.hash(), checkpoint.root).ok()?;
    Some(record)
}

fn read_receipt(
    receipt: &Receipt,
    mut paper: Paper,
    mut tell: impl FnMut(Said<'_>),
) -> Result<Paper, String> {
    let claimed = Checkpoint::claimed(&receipt.checkpoint).map_err(|error| error.to_string())?;
    let records = receipt.records()?;
    let seen = Seen::of(receipt.checkpoint.clone(), &claimed, true);
    tell(Said::Checkpoint(&seen));
    for record in &records {
        paper.records += 1;
        paper.keys.take(record);
        tell(Said::Placed(record, record.hash(), None));
    }
    paper.keep(seen);
    paper.words.take_end(receipt.end.clone());
    paper.words.take_keys(receipt.keys.clone());
    Ok(paper)
}

fn pass_over(paper: &mut Paper, fault: FaultKind) -> Result<(), String> {
    if let FaultKind::Io(error) = fault {
        return Err(format!("cannot be read: {error}"));
    }
    paper.passed_over += 1;
    Ok(())
}
