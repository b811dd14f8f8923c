//! What to ask next, and what to say: the watcher's decisions, free of sockets and timers.
//! Moments are milliseconds of a monotonic clock that the caller starts.

use std::collections::{BTreeMap, BTreeSet};

use x811_protocol::evm::{BlockHash, TxHash};
use x811_protocol::observation::TransactionStatus;

use crate::backoff::Backoff;
use crate::source::Header;

/// A healthy endpoint is asked for its chain id this often.
const CHAIN_CHECK_MS: u64 = 60_000;
/// `safe` and `finalized` are asked for at most once in so many blocks.
const LEVELS_EVERY_BLOCKS: u64 = 5;
/// An endpoint that cannot be asked is reported at most this often.
const REPORT_EVERY_MS: u64 = 1_000;

/// What one watcher knows beside its header window.
#[derive(Debug)]
pub(crate) struct Plan {
    token_proven: bool,
    chain_proven_at_ms: Option<u64>,
    levels: Levels,
    swept: Option<Swept>,
    backoff: Backoff,
    failing: bool,
    reported_at_ms: Option<u64>,
}

/// Heights of the `safe` and `finalized` heads, where the endpoint names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Levels {
    asked_at_number: Option<u64>,
    pub(crate) safe_number: Option<u64>,
    pub(crate) final_number: Option<u64>,
}

/// What was last reported.
#[derive(Debug)]
struct Swept {
    head: BlockHash,
    transactions: BTreeMap<TxHash, TransactionStatus>,
}

/// How much of an endpoint is to be checked before it is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueCheck {
    /// Chain id, token code and decimals: it never passed before.
    Everything,
    /// The chain id.
    ChainId,
}

/// What follows a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retry {
    /// When to try again.
    pub(crate) after_ms: u64,
    /// Whether to tell the ledger now.
    pub(crate) report: bool,
    /// Whether this is the first failure after a success.
    pub(crate) first: bool,
}

impl Plan {
    pub(crate) fn new(jitter_seed: u64) -> Plan {
        Plan {
            token_proven: false,
            chain_proven_at_ms: None,
            levels: Levels::default(),
            swept: None,
            backoff: Backoff::new(jitter_seed),
            failing: false,
            reported_at_ms: None,
        }
    }

    /// The check that must pass before anything the endpoint says is used.
    pub(crate) fn due_check(&self, now_ms: u64) -> Option<DueCheck> {
        if !self.token_proven {
            return Some(DueCheck::Everything);
        }
        let fresh = |proven_at_ms| now_ms < proven_at_ms + CHAIN_CHECK_MS;
        (!self.chain_proven_at_ms.is_some_and(fresh)).then_some(DueCheck::ChainId)
    }

    /// The check passed.
    pub(crate) fn proven(&mut self, now_ms: u64) {
        self.token_proven = true;
        self.chain_proven_at_ms = Some(now_ms);
    }

    /// Whether `safe` and `finalized` are to be asked for at a head of this height.
    pub(crate) fn levels_due(&self, head_number: u64) -> bool {
        let current =
            |asked: u64| (asked..asked.saturating_add(LEVELS_EVERY_BLOCKS)).contains(&head_number);
        !self.levels.asked_at_number.is_some_and(current)
    }

    /// Keeps what the endpoint named at a head of this height. A level above the head is held at
    /// the head.
    pub(crate) fn set_levels(
        &mut self,
        head_number: u64,
        safe_number: Option<u64>,
        final_number: Option<u64>,
    ) {
        self.levels = Levels {
            asked_at_number: Some(head_number),
            safe_number: safe_number.map(|number| number.min(head_number)),
            final_number: final_number.map(|number| number.min(head_number)),
        };
    }

    /// The levels last named.
    pub(crate) fn levels(&self) -> Levels {
        self.levels
    }

    /// A reorg: levels are asked for again, and everything watched with the new head.
    pub(crate) fn reorganised(&mut self) {
        self.levels = Levels::default();
    }

    /// The transactions to ask for at `head`; `None` when there is nothing new to say. At a head
    /// that was reported already only new transactions are asked for.
    pub(crate) fn unasked(&self, head: &Header, watched: &BTreeSet<TxHash>) -> Option<Vec<TxHash>> {
        match self.swept.as_ref().filter(|swept| swept.head == head.hash) {
            None => Some(watched.iter().copied().collect()),
            Some(swept) => {
                let new = |tx: &&TxHash| !swept.transactions.contains_key(*tx);
                let unasked: Vec<TxHash> = watched.iter().filter(new).copied().collect();
                (!unasked.is_empty()).then_some(unasked)
            }
        }
    }

    /// All of `watched` as of `head`, once `answers` came for what [`Plan::unasked`] named.
    pub(crate) fn sweep(
        &mut self,
        head: &Header,
        watched: &BTreeSet<TxHash>,
        answers: BTreeMap<TxHash, TransactionStatus>,
    ) -> BTreeMap<TxHash, TransactionStatus> {
        let known = self.swept.take().filter(|swept| swept.head == head.hash);
        let mut transactions = known.map(|swept| swept.transactions).unwrap_or_default();
        transactions.extend(answers);
        transactions.retain(|tx, _| watched.contains(tx));
        self.swept = Some(Swept {
            head: head.hash,
            transactions: transactions.clone(),
        });
        transactions
    }

    /// A look went through. Whether the one before had failed.
    pub(crate) fn succeeded(&mut self) -> bool {
        self.backoff.reset();
        std::mem::take(&mut self.failing)
    }

    /// A look failed: nothing advances, the chain id is checked before the next, and the first look
    /// that goes through reports everything again. `blind` when it is one to tell the ledger.
    pub(crate) fn failed(&mut self, now_ms: u64, blind: bool) -> Retry {
        self.chain_proven_at_ms = None;
        self.swept = None;
        let first = !std::mem::replace(&mut self.failing, true);
        let recent = |at_ms: u64| now_ms < at_ms + REPORT_EVERY_MS;
        let report = blind && !self.reported_at_ms.is_some_and(recent);
        if report {
            self.reported_at_ms = Some(now_ms);
        }
        Retry {
            after_ms: self.backoff.next_ms(),
            report,
            first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(number: u64) -> Header {
        let byte = u8::try_from(number).unwrap();
        let hash = BlockHash::from_bytes([byte; 32]);
        Header {
            number,
            hash,
            parent: BlockHash::from_bytes([0; 32]),
            timestamp_s: 0,
        }
    }

    fn tx(byte: u8) -> TxHash {
        TxHash::from_bytes([byte; 32])
    }

    fn answers(hashes: &[TxHash]) -> BTreeMap<TxHash, TransactionStatus> {
        hashes
            .iter()
            .map(|hash| (*hash, TransactionStatus::NotFound))
            .collect()
    }

    #[test]
    fn rule_09_chain_id_at_start_every_minute_and_after_an_error() {
        let mut plan = Plan::new(0);
        assert_eq!(plan.due_check(0), Some(DueCheck::Everything));
        plan.proven(0);
        assert_eq!(plan.due_check(59_999), None);
        assert_eq!(plan.due_check(60_000), Some(DueCheck::ChainId));
        plan.proven(60_000);
        assert_eq!(plan.due_check(60_001), None);
        plan.failed(60_001, true);
        assert_eq!(plan.due_check(60_002), Some(DueCheck::ChainId));
    }

    #[test]
    fn levels_every_fifth_block_and_after_a_reorg() {
        let mut plan = Plan::new(0);
        assert!(plan.levels_due(100));
        plan.set_levels(100, Some(90), None);
        assert_eq!(
            [100, 101, 104, 105, 99].map(|at| plan.levels_due(at)),
            [false, false, false, true, true]
        );
        plan.reorganised();
        assert!(plan.levels_due(100));
        assert_eq!(plan.levels().safe_number, None);
        plan.set_levels(100, Some(101), Some(80));
        assert_eq!(
            (plan.levels().safe_number, plan.levels().final_number),
            (Some(100), Some(80))
        );
    }

    #[test]
    fn a_head_is_reported_once_and_new_hashes_at_once() {
        let mut plan = Plan::new(0);
        let (one, two) = (BTreeSet::from([tx(1)]), BTreeSet::from([tx(1), tx(2)]));
        assert_eq!(plan.unasked(&header(5), &one), Some(vec![tx(1)]));
        plan.sweep(&header(5), &one, answers(&[tx(1)]));
        assert_eq!(plan.unasked(&header(5), &one), None);
        assert_eq!(plan.unasked(&header(5), &two), Some(vec![tx(2)]));
        assert_eq!(
            plan.sweep(&header(5), &two, answers(&[tx(2)])),
            answers(&[tx(1), tx(2)])
        );
        assert_eq!(plan.unasked(&header(5), &one), None);
        assert_eq!(plan.unasked(&header(6), &two), Some(vec![tx(1), tx(2)]));
        let closed = BTreeSet::from([tx(2)]);
        assert_eq!(
            plan.sweep(&header(6), &closed, answers(&[tx(2)])),
            answers(&[tx(2)])
        );
    }

    #[test]
    fn a_head_without_watched_transactions_is_reported_too() {
        let mut plan = Plan::new(0);
        let none = BTreeSet::new();
        assert_eq!(plan.unasked(&header(5), &none), Some(vec![]));
        plan.sweep(&header(5), &none, answers(&[]));
        assert_eq!(plan.unasked(&header(5), &none), None);
    }

    #[test]
    fn failures_are_reported_once_a_second_and_recovery_reports_everything() {
        let mut plan = Plan::new(0);
        plan.sweep(&header(5), &BTreeSet::new(), answers(&[]));
        assert!(!plan.failed(0, false).report);
        assert!(plan.succeeded());
        let reports = [0, 400, 999, 1_000, 1_999, 2_000].map(|now_ms| plan.failed(now_ms, true));
        assert_eq!(
            reports.map(|retry| retry.report),
            [true, false, false, true, false, true]
        );
        assert_eq!(
            reports.map(|retry| retry.first),
            [true, false, false, false, false, false]
        );
        assert!(plan.succeeded());
        assert!(!plan.succeeded());
        assert_eq!(plan.unasked(&header(5), &BTreeSet::new()), Some(vec![]));
    }
}
