//! One endpoint as the watcher uses it: checked before it is believed, left alone for a while when
//! it fails, and remembered for how it behaves.

use std::collections::BTreeSet;

use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::observation::{BlindCause, Block, Hindrance};

use crate::backoff::Backoff;
use crate::checks::{CheckFailure, Misfit, verify_chain, verify_endpoint};
use crate::health::{EndpointHealth, EndpointState};
use crate::hindrance::hindrance;
use crate::source::{ChainSource, HeadTag, Header, ReceiptAnswer, SourceError, TokenTransaction};
use crate::window::StrayHeader;

/// A healthy endpoint is asked for chain id and token code this often.
const CHECK_MS: u64 = 60_000;

/// An endpoint to watch a network through.
#[derive(Debug)]
pub struct Endpoint<S> {
    /// How it is asked.
    pub source: S,
    /// What evidence, metrics and logs call it; never its URL.
    pub label: String,
    /// A random number that scatters its retries.
    pub jitter_seed: u64,
}

/// Why an endpoint led to nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum EndpointFailure {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Misfit(#[from] Misfit),
    #[error("the RPC endpoint names no latest block; use an endpoint that is in sync")]
    NoHead,
    #[error(
        "the RPC endpoint does not have block {number} or one below it; it is behind, or several \
         nodes answer for it"
    )]
    UnknownParent { number: u64 },
    #[error(transparent)]
    Stray(#[from] StrayHeader),
    #[error("the transfers of block {number} are not given: {error}")]
    Unlisted { number: u64, error: SourceError },
}

impl From<CheckFailure> for EndpointFailure {
    fn from(failure: CheckFailure) -> EndpointFailure {
        match failure {
            CheckFailure::Misfit(misfit) => EndpointFailure::Misfit(misfit),
            CheckFailure::Unreachable(error) => EndpointFailure::Source(error),
        }
    }
}

impl EndpointFailure {
    /// Whether it may be another node that answers next. One that only wants fewer requests is not
    /// asked for more of them.
    fn casts_doubt(&self) -> bool {
        !matches!(
            self,
            EndpointFailure::Source(SourceError::Busy {
                is_rate_limit: true,
                ..
            })
        )
    }

    /// How long the endpoint asks to be left alone.
    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            EndpointFailure::Source(SourceError::Busy { retry_after_ms, .. }) => *retry_after_ms,
            EndpointFailure::Source(_)
            | EndpointFailure::Misfit(_)
            | EndpointFailure::NoHead
            | EndpointFailure::UnknownParent { .. }
            | EndpointFailure::Stray(_)
            | EndpointFailure::Unlisted { .. } => None,
        }
    }

    /// What the ledger is told; nothing when the endpoint answers and only its answers do not yet
    /// fit together. Its head then grows old, and the ledger judges that itself.
    pub(crate) fn blind_cause(&self) -> Option<BlindCause> {
        match self {
            EndpointFailure::Source(_) | EndpointFailure::NoHead => Some(BlindCause::Unreachable),
            EndpointFailure::Misfit(_) => Some(BlindCause::WrongChain),
            EndpointFailure::UnknownParent { .. }
            | EndpointFailure::Stray(_)
            | EndpointFailure::Unlisted { .. } => None,
        }
    }
}

/// An endpoint and what is known of it.
#[derive(Debug)]
pub(crate) struct Tracked<S> {
    source: S,
    chain_id: ChainId,
    token: EvmAddress,
    pub(crate) health: EndpointHealth,
    /// The head it named in the last round it took part in; none after a failure.
    pub(crate) head: Option<Header>,
    pub(crate) levels: Levels,
    /// True after a block whose transfers it did not return, until it returns those of another block.
    pub(crate) gives_no_lists: bool,
    /// It passed everything once.
    is_proven: bool,
    /// It gave something since it last failed, if not all that was asked.
    has_given: bool,
    checked_at_ms: Option<u64>,
    backoff: Backoff,
    retry_at_ms: Option<u64>,
    failure: Option<EndpointFailure>,
}

/// Last `safe` and `finalized` heads that the endpoint named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Levels {
    pub(crate) safe_number: Option<u64>,
    pub(crate) finalized: Option<Block>,
}

impl<S: ChainSource> Tracked<S> {
    pub(crate) fn new(endpoint: Endpoint<S>, chain_id: ChainId, token: EvmAddress) -> Tracked<S> {
        Tracked {
            source: endpoint.source,
            chain_id,
            token,
            health: EndpointHealth {
                label: endpoint.label,
                state: EndpointState::Unknown,
                leads: false,
                head: None,
                last_error: None,
                calls: 0,
                failures: 0,
                disagreements: 0,
                unnamed: BTreeSet::new(),
            },
            head: None,
            levels: Levels::default(),
            gives_no_lists: false,
            is_proven: false,
            has_given: false,
            checked_at_ms: None,
            backoff: Backoff::new(endpoint.jitter_seed),
            retry_at_ms: None,
            failure: None,
        }
    }

    /// When it may be asked again; at once when it did not fail.
    pub(crate) fn retry_at_ms(&self) -> u64 {
        self.retry_at_ms.unwrap_or(0)
    }

    /// Why it cannot be used, while it cannot.
    pub(crate) fn failure(&self) -> Option<&EndpointFailure> {
        self.failure.as_ref()
    }

    /// Its latest head, once it has passed the checks that are due.
    pub(crate) async fn latest(&mut self, now_ms: u64) -> Result<Header, EndpointFailure> {
        self.check(now_ms).await?;
        let head = self.head_at(HeadTag::Latest).await?;
        let head = head.ok_or(EndpointFailure::NoHead)?;
        self.head = Some(head);
        self.health.head = Some(head.block());
        Ok(head)
    }

    async fn check(&mut self, now_ms: u64) -> Result<(), EndpointFailure> {
        let is_fresh = |checked_at_ms| now_ms < checked_at_ms + CHECK_MS;
        let is_doubted = self.failure.as_ref().is_some_and(|f| f.casts_doubt());
        if !self.is_proven || is_doubted {
            self.health.calls += 3;
            verify_endpoint(&self.source, self.chain_id, self.token).await?;
        } else if !self.checked_at_ms.is_some_and(is_fresh) {
            self.health.calls += 2;
            verify_chain(&self.source, self.chain_id, self.token).await?;
        } else {
            return Ok(());
        }
        self.is_proven = true;
        self.checked_at_ms = Some(now_ms);
        Ok(())
    }

    /// Checks again before something is given up for what it says.
    pub(crate) async fn recheck(&mut self, now_ms: u64) -> Result<(), EndpointFailure> {
        self.checked_at_ms = None;
        self.check(now_ms).await
    }

    pub(crate) async fn head_at(&mut self, tag: HeadTag) -> Result<Option<Header>, SourceError> {
        self.health.calls += 1;
        self.source.head(tag).await
    }

    /// Requests the head of a level and records whether the endpoint names one. A missing head is no failure of the
    /// endpoint: it can be temporary (a rate limit, a node that has just started).
    pub(crate) async fn named_head(&mut self, tag: HeadTag) -> Option<Header> {
        let named = self.head_at(tag).await.unwrap_or_else(|error| {
            tracing::debug!(endpoint = self.health.label, ?tag, %error, "no such head");
            None
        });
        if named.is_some() {
            self.health.unnamed.remove(&tag);
        } else if self.health.unnamed.insert(tag) {
            let (endpoint, tag) = (&self.health.label, tag.as_str());
            tracing::warn!(endpoint, "the RPC endpoint names no `{tag}` head");
        }
        named
    }

    pub(crate) async fn header(&mut self, hash: BlockHash) -> Result<Option<Header>, SourceError> {
        self.health.calls += 1;
        self.source.header_by_hash(hash).await
    }

    pub(crate) async fn header_at(&mut self, number: u64) -> Result<Option<Header>, SourceError> {
        self.health.calls += 1;
        self.source.header_by_number(number).await
    }

    /// What moved in a block. The caller counts the call with [`Tracked::called`], because several
    /// are made at the same time.
    pub(crate) async fn transfers_in(
        &self,
        block: BlockHash,
    ) -> Result<Vec<TokenTransaction>, SourceError> {
        self.source.transfers_in(block, self.token).await
    }

    /// Records that the endpoint did not return the transfers of a block. The log warns of the first such block.
    pub(crate) fn list_failed(&mut self, number: u64, error: &SourceError) {
        let endpoint = &self.health.label;
        if std::mem::replace(&mut self.gives_no_lists, true) {
            tracing::debug!(endpoint, number, %error, "the RPC endpoint still lists no transfers");
        } else {
            tracing::warn!(
                endpoint,
                number,
                %error,
                "the RPC endpoint lists no transfers of a block; receipts are requested until it lists transfers again"
            );
        }
        self.health.failures += 1;
        self.health.last_error = Some(format!("transfers of block {number}: {error}"));
    }

    /// Records that the endpoint returned the transfers of a block.
    pub(crate) fn listed(&mut self) {
        if std::mem::take(&mut self.gives_no_lists) {
            let endpoint = &self.health.label;
            tracing::info!(endpoint, "the RPC endpoint lists transfers again");
        }
    }

    /// It gave a block that was not held: the next failure is a first one again, or a gap would grow
    /// faster than an endpoint that fails every other time can fill it.
    pub(crate) fn gave(&mut self) {
        self.has_given = true;
    }

    pub(crate) fn called(&mut self, times: usize) {
        self.health.calls += times as u64;
    }

    /// Receipts as of the head it named last.
    pub(crate) async fn receipts(
        &mut self,
        transactions: &[TxHash],
    ) -> Option<Result<Vec<ReceiptAnswer>, SourceError>> {
        let as_of = self.head?.hash;
        self.called(transactions.len() + 1);
        let answers = self.source.receipts(transactions, self.token, as_of).await;
        Some(answers.and_then(|answers| {
            if answers.len() == transactions.len() {
                return Ok(answers);
            }
            Err(SourceError::Malformed {
                method: "eth_getTransactionReceipt",
                detail: "not as many answers as questions".to_owned(),
            })
        }))
    }

    /// What kept the token from moving as of a block.
    pub(crate) async fn hindrance(
        &mut self,
        accounts: &BTreeSet<EvmAddress>,
        block: BlockHash,
    ) -> Result<Option<Hindrance>, SourceError> {
        self.called(1 + accounts.len());
        hindrance(&self.source, self.token, accounts, block).await
    }

    /// It answered as it should; its head lags behind what others have or does not.
    pub(crate) fn succeeded(&mut self, lags: bool) {
        if self.failure.take().is_some() {
            tracing::info!(
                endpoint = self.health.label,
                "the RPC endpoint answers again"
            );
        }
        let state = if lags {
            EndpointState::Lagging
        } else {
            EndpointState::Good
        };
        let was = std::mem::replace(&mut self.health.state, state);
        if was != state && lags {
            tracing::warn!(endpoint = self.health.label, "the RPC endpoint lags behind");
        }
        self.retry_at_ms = None;
        self.backoff.reset();
    }

    /// It failed: it is left alone for a while and, unless it only was asked too much, checked anew
    /// before it is believed again.
    pub(crate) fn failed(&mut self, failure: EndpointFailure, now_ms: u64) {
        let label = &self.health.label;
        if self.failure.is_none() {
            tracing::warn!(endpoint = label, error = %failure, "the RPC endpoint fails");
        } else {
            tracing::debug!(endpoint = label, error = %failure, "the RPC endpoint still fails");
        }
        self.head = None;
        if failure.casts_doubt() {
            self.checked_at_ms = None;
        }
        if std::mem::take(&mut self.has_given) {
            self.backoff.reset();
        }
        let asked_ms = failure.retry_after_ms();
        self.retry_at_ms = Some(now_ms + self.backoff.next_ms(asked_ms));
        self.health.failures += 1;
        self.health.last_error = Some(failure.to_string());
        self.health.state = match failure {
            EndpointFailure::Misfit(_) => EndpointState::Misfit,
            EndpointFailure::Source(_)
            | EndpointFailure::NoHead
            | EndpointFailure::UnknownParent { .. }
            | EndpointFailure::Stray(_)
            | EndpointFailure::Unlisted { .. } => EndpointState::Failing,
        };
        self.failure = Some(failure);
    }
}
