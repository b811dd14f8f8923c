//! A scripted Base: a block every two seconds of the wall clock, transactions mined on command.

use std::collections::BTreeMap;

use x811_protocol::digest::Digest;
use x811_protocol::evm::{BlockHash, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{
    Block, MinedTransaction, Observation, Sweep, TransactionStatus, Transfer,
};
use x811_protocol::time::TimestampMs;

/// The network's name.
pub(crate) const BASE: &str = "base";
/// 2026-01-01T00:00:00Z, the time of block 0.
pub(crate) const GENESIS_S: u64 = 1_767_225_600;
/// Base makes a block every two seconds.
const BLOCK_S: u64 = 2;
/// Blocks at which a transfer counts as confirmed.
pub(crate) const DEPTH: u64 = 12;

/// Where providers want to be paid.
pub(crate) const PAYEE: EvmAddress = EvmAddress::from_bytes([0xb2; 20]);
/// Where fees may go.
pub(crate) const TREASURY: EvmAddress = EvmAddress::from_bytes([0xc3; 20]);
/// The USDC contract.
pub(crate) const TOKEN: EvmAddress = EvmAddress::from_bytes([0xe5; 20]);

/// The transaction of that number.
pub(crate) fn tx(number: u16) -> TxHash {
    let mut bytes = [0x77; 32];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    TxHash::from_bytes(bytes)
}

/// What has been mined.
#[derive(Debug, Clone, Default)]
pub(crate) struct Base {
    mined: BTreeMap<TxHash, MinedTransaction>,
    /// What every transaction does in every block that it was ever put into, by height.
    said: BTreeMap<(TxHash, u64), MinedTransaction>,
    /// Height of the finalized head.
    pub(crate) finalized: Option<u64>,
}

impl Base {
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

    /// Puts a transaction with one transfer to [`PAYEE`] for each amount into a block.
    pub(crate) fn mine(&mut self, hash: TxHash, block: u64, from: EvmAddress, micro_usdc: &[u64]) {
        self.mine_to(PAYEE, hash, block, from, micro_usdc);
    }

    /// The same to somebody else.
    pub(crate) fn mine_to(
        &mut self,
        to: EvmAddress,
        hash: TxHash,
        block: u64,
        from: EvmAddress,
        micro_usdc: &[u64],
    ) {
        let transfers = micro_usdc
            .iter()
            .zip(0..)
            .map(|(amount, ordinal)| Transfer {
                authorization_nonce: None,
                ordinal,
                from,
                to,
                amount: MicroUsdc::from_micro_usdc(*amount).unwrap(),
            })
            .collect();
        self.put(hash, block, true, transfers);
    }

    /// Gives the transfers of a mined transaction the nonces they were authorised under.
    pub(crate) fn authorize(&mut self, hash: TxHash, nonces: &[(u64, Digest)]) {
        let mined = self.mined.get_mut(&hash).unwrap();
        mined.authorizations = nonces.iter().copied().collect();
    }

    /// Puts a transaction that failed into a block.
    pub(crate) fn revert(&mut self, hash: TxHash, block: u64) {
        self.put(hash, block, false, Vec::new());
    }

    fn put(&mut self, hash: TxHash, block: u64, succeeded: bool, transfers: Vec<Transfer>) {
        let mined = MinedTransaction {
            block: Base::block(block),
            succeeded,
            transfers,
            authorizations: BTreeMap::new(),
            hindrance: None,
            endpoints: vec!["one".to_owned(), "two".to_owned()],
        };
        // A block is what it is: in the same one a transaction does the same.
        let known = self.said.entry((hash, block)).or_insert(mined);
        self.mined.insert(hash, known.clone());
    }

    /// Takes a transaction out of its block, as a reorganisation does.
    pub(crate) fn reorganise_away(&mut self, hash: TxHash) {
        self.mined.remove(&hash);
    }

    /// A look at these transactions from the head of that height.
    pub(crate) fn sweep(
        &self,
        head_number: u64,
        watched: impl IntoIterator<Item = TxHash>,
    ) -> Observation {
        let status = |hash: TxHash| match self.mined.get(&hash) {
            Some(mined) if mined.block.number <= head_number => {
                TransactionStatus::Mined(mined.clone())
            }
            _ => TransactionStatus::NotFound,
        };
        Observation::Sweep(Sweep {
            network: BASE.to_owned(),
            head: Base::block(head_number),
            safe_number: None,
            finalized: self.finalized.map(Base::block),
            silent: Vec::new(),
            recorded: BTreeMap::new(),
            followed_from: 0,
            endpoints: vec!["one".to_owned(), "two".to_owned()],
            transactions: watched
                .into_iter()
                .map(|hash| (hash, status(hash)))
                .collect(),
        })
    }
}
