//! The audit of an export file.

use std::io::BufRead;

use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::payload::PayloadRules;
use x811_protocol::stream::Subject;

use crate::auditor::Auditor;
use crate::export::{
    CheckpointLine, EndLine, Fault, FaultKind, Header, Item, KeysLine, PathLine, Reader,
    RecordLine, Trailer,
};
use crate::finding::findings::{Cause, Finding, Spot};
use crate::options::Options;
use crate::record::body::agree;
use crate::record::examine::{Entry, Examined, Leaf, Whole};
use crate::record::pages::{self, Next};
use crate::report::document::Report;

/// Audits an export, line by line.
///
/// `options` may be a record hash noted earlier, from a source that is trusted: without one, an
/// export that was cut off and given a new trailer cannot be told from a shorter log.
///
/// # Errors
/// Only when the file cannot be read; whatever it says is in the report.
pub fn audit_export(
    input: impl BufRead,
    options: impl Into<Options>,
) -> Result<Report, std::io::Error> {
    audit_export_in_pages(input, options, pages::ITEMS)
}

/// The same, with pages of another size. The report does not depend on it, nor on how many threads
/// there are.
///
/// # Errors
/// As [`audit_export`].
pub fn audit_export_in_pages(
    input: impl BufRead,
    options: impl Into<Options>,
    page_items: usize,
) -> Result<Report, std::io::Error> {
    let mut audit = ExportAudit::new(options);
    let mut reader = Reader::new(input);
    pages::run(&mut audit, |_| {
        let page = read_page(&mut reader, page_items)?;
        Ok::<_, std::io::Error>(if page.is_empty() {
            Next::End
        } else {
            Next::Page(page)
        })
    })?;
    Ok(audit.finish())
}

/// The next items, as many as make a page; none at the end.
pub(crate) fn read_page<R: BufRead>(
    reader: &mut Reader<R>,
    items: usize,
) -> Result<Vec<Result<Item, Fault>>, std::io::Error> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    while page.len() < items.max(1) && bytes < pages::BYTES {
        match reader.next() {
            None => break,
            Some(Err(Fault {
                kind: FaultKind::Io(error),
                ..
            })) => return Err(error),
            Some(item) => {
                bytes += size(&item);
                page.push(item);
            }
        }
    }
    Ok(page)
}

/// Bytes of what an item holds beside itself, which counts for little in a page of so many.
fn size(item: &Result<Item, Fault>) -> usize {
    match item {
        Ok(Item::Record(record)) => {
            let (body, path) = (record.body.as_ref(), record.path.as_ref());
            let path = path.map_or(0, |path| size_of_val(path.hashes.as_slice()));
            record.leaf.len() + body.map_or(0, |body| body.bytes.len()) + path
        }
        Ok(Item::Checkpoint(line)) => line.note.len(),
        Ok(Item::End(line)) => line.signed.end.stream.len(),
        Err(fault) => fault.kind.text_bytes(),
        Ok(Item::Header(_) | Item::Keys(_) | Item::Trailer { .. }) => 0,
    }
}

/// What the reader made out, and what was found of it alone.
pub enum ExaminedItem {
    Header(Box<Header>),
    Record(Examined, Option<PathLine>),
    Checkpoint(CheckpointLine),
    Keys(KeysLine),
    End(EndLine),
    Trailer(u64, Trailer),
    Fault(Fault),
}

impl ExaminedItem {
    fn of(item: Result<Item, Fault>, rules: Option<PayloadRules>) -> ExaminedItem {
        match item {
            Ok(Item::Header(header)) => ExaminedItem::Header(header),
            Ok(Item::Record(mut record)) => {
                let path = record.path.take();
                ExaminedItem::Record(Examined::of(entry(record), rules), path)
            }
            Ok(Item::Checkpoint(line)) => ExaminedItem::Checkpoint(line),
            Ok(Item::Keys(line)) => ExaminedItem::Keys(line),
            Ok(Item::End(line)) => ExaminedItem::End(line),
            Ok(Item::Trailer { line, trailer }) => ExaminedItem::Trailer(line, trailer),
            Err(fault) => ExaminedItem::Fault(fault),
        }
    }
}

impl pages::Item for ExaminedItem {
    fn whole_mut(&mut self) -> Option<&mut Whole> {
        match self {
            ExaminedItem::Record(examined, _) => examined.whole_mut(),
            ExaminedItem::Header(_)
            | ExaminedItem::Checkpoint(_)
            | ExaminedItem::Keys(_)
            | ExaminedItem::End(_)
            | ExaminedItem::Trailer(..)
            | ExaminedItem::Fault(_) => None,
        }
    }
}

fn entry(record: RecordLine) -> Entry {
    let body_line = record.body.as_ref().map(|body| body.line);
    Entry {
        leaf: Leaf::Bytes(record.leaf),
        body: record.body.map(|body| body.bytes.into()),
        line: Some(record.line),
        body_line,
    }
}

impl pages::Audit for ExportAudit {
    type Item = Result<Item, Fault>;
    type Examined = ExaminedItem;

    fn rules(&self) -> Option<PayloadRules> {
        self.auditor.rules()
    }

    fn examine(page: Vec<Self::Item>, rules: Option<PayloadRules>) -> Vec<ExaminedItem> {
        let items = page.into_iter();
        items.map(|item| ExaminedItem::of(item, rules)).collect()
    }

    fn settle(&mut self, item: ExaminedItem) {
        match item {
            ExaminedItem::Header(header) => {
                if let Some(subject) = header.scope.subject() {
                    self.extract(Some(subject));
                }
                self.header = Some(*header);
            }
            ExaminedItem::Record(examined, path) => {
                self.auditor.settle(examined, path.as_ref());
                if !self.identified {
                    self.identified = true;
                    self.identify();
                }
            }
            ExaminedItem::Checkpoint(line) => self.checkpoint(line),
            ExaminedItem::Keys(line) => {
                if let Some((extract, findings)) = self.auditor.extract() {
                    extract.state_keys(line, findings);
                }
            }
            ExaminedItem::End(line) => {
                if let Some((extract, findings)) = self.auditor.extract() {
                    extract.end_of(line, findings);
                }
            }
            ExaminedItem::Trailer(line, trailer) => self.trailer = Some((line, trailer)),
            ExaminedItem::Fault(fault) => self.fault(&fault),
        }
    }
}

/// An audit of an export in progress, item by item.
#[derive(Debug, Clone)]
pub struct ExportAudit {
    auditor: Auditor,
    header: Option<Header>,
    trailer: Option<(u64, Trailer)>,
    /// The last checkpoint.
    noted: Option<CheckpointLine>,
    /// The first record has been compared with the header.
    identified: bool,
}

impl ExportAudit {
    /// Before the first line.
    pub fn new(options: impl Into<Options>) -> ExportAudit {
        ExportAudit {
            auditor: Auditor::with(&options.into()),
            header: None,
            trailer: None,
            noted: None,
            identified: false,
        }
    }

    /// What was found so far; see [`Auditor::findings`].
    pub fn findings(&self) -> &[Finding] {
        self.auditor.findings()
    }

    /// Takes what the reader made out next.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn take(&mut self, item: Result<Item, Fault>) -> Result<(), std::io::Error> {
        if let Err(Fault {
            kind: FaultKind::Io(error),
            ..
        }) = item
        {
            return Err(error);
        }
        let mut examined = ExaminedItem::of(item, self.auditor.rules());
        pages::check_signatures(std::slice::from_mut(&mut examined));
        pages::Audit::settle(self, examined);
        Ok(())
    }

    /// From here on this is the audit of a bundle.
    fn extract(&mut self, subject: Option<Subject>) {
        self.auditor = std::mem::take(&mut self.auditor).of_extract(subject);
    }

    fn checkpoint(&mut self, line: CheckpointLine) {
        if let Some(noted) = self.noted.take().filter(|noted| noted.note == line.note) {
            let kind = format!("the checkpoint of line {} once more", noted.line);
            self.malformed(line.line, self.auditor.size(), &kind);
        }
        self.noted = Some(line.clone());
        // No log has a checkpoint before its first record: this is a bundle whose header cannot be
        // read.
        if self.header.is_none() && self.auditor.size() == 0 {
            self.extract(None);
        }
        if let Some((extract, findings)) = self.auditor.extract() {
            extract.cover(line, findings);
        } else {
            let said = self.header.as_ref().map(|header| &header.opened);
            let (note, line) = (&line.note, Some(line.line));
            self.auditor.checkpoint(note, line, said);
        }
    }

    fn fault(&mut self, fault: &Fault) {
        let Fault {
            line,
            position,
            kind,
        } = fault;
        self.malformed(*line, *position, kind);
    }

    /// A line that is not in the format, behind so many records.
    fn malformed(&mut self, line: u64, position: u64, why: &impl std::fmt::Display) {
        let spot = match self.auditor.extract() {
            Some((extract, _)) => extract.end(Some(line)),
            None => Spot {
                line: Some(line),
                ..Spot::at(position)
            },
        };
        let sentence = format!("line {line}: {why}");
        let findings = &mut self.auditor.findings;
        findings.add(&spot, "line", Cause::FormatBroken, sentence);
    }

    /// The header says what position 0 says.
    fn identify(&mut self) {
        let Some(header) = &self.header else {
            return;
        };
        let Some(opened) = self.auditor.identity().cloned() else {
            return;
        };
        if header.opened != opened {
            let spot = Spot {
                line: Some(1),
                ..Spot::at(0)
            };
            let (said, recorded) = (
                Event::Ledger(LedgerEvent::Opened(header.opened.clone())),
                Event::Ledger(LedgerEvent::Opened(opened.clone())),
            );
            let (cause, findings) = (Cause::HeaderDiffers, &mut self.auditor.findings);
            agree(&spot, "header", cause, &said, &recorded, findings);
        }
    }

    /// Ends the audit, and says what it found.
    pub fn finish(mut self) -> Report {
        let noted = self.trailer.map(|(_, trailer)| trailer.head);
        let is_whole = self
            .trailer
            .is_some_and(|(_, trailer)| trailer.size == self.auditor.size());
        let said = self.header.as_ref().map(|header| &header.opened);
        self.auditor.close(noted.filter(|_| is_whole), said);
        if let Some((line, trailer)) = self.trailer {
            self.compare_end(line, trailer);
        }
        let said = self.header.as_ref().map(|header| &header.opened);
        self.auditor.report(said)
    }

    /// The trailer names the end that the records have.
    fn compare_end(&mut self, line: u64, trailer: Trailer) {
        let (head, records) = (self.auditor.last_hash(), self.auditor.size());
        let found = match self.auditor.extract() {
            Some((extract, _)) => {
                let claimed = extract.claimed();
                Trailer {
                    head,
                    records: Some(records),
                    root: claimed.map_or(trailer.root, |claimed| claimed.root),
                    size: claimed.map_or(trailer.size, |claimed| claimed.size),
                }
            }
            None => Trailer {
                head,
                records: None,
                root: self.auditor.frontier().root(),
                size: records,
            },
        };
        if found == trailer {
            return;
        }
        let last = self.auditor.end();
        let is_log = self.auditor.extract().is_none();
        // With the size right and head and root wrong, the records speak against themselves: the
        // last one was changed, for every other change shows in a link.
        let is_last = is_log && found.size == trailer.size && found.head != trailer.head;
        let is_root_alone = is_log && found.size == trailer.size && found.head == trailer.head;
        let earlier = self
            .auditor
            .findings()
            .iter()
            .any(|finding| matches!(finding.cause, Cause::BytesChanged | Cause::Missing));
        if is_last && !earlier && found.root != trailer.root {
            let sentence = format!(
                "this last record hashes to {}, the trailer names {}: one of the two was changed",
                found.head, trailer.head
            );
            let findings = &mut self.auditor.findings;
            findings.add(&last, "leaf", Cause::BytesChanged, sentence);
        }
        if is_root_alone && earlier {
            return;
        }
        let spot = Spot {
            line: Some(line),
            ..Spot::at(last.position)
        };
        let (cause, findings) = (Cause::TrailerDiffers, &mut self.auditor.findings);
        agree(&spot, "trailer", cause, &trailer, &found, findings);
    }
}
