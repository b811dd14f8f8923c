//! Whether everything kept beside the log is what the log says: indexes, bodies, tree, and rows.
//!
//! The audit asks whether the *log* is right; the doctor takes the log as it is and examines what
//! is derived from it. Rows are not compared one by one: they are written a second time, beside
//! the old ones, by the code that writes them always, and the two are compared as a whole.

mod indexes;
mod readable;
mod signed;

pub use readable::{Readable, readable};
pub use signed::{SignedFault, check_signed};

use crate::port::{LedgerStore, ReadModel};
use crate::sequencer::read_event;
use indexes::Expected;
use std::collections::BTreeMap;
use x811_eventlog::{AppendError, ChainVerifier, EventLog, ReadError, Record};
use x811_protocol::event::{BodiesErased, Event, LedgerEvent};
use x811_world::World;
use x811_world::projection;
use x811_world::row::RowChange;

/// Records read at a time.
const PAGE: usize = 1_024;

/// Most findings that are kept; further ones are counted.
const MAX_FINDINGS: usize = 1_000;

/// Something that is not as the log says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// What is wrong: `log`, `tree`, `bodies`, `envelope_ids`, `idempotency` or `claims`.
    pub part: &'static str,
    /// How it is wrong, for a person.
    pub sentence: String,
}

/// What is wrong: the first 1,000 findings, and how many more there are.
#[derive(Debug, Default)]
pub struct Findings {
    /// The first ones.
    pub kept: Vec<Finding>,
    /// How many more there were.
    pub left_out: u64,
}

impl Findings {
    fn add(&mut self, part: &'static str, sentence: String) {
        if self.kept.len() < MAX_FINDINGS {
            self.kept.push(Finding { part, sentence });
        } else {
            self.left_out += 1;
        }
    }
}

/// What an examination found.
#[derive(Debug)]
pub struct Examined {
    /// How many records were replayed.
    pub size: u64,
    /// What is wrong.
    pub findings: Findings,
    /// The world after them.
    pub world: World,
    /// The world at each size that was asked for and reached.
    pub worlds: BTreeMap<u64, World>,
}

/// Why an examination could not go on.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The rows beside the old ones cannot be written.
    #[error("the rows could not be rebuilt: {0}")]
    Rebuild(#[from] AppendError),
}

/// Replays the log, compares what lies beside it, and writes the rows of its first `rows_size`
/// records into `rebuilt`, which must be empty. Gives the worlds at `sizes` too.
///
/// A log that does not replay is a finding, and ends the examination: the audit says more.
///
/// # Errors
/// See [`DoctorError`]; damage is in the findings.
pub async fn examine<S: LedgerStore, R: ReadModel>(
    store: &S,
    rebuilt: &R,
    rows_size: u64,
    sizes: &[u64],
) -> Result<Examined, DoctorError> {
    examine_telling(store, rebuilt, rows_size, sizes, |_| {}).await
}

/// The same, telling after each page how many records are done.
///
/// # Errors
/// See [`DoctorError`]; damage is in the findings.
pub async fn examine_telling<S: LedgerStore, R: ReadModel>(
    store: &S,
    rebuilt: &R,
    rows_size: u64,
    sizes: &[u64],
    tell: impl FnMut(u64) + Send,
) -> Result<Examined, DoctorError> {
    let mut examination = Examination {
        world: World::empty(),
        chain: ChainVerifier::new(),
        expected: Expected::default(),
        findings: Findings::default(),
        worlds: BTreeMap::new(),
    };
    match examination
        .walk(store, rebuilt, rows_size, sizes, tell)
        .await
    {
        Err(DoctorError::Read(error)) => {
            let size = examination.world.head().size;
            let sentence = format!(
                "after {size} records that can be read: {}",
                chain_of(&error)
            );
            examination.findings.add("log", sentence);
        }
        walked => walked?,
    }
    Ok(Examined {
        size: examination.world.head().size,
        findings: examination.findings,
        world: examination.world,
        worlds: examination.worlds,
    })
}

/// An error with what is behind it: what a store says of its file is in there.
fn chain_of(error: &ReadError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(behind) = source {
        let behind_text = behind.to_string();
        if !text.contains(&behind_text) {
            text = format!("{text}: {behind_text}");
        }
        source = behind.source();
    }
    text
}

/// How many records there are, and the tree over them. A ledger may write meanwhile, always both
/// at once: then the tree says how many.
async fn extent<S: LedgerStore>(store: &S) -> Result<(u64, Option<(u64, Vec<u8>)>), ReadError> {
    let before = store.log().head().await?.size;
    let tree = store.frontier().await?;
    let size = match &tree {
        Some((tree_size, _)) if *tree_size > before => {
            store.log().head().await?.size.min(*tree_size)
        }
        Some(_) | None => before,
    };
    Ok((size, tree))
}

/// What was erased behind the first `size` records: a ledger may do so meanwhile.
async fn erased_since<S: LedgerStore>(
    store: &S,
    size: u64,
) -> Result<Vec<BodiesErased>, ReadError> {
    let (mut next, mut erased) = (size, Vec::new());
    loop {
        let page = store.log().read(next, PAGE).await?;
        if page.is_empty() {
            return Ok(erased);
        }
        next += page.len() as u64;
        for record in &page {
            if record.event_type() == b"bodies_erased"
                && let Ok(Event::Ledger(LedgerEvent::BodiesErased(later))) = read_event(record)
            {
                erased.push(later);
            }
        }
    }
}

struct Examination {
    world: World,
    chain: ChainVerifier,
    expected: Expected,
    findings: Findings,
    worlds: BTreeMap<u64, World>,
}

impl Examination {
    /// Goes through everything.
    async fn walk<S: LedgerStore, R: ReadModel>(
        &mut self,
        store: &S,
        rebuilt: &R,
        rows_size: u64,
        sizes: &[u64],
        mut tell: impl FnMut(u64) + Send,
    ) -> Result<(), DoctorError> {
        // Where the end cannot be read, what lies before it can be.
        let extent = extent(store).await;
        let (size, tree) = match &extent {
            Ok((size, tree)) => (*size, tree.as_ref()),
            Err(_) => (u64::MAX, None),
        };
        while self.world.head().size < size {
            let from = self.world.head().size;
            let rest = usize::try_from(size - from).unwrap_or(usize::MAX);
            let page = store.log().read(from, PAGE.min(rest)).await?;
            let (read, changes) = self.replay(&page, rows_size, sizes);
            self.expected.compare(store, &mut self.findings).await?;
            if from < rows_size {
                let to = self.world.head().size.min(rows_size);
                rebuilt.apply(from, to, &changes).await?;
            }
            if !read || page.is_empty() {
                break;
            }
            tell(self.world.head().size);
            // A running ledger has more to do than this.
            tokio::task::yield_now().await;
        }
        if let Some(tree) = tree {
            self.compare_tree(tree, size);
        }
        let reached = self.world.head().size;
        let counts = store.index_counts(reached).await?;
        let later = erased_since(store, reached).await?;
        self.expected.compare_bodies(&later, &mut self.findings);
        self.expected.compare_counts(counts, &mut self.findings);
        extent?;
        Ok(())
    }

    /// Applies a page; `false` when it could not be applied whole.
    fn replay(&mut self, page: &[Record], rows_size: u64, sizes: &[u64]) -> (bool, Vec<RowChange>) {
        let mut changes = Vec::new();
        for record in page {
            if let Err(sentence) = self.apply(record, rows_size, &mut changes) {
                self.findings.add("log", sentence);
                return (false, changes);
            }
            if sizes.contains(&self.world.head().size) {
                self.worlds
                    .insert(self.world.head().size, self.world.clone());
            }
        }
        (true, changes)
    }

    fn apply(
        &mut self,
        record: &Record,
        rows_size: u64,
        changes: &mut Vec<RowChange>,
    ) -> Result<(), String> {
        if let Some(broken) = self.chain.push(record).into_iter().next() {
            return Err(broken.to_string());
        }
        let event = read_event(record).map_err(|fault| fault.to_string())?;
        // A world that refused a record is in no defined state: go on with the one before.
        let mut world = self.world.clone();
        let touched = world
            .apply(record, &event)
            .map_err(|fault| fault.to_string())?;
        self.world = world;
        if record.position() < rows_size {
            changes.extend(projection::changes(&self.world, record, &event, &touched));
        }
        self.expected.note(record, &event);
        Ok(())
    }

    fn compare_tree(&mut self, (tree_size, stored): &(u64, Vec<u8>), size: u64) {
        let sentence = if *tree_size != size {
            format!("the stored tree is over {tree_size} records, the log has {size}")
        } else if self.world.head().size == size && *stored != self.world.frontier().to_bytes() {
            format!("the stored tree is not the one over the first {size} records")
        } else {
            return;
        };
        self.findings.add("tree", sentence);
    }
}
