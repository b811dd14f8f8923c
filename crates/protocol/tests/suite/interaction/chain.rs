//! A scripted Base: a block every two seconds of the world's clock, transactions mined on command.

use std::collections::BTreeMap;

use x811_protocol::digest::Digest;
use x811_protocol::evm::{BlockHash, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{
    Block, Hindrance, MinedTransaction, RecordedBranch, Sweep, TransactionStatus, Transfer,
};
use x811_protocol::time::TimestampMs;

/// 2026-01-01T00:00:00Z, the time of block 0.
pub(crate) const GENESIS_S: u64 = 1_767_225_600;
/// Base makes a block every two seconds.
pub(crate) const BLOCK_S: u64 = 2;
/// Blocks at which a transfer counts as confirmed.
pub(crate) const DEPTH: u64 = 12;

/// Who the payer is supposed to be.
pub(crate) const PAYER: EvmAddress = EvmAddress::from_bytes([0xa1; 20]);
/// Who is to be paid.
pub(crate) const PAYEE: EvmAddress = EvmAddress::from_bytes([0xb2; 20]);
/// Where fees may go.
pub(crate) const TREASURY: EvmAddress = EvmAddress::from_bytes([0xc3; 20]);
/// An account that has nothing to do with it.
pub(crate) const OTHER: EvmAddress = EvmAddress::from_bytes([0xd4; 20]);
/// The USDC contract.
pub(crate) const TOKEN: EvmAddress = EvmAddress::from_bytes([0xe5; 20]);

/// An amount.
pub(crate) fn micro(micro_usdc: u64) -> MicroUsdc {
    MicroUsdc::from_micro_usdc(micro_usdc).unwrap()
}

/// The transaction of that number.
pub(crate) fn tx(number: u8) -> TxHash {
    TxHash::from_bytes([number; 32])
}

/// Transfers with the ordinals 0, 1, 2, …
pub(crate) fn transfers(rows: &[(EvmAddress, EvmAddress, u64)]) -> Vec<Transfer> {
    rows.iter()
        .zip(0..)
        .map(|((from, to, amount), ordinal)| Transfer {
            authorization_nonce: None,
            ordinal,
            from: *from,
            to: *to,
            amount: micro(*amount),
        })
        .collect()
}

/// What has been mined, and what the endpoint says of `safe` and `finalized`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain {
    mined: BTreeMap<TxHash, MinedTransaction>,
    /// Height of the `safe` head.
    pub(crate) safe_number: Option<u64>,
    /// Height of the `finalized` head.
    pub(crate) final_number: Option<u64>,
    /// Where recorded heads stand.
    pub(crate) recorded: BTreeMap<BlockHash, RecordedBranch>,
    /// From this height on others are on the branch.
    pub(crate) followed_from: u64,
}

impl Chain {
    /// The block of that height.
    pub(crate) fn block(number: u64) -> Block {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        Block {
            number,
            hash: BlockHash::from_bytes(hash),
            timestamp_s: GENESIS_S + number * BLOCK_S,
        }
    }

    /// Height of the head at `now`.
    pub(crate) fn head_number(now: TimestampMs) -> u64 {
        (now.as_ms() / 1_000 - GENESIS_S) / BLOCK_S
    }

    /// Puts a transaction into the block of that height; again moves it there.
    pub(crate) fn mine(&mut self, hash: TxHash, number: u64, transfers: Vec<Transfer>) {
        self.put(hash, number, true, transfers);
    }

    /// Gives the transfers of a mined transaction the nonces they were authorised under.
    pub(crate) fn authorize(&mut self, hash: TxHash, nonces: BTreeMap<u64, Digest>) {
        self.mined.get_mut(&hash).unwrap().authorizations = nonces;
    }

    /// Puts a transaction that failed into the block of that height.
    pub(crate) fn revert(&mut self, hash: TxHash, number: u64) {
        self.put(hash, number, false, Vec::new());
    }

    /// Says why a transaction failed.
    pub(crate) fn hinder(&mut self, hash: TxHash, hindrance: Hindrance) {
        self.mined.get_mut(&hash).unwrap().hindrance = Some(hindrance);
    }

    fn put(&mut self, hash: TxHash, number: u64, succeeded: bool, transfers: Vec<Transfer>) {
        let block = Chain::block(number);
        let mined = MinedTransaction {
            block,
            succeeded,
            transfers,
            authorizations: BTreeMap::new(),
            hindrance: None,
            endpoints: vec!["one".to_owned(), "two".to_owned()],
        };
        self.mined.insert(hash, mined);
    }

    /// Takes a transaction out of its block, as a reorganisation does.
    pub(crate) fn reorganise_away(&mut self, hash: TxHash) {
        self.mined.remove(&hash);
    }

    /// A look at these transactions from the head of that height.
    pub(crate) fn sweep(
        &self,
        network: &str,
        head_number: u64,
        watched: impl IntoIterator<Item = TxHash>,
    ) -> Sweep {
        let status = |hash: TxHash| match self.mined.get(&hash) {
            Some(mined) if mined.block.number <= head_number => {
                TransactionStatus::Mined(mined.clone())
            }
            _ => TransactionStatus::NotFound,
        };
        Sweep {
            network: network.to_owned(),
            head: Chain::block(head_number),
            safe_number: self.safe_number,
            finalized: self.final_number.map(Chain::block),
            silent: Vec::new(),
            recorded: self.recorded.clone(),
            followed_from: self.followed_from,
            endpoints: vec!["one".to_owned(), "two".to_owned()],
            transactions: watched
                .into_iter()
                .map(|hash| (hash, status(hash)))
                .collect(),
        }
    }
}
