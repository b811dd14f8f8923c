//! The hashes of an export file.

use std::io::BufRead;

use x811_protocol::event::LedgerOpened;

use super::{Bound, HashAudit, HashReport, PAGE_RECORDS, Piece};
use crate::export::{CheckpointLine, Fault, Item, Reader, Trailer};
use crate::finding::findings::{Cause, Spot};
use crate::from_export::read_page;
use crate::options::Options;

/// Audits the hashes of an export and nothing else.
///
/// # Errors
/// Only when the file cannot be read; whatever it says is in the report.
pub fn hash_export(
    input: impl BufRead,
    options: impl Into<Options>,
) -> Result<HashReport, std::io::Error> {
    let mut export = Export {
        audit: HashAudit::new(&options.into()),
        opened: None,
        trailer: None,
    };
    let mut reader = Reader::new(input);
    let mut page = read_page(&mut reader, PAGE_RECORDS)?;
    while !page.is_empty() {
        let items = page;
        page = rayon::in_place_scope(|scope| {
            let export = &mut export;
            scope.spawn(move |_| export.take(items));
            read_page(&mut reader, PAGE_RECORDS)
        })?;
    }
    Ok(export.finish())
}

struct Export {
    audit: HashAudit,
    /// Whose log the header says it is.
    opened: Option<LedgerOpened>,
    trailer: Option<(u64, Trailer)>,
}

impl Export {
    fn take(&mut self, items: Vec<Result<Item, Fault>>) {
        let mut pieces = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Ok(Item::Record(record)) => pieces.push(Piece::Leaf {
                    leaf: record.leaf,
                    line: Some(record.line),
                    path: record.path,
                }),
                Ok(Item::Checkpoint(CheckpointLine { note, line })) => {
                    let line = Some(line);
                    pieces.push(Piece::Checkpoint { note, line });
                }
                Ok(Item::Header(header)) => {
                    if let Some(subject) = header.scope.subject() {
                        self.audit.of_bundle(Some(subject));
                    }
                    self.opened = Some(header.opened);
                }
                Ok(Item::Keys(_) | Item::End(_)) => {}
                Ok(Item::Trailer { line, trailer }) => self.trailer = Some((line, trailer)),
                Err(fault) => self.fault(&fault),
            }
        }
        self.audit.take(pieces);
    }

    fn fault(&mut self, fault: &Fault) {
        let spot = Spot {
            line: Some(fault.line),
            ..Spot::at(fault.position)
        };
        let sentence = format!("line {}: {}", fault.line, fault.kind);
        let (cause, findings) = (Cause::FormatBroken, &mut self.audit.findings);
        findings.add(&spot, "line", cause, sentence);
    }

    fn finish(mut self) -> HashReport {
        let opened = self.opened.as_ref();
        self.audit.close(opened);
        if let Some((line, trailer)) = self.trailer
            && !self.audit.is_over
        {
            self.compare_end(line, trailer);
        }
        self.audit.report(self.opened.as_ref())
    }

    /// The trailer names the end that the records have.
    fn compare_end(&mut self, line: u64, trailer: Trailer) {
        let Some(here) = self.audit.here() else {
            return;
        };
        let is_bundle = matches!(self.audit.bound, Bound::Paths(_));
        let found = Trailer {
            head: self.audit.head,
            records: is_bundle.then_some(self.audit.records),
            root: here.root,
            size: here.size,
        };
        if found != trailer {
            let spot = Spot {
                line: Some(line),
                ..self.audit.end()
            };
            let sentence = format!(
                "the trailer names {} records, the head {} and the root {}; here are {} records, \
                 the head {} and the root {}",
                trailer.size, trailer.head, trailer.root, found.size, found.head, found.root
            );
            let (cause, findings) = (Cause::TrailerDiffers, &mut self.audit.findings);
            findings.add(&spot, "trailer", cause, sentence);
        }
    }
}
