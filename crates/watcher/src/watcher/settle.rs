//! What can be said at the tip: from the index, and from receipts where it has nothing.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use x811_protocol::evm::{BlockHash, TxHash};
use x811_protocol::observation::{Block, Observation, RecordedBranch, Sweep};
use x811_protocol::parameters::FinalBy;
use x811_protocol::settlement::level::STAND_IN_BLOCKS;

use super::{Closed, Expected, Reported, Watcher};
use crate::block_store::BlockStore;
use crate::endpoint::{EndpointFailure, Levels};
use crate::placement::{Placement, confirm_below, place};
use crate::source::{ChainSource, HeadTag, Header, Receipt, ReceiptAnswer, SourceError};
use crate::verdict::{EndpointId, FoundTransaction, Testimony, TransactionVerdict, Witness, judge};
use crate::watchlist::{Moment, Question};

/// `safe` and `finalized` are asked for at most once in so many blocks.
const LEVELS_EVERY_BLOCKS: u64 = 5;

/// Recorded heads below all indexed blocks that are asked for in one look, and kept.
const MOST_RECORDED_ASKED: usize = 8;
const MOST_RECORDED_KEPT: usize = 4_096;

/// Blocks that are waited for and reported in one look.
const MOST_HEADERS_ASKED: usize = 8;

/// What the endpoints answered; no entry where one gave no answer.
type Answers = Vec<BTreeMap<TxHash, ReceiptAnswer>>;

impl<S: ChainSource, B: BlockStore> Watcher<S, B> {
    /// Finds out what the index cannot say and reports. At a head that was reported before, only
    /// what is new.
    pub(super) async fn settle(&mut self) -> Result<(), Closed> {
        let Some(tip) = self.window.tip().copied() else {
            return Ok(());
        };
        self.take_watched();
        let is_whole = self.swept != Some(tip.hash);
        let are_levels_new = is_whole && self.levels_due(tip.number);
        let expected = if is_whole {
            self.expected(tip.block())
        } else {
            Expected::default()
        };
        let mut questions = self.watchlist.questions(&tip, &expected.looked_for);
        if are_levels_new {
            self.watchlist.ask_again(&tip, &mut questions);
        }
        let mut by = self.ask(&tip, &questions).await;
        if are_levels_new {
            self.ask_levels(&tip).await;
        }
        let levels = self.levels(tip.number);
        let recorded = self.recorded(&tip, &expected.recorded).await;
        let followed_from = self.followed_from.unwrap_or(u64::MAX);
        let labels: Vec<String> = self
            .endpoints
            .iter()
            .map(|endpoint| endpoint.health.label.clone())
            .collect();
        self.read_hindrances(&tip).await;
        let moment = Moment {
            head: tip,
            is_whole,
            safe_number: levels.safe_number,
            final_number: self.final_number(&levels, tip.number),
            are_levels_new,
            expected: &expected,
        };
        let (transactions, found_by) = self.watchlist.sweep(&moment, &labels);
        if transactions.is_empty() && !is_whole {
            return Ok(());
        }
        by.extend(found_by);
        by.insert(self.leader);
        by.extend(&self.carriers);
        let sweep = Sweep {
            network: self.network.name.clone(),
            head: tip.block(),
            safe_number: levels.safe_number,
            finalized: levels.finalized,
            endpoints: by.into_iter().map(|id| labels[id].clone()).collect(),
            silent: self.silent(),
            recorded,
            followed_from: followed_from.max(self.orphans.complete_from()),
            transactions,
        };
        self.swept = Some(tip.hash);
        self.send(Observation::Sweep(sweep)).await?;
        self.report_headers(&tip, &expected.headers).await
    }

    /// Reports the blocks that are waited for and deep enough, those held and those below that as many
    /// endpoints as must agree have.
    async fn report_headers(&mut self, tip: &Header, asked: &BTreeSet<u64>) -> Result<(), Closed> {
        let above = self.network.confirmed_depth.saturating_sub(1);
        let Some(deepest) = tip.number.checked_sub(above) else {
            return Ok(());
        };
        for number in asked.range(..=deepest).take(MOST_HEADERS_ASKED) {
            let held = self.window.at(*number).map(|header| header.block());
            let block = match held {
                Some(block) => Some(block),
                None => self.agreed_below(*number).await,
            };
            if let Some(block) = block {
                let network = self.network.name.clone();
                self.send(Observation::Header { network, block }).await?;
            }
        }
        Ok(())
    }

    /// The block at a height below all that are held, where enough endpoints say the same.
    async fn agreed_below(&mut self, number: u64) -> Option<Block> {
        let mut said: Vec<Block> = Vec::new();
        for endpoint in 0..self.endpoints.len() {
            if self.endpoints[endpoint].head.is_none() {
                continue;
            }
            match self.endpoints[endpoint].header_at(number).await {
                Ok(header) => said.extend(header.map(|header| header.block())),
                Err(error) => self.not_heard(endpoint, error),
            }
        }
        let agree = |block: &&Block| said.iter().filter(|other| other == block).count();
        let quorum = self.quorum();
        said.iter().find(|block| agree(block) >= quorum).copied()
    }

    /// Where recorded heads stand: all that were given up, and those that are asked for.
    async fn recorded(
        &mut self,
        tip: &Header,
        asked: &BTreeSet<(u64, BlockHash)>,
    ) -> BTreeMap<BlockHash, RecordedBranch> {
        let mut recorded: BTreeMap<BlockHash, RecordedBranch> = self.orphans.told().collect();
        let mut calls = 0;
        for (number, hash) in asked {
            if *number > tip.number || recorded.contains_key(hash) {
                continue;
            }
            let branch = match self.index.hash_at(*number) {
                Some(held) => Some(stands(*hash, held)),
                None if self.recorded_below.contains_key(hash) => {
                    self.recorded_below.get(hash).copied()
                }
                None if calls < MOST_RECORDED_ASKED => {
                    calls += 1;
                    self.stands_below(*number, *hash).await
                }
                None => None,
            };
            recorded.extend(branch.map(|branch| (*hash, branch)));
        }
        recorded
    }

    /// Where a head below all indexed blocks stands, as the leader says.
    async fn stands_below(&mut self, number: u64, hash: BlockHash) -> Option<RecordedBranch> {
        match self.endpoints[self.leader].header_at(number).await {
            Ok(header) => {
                let branch = stands(hash, header?.hash);
                if self.recorded_below.len() >= MOST_RECORDED_KEPT {
                    self.recorded_below.clear();
                }
                self.recorded_below.insert(hash, branch);
                Some(branch)
            }
            Err(error) => {
                self.not_heard(self.leader, error);
                None
            }
        }
    }

    fn expected(&mut self, head: Block) -> Expected {
        let missing = &self.watchlist.missing();
        let expected = (self.channels.expecting)(&Reported { head, missing });
        self.watchlist.doubted(&expected.looked_for);
        expected
    }

    fn take_watched(&mut self) {
        let watched = self.channels.watched.borrow_and_update().clone();
        self.contradicted.retain(|(tx, _)| watched.contains(tx));
        self.watchlist.watch(watched, &self.index);
    }

    /// Asks, judges, and says who was heard of what is missing.
    async fn ask(&mut self, tip: &Header, questions: &[Question]) -> BTreeSet<EndpointId> {
        let mut heard = BTreeSet::new();
        if questions.is_empty() {
            return heard;
        }
        let asked: Vec<bool> = self.endpoints.iter().map(|e| e.head.is_some()).collect();
        let answers = self.receipts(questions).await;
        let canonical = self.canonical_below(&answers).await;
        for question in questions {
            match *question {
                Question::IsSo(tx) => self.corroborate(tx, tip, &answers, &canonical),
                Question::Still(tx) if !is_in_a_block(tx, &answers) => {
                    self.watchlist.still_absent(tx, tip);
                }
                Question::Where(tx) | Question::Still(tx) => {
                    let witnesses: Vec<Witness> = (0..asked.len())
                        .filter(|endpoint| asked[*endpoint])
                        .map(|endpoint| {
                            let answer = answers[endpoint].get(&tx);
                            self.witness(endpoint, tx, answer, tip, &canonical)
                        })
                        .collect();
                    let verdict = judge(witnesses, self.quorum());
                    if verdict == TransactionVerdict::Absent {
                        heard.extend((0..asked.len()).filter(|e| answers[*e].contains_key(&tx)));
                    }
                    if let TransactionVerdict::Unsettled { contradiction } = &verdict {
                        for endpoint in contradiction {
                            self.contradicts(tx, *endpoint);
                        }
                    }
                    self.watchlist.judged(tx, verdict, tip);
                }
            }
        }
        heard
    }

    /// All receipts, of all endpoints at the same time.
    async fn receipts(&mut self, questions: &[Question]) -> Answers {
        let lists: Vec<Vec<TxHash>> = (0..self.endpoints.len())
            .map(|endpoint| self.to_ask(endpoint, questions))
            .collect();
        let asked = self
            .endpoints
            .iter_mut()
            .zip(&lists)
            .map(|(endpoint, list)| async move {
                match list.as_slice() {
                    [] => None,
                    list => endpoint.receipts(list).await,
                }
            });
        let answered = join_all(asked).await;
        let mut answers = Answers::new();
        for (endpoint, (answer, list)) in answered.into_iter().zip(lists).enumerate() {
            answers.push(match answer {
                Some(Ok(receipts)) => list
                    .into_iter()
                    .zip(receipts)
                    .filter(|(_, answer)| *answer != ReceiptAnswer::Unanswered)
                    .collect(),
                None => BTreeMap::new(),
                Some(Err(error)) => {
                    self.not_heard(endpoint, error);
                    BTreeMap::new()
                }
            });
        }
        answers
    }

    fn to_ask(&self, endpoint: EndpointId, questions: &[Question]) -> Vec<TxHash> {
        if self.endpoints[endpoint].head.is_none() {
            return Vec::new();
        }
        let asked = questions.iter().filter_map(|question| match question {
            Question::Where(tx) | Question::Still(tx) => Some(*tx),
            Question::IsSo(tx) => self.may_confirm(endpoint, tx).then_some(*tx),
        });
        asked.collect()
    }

    /// True if the receipt of this endpoint is still needed for a transaction that was found. With a quorum of one it is
    /// that of the endpoint whose logs have the transaction, if this process knows which.
    fn may_confirm(&self, endpoint: EndpointId, tx: &TxHash) -> bool {
        let found = self.watchlist.found(tx);
        let has_said = found.is_some_and(|found| found.by.contains(&endpoint));
        !has_said && (self.quorum() > 1 || self.has_listed(endpoint, *tx))
    }

    /// A node behind the endpoint's address that is a block behind is no failure of the endpoint.
    fn not_heard(&mut self, endpoint: EndpointId, error: SourceError) {
        let label = &self.endpoints[endpoint].health.label;
        if matches!(
            error,
            SourceError::Behind { .. } | SourceError::NotYet { .. }
        ) {
            tracing::debug!(endpoint = label, %error, "no receipts");
            return;
        }
        let now_ms = self.now_ms();
        self.endpoints[endpoint].failed(EndpointFailure::Source(error), now_ms);
    }

    /// The leader's headers at the heights of receipts from below the window: only it can say what
    /// is there. No entry where it did not.
    async fn canonical_below(&mut self, answers: &Answers) -> BTreeMap<u64, Option<Header>> {
        let mut canonical = BTreeMap::new();
        let mut numbers = BTreeSet::new();
        for (tx, answer) in answers.iter().flatten() {
            if let ReceiptAnswer::Mined(receipt) = answer
                && place(&self.window, *tx, receipt) == Placement::BelowWindow
            {
                numbers.insert(receipt.block_number);
            }
        }
        for number in numbers {
            match self.endpoints[self.leader].header_at(number).await {
                Ok(header) => {
                    canonical.insert(number, header);
                }
                Err(error) => {
                    self.not_heard(self.leader, error);
                    break;
                }
            }
        }
        canonical
    }

    fn witness(
        &self,
        endpoint: EndpointId,
        tx: TxHash,
        answer: Option<&ReceiptAnswer>,
        tip: &Header,
        canonical: &BTreeMap<u64, Option<Header>>,
    ) -> Witness {
        let testimony = match answer {
            None | Some(ReceiptAnswer::Unanswered) => Testimony::Silent,
            // The endpoint's own logs have the transaction, so the receipt is only not available yet.
            Some(ReceiptAnswer::NotFound)
                if self.quorum() == 1 && self.has_listed(endpoint, tx) =>
            {
                Testimony::Silent
            }
            Some(ReceiptAnswer::NotFound) => Testimony::Missing,
            // Its sender alone brings it about, and must not be waited for.
            Some(ReceiptAnswer::TooLarge) => {
                tracing::warn!(network = self.network.name, %tx, "a receipt too large to read");
                Testimony::Missing
            }
            Some(ReceiptAnswer::Mined(receipt)) => {
                self.testimony(endpoint, tx, receipt, tip, canonical)
            }
        };
        Witness {
            endpoint,
            carries_head: self.carriers.contains(&endpoint),
            testimony,
        }
    }

    /// True if the endpoint's logs of a held block have the transaction, or this process does not know whose logs do.
    fn has_listed(&self, endpoint: EndpointId, tx: TxHash) -> bool {
        let listed = self.index.get(&tx);
        listed.is_some_and(|entry| entry.by.is_none_or(|by| by == endpoint))
    }

    fn testimony(
        &self,
        endpoint: EndpointId,
        tx: TxHash,
        receipt: &Receipt,
        tip: &Header,
        canonical: &BTreeMap<u64, Option<Header>>,
    ) -> Testimony {
        let block = match place(&self.window, tx, receipt) {
            Placement::Held(block) => Some(block),
            Placement::BelowWindow => match canonical.get(&receipt.block_number) {
                Some(header) => confirm_below(receipt, *header),
                None => return Testimony::Silent,
            },
            Placement::Elsewhere if receipt.block_number > tip.number => return Testimony::Above,
            Placement::Elsewhere => None,
        };
        block.map_or(Testimony::Elsewhere, |block| {
            Testimony::Held(FoundTransaction {
                block,
                succeeded: receipt.succeeded,
                transfers: receipt.transfers.clone(),
                authorizations: receipt.authorizations.clone(),
                by: BTreeSet::from([endpoint]),
            })
        })
    }

    /// Takes in what other endpoints say of what was found. One that says something else contradicts,
    /// and so does one that carries the agreed head and does not have it: all are asked anew then.
    fn corroborate(
        &mut self,
        tx: TxHash,
        tip: &Header,
        answers: &Answers,
        canonical: &BTreeMap<u64, Option<Header>>,
    ) {
        for (endpoint, answers) in answers.iter().enumerate() {
            let (Some(answer), Some(found)) = (answers.get(&tx), self.watchlist.found(&tx)) else {
                continue;
            };
            let witness = self.witness(endpoint, tx, Some(answer), tip, canonical);
            let contradicts = match &witness.testimony {
                Testimony::Held(said) if said.agrees_with(found) => {
                    self.watchlist.confirmed_by(tx, endpoint);
                    false
                }
                // The logs were truncated; the receipts are complete.
                Testimony::Held(_) if self.has_listed(endpoint, tx) => {
                    let network = &self.network.name;
                    tracing::warn!(network, %tx, "a list of transfers and a receipt differ");
                    self.unsettle(tx, BTreeSet::new(), tip);
                    continue;
                }
                Testimony::Held(_) => true,
                Testimony::Missing => witness.carries_head,
                Testimony::Elsewhere | Testimony::Above | Testimony::Silent => false,
            };
            if contradicts && let Some(found) = self.watchlist.found(&tx) {
                let contradiction = found.by.iter().copied().chain([endpoint]).collect();
                self.unsettle(tx, contradiction, tip);
            }
        }
    }

    fn unsettle(&mut self, tx: TxHash, contradiction: BTreeSet<EndpointId>, tip: &Header) {
        for endpoint in &contradiction {
            self.contradicts(tx, *endpoint);
        }
        let verdict = TransactionVerdict::Unsettled { contradiction };
        self.watchlist.judged(tx, verdict, tip);
    }

    fn contradicts(&mut self, tx: TxHash, endpoint: EndpointId) {
        if !self.contradicted.insert((tx, endpoint)) {
            return;
        }
        let health = &mut self.endpoints[endpoint].health;
        health.disagreements += 1;
        let (network, endpoint) = (&self.network.name, &health.label);
        tracing::warn!(
            network,
            endpoint,
            %tx,
            "RPC endpoints contradict each other about a transaction; nothing is concluded until \
             they agree"
        );
    }

    /// Reads once, of the leader, why a transaction failed that is deep enough to be refuted. That is
    /// told to people alone: without an answer it is reported as well.
    async fn read_hindrances(&mut self, tip: &Header) {
        for (tx, block) in self.watchlist.unexplained(tip) {
            let accounts = (self.channels.accounts_of)(tx);
            let leader = &mut self.endpoints[self.leader];
            let hindrance = leader.hindrance(&accounts, block.hash).await;
            let hindrance = hindrance.unwrap_or_else(|error| {
                let endpoint = &leader.health.label;
                tracing::debug!(endpoint, %tx, %error, "why it failed is not known");
                None
            });
            self.watchlist.explained(tx, hindrance);
        }
    }

    fn levels_due(&self, head_number: u64) -> bool {
        let is_current =
            |asked: u64| (asked..asked.saturating_add(LEVELS_EVERY_BLOCKS)).contains(&head_number);
        !self.levels_at.number.is_some_and(is_current)
    }

    /// Asks all endpoints the first time and after a reorg, then one after the other.
    async fn ask_levels(&mut self, tip: &Header) {
        let count = self.endpoints.len();
        let is_first = self.levels_at.number.replace(tip.number).is_none();
        let next = (self.levels_at.last + 1) % count;
        self.levels_at.last = next;
        let asked = if is_first { 0..count } else { next..next + 1 };
        for endpoint in asked {
            if self.endpoints[endpoint].head.is_none() || self.network.final_by == FinalBy::Depth {
                continue;
            }
            let safe = self.level(endpoint, HeadTag::Safe).await;
            let finalized = self.level(endpoint, HeadTag::Finalized).await;
            let levels = &mut self.endpoints[endpoint].levels;
            levels.safe_number = safe.map(|head| head.number).or(levels.safe_number);
            levels.finalized = finalized.or(levels.finalized);
        }
    }

    /// A `safe` or `finalized` head; `None` if it is on another branch than the held one.
    async fn level(&mut self, endpoint: EndpointId, tag: HeadTag) -> Option<Block> {
        let named = self.endpoints[endpoint].named_head(tag).await?;
        let held = self.window.at(named.number);
        held.is_none_or(|held| *held == named)
            .then(|| named.block())
    }

    /// Highest block that the ledger may take as final.
    fn final_number(&self, levels: &Levels, head_number: u64) -> Option<u64> {
        let named = levels.finalized.map(|head| head.number);
        let above = self.network.confirmed_depth.saturating_add(STAND_IN_BLOCKS);
        let deep = head_number.saturating_add(1).checked_sub(above);
        match self.network.final_by {
            FinalBy::Tag => named,
            FinalBy::Depth => deep,
        }
    }

    /// The highest that as many endpoints as must agree have reached. None above the head.
    fn levels(&self, head_number: u64) -> Levels {
        let levels = || self.endpoints.iter().map(|endpoint| &endpoint.levels);
        let mut safe: Vec<u64> = levels().filter_map(|levels| levels.safe_number).collect();
        safe.sort_unstable_by(|a, b| b.cmp(a));
        let mut finalized: Vec<Block> = levels().filter_map(|levels| levels.finalized).collect();
        finalized.sort_unstable_by_key(|head| std::cmp::Reverse(head.number));
        let last = self.quorum() - 1;
        Levels {
            safe_number: safe.get(last).map(|number| *number.min(&head_number)),
            finalized: finalized
                .get(last)
                .filter(|head| head.number <= head_number)
                .copied(),
        }
    }
}

/// Whether any endpoint has a receipt of it, on whatever branch.
fn is_in_a_block(tx: TxHash, answers: &Answers) -> bool {
    let mut said = answers.iter().filter_map(|answers| answers.get(&tx));
    said.any(|answer| matches!(answer, ReceiptAnswer::Mined(_)))
}

/// A head whose height another block has is on another branch.
fn stands(recorded: BlockHash, held: BlockHash) -> RecordedBranch {
    if recorded == held {
        RecordedBranch::Same
    } else {
        RecordedBranch::Lost
    }
}
