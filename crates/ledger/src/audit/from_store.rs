//! The audit of a ledger's store, also while the ledger runs.

use x811_eventlog::{Break, EventLog, Hash, ReadError, Record};

use super::auditor::{Auditor, Entry};
use super::compare;
use super::finding::{Cause, Spot};
use super::report::Report;
use crate::port::{LedgerStore, ReadModel};

/// Records read at a time; their bodies are held in memory together.
const PAGE: usize = 64;

/// Most damaged records that are stepped over one by one.
const MAX_DAMAGED: u64 = 10_000;

/// Audits what `store` holds now, and compares `read_model`, if there is one, with what the log
/// says. Records that are appended meanwhile are left out, and rows that follow them are not held
/// against anybody.
///
/// # Errors
/// When the store cannot be read at all; damage is in the report.
pub async fn audit_store<S: LedgerStore, R: ReadModel>(
    store: &S,
    read_model: Option<&R>,
    expected_head: Option<Hash>,
) -> Result<Report, ReadError> {
    // In this order: each is known to be no newer than the next.
    let applied_size = match read_model {
        Some(rows) => rows.applied_size().await?,
        None => 0,
    };
    let tree = store.frontier().await?;
    let mut source = Source {
        store,
        tree,
        auditor: Auditor::new().expecting(expected_head),
    };
    let size = source.read_all().await?;
    let mut auditor = source.auditor;
    auditor.close(None);
    let mut check = None;
    if let Some(rows) = read_model {
        check = Some(compare::read_model(&mut auditor, rows, applied_size, size).await?);
    }
    let mut report = auditor.report();
    report.read_model = check;
    Ok(report)
}

struct Source<'a, S> {
    store: &'a S,
    /// The stored tree, until it has been compared.
    tree: Option<(u64, Vec<u8>)>,
    auditor: Auditor,
}

impl<S: LedgerStore> Source<'_, S> {
    /// Feeds the auditor up to the present head; returns the size read to.
    async fn read_all(&mut self) -> Result<u64, ReadError> {
        let size = match self.store.log().head().await {
            Ok(head) => head.size,
            // A damaged last record: read until there is nothing.
            Err(ReadError::Damaged(broken)) => broken.position.saturating_add(1),
            Err(error) => return Err(error),
        };
        let (mut next, mut damaged) = (0, 0);
        while next < size {
            let rest = usize::try_from(size - next).unwrap_or(usize::MAX);
            match self.store.log().read(next, PAGE.min(rest)).await {
                Ok(page) if page.is_empty() => break,
                Ok(page) => {
                    next += page.len() as u64;
                    self.take(&page).await?;
                }
                Err(ReadError::Damaged(broken)) if damaged < MAX_DAMAGED => {
                    damaged += 1;
                    next = self.around(next, &broken).await?;
                }
                Err(error) => return Err(error),
            }
        }
        if let Some((tree_size, _)) = self.tree.take() {
            let sentence = format!(
                "the stored tree is over {tree_size} records, the log has {}",
                self.auditor.size()
            );
            self.differs(sentence);
        }
        Ok(size)
    }

    /// Takes what lies before a damaged record, names it, and goes on behind it.
    async fn around(&mut self, from: u64, broken: &Break) -> Result<u64, ReadError> {
        let damaged = broken.position.max(from);
        let sound = usize::try_from(damaged - from).unwrap_or(usize::MAX);
        if sound > 0 {
            match self.store.log().read(from, sound).await {
                Ok(page) => self.take(&page).await?,
                Err(ReadError::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        // What is missing shows with the record behind it.
        if !matches!(broken.cause, x811_eventlog::Cause::Missing { .. }) {
            let spot = Spot {
                position: damaged,
                line: None,
                stream: None,
            };
            let (cause, findings) = (Cause::BytesChanged, &mut self.auditor.findings);
            findings.add(&spot, "leaf", cause, broken.cause.to_string());
        }
        Ok(damaged + 1)
    }

    async fn take(&mut self, page: &[Record]) -> Result<(), ReadError> {
        let positions: Vec<u64> = page.iter().map(Record::position).collect();
        let mut bodies = self.store.bodies(&positions).await?;
        for record in page {
            let body = bodies.remove(&record.position());
            self.auditor.take(Entry {
                leaf: record.bytes().to_vec(),
                body: body.map(|body| body.bytes.to_vec()),
                line: None,
                body_line: None,
            });
            self.compare_tree();
        }
        Ok(())
    }

    /// Once as many records are read as the stored tree is over.
    fn compare_tree(&mut self) {
        let here = self.auditor.size();
        let Some((_, stored)) = self.tree.take_if(|(size, _)| *size == here) else {
            return;
        };
        if stored != self.auditor.frontier().to_bytes() {
            let sentence = format!(
                "the tree stored beside the log is not the one over its first {here} records: \
                 the database was changed by hand or restored in part"
            );
            self.differs(sentence);
        }
    }

    fn differs(&mut self, sentence: String) {
        let spot = self.auditor.end();
        let findings = &mut self.auditor.findings;
        findings.add(&spot, "tree", Cause::TreeDiffers, sentence);
    }
}
