//! The hashes of a ledger's store, also while the ledger runs.

use tokio::sync::oneshot;
use x811_eventlog::{BackendError, Checkpoint, EventLog as _, Frontier, Hash, ReadError, Record};

use x811_audit::{HashAudit, HashReport, Options, PAGE_RECORDS, Piece};

use super::from_store::size_to_read;
use crate::port::LedgerStore;

/// Audits the hashes of what `store` holds now and nothing else.
///
/// # Errors
/// When the store cannot be read at all; damage is in the report.
pub async fn hash_store<S: LedgerStore>(
    store: &S,
    options: impl Into<Options>,
) -> Result<HashReport, ReadError> {
    let options = options.into();
    let tree = store.frontier().await?;
    let mut source = Source {
        store,
        size: size_to_read(store).await?,
        next: 0,
        marks: marks(tree, options.checkpoint.clone()),
    };
    let mut audit = HashAudit::new(&options);
    let mut page = source.page().await?;
    while !page.is_empty() {
        let (taken, next) = tokio::join!(take(audit, page), source.page());
        (audit, page) = (taken?, next?);
        options.tell(source.next, source.size);
    }
    audit.close(None);
    Ok(audit.report(None))
}

/// Takes a page on a thread that may compute.
async fn take(mut audit: HashAudit, page: Vec<Piece<Record>>) -> Result<HashAudit, ReadError> {
    let (done, taken) = oneshot::channel();
    rayon::spawn(move || {
        audit.take(page);
        // Nobody waits for it where reading failed.
        let _ = done.send(audit);
    });
    taken.await.map_err(|lost| {
        let lost: BackendError = Box::new(lost);
        ReadError::Backend(lost)
    })
}

/// What is compared when so many records are read, the least first.
fn marks(tree: Option<(u64, Vec<u8>)>, checkpoint: Option<String>) -> Vec<(u64, Piece<Record>)> {
    let mut marks = Vec::new();
    if let Some((size, bytes)) = tree {
        let root = Frontier::from_bytes(&bytes).map_or(Hash::ZERO, |tree| tree.root());
        marks.push((size, Piece::Tree { size, root }));
    }
    if let Some(note) = checkpoint {
        // What is no checkpoint shows in the end.
        let size = Checkpoint::claimed(&note).map_or(u64::MAX, |checkpoint| checkpoint.size);
        marks.push((size, Piece::Checkpoint { note, line: None }));
    }
    marks.sort_by_key(|(size, _)| *size);
    marks
}

/// Reads a store from its first record to `size`.
struct Source<'a, S> {
    store: &'a S,
    size: u64,
    /// Position to be read next.
    next: u64,
    marks: Vec<(u64, Piece<Record>)>,
}

impl<S: LedgerStore> Source<'_, S> {
    /// The next page; an empty one at the end.
    async fn page(&mut self) -> Result<Vec<Piece<Record>>, ReadError> {
        let rest = usize::try_from(self.size - self.next).unwrap_or(usize::MAX);
        let mut pieces = Vec::new();
        let read = match rest {
            0 => Ok(Vec::new()),
            _ => {
                self.store
                    .log()
                    .read(self.next, PAGE_RECORDS.min(rest))
                    .await
            }
        };
        match read {
            Ok(page) if page.is_empty() => {
                self.size = self.next;
                pieces.extend(self.marks.drain(..).map(|(_, piece)| piece));
            }
            Ok(page) => {
                for record in page {
                    let position = record.position();
                    while self
                        .marks
                        .first()
                        .is_some_and(|(size, _)| *size <= position)
                    {
                        pieces.push(self.marks.remove(0).1);
                    }
                    pieces.push(Piece::Leaf {
                        leaf: record,
                        line: None,
                        path: None,
                    });
                    self.next += 1;
                }
            }
            Err(ReadError::Damaged(broken)) => {
                self.size = self.next;
                pieces.push(Piece::Damaged(broken));
            }
            Err(error) => return Err(error),
        }
        Ok(pieces)
    }
}
