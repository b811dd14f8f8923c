//! The parts of JSON-RPC answers that are read. Everything else in them is left alone, so that
//! fields and transaction types of other chains do no harm.

use alloy::primitives::{Address, B256, Bytes, U64, U256};
use alloy::sol;
use alloy::sol_types::SolEvent as _;
use serde::Deserialize;
use std::collections::HashMap;
use x811_protocol::evm::{BlockHash, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::Transfer;

use super::hash_bytes;
use crate::source::{Header, Receipt, TokenTransaction};

/// ERC-20's event, whose topic is all that is used of it.
mod token {
    super::sol! {
        event Transfer(address indexed from, address indexed to, uint256 value);
    }
}

/// `eth_getBlockBy…` without full transactions. Hash and number are null in a pending block.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RpcHeader {
    number: Option<U64>,
    hash: Option<B256>,
    parent_hash: B256,
    timestamp: U64,
}

impl RpcHeader {
    pub(super) fn read(self) -> Result<Header, &'static str> {
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

/// `eth_getTransactionReceipt`.
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

/// The topic of ERC-20's event.
pub(super) const TRANSFER_TOPIC: B256 = token::Transfer::SIGNATURE_HASH;

/// The transfers of `token` among the logs of the block `asked`, by transaction in order of place.
/// What is said of `removed` is not read: the block's hash decides.
pub(super) fn by_transaction(
    mut logs: Vec<RpcLog>,
    token: EvmAddress,
    asked: BlockHash,
) -> Result<Vec<TokenTransaction>, &'static str> {
    logs.sort_by_key(|log| log.log_index);
    let mut transactions: Vec<TokenTransaction> = Vec::new();
    let mut places: HashMap<TxHash, usize> = HashMap::new();
    for log in &logs {
        let is_asked = log.block_hash.map(|hash| hash.0) == Some(*asked.as_bytes());
        let (Some(tx_hash), true) = (log.transaction_hash, is_asked) else {
            return Err("a log of another block than the one asked for");
        };
        let Some((from, to, amount)) = log.moved(token) else {
            continue;
        };
        let tx_hash = TxHash::from_bytes(hash_bytes(tx_hash));
        let place = *places.entry(tx_hash).or_insert(transactions.len());
        if place == transactions.len() {
            transactions.push(TokenTransaction {
                tx_hash,
                transfers: Vec::new(),
            });
        }
        let transfers = &mut transactions[place].transfers;
        transfers.push(Transfer {
            ordinal: transfers.len() as u64,
            from,
            to,
            amount,
        });
    }
    Ok(transactions)
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
        self.logs.sort_by_key(|log| log.log_index);
        Ok(Some(Receipt {
            tx_hash: TxHash::from_bytes(hash_bytes(self.transaction_hash)),
            block_number,
            block_hash: BlockHash::from_bytes(hash_bytes(hash)),
            succeeded,
            transfers: transfers(&self.logs, token),
        }))
    }
}

/// The `Transfer` logs of `token`, numbered from 0 in the order in which they were emitted.
fn transfers(logs: &[RpcLog], token: EvmAddress) -> Vec<Transfer> {
    let moved = logs.iter().filter_map(|log| log.moved(token));
    moved
        .zip(0..)
        .map(|((from, to, amount), ordinal)| Transfer {
            ordinal,
            from,
            to,
            amount,
        })
        .collect()
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
