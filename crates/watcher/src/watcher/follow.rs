//! How the held branch comes to reach the agreed head.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};

use super::{Advance, Watcher};
use crate::block_store::{BlockStore, TailBlock, TailChange};
use crate::endpoint::EndpointFailure;
use crate::source::{ChainSource, Header, SourceError, TokenTransaction};
use crate::verdict::EndpointId;
use crate::window::{Extension, MIN_CAPACITY_BLOCKS, Splice};
use x811_protocol::evm::BlockHash;

/// Blocks whose transfers are asked for at the same time.
const BLOCKS_IN_FLIGHT: usize = 8;
/// Headers kept of a gap that cannot be filled: more than a fillable gap has.
const MOST_WALKED: usize = 4 * MIN_CAPACITY_BLOCKS;
/// Number of requests for the transfers of a block to an endpoint that does not return them.
const LIST_TRIES: u32 = 4;
/// An endpoint whose head is older than another's by more than this lags.
const LAG_S: u64 = 10;

/// Which endpoint failed, and why.
pub(super) type Failed = (EndpointId, EndpointFailure);

impl<S: ChainSource, B: BlockStore> Watcher<S, B> {
    /// Makes the agreed head the tip, where there is one and it can be reached.
    pub(super) async fn advance(&mut self) -> Advance {
        let now_ms = self.now_ms();
        while let Some(candidate) = self.candidate(now_ms) {
            match self.advance_with(candidate, now_ms).await {
                Ok(advance) => return advance,
                Err((endpoint, failure)) => self.fails(endpoint, failure),
            }
        }
        Advance::Unanswered
    }

    fn fails(&mut self, endpoint: EndpointId, failure: EndpointFailure) {
        let now_ms = self.now_ms();
        self.endpoints[endpoint].failed(failure, now_ms);
    }

    /// The leader, or else the first that may be asked.
    fn candidate(&self, now_ms: u64) -> Option<EndpointId> {
        let others = 0..self.endpoints.len();
        std::iter::once(self.leader)
            .chain(others)
            .find(|id| self.endpoints[*id].retry_at_ms() <= now_ms)
    }

    async fn advance_with(
        &mut self,
        candidate: EndpointId,
        now_ms: u64,
    ) -> Result<Advance, Failed> {
        let head = self.endpoints[candidate].latest(now_ms).await;
        let head = head.map_err(|failure| (candidate, failure))?;
        let tip = self.window.tip().copied();
        let is_new = tip.is_none_or(|tip| tip.hash != head.hash);
        if is_new || self.carriers.len() < self.quorum() || self.pace.is_stalled(now_ms) {
            self.ask_others(candidate, now_ms).await;
        }
        let Some((agreed, carriers)) = self.agreed(candidate).await? else {
            return Ok(Advance::Parted);
        };
        if !self.follow_one_of(&carriers, agreed).await {
            if !self.fetched.refusals.is_empty() {
                return Ok(Advance::Unlisted);
            }
            let is_answered = self.endpoints.iter().any(|it| it.head.is_some());
            return Ok(match is_answered {
                true => Advance::Parted,
                false => Advance::Unanswered,
            });
        }
        let is_at_tip = self.window.tip() == Some(&agreed);
        self.carriers = if is_at_tip { carriers } else { BTreeSet::new() };
        if self.window.tip().copied() != tip {
            self.pace.advanced(now_ms);
        }
        Ok(Advance::Agreed)
    }

    /// Follows to the agreed head through the leader, or else another that carries it.
    async fn follow_one_of(&mut self, carriers: &BTreeSet<EndpointId>, agreed: Header) -> bool {
        let (mut leaders, others): (Vec<_>, Vec<_>) =
            carriers.iter().partition(|id| **id == self.leader);
        leaders.extend(others);
        for leader in leaders {
            let was = self.leader;
            match self.follow(leader, agreed).await {
                Ok(()) if leader != was => {
                    let network = &self.network.name;
                    let endpoint = &self.endpoints[leader].health.label;
                    tracing::warn!(network, endpoint, "another RPC endpoint is followed");
                    return true;
                }
                Ok(()) => return true,
                // The endpoint's head and receipts remain usable.
                Err(EndpointFailure::Unlisted { number, error }) => {
                    let endpoint = &self.endpoints[leader].health.label;
                    tracing::debug!(endpoint, number, %error, "the transfers of a block are not given");
                }
                Err(failure) => self.fails(leader, failure),
            }
        }
        false
    }

    /// The heads of all others that may be asked, at the same time.
    async fn ask_others(&mut self, candidate: EndpointId, now_ms: u64) {
        let others = self
            .endpoints
            .iter_mut()
            .enumerate()
            .filter(|(id, other)| *id != candidate && other.retry_at_ms() <= now_ms);
        let asked = others.map(|(id, other)| async move { (id, other.latest(now_ms).await) });
        for (id, answer) in join_all(asked).await {
            if let Err(failure) = answer {
                let now_ms = self.now_ms();
                self.endpoints[id].failed(failure, now_ms);
            }
        }
    }

    /// Whether the endpoint's head is far behind the newest that any names.
    pub(super) fn lags_far(&self, endpoint: EndpointId) -> bool {
        let heads = self.endpoints.iter().filter_map(|endpoint| endpoint.head);
        let newest_s = heads.map(|head| head.timestamp_s).max().unwrap_or(0);
        let head = self.endpoints[endpoint].head;
        head.is_some_and(|head| head.timestamp_s.saturating_add(LAG_S) < newest_s)
    }

    /// Makes `head` the tip, unless it is older than what was already seen: an endpoint that lags
    /// has no say (settlement-watcher.md rule 25).
    async fn follow(&mut self, leader: EndpointId, head: Header) -> Result<(), EndpointFailure> {
        let mut extension = self.window.extend(head);
        loop {
            extension = match extension {
                Extension::Unchanged => break,
                Extension::Behind => {
                    let (network, head_number) = (&self.network.name, head.number);
                    tracing::debug!(network, head_number, "the endpoint's head went back");
                    break;
                }
                Extension::Ready(splice) => {
                    self.accept(leader, splice).await?;
                    break;
                }
                Extension::Needs(branch) => {
                    let number = head.number;
                    let parent = self.header(leader, branch.missing()).await?;
                    let parent = parent.ok_or(EndpointFailure::UnknownParent { number })?;
                    // A header that does not link must not be served from memory next time.
                    self.window
                        .resume(branch, parent)
                        .inspect_err(|_| self.fetched.headers.clear())?
                }
            };
        }
        self.leader = leader;
        Ok(())
    }

    /// The header of that hash, as the endpoint gives it or gave it before.
    pub(super) async fn header(
        &mut self,
        leader: EndpointId,
        hash: BlockHash,
    ) -> Result<Option<Header>, SourceError> {
        if let Some(walked) = self.fetched.headers.get(&hash) {
            return Ok(Some(*walked));
        }
        let parent = self.endpoints[leader].header(hash).await?;
        if parent.is_some() {
            self.endpoints[leader].gave();
        }
        if self.fetched.headers.len() >= MOST_WALKED {
            self.fetched.headers.clear();
        }
        self.fetched
            .headers
            .extend(parent.map(|header| (hash, header)));
        Ok(parent)
    }

    /// Takes the new branch over, once all that moved in it is known. Before held headers are given
    /// up for it, the endpoint must show that it did not simply come to serve another chain.
    async fn accept(&mut self, leader: EndpointId, splice: Splice) -> Result<(), EndpointFailure> {
        if splice.dropped() > 0 {
            let now_ms = self.now_ms();
            self.endpoints[leader].recheck(now_ms).await?;
        }
        let (added, givers) = self.tail_blocks(leader, &splice).await?;
        self.note_reorg(&splice);
        let (replace_from, is_reorg) = (splice.first_number(), splice.dropped() > 0);
        let is_restart = splice.is_restart();
        if is_restart {
            self.index.clear();
        }
        self.index.drop_from(replace_from);
        for (block, giver) in added.iter().zip(givers) {
            self.index
                .push(block.header, block.transactions.clone(), Some(giver));
        }
        let dropped = self.window.dropped_by(&splice).to_vec();
        self.window.accept(splice);
        if self.followed_from.is_none() {
            self.followed_from = self.window.tip().map(|tip| tip.number);
        }
        if is_reorg {
            self.orphans.dropped(&dropped, &self.window, !is_restart);
            self.recorded_below.clear();
            self.watchlist
                .reorganised(&self.window, &self.index, replace_from, is_restart);
        }
        let moved = added.iter().flat_map(|block| &block.transactions);
        self.watchlist
            .mined(moved.map(|tx| tx.tx_hash), &self.index);
        if added
            .iter()
            .any(|block| self.fetched.holes.contains(&block.header.hash))
        {
            self.watchlist.ask_newest_missing();
        }
        let change = TailChange {
            keep_from: self.index.first_number().unwrap_or(replace_from),
            replace_from,
            added: &added,
        };
        let saved = self.block_store.save(&self.network.name, change).await;
        if let Err(error) = saved {
            tracing::warn!(network = self.network.name, %error, "blocks not saved");
        }
        self.fetched = super::Fetched::default();
        Ok(())
    }

    fn note_reorg(&mut self, splice: &Splice) {
        let dropped_blocks = splice.dropped();
        if dropped_blocks == 0 {
            return;
        }
        let network = &self.network.name;
        if splice.is_restart() {
            tracing::warn!(
                network,
                dropped_blocks,
                "the head descends from no held header"
            );
        } else {
            tracing::warn!(network, dropped_blocks, "reorg");
        }
        self.health.reorgs += 1;
        let deepest = &mut self.health.deepest_reorg_blocks;
        *deepest = (*deepest).max(dropped_blocks as u64);
        self.levels_at.number = None;
        for endpoint in &mut self.endpoints {
            endpoint.levels = crate::endpoint::Levels::default();
        }
    }

    /// The new blocks with what moved in them, and who says so of each.
    async fn tail_blocks(
        &mut self,
        leader: EndpointId,
        splice: &Splice,
    ) -> Result<(Vec<TailBlock>, Vec<EndpointId>), EndpointFailure> {
        let missing: Vec<Header> = splice
            .headers()
            .filter(|header| !self.fetched.transfers.contains_key(&header.hash))
            .copied()
            .collect();
        self.endpoints[leader].called(missing.len());
        let endpoint = &self.endpoints[leader];
        let asked: Vec<_> = missing
            .iter()
            .map(|header| async { (*header, endpoint.transfers_in(header.hash).await) })
            .collect();
        let answers: Vec<_> = stream::iter(asked)
            .buffer_unordered(BLOCKS_IN_FLIGHT)
            .collect()
            .await;
        let mut failure = None;
        for (header, answer) in answers {
            match self.readable(leader, header, answer) {
                Ok(moved) => {
                    self.endpoints[leader].gave();
                    self.fetched.transfers.insert(header.hash, (leader, moved));
                }
                Err(error) => failure = Some(error),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        let blocks = splice.headers().map(|header| {
            let fetched = self.fetched.transfers.remove(&header.hash);
            let (giver, transactions) = fetched.unwrap_or((leader, Vec::new()));
            let block = TailBlock {
                header: *header,
                transactions,
            };
            (block, giver)
        });
        Ok(blocks.unzip())
    }

    /// Transfers of a block, or a hole in the index if the endpoint does not return them, so that later blocks are
    /// still processed; receipts fill the hole. The block is requested [`LIST_TRIES`] times, or once if the endpoint
    /// has returned no transfers since an earlier hole. After a rate limit the endpoint is left alone instead.
    fn readable(
        &mut self,
        leader: EndpointId,
        header: Header,
        answer: Result<Vec<TokenTransaction>, SourceError>,
    ) -> Result<Vec<TokenTransaction>, EndpointFailure> {
        let (number, hash) = (header.number, header.hash);
        let endpoint = &mut self.endpoints[leader];
        let error = match answer {
            Ok(moved) => {
                endpoint.listed();
                return Ok(moved);
            }
            Err(error @ SourceError::Busy { .. }) => return Err(error.into()),
            Err(error) => error,
        };
        if !matches!(error, SourceError::TooLarge { .. }) {
            let tries = self.fetched.refusals.entry((leader, hash)).or_default();
            *tries += 1;
            if *tries < LIST_TRIES && !endpoint.gives_no_lists {
                return Err(EndpointFailure::Unlisted { number, error });
            }
        }
        endpoint.list_failed(number, &error);
        self.fetched.holes.insert(hash);
        Ok(Vec::new())
    }
}
