//! The audit of an export file.

use std::io::BufRead;

use x811_eventlog::Hash;
use x811_protocol::event::Event;

use super::auditor::{Auditor, Entry};
use super::body::agree;
use super::finding::{Cause, Finding, Spot};
use super::report::Report;
use crate::export::{Fault, FaultKind, Header, Item, Reader, RecordLine, Trailer};

/// Audits an export, line by line.
///
/// `expected_head` is a record hash noted earlier, from a source that is trusted: without one, an
/// export that was cut off and given a new trailer cannot be told from a shorter log.
///
/// # Errors
/// Only when the file cannot be read; whatever it says is in the report.
pub fn audit_export(
    input: impl BufRead,
    expected_head: Option<Hash>,
) -> Result<Report, std::io::Error> {
    let mut audit = ExportAudit::new(expected_head);
    for item in Reader::new(input) {
        audit.take(item)?;
    }
    Ok(audit.finish())
}

/// An audit of an export in progress, item by item.
#[derive(Debug, Clone)]
pub struct ExportAudit {
    auditor: Auditor,
    header: Option<Header>,
    trailer: Option<(u64, Trailer)>,
    /// The first record has been compared with the header.
    identified: bool,
}

impl ExportAudit {
    /// Before the first line.
    pub fn new(expected_head: Option<Hash>) -> ExportAudit {
        ExportAudit {
            auditor: Auditor::new().expecting(expected_head),
            header: None,
            trailer: None,
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
        match item {
            Ok(Item::Header(header)) => self.header = Some(*header),
            Ok(Item::Record(record)) => self.record(record),
            Ok(Item::Trailer { line, trailer }) => self.trailer = Some((line, trailer)),
            Err(Fault {
                line,
                position,
                kind,
            }) => self.fault(line, position, kind)?,
        }
        Ok(())
    }

    fn fault(&mut self, line: u64, position: u64, kind: FaultKind) -> Result<(), std::io::Error> {
        if let FaultKind::Io(error) = kind {
            return Err(error);
        }
        let spot = Spot {
            position,
            line: Some(line),
            stream: None,
        };
        let sentence = format!("line {line}: {kind}");
        let findings = &mut self.auditor.findings;
        findings.add(&spot, "line", Cause::FormatBroken, sentence);
        Ok(())
    }

    fn record(&mut self, record: RecordLine) {
        let line = record.line;
        let body_line = record.body.as_ref().map(|body| body.line);
        self.auditor.take(Entry {
            leaf: record.leaf,
            body: record.body.map(|body| body.bytes),
            line: Some(line),
            body_line,
        });
        if !self.identified {
            self.identified = true;
            self.identify(line);
        }
    }

    /// The header says what position 0 says.
    fn identify(&mut self, line: u64) {
        let Some(header) = &self.header else {
            return;
        };
        let Some(opened) = self.auditor.world().identity().cloned() else {
            return;
        };
        if header.opened != *opened {
            let spot = Spot {
                position: 0,
                line: Some(line.saturating_sub(1)),
                stream: None,
            };
            let (said, recorded) = (
                Event::LedgerOpened(header.opened.clone()),
                Event::LedgerOpened((*opened).clone()),
            );
            let (cause, findings) = (Cause::HeaderDiffers, &mut self.auditor.findings);
            agree(&spot, "header", cause, &said, &recorded, findings);
        }
    }

    /// The outcome.
    pub fn finish(mut self) -> Report {
        let noted = self.trailer.map(|(_, trailer)| trailer.head);
        let is_whole = self
            .trailer
            .is_some_and(|(_, trailer)| trailer.size == self.auditor.size());
        self.auditor.close(noted.filter(|_| is_whole));
        if let Some((line, trailer)) = self.trailer {
            self.compare_end(line, trailer);
        }
        self.auditor.report()
    }

    /// The trailer names the end that the records have.
    fn compare_end(&mut self, line: u64, trailer: Trailer) {
        let found = Trailer {
            head: self.auditor.last_hash(),
            root: self.auditor.frontier().root(),
            size: self.auditor.size(),
        };
        if found == trailer {
            return;
        }
        // With the size right and head and root wrong, the records speak against themselves: the
        // last one was changed, for every other change shows in a link.
        let last = self.auditor.end();
        let is_last = found.size == trailer.size && found.head != trailer.head;
        let is_root_alone = found.size == trailer.size && found.head == trailer.head;
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
            position: last.position,
            line: Some(line),
            stream: None,
        };
        let (cause, findings) = (Cause::TrailerDiffers, &mut self.auditor.findings);
        agree(&spot, "trailer", cause, &trailer, &found, findings);
    }
}
