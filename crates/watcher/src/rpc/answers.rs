//! The parts of JSON-RPC answers that are read. Everything else in them is left alone, so that
//! fields and transaction types of other chains do no harm.

use alloy::primitives::{Address, B256, Bytes, U64, U256};
use alloy::sol;
use alloy::sol_types::SolEvent as _;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use x811_protocol::digest::Digest;
use x811_protocol::evm::{BlockHash, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::Transfer;

use super::hash_bytes;
use crate::source::{Header, Receipt, TokenTransaction};

/// ERC-20's and EIP-3009's events, whose topics are all that is used of them.
mod token {
    super::sol! {
        event Transfer(address indexed from, address indexed to, uint256 value);
        event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    }
}

/// `eth_getBlockBy…` without full transactions. Hash and number are null in a pending block.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RpcHeader {
    number: Option<U64>,
    hash: Option<B256>,
    parent_hash: B256,
    timestamp: U64,
}

impl RpcHeader {
    pub(crate) fn read(self) -> Result<Header, &'static str> {
        let (Some(number), Some(hash)) = (self.number, self.hash) else {
            return Err("a block without number and hash");
        };
        let (number, timestamp_s) = (number.to::<u64>(), self.timestamp.to::<u64>());
        if number > MOST_NUMBER || timestamp_s > MOST_NUMBER / 1_000 {
            return Err("a block number or time beyond any chain's");
        }
        Ok(Header {
            number,
            hash: BlockHash::from_bytes(hash_bytes(hash)),
            parent: BlockHash::from_bytes(hash_bytes(self.parent_hash)),
            timestamp_s,
        })
    }
}

/// The largest integer a record holds (record.md section 1).
const MOST_NUMBER: u64 = (1 << 53) - 1;

/// The answer of `eth_getTransactionReceipt`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RpcReceipt {
    transaction_hash: B256,
    block_number: Option<U64>,
    block_hash: Option<B256>,
    status: U64,
    logs: Vec<RpcLog>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RpcLog {
    address: Address,
    topics: Vec<B256>,
    data: Bytes,
    log_index: Option<U64>,
    block_hash: Option<B256>,
    transaction_hash: Option<B256>,
}

/// The topics of the events that are asked for.
pub(super) const TOPICS: [B256; 2] = [
    token::Transfer::SIGNATURE_HASH,
    token::AuthorizationUsed::SIGNATURE_HASH,
];

/// The transfers of `token` among the logs of the block `asked`, by transaction in order of place.
/// What is said of `removed` is not read: the block's hash decides.
pub(super) fn by_transaction(
    mut logs: Vec<RpcLog>,
    token: EvmAddress,
    asked: BlockHash,
) -> Result<Vec<TokenTransaction>, &'static str> {
    in_order(&mut logs)?;
    let mut transactions: Vec<(TxHash, Moves)> = Vec::new();
    let mut places: HashMap<TxHash, usize> = HashMap::new();
    for log in &logs {
        let is_asked = log.block_hash.map(|hash| hash.0) == Some(*asked.as_bytes());
        let (Some(tx_hash), true) = (log.transaction_hash, is_asked) else {
            return Err("a log of another block than the one asked for");
        };
        let tx_hash = TxHash::from_bytes(hash_bytes(tx_hash));
        let place = *places.entry(tx_hash).or_insert(transactions.len());
        if place == transactions.len() {
            transactions.push((tx_hash, Moves::default()));
        }
        transactions[place].1.read(log, token);
    }
    let moved = transactions
        .into_iter()
        .filter(|(_, moves)| !moves.transfers.is_empty());
    Ok(moved
        .map(|(tx_hash, moves)| TokenTransaction {
            tx_hash,
            transfers: moves.transfers,
            authorizations: moves.authorizations,
        })
        .collect())
}

/// Puts the logs of one block in the order in which they were emitted, each once: a place that stands
/// there twice, or not at all, would count a transfer twice (settlement-watcher.md rule 26).
fn in_order(logs: &mut [RpcLog]) -> Result<(), &'static str> {
    if logs.iter().any(|log| log.log_index.is_none()) {
        return Err("a log without its place in the block");
    }
    logs.sort_by_key(|log| log.log_index);
    let is_repeated = logs
        .windows(2)
        .any(|two| two[0].log_index == two[1].log_index);
    match is_repeated {
        true => Err("two logs at one place of a block"),
        false => Ok(()),
    }
}

/// What the logs of one transaction say, read in the order in which they were emitted. Of the
/// token's logs only the two kinds that a block is asked for are looked at, so that a receipt, which
/// has them all, says the same.
#[derive(Debug, Default)]
struct Moves {
    /// Numbered from 0.
    transfers: Vec<Transfer>,
    /// Nonces by the ordinal of their transfer.
    authorizations: BTreeMap<u64, Digest>,
    /// The authorization that the last log used.
    authorized: Option<(EvmAddress, Digest)>,
}

impl Moves {
    /// An authorization belongs to the transfer right after it, when that is the authorizer's own
    /// (settlement-watcher.md rule 18).
    fn read(&mut self, log: &RpcLog, token: EvmAddress) {
        if let Some(authorized) = log.authorized(token) {
            self.authorized = Some(authorized);
        }
        let Some((from, to, amount)) = log.moved(token) else {
            return;
        };
        let ordinal = self.transfers.len() as u64;
        if let Some((authorizer, nonce)) = self.authorized.take()
            && authorizer == from
        {
            self.authorizations.insert(ordinal, nonce);
        }
        self.transfers.push(Transfer {
            authorization_nonce: None,
            ordinal,
            from,
            to,
            amount,
        });
    }
}

impl RpcReceipt {
    /// The receipt with its transfers of `token`; `None` when it names no block yet.
    pub(super) fn read(mut self, token: EvmAddress) -> Result<Option<Receipt>, &'static str> {
        let (Some(number), Some(hash)) = (self.block_number, self.block_hash) else {
            return Ok(None);
        };
        let succeeded = match self.status.to::<u64>() {
            0 => false,
            1 => true,
            _ => return Err("a receipt status other than 0 and 1"),
        };
        let block_number = number.to::<u64>();
        if block_number > MOST_NUMBER {
            return Err("a block number beyond any chain's");
        }
        let is_its_own = |log: &RpcLog| {
            log.block_hash.is_none_or(|block| block == hash)
                && log
                    .transaction_hash
                    .is_none_or(|tx| tx == self.transaction_hash)
        };
        if !self.logs.iter().all(is_its_own) {
            return Err("a receipt with a log of another transaction or block");
        }
        in_order(&mut self.logs)?;
        let mut moves = Moves::default();
        for log in &self.logs {
            moves.read(log, token);
        }
        Ok(Some(Receipt {
            tx_hash: TxHash::from_bytes(hash_bytes(self.transaction_hash)),
            block_number,
            block_hash: BlockHash::from_bytes(hash_bytes(hash)),
            succeeded,
            transfers: moves.transfers,
            authorizations: moves.authorizations,
        }))
    }
}

impl RpcLog {
    /// Payer, payee and amount, when this is a `Transfer` of `token`: emitted by the token itself,
    /// three topics, 32 bytes of data (settlement-watcher.md rule 13).
    fn moved(&self, token: EvmAddress) -> Option<(EvmAddress, EvmAddress, MicroUsdc)> {
        if self.address.as_slice() != token.as_bytes() || self.data.len() != 32 {
            return None;
        }
        let [signature, from, to] = self.topics.as_slice() else {
            return None;
        };
        if *signature != token::Transfer::SIGNATURE_HASH {
            return None;
        }
        let amount = held_amount(U256::from_be_slice(&self.data));
        Some((account(*from)?, account(*to)?, amount))
    }

    /// Authorizer and nonce, when this is an `AuthorizationUsed` of `token`: emitted by the token
    /// itself, three topics, no data.
    fn authorized(&self, token: EvmAddress) -> Option<(EvmAddress, Digest)> {
        if self.address.as_slice() != token.as_bytes() || !self.data.is_empty() {
            return None;
        }
        let [signature, authorizer, nonce] = self.topics.as_slice() else {
            return None;
        };
        if *signature != token::AuthorizationUsed::SIGNATURE_HASH {
            return None;
        }
        Some((
            account(*authorizer)?,
            Digest::from_bytes(hash_bytes(*nonce)),
        ))
    }
}

/// The address in an indexed topic; none when the unused high bytes are not zero.
fn account(topic: B256) -> Option<EvmAddress> {
    let address = Address::from_word(topic);
    (address.into_word() == topic).then(|| EvmAddress::from_bytes(address.into_array()))
}

/// The amount in micro-USDC. A token can name any 256-bit value; above what a record can hold it is
/// held at the maximum, which covers every price there is.
fn held_amount(micro_usdc: U256) -> MicroUsdc {
    let micro_usdc: Option<u64> = micro_usdc.try_into().ok();
    micro_usdc
        .and_then(|value| MicroUsdc::from_micro_usdc(value).ok())
        .unwrap_or(MicroUsdc::MAX)
}
