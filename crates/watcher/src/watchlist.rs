//! How every watched transaction stands, and what must be asked to find out. Pure: it is told of
//! blocks and answers, and says what to ask and what to report.
//!
//! | standing | asked for | reported |
//! |---|---|---|
//! | unasked | receipts of all endpoints, at the next look | not |
//! | found, not deep | nothing: the branch is held by hash | in every sweep |
//! | found and deep | endpoints that have not confirmed it yet | once enough agree |
//! | absent | receipts again, when a look of the ledger's is due | as of the head it was asked at |
//! | unsettled | receipts of all endpoints, at every head | not |
//!
//! What is not reported, the ledger concludes nothing from. So the number of transactions that are
//! merely awaited costs nothing.

use std::collections::{BTreeMap, BTreeSet};

use x811_protocol::evm::{BlockHash, TxHash};
use x811_protocol::observation::{MinedTransaction, TransactionStatus};

use crate::index::{Entry, TransferIndex};
use crate::source::Header;
use crate::verdict::{EndpointId, Found, Verdict};
use crate::window::Window;

/// Receipts asked for in one look, of each endpoint. The rest waits for the next.
pub(crate) const MOST_ASKED: usize = 1_000;

/// Every watched transaction.
#[derive(Debug)]
pub(crate) struct Watchlist {
    confirmed_depth: u64,
    /// Endpoints that must agree before a transaction counts at confirmed depth.
    quorum: usize,
    standings: BTreeMap<TxHash, Standing>,
    /// Those that are found.
    found: BTreeSet<TxHash>,
    /// Those to be asked for at the next look.
    open: BTreeSet<TxHash>,
    /// Those that changed since the last sweep.
    changed: BTreeSet<TxHash>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    Unasked,
    Found(Box<Found>),
    Absent { as_of: BlockHash },
    Unsettled { asked_at: BlockHash },
}

/// What to ask about one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    /// Where it is, if anywhere: of all endpoints.
    Where(TxHash),
    /// Whether what was found is so: of the endpoints that have not said it.
    IsSo(TxHash),
}

impl Watchlist {
    pub(crate) fn new(confirmed_depth: u64, endpoints: usize) -> Watchlist {
        Watchlist {
            confirmed_depth,
            quorum: endpoints.min(2),
            standings: BTreeMap::new(),
            found: BTreeSet::new(),
            open: BTreeSet::new(),
            changed: BTreeSet::new(),
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
            .filter(|tx| matches!(self.standings.get(*tx), Some(Standing::Unsettled { .. })));
        unsettled.count()
    }

    /// Watches exactly these from now on. New ones are answered from the index, where it has them.
    pub(crate) fn watch(&mut self, watched: &BTreeSet<TxHash>, index: &TransferIndex) {
        if self.standings.len() != watched.len()
            || self.standings.keys().any(|tx| !watched.contains(tx))
        {
            self.standings.retain(|tx, _| watched.contains(tx));
            self.found.retain(|tx| watched.contains(tx));
            self.open.retain(|tx| watched.contains(tx));
            self.changed.retain(|tx| watched.contains(tx));
        }
        for tx in watched {
            if !self.standings.contains_key(tx) {
                self.set(*tx, Standing::Unasked);
                self.find(*tx, index);
            }
        }
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

    /// Blocks were given up: what was found in them is to be found again. `is_restart` when nothing
    /// that was held is left.
    pub(crate) fn reorganised(&mut self, window: &Window, index: &TransferIndex, is_restart: bool) {
        for tx in self.found.clone() {
            let Some(Standing::Found(found)) = self.standings.get(&tx) else {
                continue;
            };
            let block = found.block;
            let is_below = window.base().is_some_and(|base| block.number < base.number);
            let stands = window.contains(block.number, &block.hash) || (is_below && !is_restart);
            if !stands {
                self.set(tx, Standing::Unasked);
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
        if matches!(self.standings.get(&tx), Some(Standing::Found(known)) if known.block == block) {
            return;
        }
        let found = Found {
            block,
            succeeded: true,
            transfers: transfers.to_vec(),
            authorizations: authorizations.iter().copied().collect(),
            by: BTreeSet::from_iter(by),
        };
        self.set(tx, Standing::Found(Box::new(found)));
    }

    fn set(&mut self, tx: TxHash, standing: Standing) {
        let (is_found, is_open) = match standing {
            Standing::Found(_) => (true, false),
            Standing::Unasked | Standing::Unsettled { .. } => (false, true),
            Standing::Absent { .. } => (false, false),
        };
        let place = |set: &mut BTreeSet<TxHash>, is_in| {
            if is_in {
                set.insert(tx)
            } else {
                set.remove(&tx)
            }
        };
        place(&mut self.found, is_found);
        place(&mut self.open, is_open);
        self.changed.insert(tx);
        self.standings.insert(tx, standing);
    }

    /// What to ask at `head`, at most [`MOST_ASKED`]; `due` are those that a look of the ledger's
    /// waits for. First what may confirm, then what the ledger waits for, then what is new.
    pub(crate) fn questions(&self, head: &Header, due: &BTreeSet<TxHash>) -> Vec<Question> {
        let unconfirmed = self.found.iter().filter(|tx| {
            matches!(self.standings.get(*tx), Some(Standing::Found(found))
                if self.is_deep(found, head) && found.by.len() < self.quorum)
        });
        let looked_for = due.iter().filter(|tx| match self.standings.get(*tx) {
            Some(Standing::Absent { as_of }) => *as_of != head.hash,
            Some(Standing::Unasked | Standing::Unsettled { .. } | Standing::Found(_)) | None => {
                false
            }
        });
        let is_asked_now = |tx: &&TxHash| match self.standings.get(*tx) {
            Some(Standing::Unsettled { asked_at }) => *asked_at != head.hash,
            Some(Standing::Unasked | Standing::Absent { .. } | Standing::Found(_)) | None => true,
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

    fn is_deep(&self, found: &Found, head: &Header) -> bool {
        (head.number + 1).saturating_sub(found.block.number) >= self.confirmed_depth
    }

    /// What was found of it, if it was.
    pub(crate) fn found(&self, tx: &TxHash) -> Option<&Found> {
        match self.standings.get(tx)? {
            Standing::Found(found) => Some(found),
            Standing::Unasked | Standing::Absent { .. } | Standing::Unsettled { .. } => None,
        }
    }

    /// `endpoint` says of it what the others say.
    pub(crate) fn confirmed_by(&mut self, tx: TxHash, endpoint: EndpointId) {
        if let Some(Standing::Found(found)) = self.standings.get_mut(&tx) {
            found.by.insert(endpoint);
            self.changed.insert(tx);
        }
    }

    /// What the endpoints said of it, as of `head`.
    pub(crate) fn judged(&mut self, tx: TxHash, verdict: Verdict, head: &Header) {
        let standing = match verdict {
            Verdict::Found(found) => Standing::Found(Box::new(found)),
            Verdict::Absent => Standing::Absent { as_of: head.hash },
            Verdict::Unsettled { .. } => Standing::Unsettled {
                asked_at: head.hash,
            },
        };
        if self.standings.contains_key(&tx) {
            self.set(tx, standing);
        }
    }

    /// What is to be said at `head`: everything that can be, or only what changed since the last
    /// time. And the endpoints it rests on, which `labels` name.
    pub(crate) fn sweep(
        &mut self,
        head: &Header,
        is_whole: bool,
        labels: &[String],
    ) -> (BTreeMap<TxHash, TransactionStatus>, BTreeSet<EndpointId>) {
        let mut by = BTreeSet::new();
        let mut said = BTreeMap::new();
        let changed = std::mem::take(&mut self.changed);
        let found = if is_whole { &self.found } else { &changed };
        for tx in found.union(&changed) {
            match self.standings.get(tx) {
                Some(Standing::Found(found)) if self.counts(found, head) => {
                    by.extend(&found.by);
                    said.insert(*tx, mined(found, labels));
                }
                Some(Standing::Absent { as_of }) if *as_of == head.hash => {
                    said.insert(*tx, TransactionStatus::NotFound);
                }
                Some(
                    Standing::Found(_)
                    | Standing::Absent { .. }
                    | Standing::Unasked
                    | Standing::Unsettled { .. },
                )
                | None => {}
            }
        }
        (said, by)
    }

    fn counts(&self, found: &Found, head: &Header) -> bool {
        let is_held = found.block.number <= head.number;
        is_held && (!self.is_deep(found, head) || found.by.len() >= self.quorum)
    }

    /// Everything is to be said again, and what was absent asked again.
    pub(crate) fn forget_reports(&mut self) {
        self.changed.extend(self.standings.keys());
    }
}

fn mined(found: &Found, labels: &[String]) -> TransactionStatus {
    let endpoints = found.by.iter().filter_map(|id| labels.get(*id));
    TransactionStatus::Mined(MinedTransaction {
        block: found.block,
        succeeded: found.succeeded,
        transfers: found.transfers.clone(),
        authorizations: found.authorizations.clone(),
        endpoints: endpoints.cloned().collect(),
    })
}
