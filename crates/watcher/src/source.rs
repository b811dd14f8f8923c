//! What an endpoint of a network can be asked. The one seam between the watcher and the world: a
//! live endpoint and a scripted one look alike.

use std::collections::BTreeMap;
use std::future::Future;

use serde::{Deserialize, Serialize};
use x811_protocol::digest::Digest;
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::observation::{Block, Transfer};

/// One endpoint of a network.
///
/// `None` means that the endpoint answered and has no such thing. Whatever kept it from answering
/// is an error, because a lost answer must never read as "no such transaction".
pub trait ChainSource: Send + Sync + 'static {
    /// The chain that the endpoint serves.
    fn chain_id(&self) -> impl Future<Output = Result<ChainId, SourceError>> + Send;

    /// Whether there is a contract at `address` at the latest block.
    fn code_at(
        &self,
        address: EvmAddress,
    ) -> impl Future<Output = Result<bool, SourceError>> + Send;

    /// The answer of the token's `decimals()`; `None` when it gives no such number.
    fn token_decimals(
        &self,
        token: EvmAddress,
    ) -> impl Future<Output = Result<Option<u8>, SourceError>> + Send;

    /// What the contract at `to` answers to `input`, as of the block with this hash. A contract that
    /// reverts, spends all gas or answers too much has answered.
    fn call(
        &self,
        to: EvmAddress,
        input: &[u8],
        as_of: BlockHash,
    ) -> impl Future<Output = Result<CallAnswer, SourceError>> + Send;

    /// The header that `tag` stands for now.
    fn head(
        &self,
        tag: HeadTag,
    ) -> impl Future<Output = Result<Option<Header>, SourceError>> + Send;

    /// The header with this hash, on whatever branch.
    fn header_by_hash(
        &self,
        hash: BlockHash,
    ) -> impl Future<Output = Result<Option<Header>, SourceError>> + Send;

    /// The header at this height on the branch that the endpoint holds to be the true one.
    fn header_by_number(
        &self,
        number: u64,
    ) -> impl Future<Output = Result<Option<Header>, SourceError>> + Send;

    /// The transactions with transfers of `token` in the block of this hash, on whatever branch.
    /// A block that the endpoint does not know is an error, never an empty answer.
    fn transfers_in(
        &self,
        block: BlockHash,
        token: EvmAddress,
    ) -> impl Future<Output = Result<Vec<TokenTransaction>, SourceError>> + Send;

    /// The receipts of `transactions` with their transfers of `token`, in the same order, each asked
    /// of a node that knows the block `as_of`: behind one address there may be several, and one that
    /// lags has no say about what is missing (settlement-watcher.md rule 27).
    ///
    /// Fails with [`SourceError::Behind`] when that node does not know the block.
    fn receipts(
        &self,
        transactions: &[TxHash],
        token: EvmAddress,
        as_of: BlockHash,
    ) -> impl Future<Output = Result<Vec<ReceiptAnswer>, SourceError>> + Send;
}

/// What a contract answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallAnswer {
    /// It returned; nothing where there is no contract.
    Returned(Vec<u8>),
    /// It failed, or returned more than is read.
    Failed,
}

/// Which head is meant. On Base they trail each other by about 2 minutes and 20 minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeadTag {
    /// The newest block.
    Latest,
    /// The newest block whose data is on Ethereum.
    Safe,
    /// The newest block that can no longer be replaced.
    Finalized,
}

impl HeadTag {
    /// Block tag in JSON-RPC.
    pub const fn as_str(self) -> &'static str {
        match self {
            HeadTag::Latest => "latest",
            HeadTag::Safe => "safe",
            HeadTag::Finalized => "finalized",
        }
    }
}

/// What the watcher holds of a block: enough to link it to its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Height of the block.
    pub number: u64,
    /// The block's own hash.
    pub hash: BlockHash,
    /// The hash of the block below.
    pub parent: BlockHash,
    /// The block's own timestamp, whole seconds since the Unix epoch.
    pub timestamp_s: u64,
}

impl Header {
    /// The block as observations name it.
    pub fn block(&self) -> Block {
        Block {
            number: self.number,
            hash: self.hash,
            timestamp_s: self.timestamp_s,
        }
    }
}

/// What an endpoint says of a mined transaction. A claim, until its block is found to be one we
/// hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The transaction the receipt is for, as the endpoint says.
    pub tx_hash: TxHash,
    /// Height of its block.
    pub block_number: u64,
    /// Hash of its block.
    pub block_hash: BlockHash,
    /// Status 1. A reverted transaction has status 0 and no logs.
    pub succeeded: bool,
    /// All `Transfer` logs of the token in order, zero values included.
    pub transfers: Vec<Transfer>,
    /// By ordinal, the nonce of the EIP-3009 authorization that a transfer was made under
    /// (settlement-watcher.md rule 18).
    pub authorizations: BTreeMap<u64, Digest>,
}

/// The transfers of one mined transaction, as the logs of its block say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenTransaction {
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// All its `Transfer` logs of the token in order, zero values included; never empty.
    pub transfers: Vec<Transfer>,
    /// By ordinal, the nonce of the EIP-3009 authorization that a transfer was made under.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub authorizations: BTreeMap<u64, Digest>,
}

/// What an endpoint says of one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiptAnswer {
    /// It is mined.
    Mined(Receipt),
    /// There is no receipt.
    NotFound,
    /// There is one, too large to be read. Its sender alone brings that about.
    TooLarge,
    /// Nothing was said of it that can be used, although others were answered.
    Unanswered,
}

/// Why an endpoint gave no usable answer. Texts never name the URL, which may hold an API key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// No answer, or an HTTP status that is not success.
    #[error(
        "the RPC endpoint gave no answer to {method} ({detail}); check that it runs and that the \
         RPC URL and its key are right"
    )]
    Unreachable {
        /// The JSON-RPC method.
        method: &'static str,
        /// What happened, in words.
        detail: String,
    },
    /// Overload or rate limit: HTTP status 429 or 503, or a rate limit in a JSON-RPC error or a page.
    #[error(
        "the RPC endpoint turned {method} away ({said}) and is left alone for a while; if that goes on, get a higher \
         rate from your RPC provider"
    )]
    Busy {
        /// The JSON-RPC method.
        method: &'static str,
        /// HTTP status, or message of the endpoint, escaped and shortened.
        said: String,
        /// True for a rate limit, false for an overloaded or stopping endpoint.
        is_rate_limit: bool,
        /// How long it asks to be left alone, where it says.
        retry_after_ms: Option<u64>,
    },
    /// A JSON-RPC error.
    #[error(
        "the RPC endpoint refused {method}: {message} (code {code}); look the code up with your \
         RPC provider"
    )]
    Refused {
        /// The JSON-RPC method.
        method: &'static str,
        /// The JSON-RPC error code.
        code: i64,
        /// The endpoint's own words, escaped and shortened.
        message: String,
    },
    /// The node is still indexing the requested data.
    #[error("the RPC endpoint does not answer {method} yet ({message}); it is asked again")]
    NotYet {
        /// The JSON-RPC method.
        method: &'static str,
        /// Message of the endpoint, escaped and shortened.
        message: String,
    },
    /// An answer that is not what the method promises.
    #[error(
        "the RPC endpoint's answer to {method} cannot be read ({detail}); use an endpoint that \
         follows the Ethereum JSON-RPC specification"
    )]
    Malformed {
        /// The JSON-RPC method.
        method: &'static str,
        /// What is wrong.
        detail: String,
    },
    /// A block that was asked for by its hash is not there, though another node of this endpoint
    /// had it.
    #[error(
        "the RPC endpoint does not have a block that it named before ({method}); it is behind, or \
         several nodes answer for it"
    )]
    Behind {
        /// The JSON-RPC method.
        method: &'static str,
    },
    /// An answer above the size limit.
    #[error(
        "the RPC endpoint's answer to {method} is longer than {limit_bytes} bytes and was not read \
         to its end"
    )]
    TooLarge {
        /// The JSON-RPC method.
        method: &'static str,
        /// How many bytes are read at most.
        limit_bytes: usize,
    },
}
