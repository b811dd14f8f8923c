//! Evidence held against the chain once more, for whoever does not take the ledger's word: an
//! auditor, or the holder of a receipt.
//!
//! One endpoint, chosen by who asks, is believed. It is asked for receipts and headers only when
//! somebody asks, and follows nothing. "Not found" is a difference only where the endpoint has the
//! block's height and can show what is there instead; from one that is behind, or keeps no blocks of
//! that age, it is no answer (settlement-watcher.md rules 11 to 15, 25 and 26).

mod absent;
mod compare;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use x811_protocol::event::Evidence;
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::observation::{Block, Transfer};
use x811_protocol::settlement::Fit;

use crate::backoff::Backoff;
use crate::source::{ChainSource, HeadTag, Header, ReceiptAnswer, SourceError};
pub use absent::Sought;
pub use compare::{Difference, differences};

/// Headers that are asked for at the same time.
const HEADERS_IN_FLIGHT: usize = 8;
/// How often an endpoint that gives no answer is asked.
const TRIES: u32 = 5;

/// Most transactions that one question is worth: four batches of receipts.
pub const ASKED_TOGETHER: usize = 196;

/// What is said of one transaction, to be held against the chain.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The token that was paid with.
    pub token: EvmAddress,
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// Whether it failed, and moved nothing; absent where that is not said.
    pub has_reverted: Option<bool>,
    /// Where it is by the last record; none where a reorganisation took it back.
    pub block: Option<Block>,
    /// Transfers of it.
    pub transfers: &'a [Transfer],
    /// How many it has in all, where that is said.
    pub transfer_count: Option<u64>,
    /// Which of its transfers can pay what it is shown for, where that is known: then those that are
    /// shown must not carry an authorization for something else.
    pub fit: Option<Fit>,
    /// Whether every transfer that can pay is said to be among those shown.
    pub shows_all: bool,
    /// A head, by height and hash, that the record says to be on another branch.
    pub parted: Option<(u64, BlockHash)>,
    /// Whether the log goes on to say where it is; of what did not pay it does not, and a
    /// reorganisation since then is no difference.
    pub is_followed: bool,
}

impl<'a> Shown<'a> {
    /// What a record says, of a transaction that succeeded and is in `block` by the last record.
    pub fn of(evidence: &'a Evidence, token: EvmAddress, block: Option<Block>) -> Shown<'a> {
        Shown {
            token,
            tx_hash: evidence.tx_hash,
            has_reverted: Some(false),
            block,
            transfers: &evidence.transfers,
            transfer_count: Some(evidence.transfer_count),
            fit: None,
            shows_all: false,
            parted: None,
            is_followed: true,
        }
    }

    /// The head that is on the endpoint's branch after all, where the record says that it is on another.
    fn not_parted(&self, headers: &BTreeMap<u64, Header>) -> Option<Difference> {
        let (number, hash) = self.parted?;
        let is_there = headers.get(&number).is_some_and(|there| there.hash == hash);
        is_there.then(|| {
            let sentence = format!(
                "block {number}, the head recorded at the ACCEPT, is {hash} on the chain too, and the \
                 record says that it is on another branch"
            );
            Difference::of("forked_at", sentence)
        })
    }

    /// Whether a reorganisation may be all that is between the record and the branch that the
    /// endpoint holds, where it has this block at the height.
    fn may_have_moved(&self, there: Option<&Header>) -> bool {
        let is_held = |block: Block| there.is_some_and(|header| header.hash == block.hash);
        !self.is_followed && self.block.is_some_and(|block| !is_held(block))
    }
}

/// Why a receipt says nothing.
const NOT_HELD: &str = "the endpoint gives a receipt from a block that it does not hold";
/// Why nothing follows from where a transaction is that the log follows no longer.
const MOVED: &str = "a reorganisation replaced the block that was recorded, and of what did not pay \
                     the log says no more";
/// Why a transfer that is as it was recorded is not proven to pay what it is shown for.
const FOREIGN: &str = "a transfer carries an EIP-3009 authorization for something else; a ledger of \
                       before that rule counted it all the same. Ask both parties whether it was also \
                       counted at another ledger";

/// What the chain says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Testimony {
    /// It is as the evidence says.
    Same,
    /// It is not there, as the log says itself.
    Gone,
    /// It is otherwise.
    Differs(Vec<Difference>),
    /// The endpoint cannot tell, and why.
    Unknown(String),
}

/// An endpoint that is believed by who chose it.
#[derive(Debug)]
pub struct Witness<S> {
    source: S,
    chain_id: ChainId,
    head: Header,
}

impl<S: ChainSource> Witness<S> {
    /// Asks the endpoint which chain it serves, and how far it is.
    ///
    /// # Errors
    /// When it gives no usable answer, however often it is asked.
    pub async fn call(source: S) -> Result<Witness<S>, SourceError> {
        let chain_id = patiently(|| source.chain_id()).await?;
        let head = latest(&source).await?;
        Ok(Witness {
            source,
            chain_id,
            head,
        })
    }

    /// The chain it serves.
    pub fn chain_id(&self) -> ChainId {
        self.chain_id
    }

    /// The newest block it had when it was last asked.
    pub fn head(&self) -> Block {
        self.head.block()
    }

    /// What the chain says of each, in order. Ask for [`ASKED_TOGETHER`] at a time.
    ///
    /// # Errors
    /// When the endpoint gives no usable answer, however often it is asked.
    pub async fn examine(&mut self, shown: &[Shown<'_>]) -> Result<Vec<Testimony>, SourceError> {
        self.head = latest(&self.source).await?;
        let asked: Vec<_> = shown.iter().map(|it| (it.token, it.tx_hash)).collect();
        let answers = self.receipts(&asked).await?;
        let named = shown.iter().filter_map(|shown| shown.block);
        let parted = shown.iter().filter_map(|shown| shown.parted);
        let parted = parted.map(|(number, _)| number);
        let named = named.map(|block| block.number).chain(parted).collect();
        let headers = self.headers(named, &answers).await?;
        let mut testimonies = Vec::with_capacity(shown.len());
        for (shown, answer) in shown.iter().zip(&answers) {
            testimonies.push(self.weigh(shown, answer, &headers).await?);
        }
        Ok(testimonies)
    }

    /// The blocks at these heights, as far as the chain is that high and the endpoint keeps them.
    ///
    /// # Errors
    /// When the endpoint gives no usable answer, however often it is asked.
    pub async fn blocks(
        &mut self,
        heights: BTreeSet<u64>,
    ) -> Result<BTreeMap<u64, Block>, SourceError> {
        self.head = latest(&self.source).await?;
        let headers = self.headers(heights, &[]).await?;
        let blocks = headers.into_iter();
        Ok(blocks
            .map(|(height, header)| (height, header.block()))
            .collect())
    }

    /// A receipt for each that was answered, token by token.
    async fn receipts(
        &self,
        asked: &[(EvmAddress, TxHash)],
    ) -> Result<Vec<ReceiptAnswer>, SourceError> {
        let tokens: BTreeSet<EvmAddress> = asked.iter().map(|(token, _)| *token).collect();
        let mut answers = vec![ReceiptAnswer::Unanswered; asked.len()];
        for token in tokens {
            let of_token = asked.iter().enumerate();
            let (places, hashes): (Vec<usize>, Vec<TxHash>) = of_token
                .filter(|(_, (of, _))| *of == token)
                .map(|(place, (_, tx_hash))| (place, *tx_hash))
                .unzip();
            let ask = || self.source.receipts(&hashes, token, self.head.hash);
            for (place, answer) in places.into_iter().zip(patiently(ask).await?) {
                answers[place] = answer;
            }
        }
        Ok(answers)
    }

    /// The headers of these heights and of every block that is answered, as the endpoint has them.
    async fn headers(
        &self,
        mut heights: BTreeSet<u64>,
        answers: &[ReceiptAnswer],
    ) -> Result<BTreeMap<u64, Header>, SourceError> {
        heights.extend(answers.iter().filter_map(|answer| match answer {
            ReceiptAnswer::Mined(receipt) => Some(receipt.block_number),
            ReceiptAnswer::NotFound | ReceiptAnswer::TooLarge | ReceiptAnswer::Unanswered => None,
        }));
        heights.retain(|height| *height <= self.head.number);
        let asked = heights.into_iter().map(|height| async move {
            let header = patiently(|| self.source.header_by_number(height)).await?;
            Ok(header.map(|header| (height, header)))
        });
        let asked: Vec<_> = asked.collect();
        let found = stream::iter(asked).buffered(HEADERS_IN_FLIGHT);
        let found: Vec<Option<(u64, Header)>> = found.try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn weigh(
        &self,
        shown: &Shown<'_>,
        answer: &ReceiptAnswer,
        headers: &BTreeMap<u64, Header>,
    ) -> Result<Testimony, SourceError> {
        match answer {
            ReceiptAnswer::Mined(receipt) => {
                let header = headers.get(&receipt.block_number);
                if header.is_none_or(|header| header.hash != receipt.block_hash) {
                    return Ok(unknown(NOT_HELD));
                }
                let recorded = shown.block.and_then(|block| headers.get(&block.number));
                if shown.may_have_moved(recorded) {
                    return Ok(unknown(MOVED));
                }
                let mut found = differences(shown, receipt, header.map(|header| header.block()));
                found.extend(shown.not_parted(headers));
                Ok(match (shown.block, found.is_empty()) {
                    (_, true) if compare::is_foreign(shown, receipt) => unknown(FOREIGN),
                    (_, true) => Testimony::Same,
                    (None, false) => Testimony::Gone,
                    (Some(_), false) => Testimony::Differs(found),
                })
            }
            ReceiptAnswer::NotFound => match shown.block {
                Some(block) => self.missing(shown, block, headers.get(&block.number)).await,
                None => Ok(Testimony::Gone),
            },
            ReceiptAnswer::TooLarge => Ok(unknown("the receipt is too long to be read")),
            ReceiptAnswer::Unanswered => Ok(unknown("the endpoint gives no receipt to be read")),
        }
    }

    /// There is no receipt, though it should be in `block`: what is there instead?
    async fn missing(
        &self,
        shown: &Shown<'_>,
        block: Block,
        header: Option<&Header>,
    ) -> Result<Testimony, SourceError> {
        let number = block.number;
        if number > self.head.number {
            let head = self.head.number;
            let text = format!("the endpoint is at block {head}, and this is in block {number}");
            return Ok(Testimony::Unknown(text));
        }
        let Some(header) = header else {
            let text = format!("the endpoint keeps no block {number}");
            return Ok(Testimony::Unknown(text));
        };
        if shown.may_have_moved(Some(header)) {
            return Ok(unknown(MOVED));
        }
        let nowhere = "the chain has no such transaction";
        if header.hash != block.hash {
            let hash = header.hash;
            let sentence = format!(
                "{nowhere}, and block {number} is {hash} there, not {} as recorded",
                block.hash
            );
            return Ok(Testimony::Differs(vec![Difference::of(
                "tx_hash", sentence,
            )]));
        }
        let inside = patiently(|| self.source.transfers_in(block.hash, shown.token)).await;
        Ok(match inside {
            Ok(inside) => match inside.iter().find(|tx| tx.tx_hash == shown.tx_hash) {
                // Its logs are there, only the receipt is not kept.
                Some(_) => unknown("the endpoint keeps the transaction's logs but no receipt"),
                None => {
                    let sentence = format!("{nowhere}: block {number} is there, without it");
                    Testimony::Differs(vec![Difference::of("tx_hash", sentence)])
                }
            },
            Err(error @ SourceError::Unreachable { .. }) => return Err(error),
            Err(_) => Testimony::Unknown(format!("the endpoint keeps no logs of block {number}")),
        })
    }
}

fn unknown(text: &str) -> Testimony {
    Testimony::Unknown(text.to_owned())
}

async fn latest<S: ChainSource>(source: &S) -> Result<Header, SourceError> {
    let head = patiently(|| source.head(HeadTag::Latest)).await?;
    head.ok_or(SourceError::Malformed {
        method: "eth_getBlockByNumber",
        detail: "it names no latest block".to_owned(),
    })
}

/// Asks again after a while, where another try may be answered.
async fn patiently<T, F>(ask: impl Fn() -> F) -> Result<T, SourceError>
where
    F: Future<Output = Result<T, SourceError>>,
{
    let mut backoff = Backoff::new(0);
    for _ in 1..TRIES {
        let asked_ms = match ask().await {
            Err(
                SourceError::Unreachable { .. }
                | SourceError::Behind { .. }
                | SourceError::NotYet { .. },
            ) => None,
            Err(SourceError::Busy { retry_after_ms, .. }) => retry_after_ms,
            answer => return answer,
        };
        tokio::time::sleep(Duration::from_millis(backoff.next_ms(asked_ms))).await;
    }
    ask().await
}
