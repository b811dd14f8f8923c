//! A live endpoint: [`ChainSource`] over HTTP JSON-RPC.
//!
//! Of alloy only the request machinery and the primitive types are used. Its network types cannot
//! read all of Base's transactions (type 0x7e, settlement-watcher.md rule 31), and its helpers for
//! pending transactions, fallback and retry answer from heights and first-come (section 5); so
//! requests are plain, and of the answers only what is needed is read.

mod answers;
mod receipts;
mod refusal;
mod transport;

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use alloy::primitives::{B256, Bytes, U64, U256};
use alloy::rpc::client::RpcClient;
use alloy::rpc::json_rpc::{RpcError, RpcRecv, RpcSend};
use alloy::transports::{TransportError, TransportErrorKind};
use futures_util::stream::{self, StreamExt as _};
use reqwest::Url;
use serde_json::json;
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::loopback::is_loopback_host;

use crate::source::{
    CallAnswer, ChainSource, HeadTag, Header, ReceiptAnswer, SourceError, TokenTransaction,
};
pub(crate) use answers::RpcHeader;
use answers::{RpcLog, TOPICS, by_transaction};
use refusal::Refusal;
use transport::{BoundedHttp, HttpFailure};

/// `eth_call` of a contract that reverts (EIP-1474's extension, used by every common node).
const EXECUTION_REVERTED: i64 = 3;
/// How nodes name what a contract can fail of, in small letters without spaces.
const CONTRACT_FAILURES: [&str; 6] = [
    "revert",
    "outofgas",
    "opcode",
    "invalidjump",
    "stackunderflow",
    "stackoverflow",
];
/// Gas of one `eth_call`: enough to check a signature of any common kind, and a bound on what a
/// contract can make a node do and answer.
const CALL_GAS: u64 = 3_000_000;
/// The selector of `decimals()`.
const DECIMALS_CALL: &str = "0x313ce567";
/// Receipts in one request: with the block they are as of 50 calls, the most that providers advise.
const MOST_BATCHED: usize = 49;
/// Requests for receipts at the same time.
const BATCHES_IN_FLIGHT: usize = 4;
/// How much of an endpoint's own words is quoted.
const QUOTED_CHARS: usize = 160;

/// One JSON-RPC endpoint.
#[derive(Clone)]
pub struct RpcSource {
    client: RpcClient,
    limits: RpcLimits,
}

/// What one request may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpcLimits {
    /// Time to connect.
    pub connect_timeout_ms: u64,
    /// Time for the whole request, connecting included.
    pub total_timeout_ms: u64,
    /// Longest answer that is read.
    pub answer_bytes: usize,
}

impl Default for RpcLimits {
    /// 2 s, 5 s and 32 MiB: the receipt of a transaction that spends Base's whole gas allowance on
    /// logs fits in.
    fn default() -> RpcLimits {
        RpcLimits {
            connect_timeout_ms: 2_000,
            total_timeout_ms: 5_000,
            answer_bytes: 32 * 1024 * 1024,
        }
    }
}

/// An RPC URL that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Not an `http` or `https` URL.
    #[error(
        "the RPC URL is not usable ({0}); write it like https://host/path or http://127.0.0.1:8545"
    )]
    Url(String),
    /// Not a `ws` or `wss` URL.
    #[error(
        "the WebSocket URL is not usable ({0}); write it like wss://host/path or \
         ws://127.0.0.1:8545"
    )]
    WebSocketUrl(String),
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up ({0}); check this machine's root certificates")]
    Client(String),
}

impl RpcSource {
    /// The endpoint at `url`, `http` or `https`. Nothing is asked yet.
    ///
    /// Where the process has no default provider for TLS yet, *ring* is made it.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn new(url: &str, limits: RpcLimits) -> Result<RpcSource, EndpointError> {
        let url: Url = url
            .parse()
            .map_err(|error| EndpointError::Url(format!("{error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EndpointError::Url(format!(
                "its scheme is {}",
                url.scheme()
            )));
        }
        let http = http_client(&url, limits)
            .map_err(|error| EndpointError::Client(error.without_url().to_string()))?;
        let transport = BoundedHttp::new(http, url, limits.answer_bytes);
        Ok(RpcSource {
            client: RpcClient::new(transport, true),
            limits,
        })
    }

    async fn ask<P: RpcSend, R: RpcRecv>(
        &self,
        method: &'static str,
        params: P,
    ) -> Result<R, SourceError> {
        let answer = self.client.request(method, params).await;
        answer.map_err(|error| self.failure(method, error))
    }

    async fn header(
        &self,
        method: &'static str,
        block: impl RpcSend,
    ) -> Result<Option<Header>, SourceError> {
        let header: Option<RpcHeader> = self.ask(method, (block, false)).await?;
        let header = header.map(RpcHeader::read).transpose();
        header.map_err(|detail| SourceError::Malformed {
            method,
            detail: detail.to_owned(),
        })
    }

    fn failure(&self, method: &'static str, error: TransportError) -> SourceError {
        match error {
            RpcError::ErrorResp(payload) => refused(method, payload.code, &payload.message),
            RpcError::Transport(TransportErrorKind::Custom(cause)) => {
                match cause.downcast_ref::<HttpFailure>() {
                    Some(HttpFailure::TooLarge) => SourceError::TooLarge {
                        method,
                        limit_bytes: self.limits.answer_bytes,
                    },
                    Some(HttpFailure::Busy {
                        status,
                        retry_after_ms,
                    }) => SourceError::Busy {
                        method,
                        said: format!("HTTP status {status}"),
                        is_rate_limit: *status != 503,
                        retry_after_ms: *retry_after_ms,
                    },
                    // Of this size or kind: smaller, it may be answered.
                    Some(HttpFailure::Status(status @ (400 | 413))) => SourceError::Refused {
                        method,
                        code: i64::from(*status),
                        message: "HTTP status".to_owned(),
                    },
                    _ => SourceError::Unreachable {
                        method,
                        detail: quoted(&chain(&*cause)),
                    },
                }
            }
            RpcError::Transport(other) => SourceError::Unreachable {
                method,
                detail: quoted(&other.to_string()),
            },
            RpcError::DeserError { err, .. } => SourceError::Malformed {
                method,
                detail: quoted(&err.to_string()),
            },
            RpcError::NullResp
            | RpcError::UnsupportedFeature(_)
            | RpcError::LocalUsageError(_)
            | RpcError::SerError(_) => SourceError::Malformed {
                method,
                detail: quoted(&error.to_string()),
            },
        }
    }
}

impl ChainSource for RpcSource {
    async fn chain_id(&self) -> Result<ChainId, SourceError> {
        let id: U64 = self.ask("eth_chainId", [(); 0]).await?;
        Ok(ChainId::new(id.to()))
    }

    async fn code_at(&self, address: EvmAddress) -> Result<bool, SourceError> {
        let code: Bytes = self.ask("eth_getCode", (address, "latest")).await?;
        Ok(!code.is_empty())
    }

    async fn token_decimals(&self, token: EvmAddress) -> Result<Option<u8>, SourceError> {
        let call = json!({ "to": token, "data": DECIMALS_CALL });
        let answer: Bytes = match self.ask("eth_call", (call, "latest")).await {
            Ok(answer) => answer,
            Err(SourceError::Refused {
                code: EXECUTION_REVERTED,
                ..
            }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let count = (answer.len() == 32).then(|| U256::from_be_slice(&answer));
        Ok(count.and_then(|count| count.try_into().ok()))
    }

    async fn call(
        &self,
        to: EvmAddress,
        input: &[u8],
        as_of: BlockHash,
    ) -> Result<CallAnswer, SourceError> {
        let input = hex_data(input);
        // Some nodes read the older member `data` alone.
        let call = json!({ "to": to, "input": input, "data": input, "gas": U64::from(CALL_GAS) });
        let by_hash = answered(
            self.ask("eth_call", (call.clone(), json!({ "blockHash": as_of })))
                .await,
        );
        let Err(refused @ SourceError::Refused { .. }) = by_hash else {
            return by_hash;
        };
        // A node without EIP-1898 takes a height, which counts where the block is the one that was meant.
        let Some(block) = self.header_by_hash(as_of).await? else {
            return Err(refused);
        };
        let number = U64::from(block.number);
        let by_number = answered(self.ask("eth_call", (call, number)).await);
        let now = self.header_by_number(block.number).await?;
        match now.is_some_and(|now| now.hash == as_of) {
            true => by_number,
            false => Err(refused),
        }
    }

    async fn head(&self, tag: HeadTag) -> Result<Option<Header>, SourceError> {
        self.header("eth_getBlockByNumber", tag.as_str()).await
    }

    async fn header_by_hash(&self, hash: BlockHash) -> Result<Option<Header>, SourceError> {
        self.header("eth_getBlockByHash", hash).await
    }

    async fn header_by_number(&self, number: u64) -> Result<Option<Header>, SourceError> {
        self.header("eth_getBlockByNumber", U64::from(number)).await
    }

    async fn transfers_in(
        &self,
        block: BlockHash,
        token: EvmAddress,
    ) -> Result<Vec<TokenTransaction>, SourceError> {
        const METHOD: &str = "eth_getLogs";
        let filter = json!({ "blockHash": block, "address": token, "topics": [TOPICS] });
        let logs: Vec<RpcLog> = self.ask(METHOD, [filter]).await?;
        by_transaction(logs, token, block).map_err(|detail| SourceError::Malformed {
            method: METHOD,
            detail: detail.to_owned(),
        })
    }

    async fn receipts(
        &self,
        transactions: &[TxHash],
        token: EvmAddress,
        as_of: BlockHash,
    ) -> Result<Vec<ReceiptAnswer>, SourceError> {
        // What is asked for twice is asked once, and answered twice.
        let mut places: HashMap<TxHash, usize> = HashMap::with_capacity(transactions.len());
        let mut distinct = Vec::with_capacity(transactions.len());
        for transaction in transactions {
            places.entry(*transaction).or_insert_with(|| {
                distinct.push(*transaction);
                distinct.len() - 1
            });
        }
        let batches = distinct.chunks(MOST_BATCHED);
        let asked: Vec<_> = batches
            .map(|batch| self.receipts_of(batch, token, as_of))
            .collect();
        let mut answered = stream::iter(asked).buffered(BATCHES_IN_FLIGHT);
        let mut answers = Vec::with_capacity(distinct.len());
        while let Some(batch) = answered.next().await {
            match batch {
                Ok(batch) => answers.extend(batch),
                Err(error) if answers.is_empty() => return Err(error),
                // What it did answer counts; for the rest there is a next time.
                Err(error) => {
                    tracing::debug!(%error, "not all receipts");
                    break;
                }
            }
        }
        answers.resize(distinct.len(), ReceiptAnswer::Unanswered);
        if distinct.len() == transactions.len() {
            return Ok(answers);
        }
        let answer = |transaction| answers[places[transaction]].clone();
        Ok(transactions.iter().map(answer).collect())
    }
}

/// Error for a JSON-RPC error object.
fn refused(method: &'static str, code: i64, message: &str) -> SourceError {
    let kind = Refusal::of(code, message);
    let message = quoted(message);
    match kind {
        Refusal::RateLimit => SourceError::Busy {
            method,
            said: format!("{message} (code {code})"),
            is_rate_limit: true,
            retry_after_ms: None,
        },
        Refusal::NotYet => SourceError::NotYet { method, message },
        Refusal::UnknownBlock => SourceError::Behind { method },
        Refusal::Request => SourceError::Refused {
            method,
            code,
            message,
        },
    }
}

fn hex_data(bytes: &[u8]) -> String {
    Bytes::copy_from_slice(bytes).to_string()
}

/// What an answer to `eth_call` says of the contract.
fn answered(answer: Result<Bytes, SourceError>) -> Result<CallAnswer, SourceError> {
    match answer {
        Ok(answer) => Ok(CallAnswer::Returned(answer.into())),
        Err(SourceError::TooLarge { .. }) => Ok(CallAnswer::Failed),
        Err(SourceError::Refused { code, message, .. }) if has_failed(code, &message) => {
            Ok(CallAnswer::Failed)
        }
        Err(error) => Err(error),
    }
}

/// Whether an error of `eth_call` is the contract's own. Nodes agree on the code for a revert with
/// data at most, so that their words decide about the rest.
fn has_failed(code: i64, message: &str) -> bool {
    let message = message.to_ascii_lowercase().replace(' ', "");
    code == EXECUTION_REVERTED
        || CONTRACT_FAILURES
            .iter()
            .any(|words| message.contains(words))
}

/// Shows nothing of the URL, which may hold an API key.
impl fmt::Debug for RpcSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RpcSource")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

fn http_client(url: &Url, limits: RpcLimits) -> Result<reqwest::Client, reqwest::Error> {
    provide_tls();
    let mut client = reqwest::Client::builder()
        .connect_timeout(Duration::from_millis(limits.connect_timeout_ms))
        .timeout(Duration::from_millis(limits.total_timeout_ms))
        .redirect(reqwest::redirect::Policy::none());
    if url.host_str().is_some_and(is_loopback_host) {
        client = client.no_proxy();
    }
    client.build()
}

/// *ring*, where the process has no default provider yet.
pub(crate) fn provide_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error means that another thread was faster, and then there is a provider too.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
}

fn hash_bytes(hash: B256) -> [u8; 32] {
    hash.0
}

/// An error with its causes: reqwest says what went wrong only in the last of them.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Foreign words, safe for a terminal and a log line.
fn quoted(text: &str) -> String {
    let mut quoted: String = text
        .chars()
        .take(QUOTED_CHARS)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(QUOTED_CHARS).is_some() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests;
