//! The audit of a ledger's store, also while the ledger runs.

use std::collections::VecDeque;
use std::convert::Infallible;

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};
use x811_eventlog::{BackendError, Break, Checkpoint, EventLog, ReadError, Record};
use x811_protocol::payload::PayloadRules;

use x811_audit::pages::{self, Next};
use x811_audit::{Auditor, Cause, Entry, Examined, Leaf, Options, Report, Spot, Whole};

use super::compare;
use crate::port::{DamagedRow, LedgerStore, ReadModel};

/// Most damaged records that are stepped over one by one.
const MAX_DAMAGED: u64 = 10_000;

/// Pages that are read and that nobody has begun to examine.
const PAGES_AHEAD: usize = 2;

/// Audits what `store` holds now, and compares `read_model`, if there is one, with what the log
/// says. Records that are appended meanwhile are left out, and rows that follow them are not held
/// against anybody.
///
/// # Errors
/// When the store cannot be read at all; damage is in the report.
pub async fn audit_store<S: LedgerStore, R: ReadModel>(
    store: &S,
    read_model: Option<&R>,
    options: impl Into<Options>,
) -> Result<Report, ReadError> {
    let options = options.into();
    // In this order: each is known to be no newer than the next.
    let applied_size = match read_model {
        Some(rows) => applied_size(rows).await?,
        None => Ok(0),
    };
    let tree = store.frontier().await?;
    let size = size_to_read(store).await?;
    let mut source = Source {
        store,
        size,
        next: 0,
        damaged: 0,
        ahead: VecDeque::new(),
    };
    let audit = StoreAudit {
        auditor: Auditor::with(&options),
        tree,
        checkpoint: options.checkpoint.clone().map(with_size),
        size,
        options,
    };
    let mut auditor = audit.of_all(&mut source).await?;
    auditor.close(None, None);
    let mut check = None;
    if let Some(rows) = read_model {
        check = match applied_size {
            Ok(applied) => Some(compare::read_model(&mut auditor, rows, applied, size).await?),
            Err(damaged) => {
                compare::damaged_row(auditor.findings_mut(), size, &damaged);
                None
            }
        };
    }
    let mut report = auditor.report(None);
    report.read_model = check;
    Ok(report)
}

/// How many records the rows reflect, or the damage of the row that says so.
async fn applied_size<R: ReadModel>(rows: &R) -> Result<Result<u64, DamagedRow>, ReadError> {
    match rows.applied_size().await {
        Ok(size) => Ok(Ok(size)),
        Err(error) => {
            let damaged = DamagedRow::reported_by(&error).cloned();
            damaged.map(Err).ok_or(error)
        }
    }
}

/// How many records there are to read.
pub(super) async fn size_to_read<S: LedgerStore>(store: &S) -> Result<u64, ReadError> {
    match store.log().head().await {
        Ok(head) => Ok(head.size),
        // A damaged last record: read until there is nothing.
        Err(ReadError::Damaged(broken)) => Ok(broken.position.saturating_add(1)),
        Err(error) => Err(error),
    }
}

/// What is no checkpoint shows in the end.
fn with_size(note: String) -> (u64, String) {
    let size = Checkpoint::claimed(&note).map_or(u64::MAX, |checkpoint| checkpoint.size);
    (size, note)
}

/// What a store holds, in order.
enum StoreItem {
    Entry(Entry),
    /// A record that cannot be read: where, and why.
    Damaged(u64, String),
}

/// The same, examined.
enum ExaminedItem {
    Entry(Examined),
    Damaged(u64, String),
}

impl ExaminedItem {
    fn of(item: StoreItem, rules: Option<PayloadRules>) -> ExaminedItem {
        match item {
            StoreItem::Entry(entry) => ExaminedItem::Entry(Examined::of(entry, rules)),
            StoreItem::Damaged(position, why) => ExaminedItem::Damaged(position, why),
        }
    }
}

impl pages::Item for ExaminedItem {
    fn whole_mut(&mut self) -> Option<&mut Whole> {
        match self {
            ExaminedItem::Entry(examined) => examined.whole_mut(),
            ExaminedItem::Damaged(..) => None,
        }
    }
}

/// An audit of a store in progress.
struct StoreAudit {
    auditor: Auditor,
    /// The stored tree, until it has been compared.
    tree: Option<(u64, Vec<u8>)>,
    /// The last signed checkpoint and how many records it says it covers, until it has been
    /// compared.
    checkpoint: Option<(u64, String)>,
    /// How many records there are.
    size: u64,
    options: Options,
}

impl StoreAudit {
    /// Audits everything that `source` reads.
    async fn of_all<S: LedgerStore>(
        mut self,
        source: &mut Source<'_, S>,
    ) -> Result<Auditor, ReadError> {
        let (pages, read) = mpsc::channel(PAGES_AHEAD);
        let (done, audited) = oneshot::channel();
        rayon::spawn(move || {
            self.take_all(read);
            // Nobody waits for it where reading failed.
            let _ = done.send(self);
        });
        loop {
            let page = source.page().await?;
            // Nobody takes it where the audit died, which shows below.
            if page.is_empty() || pages.send(page).await.is_err() {
                break;
            }
        }
        drop(pages);
        let mut audit = audited.await.map_err(|lost| {
            let lost: BackendError = Box::new(lost);
            ReadError::Backend(lost)
        })?;
        audit.tree_is_no_longer();
        audit.checkpoint_is_no_longer();
        Ok(audit.auditor)
    }

    /// Takes the pages of a log as they are read, on a thread that may wait for them.
    fn take_all(&mut self, mut read: mpsc::Receiver<Vec<StoreItem>>) {
        let Ok(()) = pages::run(self, |may_wait| {
            let page = if may_wait {
                read.blocking_recv().ok_or(TryRecvError::Disconnected)
            } else {
                read.try_recv()
            };
            Ok::<_, Infallible>(match page {
                Ok(page) => Next::Page(page),
                Err(TryRecvError::Empty) => Next::Later,
                Err(TryRecvError::Disconnected) => Next::End,
            })
        });
    }
}

impl pages::Audit for StoreAudit {
    type Item = StoreItem;
    type Examined = ExaminedItem;

    fn rules(&self) -> Option<PayloadRules> {
        self.auditor.rules()
    }

    fn examine(page: Vec<StoreItem>, rules: Option<PayloadRules>) -> Vec<ExaminedItem> {
        let items = page.into_iter();
        items.map(|item| ExaminedItem::of(item, rules)).collect()
    }

    fn settle(&mut self, item: ExaminedItem) {
        match item {
            ExaminedItem::Entry(examined) => {
                self.auditor.settle(examined, None);
                self.compare_tree();
                self.compare_checkpoint();
            }
            ExaminedItem::Damaged(position, why) => {
                let spot = Spot::at(position);
                let (cause, findings) = (Cause::BytesChanged, self.auditor.findings_mut());
                findings.add(&spot, "leaf", cause, why);
            }
        }
    }

    fn page_settled(&mut self) {
        self.options.tell(self.auditor.size(), self.size);
    }
}

impl StoreAudit {
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

    /// At the end, a tree that is still there is over more records than the log has.
    fn tree_is_no_longer(&mut self) {
        if let Some((tree_size, _)) = self.tree.take() {
            let sentence = format!(
                "the stored tree is over {tree_size} records, the log has {}",
                self.auditor.size()
            );
            self.differs(sentence);
        }
    }

    /// Once as many records are read as it covers.
    fn compare_checkpoint(&mut self) {
        let here = self.auditor.size();
        if let Some((_, note)) = self.checkpoint.take_if(|(size, _)| *size == here) {
            self.auditor.checkpoint(&note, None, None);
        }
    }

    /// At the end, one that is still there covers more records than the log has, or is none.
    fn checkpoint_is_no_longer(&mut self) {
        if let Some((_, note)) = self.checkpoint.take() {
            self.auditor.checkpoint(&note, None, None);
        }
    }

    fn differs(&mut self, sentence: String) {
        let spot = self.auditor.end();
        let findings = self.auditor.findings_mut();
        findings.add(&spot, "tree", Cause::TreeDiffers, sentence);
    }
}

/// Reads a store from its first record to `size`.
struct Source<'a, S> {
    store: &'a S,
    size: u64,
    /// Position to be read next.
    next: u64,
    /// Damaged records so far.
    damaged: u64,
    /// Records that were read, but whose bodies were not.
    ahead: VecDeque<Record>,
}

impl<S: LedgerStore> Source<'_, S> {
    /// The next page; an empty one at the end.
    async fn page(&mut self) -> Result<Vec<StoreItem>, ReadError> {
        let mut items = Vec::new();
        while self.ahead.is_empty() && items.is_empty() && self.next < self.size {
            let rest = usize::try_from(self.size - self.next).unwrap_or(usize::MAX);
            let read = self.store.log().read(self.next, pages::ITEMS.min(rest));
            match read.await {
                Ok(page) if page.is_empty() => self.next = self.size,
                Ok(page) => {
                    self.next += page.len() as u64;
                    self.ahead.extend(page);
                }
                Err(ReadError::Damaged(broken)) if self.damaged < MAX_DAMAGED => {
                    self.damaged += 1;
                    items = self.around(&broken).await?;
                }
                Err(error) => return Err(error),
            }
        }
        let records = self.page_of_records();
        if !records.is_empty() {
            items = self.with_bodies(records).await?;
        }
        Ok(items)
    }

    /// Records ahead whose bodies are held in memory together.
    fn page_of_records(&mut self) -> Vec<Record> {
        let (mut records, mut bytes) = (Vec::new(), 0);
        while bytes < pages::BYTES
            && let Some(record) = self.ahead.pop_front()
        {
            bytes = bytes.saturating_add(body_bytes(&record));
            records.push(record);
        }
        records
    }

    /// Takes what lies before a damaged record, names it, and goes on behind it.
    async fn around(&mut self, broken: &Break) -> Result<Vec<StoreItem>, ReadError> {
        let from = self.next;
        let damaged = broken.position.max(from);
        let sound = usize::try_from(damaged - from).unwrap_or(usize::MAX);
        let mut items = Vec::new();
        if sound > 0 {
            match self.store.log().read(from, sound).await {
                Ok(page) => items = self.with_bodies(page).await?,
                Err(ReadError::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        // What is missing shows with the record behind it.
        if !matches!(broken.cause, x811_eventlog::Cause::Missing { .. }) {
            items.push(StoreItem::Damaged(damaged, broken.cause.to_string()));
        }
        self.next = damaged + 1;
        Ok(items)
    }

    async fn with_bodies(&self, records: Vec<Record>) -> Result<Vec<StoreItem>, ReadError> {
        let positions: Vec<u64> = records.iter().map(Record::position).collect();
        let mut bodies = self.store.bodies(&positions).await?;
        let entry = |record: Record| {
            let body = bodies.remove(&record.position());
            StoreItem::Entry(Entry {
                leaf: Leaf::Record(record),
                body: body.map(|body| body.bytes),
                line: None,
                body_line: None,
            })
        };
        Ok(records.into_iter().map(entry).collect())
    }
}

/// Bytes of the body, as the record says.
fn body_bytes(record: &Record) -> usize {
    // Quotes are escaped inside of strings, so this is a key, and only envelopes have it.
    let event = std::str::from_utf8(record.event_json()).unwrap_or_default();
    let behind = event
        .split_once("\"size\":")
        .map_or("", |(_, behind)| behind);
    let digits = behind.bytes().take_while(u8::is_ascii_digit);
    digits.fold(0_usize, |size, digit| {
        size.saturating_mul(10)
            .saturating_add(usize::from(digit - b'0'))
    })
}
