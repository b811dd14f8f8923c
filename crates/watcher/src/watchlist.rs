//! How every watched transaction stands, and what must be asked to find out. Pure: it is told of
//! blocks and answers, and says what to ask and what to report.
//!
//! | standing | asked for | reported |
//! |---|---|---|
//! | unasked | receipts of all endpoints, at the next look | not |
//! | found, too few say so | endpoints whose receipts have not said it yet, at every head | not |
//! | found, not deep | nothing: the branch is held by hash | in every sweep |
//! | found and deep | nothing | once, then as below |
//! | absent | receipts again, when a look of the ledger's is due, and long after | as of the head a look was asked at |
//! | unsettled | receipts of all endpoints, at every head | not |
//!
//! What was reported as deep is reported again when the ledger expects it, when the `safe` head and
//! when the `finalized` head reaches its block, and now and then after that; and whenever a
//! reorganisation moves or loses it. What is missing is reported again while the ledger takes it to
//! be in a block, for a report that could not be written is lost.
//!
//! What is not reported, the ledger concludes nothing from. So the number of transactions that are
//! merely awaited, or merely kept in sight, costs nothing but the few receipts of [`again`].

mod again;
mod levels;

use std::collections::{BTreeMap, BTreeSet};

use imbl::OrdSet;
use imbl::ordset::DiffItem;
use x811_protocol::evm::{BlockHash, TxHash};
use x811_protocol::observation::{Block, Hindrance, MinedTransaction, TransactionStatus};

use crate::index::{Entry, TransferIndex};
use crate::source::Header;
use crate::verdict::{EndpointId, FoundTransaction, TransactionVerdict};
use crate::watcher::Expected;
use crate::window::Window;
use again::Again;
use levels::Reached;

/// Receipts asked for in one look, of each endpoint. The rest waits for the next.
pub(crate) const MOST_ASKED: usize = 1_000;

/// A transaction in the order of blocks.
type BlockPlace = (u64, TxHash);

/// Behind all others of one block.
const LAST: TxHash = TxHash::from_bytes([0xff; 32]);

/// Every watched transaction.
#[derive(Debug, Default)]
pub(crate) struct Watchlist {
    confirmed_depth: u64,
    /// Endpoints that must agree before a transaction counts.
    quorum: usize,
    watched: OrdSet<TxHash>,
    standings: BTreeMap<TxHash, Whereabouts>,
    /// Those that are found, by the height of their block.
    found: BTreeSet<BlockPlace>,
    /// Those that are found and were not yet reported as deep.
    shallow: BTreeSet<TxHash>,
    /// Why those failed that did and are deep, as far as it was found out.
    hindrances: BTreeMap<TxHash, Option<Hindrance>>,
    /// Those to be asked for at the next look.
    open: BTreeSet<TxHash>,
    /// Those that changed since the last sweep.
    changed: BTreeSet<TxHash>,
    /// Those that were found and are not any more.
    lost: BTreeSet<TxHash>,
    /// Those that are absent and of which the ledger has not said yet what it takes them for.
    unheard: BTreeSet<TxHash>,
    /// Those that are absent, to be asked for again.
    again: Again,
    /// What was said of `safe` and `finalized`.
    reached: Reached,
}

/// What a sweep is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment<'a> {
    pub(crate) head: Header,
    /// The head was not swept before.
    pub(crate) is_whole: bool,
    pub(crate) safe_number: Option<u64>,
    pub(crate) final_number: Option<u64>,
    /// Some endpoint was just asked for them.
    pub(crate) are_levels_new: bool,
    pub(crate) expected: &'a Expected,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Whereabouts {
    Unasked,
    Found(Box<FoundTransaction>),
    Absent {
        as_of: BlockHash,
        asked_at_number: u64,
    },
    Unsettled {
        asked_at: BlockHash,
        is_contested: bool,
    },
}

/// What to ask about one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    /// Where it is, if anywhere: of all endpoints.
    Where(TxHash),
    /// Whether what was found is so: of the endpoints that have not said it.
    IsSo(TxHash),
    /// Whether what was absent long ago is in a block by now: of all endpoints.
    Still(TxHash),
}

impl Watchlist {
    pub(crate) fn new(confirmed_depth: u64, quorum: usize) -> Watchlist {
        Watchlist {
            confirmed_depth,
            quorum,
            ..Watchlist::default()
        }
    }

    /// How many are watched.
    pub(crate) fn len(&self) -> usize {
        self.standings.len()
    }

    /// How many nothing is reported of although they were asked for.
    pub(crate) fn unsettled(&self) -> usize {
        let unsettled = self
            .open
            .iter()
            .filter(|tx| matches!(self.standings.get(*tx), Some(Whereabouts::Unsettled { .. })));
        unsettled.count()
    }

    /// Those of which endpoints say what excludes each other.
    pub(crate) fn contested(&self) -> BTreeSet<TxHash> {
        let contested = self.open.iter().filter(|tx| {
            let standing = self.standings.get(*tx);
            matches!(
                standing,
                Some(Whereabouts::Unsettled {
                    is_contested: true,
                    ..
                })
            )
        });
        contested.copied().collect()
    }

    /// Watches exactly these from now on. New ones are answered from the index, where it has them.
    /// Costs as much as differs from those before.
    pub(crate) fn watch(&mut self, watched: OrdSet<TxHash>, index: &TransferIndex) {
        let before = std::mem::replace(&mut self.watched, watched.clone());
        for difference in before.diff(&watched) {
            match difference {
                DiffItem::Add(tx) => {
                    self.set(*tx, Whereabouts::Unasked);
                    self.find(*tx, index);
                }
                DiffItem::Remove(tx) => self.drop(tx),
            }
        }
    }

    fn drop(&mut self, tx: &TxHash) {
        match self.standings.remove(tx) {
            Some(Whereabouts::Found(found)) => drop(self.found.remove(&(found.block.number, *tx))),
            Some(Whereabouts::Absent {
                asked_at_number, ..
            }) => self.again.remove(asked_at_number, *tx),
            Some(Whereabouts::Unasked | Whereabouts::Unsettled { .. }) | None => {}
        }
        self.shallow.remove(tx);
        self.hindrances.remove(tx);
        self.open.remove(tx);
        self.changed.remove(tx);
        self.lost.remove(tx);
        self.unheard.remove(tx);
    }

    /// These were in a block that was added to the held branch.
    pub(crate) fn mined(
        &mut self,
        transactions: impl Iterator<Item = TxHash>,
        index: &TransferIndex,
    ) {
        for tx in transactions {
            if self.standings.contains_key(&tx) {
                self.find(tx, index);
            }
        }
    }

    /// The blocks from `replaced_from` on were given up: what was found in them is to be found
    /// again. `is_restart` when nothing that was held is left.
    pub(crate) fn reorganised(
        &mut self,
        window: &Window,
        index: &TransferIndex,
        replaced_from: u64,
        is_restart: bool,
    ) {
        let lowest = if is_restart { 0 } else { replaced_from };
        let from = (lowest, TxHash::from_bytes([0; 32]));
        let concerned: Vec<TxHash> = self.found.range(from..).map(|(_, tx)| *tx).collect();
        for tx in concerned {
            let Some(Whereabouts::Found(found)) = self.standings.get(&tx) else {
                continue;
            };
            let block = found.block;
            let is_below = window.base().is_some_and(|base| block.number < base.number);
            let stands = window.contains(block.number, &block.hash) || (is_below && !is_restart);
            if !stands {
                self.set(tx, Whereabouts::Unasked);
                self.find(tx, index);
            }
        }
    }

    fn find(&mut self, tx: TxHash, index: &TransferIndex) {
        let Some(Entry {
            block,
            transfers,
            authorizations,
            by,
        }) = index.get(&tx)
        else {
            return;
        };
        if matches!(self.standings.get(&tx), Some(Whereabouts::Found(known)) if known.block == block)
        {
            return;
        }
        let found = FoundTransaction {
            block,
            succeeded: true,
            transfers: transfers.to_vec(),
            authorizations: authorizations.iter().copied().collect(),
            // Logs can be truncated. With a quorum of one the receipt confirms them.
            by: by.into_iter().filter(|_| self.quorum > 1).collect(),
        };
        self.set(tx, Whereabouts::Found(Box::new(found)));
    }

    fn set(&mut self, tx: TxHash, standing: Whereabouts) {
        let was_found = self.lost.contains(&tx) || self.found(&tx).is_some();
        self.drop(&tx);
        match &standing {
            Whereabouts::Found(found) => {
                self.found.insert((found.block.number, tx));
                self.shallow.insert(tx);
            }
            Whereabouts::Unasked | Whereabouts::Unsettled { .. } => {
                self.open.insert(tx);
            }
            Whereabouts::Absent {
                asked_at_number, ..
            } => {
                self.again.insert(*asked_at_number, tx);
                self.unheard.insert(tx);
            }
        }
        if was_found && !matches!(standing, Whereabouts::Found(_)) {
            self.lost.insert(tx);
        }
        self.changed.insert(tx);
        self.standings.insert(tx, standing);
    }

    /// What to ask at `head`, at most [`MOST_ASKED`]; `due` are those that a look of the ledger's
    /// waits for. First what may confirm, then what the ledger waits for, then what is new.
    pub(crate) fn questions(&self, head: &Header, due: &BTreeSet<TxHash>) -> Vec<Question> {
        let unconfirmed = self.shallow.iter().filter(|tx| {
            matches!(self.standings.get(*tx), Some(Whereabouts::Found(found))
                if found.by.len() < self.quorum)
        });
        let looked_for = due.iter().filter(|tx| match self.standings.get(*tx) {
            Some(Whereabouts::Absent { as_of, .. }) => *as_of != head.hash,
            Some(Whereabouts::Unasked | Whereabouts::Unsettled { .. } | Whereabouts::Found(_))
            | None => false,
        });
        let is_asked_now = |tx: &&TxHash| match self.standings.get(*tx) {
            Some(Whereabouts::Unsettled { asked_at, .. }) => *asked_at != head.hash,
            Some(Whereabouts::Unasked | Whereabouts::Absent { .. } | Whereabouts::Found(_))
            | None => true,
        };
        let (open_due, open_rest): (Vec<&TxHash>, Vec<&TxHash>) = self
            .open
            .iter()
            .filter(is_asked_now)
            .partition(|tx| due.contains(*tx));
        unconfirmed
            .map(|tx| Question::IsSo(*tx))
            .chain(
                looked_for
                    .chain(open_due)
                    .chain(open_rest)
                    .map(|tx| Question::Where(*tx)),
            )
            .take(MOST_ASKED)
            .collect()
    }

    fn is_deep(&self, found: &FoundTransaction, head: &Header) -> bool {
        (head.number + 1).saturating_sub(found.block.number) >= self.confirmed_depth
    }

    /// Failed transactions that count as deep at `head` and whose reason was not asked for.
    pub(crate) fn unexplained(&self, head: &Header) -> Vec<(TxHash, Block)> {
        let failed = self.shallow.iter().filter_map(|tx| {
            let found = self.found(tx).filter(|found| !found.succeeded)?;
            let is_due = self.is_deep(found, head) && self.counts(found, head);
            (is_due && !self.hindrances.contains_key(tx)).then_some((*tx, found.block))
        });
        failed.collect()
    }

    /// Why it failed, or that nobody says.
    pub(crate) fn explained(&mut self, tx: TxHash, hindrance: Option<Hindrance>) {
        self.hindrances.insert(tx, hindrance);
    }

    /// What was found of it, if it was.
    pub(crate) fn found(&self, tx: &TxHash) -> Option<&FoundTransaction> {
        match self.standings.get(tx)? {
            Whereabouts::Found(found) => Some(found),
            Whereabouts::Unasked | Whereabouts::Absent { .. } | Whereabouts::Unsettled { .. } => {
                None
            }
        }
    }

    /// `endpoint` says of it what the others say.
    pub(crate) fn confirmed_by(&mut self, tx: TxHash, endpoint: EndpointId) {
        if let Some(Whereabouts::Found(found)) = self.standings.get_mut(&tx) {
            found.by.insert(endpoint);
            self.changed.insert(tx);
        }
    }

    /// Those of which the ledger may not know that they are missing.
    pub(crate) fn missing(&self) -> BTreeSet<TxHash> {
        self.lost.union(&self.unheard).copied().collect()
    }

    /// Requests the transactions that were last found missing again, after a block whose transfers are unknown.
    pub(crate) fn ask_newest_missing(&mut self) {
        for tx in self.again.newest() {
            self.set(tx, Whereabouts::Unasked);
        }
    }

    /// The ledger wants to be told of these. Of the rest it knows, unless it has yet to take in that
    /// they were found.
    pub(crate) fn doubted(&mut self, wanted: &BTreeSet<TxHash>) {
        self.unheard.retain(|tx| wanted.contains(tx));
    }

    /// Adds questions about a few of those that have been absent for long.
    pub(crate) fn ask_again(&self, head: &Header, questions: &mut Vec<Question>) {
        let room = MOST_ASKED.saturating_sub(questions.len());
        let due = self
            .again
            .due(head)
            .filter(|tx| !questions.contains(&Question::Where(*tx)));
        let due: Vec<Question> = due.take(room).map(Question::Still).collect();
        questions.extend(due);
    }

    /// It was asked for again, and nobody has it. Whether all that had to said so is of no
    /// account: it is not reported.
    pub(crate) fn still_absent(&mut self, tx: TxHash, head: &Header) {
        if let Some(Whereabouts::Absent {
            asked_at_number, ..
        }) = self.standings.get_mut(&tx)
        {
            self.again.remove(*asked_at_number, tx);
            *asked_at_number = head.number;
            self.again.insert(head.number, tx);
        }
    }

    /// What the endpoints said of it, as of `head`.
    pub(crate) fn judged(&mut self, tx: TxHash, verdict: TransactionVerdict, head: &Header) {
        let standing = match verdict {
            TransactionVerdict::Found(found) => Whereabouts::Found(Box::new(found)),
            TransactionVerdict::Absent => Whereabouts::Absent {
                as_of: head.hash,
                asked_at_number: head.number,
            },
            TransactionVerdict::Unsettled { contradiction } => Whereabouts::Unsettled {
                asked_at: head.hash,
                is_contested: !contradiction.is_empty(),
            },
        };
        if self.standings.contains_key(&tx) {
            self.set(tx, standing);
        }
    }

    /// What is to be said at that moment, and the endpoints it rests on, which `labels` name.
    pub(crate) fn sweep(
        &mut self,
        moment: &Moment<'_>,
        labels: &[String],
    ) -> (BTreeMap<TxHash, TransactionStatus>, BTreeSet<EndpointId>) {
        let head = &moment.head;
        let mut by = BTreeSet::new();
        let mut said = BTreeMap::new();
        for tx in self.due(moment) {
            match self.standings.get(&tx) {
                Some(Whereabouts::Found(found)) if self.counts(found, head) => {
                    by.extend(&found.by);
                    let hindrance = self.hindrances.get(&tx).copied().flatten();
                    said.insert(tx, mined(found, hindrance, labels));
                    if self.is_deep(found, head) {
                        self.shallow.remove(&tx);
                    }
                }
                Some(Whereabouts::Absent { as_of, .. }) if *as_of == head.hash => {
                    said.insert(tx, TransactionStatus::NotFound);
                }
                Some(
                    Whereabouts::Found(_)
                    | Whereabouts::Absent { .. }
                    | Whereabouts::Unasked
                    | Whereabouts::Unsettled { .. },
                )
                | None => {}
            }
        }
        (said, by)
    }

    /// Those of which something may have to be said.
    fn due(&mut self, moment: &Moment<'_>) -> BTreeSet<TxHash> {
        let mut due = std::mem::take(&mut self.changed);
        if moment.is_whole {
            let Expected {
                looked_for,
                undecided,
                recorded: _,
                headers: _,
            } = moment.expected;
            due.extend(self.shallow.iter().chain(looked_for).chain(undecided));
        }
        due.extend(self.reached.news(&self.found, moment));
        due
    }

    fn counts(&self, found: &FoundTransaction, head: &Header) -> bool {
        let is_held = found.block.number <= head.number;
        is_held && found.by.len() >= self.quorum
    }

    /// Everything is to be said again. What was absent is asked for again as what is missing.
    pub(crate) fn forget_reports(&mut self) {
        self.changed.extend(self.standings.keys());
    }
}

fn mined(
    found: &FoundTransaction,
    hindrance: Option<Hindrance>,
    labels: &[String],
) -> TransactionStatus {
    let endpoints = found.by.iter().filter_map(|id| labels.get(*id));
    TransactionStatus::Mined(MinedTransaction {
        block: found.block,
        succeeded: found.succeeded,
        transfers: found.transfers.clone(),
        authorizations: found.authorizations.clone(),
        hindrance,
        endpoints: endpoints.cloned().collect(),
    })
}
