//! Which transaction moved the token, for the blocks of the last 75 minutes: what a PAYMENT is
//! answered from without a call, because most are declared after they were mined.
//!
//! It may have holes and never proves that something is missing: a negative takes receipts
//! (settlement-watcher.md rule 26).

use std::collections::{HashMap, VecDeque};

use x811_protocol::digest::Digest;
use x811_protocol::evm::{BlockHash, TxHash};
use x811_protocol::observation::{Block, Transfer};

use crate::source::{Header, TokenTransaction};
use crate::verdict::EndpointId;

/// How far back blocks are kept: an hour for the result, and the windows after it.
const SPAN_S: u64 = 75 * 60;
/// Blocks kept whatever their age.
const MIN_BLOCKS: usize = 256;
/// Transfers kept at most, some 150 MB; the oldest blocks go first.
const MOST_TRANSFERS: usize = 1_000_000;

/// Transfers of the token by transaction, for an unbroken run of blocks.
#[derive(Debug, Default)]
pub(crate) struct TransferIndex {
    blocks: VecDeque<IndexedBlock>,
    by_transaction: HashMap<TxHash, Indexed>,
    transfers: usize,
}

/// A transaction as the logs of its block show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'i> {
    pub(crate) block: Block,
    pub(crate) transfers: &'i [Transfer],
    /// Ordinals and what those transfers were authorised by.
    pub(crate) authorizations: &'i [(u64, Digest)],
    /// The endpoint that said so, if this process knows.
    pub(crate) by: Option<EndpointId>,
}

#[derive(Debug)]
struct IndexedBlock {
    header: Header,
    by: Option<EndpointId>,
    transactions: Vec<TxHash>,
}

#[derive(Debug)]
struct Indexed {
    number: u64,
    transfers: Box<[Transfer]>,
    authorizations: Box<[(u64, Digest)]>,
}

impl TransferIndex {
    /// What is known of `transaction`, if it is in an indexed block.
    pub(crate) fn get(&self, transaction: &TxHash) -> Option<Entry<'_>> {
        let indexed = self.by_transaction.get(transaction)?;
        let block = self.at(indexed.number)?;
        Some(Entry {
            block: block.header.block(),
            transfers: &indexed.transfers,
            authorizations: &indexed.authorizations,
            by: block.by,
        })
    }

    /// Height of the oldest indexed block.
    pub(crate) fn first_number(&self) -> Option<u64> {
        self.blocks.front().map(|block| block.header.number)
    }

    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn transfers(&self) -> usize {
        self.transfers
    }

    /// Adds the block above the last, with what moved in it as the endpoint `by` says. A block that
    /// does not follow starts the index anew.
    pub(crate) fn push(
        &mut self,
        header: Header,
        transactions: Vec<TokenTransaction>,
        by: Option<EndpointId>,
    ) {
        let follows = self
            .blocks
            .back()
            .is_none_or(|last| last.header.hash == header.parent);
        if !follows {
            self.clear();
        }
        let mut hashes = Vec::with_capacity(transactions.len());
        for moved in transactions {
            let TokenTransaction {
                tx_hash,
                transfers,
                authorizations,
            } = moved;
            hashes.push(tx_hash);
            self.transfers += transfers.len();
            let indexed = Indexed {
                number: header.number,
                transfers: transfers.into(),
                authorizations: authorizations.into_iter().collect(),
            };
            if let Some(before) = self.by_transaction.insert(tx_hash, indexed) {
                self.transfers -= before.transfers.len();
            }
        }
        self.blocks.push_back(IndexedBlock {
            header,
            by,
            transactions: hashes,
        });
        self.trim(header.timestamp_s);
    }

    /// Forgets the blocks from this height on: another branch has taken their place.
    pub(crate) fn drop_from(&mut self, number: u64) {
        while self
            .blocks
            .back()
            .is_some_and(|last| last.header.number >= number)
        {
            if let Some(block) = self.blocks.pop_back() {
                self.forget(&block);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = TransferIndex::default();
    }

    /// Hash of the indexed block at this height.
    pub(crate) fn hash_at(&self, number: u64) -> Option<BlockHash> {
        self.at(number).map(|block| block.header.hash)
    }

    fn at(&self, number: u64) -> Option<&IndexedBlock> {
        let offset = number.checked_sub(self.first_number()?)?;
        self.blocks.get(usize::try_from(offset).ok()?)
    }

    fn trim(&mut self, now_s: u64) {
        while let Some(oldest) = self.blocks.front() {
            let is_old = now_s.saturating_sub(oldest.header.timestamp_s) > SPAN_S;
            let is_surplus = is_old && self.blocks.len() > MIN_BLOCKS;
            if !is_surplus && (self.transfers <= MOST_TRANSFERS || self.blocks.len() == 1) {
                break;
            }
            if let Some(block) = self.blocks.pop_front() {
                self.forget(&block);
            }
        }
    }

    fn forget(&mut self, block: &IndexedBlock) {
        for tx_hash in &block.transactions {
            let is_its_own = self
                .by_transaction
                .get(tx_hash)
                .is_some_and(|indexed| indexed.number == block.header.number);
            if is_its_own && let Some(indexed) = self.by_transaction.remove(tx_hash) {
                self.transfers -= indexed.transfers.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use x811_protocol::evm::EvmAddress;
    use x811_protocol::money::MicroUsdc;

    fn hash(branch: u8, number: u64) -> BlockHash {
        let mut bytes = [branch; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        BlockHash::from_bytes(bytes)
    }

    fn header(branch: u8, number: u64, seconds_apart: u64) -> Header {
        Header {
            number,
            hash: hash(branch, number),
            parent: hash(branch, number.wrapping_sub(1)),
            timestamp_s: 1_000 + seconds_apart * number,
        }
    }

    fn tx(number: u64) -> TxHash {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        TxHash::from_bytes(bytes)
    }

    fn paid(number: u64, transfers: usize) -> TokenTransaction {
        let transfer = |ordinal| Transfer {
            authorization_nonce: None,
            ordinal,
            from: EvmAddress::from_bytes([1; 20]),
            to: EvmAddress::from_bytes([2; 20]),
            amount: MicroUsdc::from_micro_usdc(number).unwrap(),
        };
        let transfers = (0..u64::try_from(transfers).unwrap())
            .map(transfer)
            .collect();
        TokenTransaction {
            tx_hash: tx(number),
            transfers,
            authorizations: BTreeMap::new(),
        }
    }

    fn filled(blocks: u64, seconds_apart: u64) -> TransferIndex {
        let mut index = TransferIndex::default();
        for number in 0..blocks {
            index.push(
                header(1, number, seconds_apart),
                vec![paid(number, 1)],
                Some(0),
            );
        }
        index
    }

    #[test]
    fn sw_design_the_last_75_minutes_are_answered_from_memory() {
        let index = filled(3_000, 2);
        let newest = header(1, 2_999, 2);
        let oldest = index.at(index.first_number().unwrap()).unwrap();
        assert_eq!(newest.timestamp_s - oldest.header.timestamp_s, SPAN_S);
        assert_eq!(index.blocks(), 2_251);
        assert_eq!(index.transfers(), 2_251);
        assert_eq!(index.get(&tx(748)), None);
        let entry = index.get(&tx(749)).unwrap();
        assert_eq!((entry.block.number, entry.transfers.len()), (749, 1));
    }

    #[test]
    fn slow_chains_keep_256_blocks() {
        let index = filled(400, 600);
        assert_eq!(index.blocks(), MIN_BLOCKS);
        assert!(index.get(&tx(143)).is_none() && index.get(&tx(144)).is_some());
    }

    #[test]
    fn memory_is_bounded_by_transfers() {
        let mut index = TransferIndex::default();
        for number in 0..6 {
            index.push(header(1, number, 2), vec![paid(number, 300_000)], Some(0));
        }
        assert_eq!((index.blocks(), index.transfers()), (3, 900_000));
        index.push(header(1, 6, 2), vec![paid(6, MOST_TRANSFERS + 1)], Some(0));
        assert_eq!(
            index.blocks(),
            1,
            "the newest block stays whatever it holds"
        );
    }

    #[test]
    fn sw_23_a_reorg_takes_its_transfers_along_and_the_new_branch_brings_them_back() {
        let mut index = filled(300, 2);
        index.drop_from(298);
        assert!(index.get(&tx(298)).is_none() && index.get(&tx(297)).is_some());
        let mut replaced = header(2, 298, 2);
        replaced.parent = hash(1, 297);
        index.push(replaced, vec![paid(299, 1), paid(298, 1)], Some(0));
        assert_eq!(index.get(&tx(299)).unwrap().block, replaced.block());
        assert_eq!(index.transfers(), 300);
    }

    #[test]
    fn a_block_that_does_not_follow_starts_anew() {
        let mut index = filled(300, 2);
        index.push(header(2, 900, 2), vec![paid(900, 1)], Some(0));
        assert_eq!((index.blocks(), index.transfers()), (1, 1));
    }
}
